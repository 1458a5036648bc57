"""Files that are whole or not there, even after a power cut."""

import os
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write a file so that whoever looks, even after a power cut, finds the old text or the new, never a part."""
    temporary = path.with_name(f".tmp-{path.name}")
    temporary.write_text(text, encoding="utf-8")
    sync(temporary)
    temporary.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file's content, or a directory's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
