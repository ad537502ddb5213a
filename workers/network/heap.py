"""The heap of a process: what was freed goes back to the system, if that is asked for.

glibc keeps what lies below the last block in use, which after thousands of connections is nearly all they took.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final


def _find_trim() -> Callable[[int], int] | None:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except AttributeError:  # another libc, which has none
        return None
    trim.argtypes = (ctypes.c_size_t,)
    trim.restype = ctypes.c_int
    return trim


_trim: Final = _find_trim()


def trim_heap() -> bool:
    """Give freed memory back (some milliseconds for each 100 MB); returns whether there was any."""
    return _trim is not None and bool(_trim(0))
