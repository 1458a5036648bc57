"""Memory that a process keeps for itself once it has it.

The C library gives large blocks back to the system as soon as they are free, and the next batch of the same size is
then mapped and cleared page by page again. Where everything comes in batches of the same size, that is a good part of
a learner's time.
"""

import ctypes
import platform

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # of glibc's malloc.h
_NEVER = 2**31 - 1
_STEP = 64 << 20  # bytes that are asked for at once


def keep_freed_memory() -> None:
    """Let this process reuse what it frees, where the C library can be told so; its memory stays at its peak."""
    if platform.libc_ver()[0] != "glibc":
        return
    library = ctypes.CDLL(None)
    for option, value in ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _NEVER), (_TOP_PAD, _STEP)):
        library.mallopt(option, value)
