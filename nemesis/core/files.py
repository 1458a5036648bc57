"""Atomic file writes that survive a power failure and fail in a sentence, and the folder of cached files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nemesis.core.errors import UserError


class WriteError(UserError):
    """A file that cannot be written; the message says why."""

    def __init__(self, path: Path, error: OSError) -> None:
        taken = isinstance(error, FileExistsError | NotADirectoryError)
        reason = f"{path.parent} is not a folder" if taken else error.strerror or str(error)
        super().__init__(f"{path} cannot be written: {reason}. Name another place, or free or repair the disk.")


def replace_file(path: Path, text: str) -> None:
    """Write a file atomically: readers see the old text or the new one, even after a power failure."""
    with replacement(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Yield a path to write to; the file there then replaces the one at `path` atomically, or nothing of it remains."""
    temporary = path.with_name(f".tmp-{path.name}")
    try:
        try:
            yield temporary
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
        except BaseException:
            with suppress(OSError):  # of a folder that cannot be written to
                temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WriteError(path, error) from error


def cache_folder() -> Path:
    """Return the folder of cached files, which can be deleted at any time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nemesis"


def sync(path: Path) -> None:
    """Wait until a file's content, or a directory's entries, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
