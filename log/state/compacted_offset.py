"""The file that says what of a log may have been compacted: there a hole between two segments is no loss.

    headrace.compacted   `0`, `1`, then `OFFSET`: the format of Kafka's checkpoints, which Kafka doesn't read

A segment begins where the log ended when it was rolled. Where one ends before the next begins, compaction removed batches at its
end, or a power loss did: below OFFSET it may have been compaction, from there on it was not. So the owner raises OFFSET,
durably, before it lets a compacted segment in. A log that is new, and is to be compacted, begins with 0. That is not synced, like all
of a beginning: without the file, or with one that can't be read, the policy decides (docs/decisions/006).

Compaction gives room back, so the file must not need any: one that finds no room goes, until the next one.

Runs in: the partition worker that owns the log, which alone writes it. A truncation leaves it: it says too much then, never too little.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headrace.errors import EXHAUSTED
from headrace.log.disk import Disk
from headrace.log.state.checkpoints import OFFSET_MAX, BadCheckpoint, is_number, read_lines, write_lines

COMPACTED_FILE: Final = "headrace.compacted"


def compacted_offset(directory: Path) -> int | None:
    """What lies before it may have been compacted; None: not known. raises OSError"""
    try:
        lines = read_lines(directory / COMPACTED_FILE)
    except BadCheckpoint:
        return None
    return int(lines[0]) if len(lines) == 1 and is_number(lines[0], OFFSET_MAX) else None


def is_loss(directory: Path, next_segment: int, is_compacted: bool) -> bool:
    """Whether batches that are missing before a segment were lost, and not compacted away. raises OSError

    is_compacted   the topic's policy: it decides where nothing is known
    """
    compacted = compacted_offset(directory)
    return not is_compacted if compacted is None else next_segment > compacted


def begin_compacted(directory: Path, disk: Disk) -> None:
    """Nothing of a new log has been compacted. Not durable. raises OSError"""
    write_lines(directory / COMPACTED_FILE, ["0"], disk, is_durable=False)


def raise_compacted(directory: Path, offset: int, unknown: int, disk: Disk) -> None:
    """Before what lies below an offset is compacted. Durable. raises OSError

    unknown   the same, where nothing is known of what was compacted before
    """
    known = compacted_offset(directory)
    if known is None:
        offset = max(offset, unknown)
    elif known >= offset:
        return
    try:
        write_lines(directory / COMPACTED_FILE, [str(offset)], disk)
    except OSError as failure:
        if failure.errno not in EXHAUSTED:
            raise
        disk.remove_file(directory / COMPACTED_FILE)
        disk.sync_directory(directory)
