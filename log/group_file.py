"""Where the segments end that a compacted one replaces: `.group.swap`, a file beside `.log.cleaned`, later beside `.log.swap`.

    0        version
    1234     the offset at which the last of them ends, which is the base offset of the segment after it

The compacted segment itself cannot say that: its last batches may be gone. Kafka's swaps have no such file; there the last
batch is all that is known.

Runs in: the housekeeper writes it, synced, before it asks for the swap; the partition worker that owns the
log reads it, and removes it after the swap.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

VERSION: Final = "0"
_OFFSET_DIGITS: Final = 19
_LINES: Final = 2


def encode_group(end_offset: int) -> bytes:
    """The file's bytes."""
    return f"{VERSION}\n{end_offset}\n".encode()


def read_group(path: Path) -> int | None:
    """The end offset; None where there is no such file, or it is not in its format. raises OSError"""
    try:
        lines = path.read_bytes().split()
    except FileNotFoundError:
        return None
    is_known = len(lines) == _LINES and lines[0] == VERSION.encode()
    if not is_known or not lines[1].isdigit() or len(lines[1]) > _OFFSET_DIGITS:
        return None
    return int(lines[1])
