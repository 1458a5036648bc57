"""Atomic file writes that survive a power failure."""

import os
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write a file atomically: readers see the old text or the new one, even after a power failure."""
    temporary = path.with_name(f".tmp-{path.name}")
    temporary.write_text(text, encoding="utf-8")
    sync(temporary)
    temporary.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file's content, or a directory's entries, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
