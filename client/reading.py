"""Chunks to records: checksums, aborted transactions, control batches. Deserializers: `decoding.py`.

Of the entries of a chunk come runs: lists of records, none of them empty, in order. A batch of v2 is listed by the kernel; sets of v0
and v1 are read by `protocol.message_set`.

Source: Kafka `CompletedFetch`; KIP-98 for aborted transactions.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, Final

from headrace.client.engine.fetching import Chunk
from headrace.client.records import Record
from headrace.ids import TopicPartition
from headrace.protocol.client_records import iterate_runs
from headrace.protocol.compression import decompress
from headrace.protocol.control_record import ABORT, control_type
from headrace.protocol.message_set import iterate_entries, iterate_entry_records
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC_V2,
    CorruptRecord,
    RecordBatchHeader,
    compute_crc,
    iterate_records,
    parse_header,
)

RUN_RECORDS: Final = 4096  # of sets of old formats

Run = list[Record[Any, Any]]


def runs_of(chunk: Chunk) -> Iterator[Run]:
    """The records of a chunk from its offset on.

    raises   CorruptRecord, CompressionError
    """
    name = chunk.subject.name
    starts = list(chunk.aborted or ())
    heapq.heapify(starts)
    open_aborted: set[int] = set()
    for position, size, magic in iterate_entries(chunk.data):
        entry = chunk.data[position : position + size]
        if magic < MAGIC_V2:
            yield from _old_runs(name, entry, chunk.offset)
            continue
        header = parse_header(entry)
        if header.last_offset < chunk.offset and not header.is_control:
            continue
        if compute_crc(entry) != header.crc:
            raise CorruptRecord(f"{name}: checksum mismatch in the batch at offset {header.base_offset}")
        if chunk.aborted is not None:
            while starts and starts[0][0] <= header.last_offset:
                open_aborted.add(heapq.heappop(starts)[1])
        if header.is_control:
            if _is_abort(entry):
                open_aborted.discard(header.producer_id)
            continue
        if header.is_transactional and header.producer_id in open_aborted:
            continue
        yield from _batch_runs(name, entry, header, chunk.offset)


def _batch_runs(name: TopicPartition, entry: memoryview, header: RecordBatchHeader, first_offset: int) -> Iterator[Run]:
    data = bytes(decompress(header.codec, entry[HEADER_BYTES : header.size_bytes]))
    epoch = header.partition_leader_epoch if header.partition_leader_epoch >= 0 else None
    return iterate_runs(Record, name.topic, name.partition, epoch, data, header, first_offset)


def _old_runs(name: TopicPartition, entry: memoryview, first_offset: int) -> Iterator[Run]:
    run: Run = []
    for one in iterate_entry_records(entry):
        if one.offset < first_offset:
            continue
        run.append(
            Record(name.topic, name.partition, one.offset, one.timestamp_ms, one.key, one.value, one.headers, None)
        )
        if len(run) == RUN_RECORDS:
            yield run
            run = []
    if run:
        yield run


def _is_abort(entry: memoryview) -> bool:
    record = next(iterate_records(entry), None)
    return record is not None and control_type(record.key) == ABORT
