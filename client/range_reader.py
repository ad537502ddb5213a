"""Records of partitions from one offset to another, for tools and tests: what is there, and then an end.

    for records in read_ranges(kafka, starts, ends): ...

A consumer without a group reads all of them at once; a partition is paused where it has reached its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

from headrace.client.failures import WaitTimedOut
from headrace.client.kafka import Kafka
from headrace.client.records import RawRecord
from headrace.ids import TopicPartition

POLL_S: Final = 0.05
POLL_RECORDS: Final = 10_000
SILENT_S: Final = 60.0  # without progress in any partition


def read_ranges(
    kafka: Kafka,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    *,
    is_read_committed: bool = False,
    silent_s: float = SILENT_S,
) -> Iterator[list[RawRecord]]:
    """Lists of records, each of one partition, those of a partition in order.

    ends       the offsets after the last records that are wanted, of the same partitions
    silent_s   how long no partition may move
    raises     KafkaError, OFFSET_OUT_OF_RANGE among others; CorruptRecord, CompressionError; WaitTimedOut
    """
    left = {name for name, end in ends.items() if starts[name] < end}
    if not left:
        return
    isolation = "read_committed" if is_read_committed else "read_uncommitted"
    with kafka.consumer(partitions=sorted(left), start="none", isolation_level=isolation) as consumer:
        consumer.start_at({name: starts[name] for name in left})
        seen: dict[TopicPartition, int] = {}
        moved_s = time.monotonic()
        while left:
            records = consumer.poll(POLL_S, POLL_RECORDS)
            positions = consumer.positions
            if records:
                name = records[0].topic_partition
                positions[name] = records[-1].offset + 1
                wanted = [record for record in records if record.offset < ends[name]]
                if wanted:
                    yield wanted
            if positions != seen:
                seen, moved_s = positions, time.monotonic()
            elif time.monotonic() - moved_s >= silent_s:
                waits = "; ".join(consumer.health()["waits_for"]) or "records"
                raise WaitTimedOut(
                    f"{_places(left, seen, ends)}: no progress within {silent_s:g} s; waiting for {waits}"
                )
            done = [name for name in left if positions.get(name, 0) >= ends[name]]
            consumer.pause(*done)
            left.difference_update(done)


def _places(
    left: set[TopicPartition], positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> str:
    return ", ".join(f"{name} at offset {positions.get(name, -1)} of {ends[name]}" for name in sorted(left))
