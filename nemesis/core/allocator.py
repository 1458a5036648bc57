"""Keeps freed memory in the process.

The C library returns large free blocks to the operating system at once. The next batch of the same size is then mapped
and cleared page by page again, which costs a learner a noticeable part of its time.
"""

import ctypes
import platform

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # constants of glibc's malloc.h
_NEVER = 2**31 - 1
_STEP = 64 << 20  # bytes requested from the system at once


def keep_freed_memory() -> None:
    """Make this process reuse freed memory, with glibc only. Its memory usage then stays at its peak."""
    if platform.libc_ver()[0] != "glibc":
        return
    library = ctypes.CDLL(None)
    for option, value in ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _NEVER), (_TOP_PAD, _STEP)):
        library.mallopt(option, value)
