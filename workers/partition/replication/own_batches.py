"""Batches of a follower's own log, as they are compared with its leader's: read, or not to be read, and never taken for compared.

A batch is not there for one of these reasons, and each means something else:

    the log has no record there        nothing is to be compared
    the cleaner has taken it           the same, for a log that is compacted, or was
    the disk can't read it             the directory's failure (decision 007); without a descriptor it is read later
    its header can't be parsed         the log is damaged in service. In the active segment an opening finds it, so that the log is opened
                                       and reported as after a start (`LogShort`); else the replica goes out of service (`LogDamaged`)
    no batch is there                  the same
    a later one is there               no opening finds that: the replica goes out of service

Nothing here returns None for an error.

Runs in: the partition worker that owns the log.
"""

from __future__ import annotations

from headrace.errors import HeadraceError, LogDamaged, LogShort, StorageFailed
from headrace.log.disk import storage_failure
from headrace.log.state.compacted_offset import compacted_offset
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.record_batch import MAGIC_V2, RecordBatchHeader


def batch_before(log: PartitionLog, offset: int) -> RecordBatchHeader | None:
    """Header of the batch that has the record before an offset; None: no batch has it, or it is of an old format, which names no epoch.

    raises   StorageFailed
    """
    found = _header_before(log, offset)
    return found if found is not None and found.magic == MAGIC_V2 else None


def last_batch(log: PartitionLog) -> RecordBatchHeader | None:
    """Header of the last batch; None: the log has no record, its cleaner has taken the last one, or it is of an old format.

    raises   StorageFailed
    """
    end = log.log_end_offset
    found = _header_before(log, end)
    if found is None and log.log_start_offset < end and not may_be_compacted(log):
        raise _damaged(log, end, f"no batch holds offset {end - 1}")
    return found if found is not None and found.magic == MAGIC_V2 else None


def may_be_compacted(log: PartitionLog) -> bool:
    """By its policy now, or by that of before. raises StorageFailed"""
    try:
        return log.config.is_compacted or bool(compacted_offset(log.directory))
    except OSError as failure:
        raise storage_failure(str(log.directory), failure) from None


def was_cleaned(header: RecordBatchHeader) -> bool:
    """Whether a cleaner has taken records of a batch."""
    return header.record_count <= header.last_offset_delta


def _header_before(log: PartitionLog, offset: int) -> RecordBatchHeader | None:
    try:
        return log.header_before(offset)
    except OSError as failure:
        raise storage_failure(str(log.directory), failure) from None
    except StorageFailed:
        raise
    except HeadraceError as failure:
        raise _damaged(log, offset, str(failure)) from None


def _damaged(log: PartitionLog, offset: int, reason: str) -> LogDamaged:
    """The failure of a log whose batch before an offset is damaged."""
    said = f"{log.partition}: {reason}, and the log ends at {log.log_end_offset}"
    return LogShort(said, log.log_end_offset) if offset > log.end_segment else LogDamaged(said)
