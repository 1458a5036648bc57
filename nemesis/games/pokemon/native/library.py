"""The native library: where it is, whether it fits its sources, and its functions.

A library that was compiled from other sources is compiled again where there is a compiler, and refused otherwise.
"""

import contextlib
import ctypes
import os
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from nemesis.core.files import cache_folder
from nemesis.core.progress import report
from nemesis.games.pokemon.native import build

_TIMEOUT = 600  # seconds that another process may compile


class LibraryError(Exception):
    """There is no library that can be used; the message says why."""


def load() -> ctypes.CDLL:
    """Return the library, compiled now if there is none of the present sources; a failure is remembered."""
    library, problem = _loaded()
    if library is None:
        raise LibraryError(problem)
    return library


@cache
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    try:
        return _load(), ""
    except (LibraryError, build.BuildError) as error:
        return None, str(error)
    except (OSError, Timeout) as error:
        return None, f"The native library cannot be loaded or compiled: {error}."


def _load() -> ctypes.CDLL:
    wanted = build.source_hash()
    places = [build.FOLDER / build.library_name(), cache_folder() / f"native-{wanted}" / build.library_name()]
    for place in places:
        if (library := _open(place, wanted)) is not None:
            return library
    place = places[0] if os.access(build.FOLDER, os.W_OK) else places[1]
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.parent / ".native.lock", timeout=_TIMEOUT):
        if (library := _open(place, wanted)) is not None:  # another process has compiled it meanwhile
            return library
        report("Compiling the native engine (only once)")
        build.build_library(place)
        library = _open(place, wanted)
    if library is None:
        raise LibraryError(f"{place} was just compiled but is not of its sources.")
    return library


def _open(place: Path, wanted: str) -> ctypes.CDLL | None:
    """Return the library at a place, or None if there is none or one of other sources."""
    if not place.exists() or _stamp(wanted) not in place.read_bytes():
        return None
    library = ctypes.CDLL(str(place))
    with contextlib.suppress(AttributeError):
        library.nemesis_sources.restype = ctypes.c_char_p
        if library.nemesis_sources() == wanted.encode():
            return library
    return None


def _stamp(wanted: str) -> bytes:
    """Return what a library of these sources contains, so that another one need not be loaded to see that."""
    return f"nemesis sources {wanted}".encode()
