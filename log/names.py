"""What the directories of partitions are called in a log directory, and what they are called when they are out of the way.

    topic-partition                                      a partition's log
    topic-partition.<32 hex digits>-delete               deleted; the housekeeper removes it after a while
    topic-partition.<32 hex digits>-stray                of no partition any more; nobody removes it but people
    topic-partition.<32 hex digits>-future               a copy on its way to another log directory

Source: Kafka `LocalLog`, `UnifiedLog`.
"""

from __future__ import annotations

import uuid

from headrace.limits import FILE_NAME_BYTES_MAX

DELETED_DIRECTORY_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"


def aside_name(name: str, suffix: str) -> str:
    """Another name for a partition's directory. Of a long topic as much is left as file systems take.

    source   Kafka `LocalLog.logDirNameWithSuffixCappedLength`
    """
    topic, dash, partition = name.rpartition("-")
    ending = f"{dash}{partition}.{uuid.uuid4().hex}{suffix}"
    return topic[: FILE_NAME_BYTES_MAX - len(ending)] + ending
