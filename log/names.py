"""What the directories of partitions and the files in them are called, also when they are out of the way.

    topic-partition                                      a partition's log
    topic-partition.<32 hex digits>-delete               deleted; the housekeeper removes it after a while
    topic-partition.<32 hex digits>-stray                of no partition any more; nobody removes it but people
    topic-partition.<32 hex digits>-future               a copy on its way to another log directory

    <base offset>.log .index .timeindex .txnindex        a segment
    <offset>.snapshot                                    the producers before that offset
    <a segment's file>.deleted                           out of the log; the housekeeper removes it after a while
    <a segment's file>.cleaned .swap                     a compacted segment (`segment_swap.py`)

Source: Kafka `LocalLog`, `UnifiedLog`.
"""

from __future__ import annotations

import uuid

from headrace.limits import FILE_NAME_BYTES_MAX

DELETED_DIRECTORY_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TXN_INDEX_SUFFIX = ".txnindex"
SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
SWAPPED_SUFFIX = ".swapped"  # the second name of a .log.swap, for one rename


def aside_name(name: str, suffix: str) -> str:
    """Another name for a partition's directory. Of a long topic as much is left as file systems take.

    source   Kafka `LocalLog.logDirNameWithSuffixCappedLength`
    """
    topic, dash, partition = name.rpartition("-")
    ending = f"{dash}{partition}.{uuid.uuid4().hex}{suffix}"
    return topic[: FILE_NAME_BYTES_MAX - len(ending)] + ending
