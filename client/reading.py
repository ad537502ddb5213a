"""Chunks to records: checksums, aborted transactions, control batches, deserializers.

Of the entries of a chunk come runs: lists of records, none of them empty, in order. A batch of v2 is listed by the kernel; sets of v0
and v1 are read by `protocol.message_set`.

Source: Kafka `CompletedFetch`; KIP-98 for aborted transactions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Final

from headrace.client.consumer_options import OnError
from headrace.client.engine.fetching import Chunk
from headrace.client.records import Record
from headrace.client.serializers import DecodingFailed, Deserializer
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
_new = tuple.__new__

Run = list[Record[Any, Any]]
Decode = Callable[[Run], tuple[Run, DecodingFailed | None]]


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


def decoder_of(key: Deserializer[Any] | None, value: Deserializer[Any] | None, on_error: OnError) -> Decode | None:
    """What deserializes a run; None: keys and values stay bytes.

    on_error   "raise": the run ends before what can't be decoded, which comes beside it; "skip", or a function that is given it:
               it is left out
    """
    if key is None and value is None:
        return None
    read_key = None if key is None else key.deserialize
    read_value = None if value is None else value.deserialize

    def decode(run: Run) -> tuple[Run, DecodingFailed | None]:
        found: Run = []
        for record in run:
            topic, partition, offset, timestamp_ms, key_data, value_data, headers, epoch = record
            part, data = "key", key_data
            try:
                decoded_key = key_data if read_key is None or key_data is None else read_key(topic, key_data)
                part, data = "value", value_data
                decoded = value_data if read_value is None or value_data is None else read_value(topic, value_data)
            except Exception as failure:
                undecodable = DecodingFailed(topic, partition, offset, part, data, failure)
                if on_error == "raise":
                    return found, undecodable
                if on_error != "skip":
                    on_error(undecodable)
                continue
            found.append(_new(Record, (topic, partition, offset, timestamp_ms, decoded_key, decoded, headers, epoch)))
        return found, None

    return decode
