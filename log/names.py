"""What the directories of partitions and the files in them are called, also when they are out of the way.

    topic-partition                                      a partition's log
    topic-partition.<32 hex digits>-delete               deleted; the housekeeper removes it after a while
    topic-partition.<32 hex digits>-stray                of no partition any more; removed by hand only
    topic-partition.<32 hex digits>-future               a copy on its way to another log directory

    <base offset>.log .index .timeindex .txnindex        a segment
    <offset>.snapshot                                    the producers before that offset
    <a segment's file>.deleted                           out of the log; the housekeeper removes it after a while
    <a segment's file>.cleaned .swap                     a compacted segment (`segment_swap.py`)
    <base offset>.group.swap                             where the segments end that it replaces
    <a segment's .log>.cut                               a truncation: takes the name when it is whole

Source: Kafka `LocalLog`, `UnifiedLog`.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Final

from headrace.limits import FILE_NAME_BYTES_MAX
from headrace.log.index_layout import RELATIVE_OFFSET_MAX

DELETED_DIRECTORY_SUFFIX: Final = "-delete"
STRAY_SUFFIX: Final = "-stray"
FUTURE_SUFFIX: Final = "-future"
COPY_NAME_FILE: Final = (
    "headrace.copy-of"  # in a copy: `topic-partition`, where the directory's name has no room for it
)
COPY_SYNCED_FILE: Final = "headrace.copy-synced"  # in a copy: everything below this offset was synced
_UNIQUE_BYTES: Final = 33  # a dot, 32 hex digits

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TXN_INDEX_SUFFIX: Final = ".txnindex"
GROUP_SUFFIX: Final = ".group"  # of a compacted segment that goes in, never of one that is in the log
SUFFIXES: Final = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)
SNAPSHOT_SUFFIX: Final = ".snapshot"
DELETED_SUFFIX: Final = ".deleted"
CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
CUT_SUFFIX: Final = ".cut"
SWAPPED_SUFFIX: Final = ".swapped"  # the second name of a .log.swap, for one rename

NAME_DIGITS: Final = 20
BASE_OFFSET_MAX: Final = (
    2**63 - 1 - 2 * RELATIVE_OFFSET_MAX
)  # a file of a larger name is a mistake: no offset fits after it


def aside_name(name: str, suffix: str) -> str:
    """Another name for a partition's directory. Of a long topic as much is left as file systems take.

    source   Kafka `LocalLog.logDirNameWithSuffixCappedLength`
    """
    return f"{aside_stem(name, suffix)}.{uuid.uuid4().hex}{suffix}"


def aside_stem(name: str, suffix: str) -> str:
    """What such a name begins with, before the dot: `topic-partition`, or what is left of it."""
    topic, dash, partition = name.rpartition("-")
    return bounded_name(topic, f"{dash}{partition}", _UNIQUE_BYTES + len(suffix))


def bounded_name(topic: str, ending: str, more_bytes: int = 0) -> str:
    """A name made of a topic's and an ending, which is whole: of a long topic as much is left as file systems take.

    more_bytes   that will be added to it
    """
    return topic[: FILE_NAME_BYTES_MAX - len(ending) - more_bytes] + ending


def copied_partition(directory: Path) -> str:
    """`topic-partition` of a copy, from COPY_NAME_FILE where the directory's own name may be cut; "" where that says nothing.

    raises   OSError
    """
    stem = directory.name.rpartition(".")[0]
    if len(directory.name) < FILE_NAME_BYTES_MAX:
        return stem
    try:
        name = (directory / COPY_NAME_FILE).read_text().strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    return name if aside_stem(name, FUTURE_SUFFIX) == stem else ""


def path_of(directory: Path, base_offset: int, suffix: str) -> Path:
    """A file of a segment."""
    return directory / f"{base_offset:020d}{suffix}"


def segment_bases(directory: Path) -> list[int]:
    """Base offsets of the segments in a directory, in order."""
    return bases_among(os.listdir(directory), LOG_SUFFIX)


def base_of(stem: str) -> int | None:
    """The offset that a file is named for, None where it is no file of ours: 20 digits, with room for offsets after it."""
    if len(stem) != NAME_DIGITS or not stem.isascii() or not stem.isdecimal():
        return None
    base = int(stem)
    return base if base <= BASE_OFFSET_MAX else None


def bases_among(names: list[str], suffix: str) -> list[int]:
    """Base offsets of the files with a suffix, in order."""
    cut = -len(suffix)
    bases = (base_of(name[:cut]) for name in names if name.endswith(suffix))
    return sorted(base for base in bases if base is not None)
