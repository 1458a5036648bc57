"""Which collision meshes RocketSim uses: those of a given folder, those of an installed package, or computed ones.

RocketSim reads meshes once per process, so all arenas of a process have the same ones.
"""

import hashlib
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.files import cache_folder
from nemesis.games.rocket_league.arena import soccar
from nemesis.games.rocket_league.arena.rocketsim import rocketsim

COMPUTED = "computed"
_MODE = "soccar"  # the folder of a game mode that RocketSim looks for
_INSTALLED = "rlgym.rocket_league"  # a package that has the game's own meshes
_HEADER = np.dtype("<i4").itemsize * 2


@dataclass(frozen=True, slots=True)
class Meshes:
    """The collision meshes of an arena."""

    source: str  # the folder that the user gave, the name of the package, or "computed"
    folder: Path  # what RocketSim is given; it has a folder per game mode
    hash: str

    def __str__(self) -> str:
        return f"{self.source} ({self.hash})"


def find_meshes(path: str | None = None) -> Meshes:
    """Return the meshes of a path, or computed ones; without a path, those of an installed package if there is one."""
    installed = _installed() if path is None else None
    if installed is not None:
        return _read(_INSTALLED, installed)
    return _computed() if path in {None, COMPUTED} else _read(path, _given(Path(path)))


def use_meshes(meshes: Meshes) -> None:
    """Let RocketSim read the meshes, once per process."""
    global _used  # noqa: PLW0603  RocketSim's own state is global
    if _used is None:
        rocketsim().init(str(meshes.folder))
        _used = meshes
    elif _used.hash != meshes.hash:
        raise UserError(
            f"This process already uses the arena {_used}; RocketSim can read another one, {meshes}, only in a new "
            "process."
        )


_used: Meshes | None = None


def _given(path: Path) -> Path:
    """Return the folder that holds the folder of the game mode, from either of them."""
    if (path / _MODE).is_dir():
        return path
    if path.name == _MODE and path.is_dir():
        return path.parent
    problem = "has no folder 'soccar' with collision meshes" if path.is_dir() else "is not a folder"
    raise UserError(f"rocket_league.meshes={path} {problem}; leave it out, or set it to {COMPUTED}.")


@cache
def _installed() -> Path | None:
    with suppress(ModuleNotFoundError):
        spec = find_spec(_INSTALLED)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(location, "sim", "collision_meshes")
            if (folder / _MODE).is_dir():
                return folder
    return None


@cache
def _computed() -> Meshes:
    """Write the computed meshes into the user's cache, unless they are there."""
    files = soccar.meshes()
    digest = _hash(files)
    folder = cache_folder() / f"arena-{digest}"
    try:
        if not folder.exists():
            _write(folder, files)
    except OSError as error:
        raise UserError(
            f"The computed arena cannot be written to {folder}: {error.strerror or error}. Free or repair the disk, "
            "allow writing there, set XDG_CACHE_HOME to another folder, or name meshes by rocket_league.meshes=FOLDER."
        ) from error
    return _read(COMPUTED, folder)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write meshes into a new folder, in one step."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        made = Path(temporary, "arena")  # with the permissions of a new folder, unlike a temporary one
        (made / _MODE).mkdir(parents=True)
        for name, content in files.items():
            (made / _MODE / name).write_bytes(content)
        with suppress(OSError):  # another process was faster
            made.rename(folder)


def _read(source: str, folder: Path) -> Meshes:
    try:
        files = {path.name: path.read_bytes() for path in sorted((folder / _MODE).glob("*.cmf"))}
    except OSError as error:
        raise UserError(f"The collision meshes in {folder} cannot be read: {error.strerror}.") from error
    if not files:
        raise UserError(f"{folder / _MODE} has no collision meshes (*.cmf).")
    for name, content in files.items():
        if problem := _problem(content):
            raise UserError(f"The collision mesh {folder / _MODE / name} is damaged: {problem}.")
    return Meshes(source, folder, _hash(files))


def _problem(content: bytes) -> str | None:
    """Return what is wrong with a mesh file; None if nothing is."""
    if len(content) < _HEADER:
        return "it is too short"
    triangles, vertices = np.frombuffer(content, dtype="<i4", count=2).tolist()
    if triangles < 1 or vertices < 1 or len(content) != _HEADER + 12 * (triangles + vertices):
        return "its size does not fit its number of triangles"
    index = np.frombuffer(content, dtype="<i4", count=3 * triangles, offset=_HEADER)
    if index.min() < 0 or index.max() >= vertices:
        return "a triangle has a vertex that does not exist"
    points = np.frombuffer(content, dtype="<f4", offset=_HEADER + 12 * triangles)
    return None if np.isfinite(points).all() else "a vertex is not finite"


def _hash(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0".encode() + hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]
