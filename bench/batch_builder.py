"""What a record costs a producer and a consumer, beside the ways there were: CPU nanoseconds a record, and ratios of one run.

Built: 100-byte values into one batch with its checksum, by `append`, `extend` and `extend_columns`, beside `build_batch` over `Record`
objects that are made as a producer made them, and kafka-python's builder. Hashed: keys to partitions, beside Python. Listed: records
with topic, partition and leader epoch, beside `list_records` without. Rounds alternate, medians are printed.

    python -m bench.batch_builder [--records 1000] [--rounds 9]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
from kafka.record.memory_records import MemoryRecordsBuilder

from headrace.client.partitioner import partition_in_python, partition_of
from headrace.protocol import record_kernel
from headrace.protocol.batch_builder import BatchBuilder, Column
from headrace.protocol.client_records import iterate_runs
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    Record,
    RecordBatchHeader,
    build_batch,
    parse_header,
    read_records,
)

VALUE_BYTES = 100
NOW_MS = 1_700_000_000_000
BATCH_BYTES = 1 << 30  # all records of a round are one batch
REPEATS = 20  # of each way in a round
PARTITIONS = 12


class ClientRecord(NamedTuple):
    """As a client's user gets it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int


Way = Callable[[], object]


def building(values: list[bytes], keys: list[bytes]) -> dict[str, Way]:
    """The ways to build a batch; the first is what the others are compared with."""
    builder = BatchBuilder()
    columns = [Column.of(pa.array(one, pa.binary())) for one in (values, keys)]
    count = len(values)

    def objects() -> object:
        return build_batch([Record(index, NOW_MS, None, value) for index, value in enumerate(values)])

    def kafka_python() -> object:
        peer = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=BATCH_BYTES)
        for value in values:
            peer.append(timestamp=NOW_MS, key=None, value=value)
        peer.close()
        return peer.buffer()

    def append() -> object:
        builder.clear()
        add = builder.append
        for value in values:
            add(NOW_MS, None, value)
        return builder.build()

    def append_keyed() -> object:
        builder.clear()
        add = builder.append
        for value, key in zip(values, keys, strict=True):
            add(NOW_MS, key, value)
        return builder.build()

    def append_headers() -> object:
        builder.clear()
        add = builder.append
        for value in values:
            add(NOW_MS, None, value, (("trace", b"0123456789abcdef"),))
        return builder.build()

    def extend() -> object:
        builder.clear()
        builder.extend(values, None, NOW_MS, 0, BATCH_BYTES)
        return builder.build()

    def extend_columns() -> object:
        builder.clear()
        builder.extend_columns(columns[0], None, NOW_MS, 0, count, BATCH_BYTES)
        return builder.build()

    def extend_columns_keyed() -> object:
        builder.clear()
        builder.extend_columns(columns[0], columns[1], NOW_MS, 0, count, BATCH_BYTES)
        return builder.build()

    assert objects() == append() == extend() == extend_columns()
    return {
        "build_batch of Record objects": objects,
        "kafka-python": kafka_python,
        "append": append,
        "append with a key": append_keyed,
        "append with a header": append_headers,
        "extend": extend,
        "extend_columns": extend_columns,
        "extend_columns with keys": extend_columns_keyed,
    }


def hashing(keys: list[bytes]) -> dict[str, Way]:
    """Keys to partitions."""
    return {
        "partition in Python": lambda: [partition_in_python(key, PARTITIONS) for key in keys],
        "partition_of": lambda: [partition_of(key, PARTITIONS) for key in keys],
    }


def listing(values: list[bytes], keys: list[bytes]) -> dict[str, Way]:
    """Records out of a batch."""
    batch = build_batch(zip(keys, values, strict=True), timestamp_ms=NOW_MS)
    data, header = batch[HEADER_BYTES:], parse_header(batch)

    def skipped() -> object:
        return list(iterate_runs(ClientRecord, "topic", 7, 3, data, header, len(values)))

    def for_a_client() -> object:
        return [one for run in iterate_runs(ClientRecord, "topic", 7, 3, data, header) for one in run]

    return {
        "read_records": lambda: list(read_records(data, header)),
        "iterate_runs for a client": for_a_client,
        "iterate_runs below the first offset": skipped,
        **functions(data, header),
    }


def functions(data: bytes, header: RecordBatchHeader) -> dict[str, Way]:
    """The kernel's functions by themselves, where it is built."""
    one, other = record_kernel.list_records, record_kernel.list_client_records
    if one is None or other is None:
        return {}
    numbers = (data, 0, header.record_count, header.last_offset_delta, header.base_offset, header.base_timestamp, None)
    return {
        "list_records": lambda: one(Record, *numbers),
        "list_client_records": lambda: other(ClientRecord, "topic", 7, 3, *numbers, 0),
    }


def measure(ways: dict[str, Way], records: int, rounds: int) -> dict[str, float]:
    """CPU nanoseconds a record, the median over the rounds."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begun = time.process_time_ns()
            for _ in range(REPEATS):
                way()
            found[name].append((time.process_time_ns() - begun) / REPEATS / records)
    return {name: statistics.median(times) for name, times in found.items()}


def report(found: dict[str, float], beside: str) -> None:
    for name, nanoseconds in found.items():
        print(f"{name:<36} {nanoseconds:9.1f} ns a record {nanoseconds / found[beside]:8.3f} x {beside}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    values = [index.to_bytes(VALUE_BYTES, "big") for index in range(given.records)]
    keys = [b"key-%012d" % index for index in range(given.records)]
    print(f"{given.records} records of {VALUE_BYTES} bytes; {BatchBuilder.__name__}\n")
    report(measure(building(values, keys), given.records, given.rounds), "build_batch of Record objects")
    report(measure(hashing(keys), given.records, given.rounds), "partition in Python")
    found = measure(listing(values, keys), given.records, given.rounds)
    report(found, "list_records" if "list_records" in found else "read_records")


if __name__ == "__main__":
    main()
