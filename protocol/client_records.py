"""The records of a batch as a client's user gets them: with topic, partition and leader epoch, from an offset on.

By the kernel (`list_client_records`) where it was built, a run of READ_RUN_RECORDS_MAX at a time; else, and for what it does not take, by
the Python walk of `record_batch.py`, whose exceptions are those that callers see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from headrace.limits import READ_RUN_RECORDS_MAX
from headrace.protocol import record_kernel
from headrace.protocol.record_batch import CorruptRecord, RecordBatchHeader, walk_records

_list_client_records: Final = record_kernel.list_client_records
_new: Final = tuple.__new__

R = TypeVar("R", bound=tuple[object, ...])


def iterate_runs(
    kind: type[R],
    topic: str,
    partition: int,
    leader_epoch: int | None,
    data: bytes,
    header: RecordBatchHeader,
    first_offset: int = -(2**63),
) -> Iterator[list[R]]:
    """The records of decompressed `data` from `first_offset` on, in lists of READ_RUN_RECORDS_MAX at most; no list is empty.

    kind      a NamedTuple with the fields topic, partition, offset, timestamp_ms, key, value, headers, leader_epoch
    raises    CorruptRecord, after the records before the place where they contradict themselves
    """
    position, left = 0, header.record_count
    if _list_client_records is not None:
        append_time_ms = header.max_timestamp if header.is_log_append_time else None
        while left > 0:
            count = min(left, READ_RUN_RECORDS_MAX)
            found = _list_client_records(
                kind, topic, partition, leader_epoch, data, position, count, header.last_offset_delta,
                header.base_offset, header.base_timestamp, append_time_ms, first_offset,
            )  # fmt: skip
            if found is None:
                break
            records, position = found
            if records:
                yield records
            left -= count
    run: list[R] = []
    failure: CorruptRecord | None = None
    try:
        for record in walk_records(data, header, position, left):
            if record.offset >= first_offset:
                run.append(_new(kind, (topic, partition, *record, leader_epoch)))
            if len(run) == READ_RUN_RECORDS_MAX:
                yield run
                run = []
    except CorruptRecord as found_wrong:
        failure = found_wrong
    if run:
        yield run
    if failure is not None:
        raise failure
