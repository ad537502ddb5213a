"""`FoundRows`: what a micro-batch has in its topic already, read from the floors on.

A task's rows have their places by the sequences of its batches. So where retention or the cleaner has passed, a row without a
record was stored and is gone since: it counts as there. That holds only where as many offsets are without a batch, or below the
log's start. Sequences that are missing where the log has no such gap were lost with a truncation.

Rows of other tasks count as far as the log went before any task of this run: what came since is theirs and of this run.

Runs in: Python workers. Memory: 8 bytes for each row that is found.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headrace.client.cluster import EARLIEST, Cluster
from headrace.ids import TopicPartition
from headrace.protocol.record_batch import RecordBatchHeader, iterate_batches, iterate_records
from headrace.spark.errors import RowsDiffer
from headrace.spark.foreign_rows import ForeignRows, hash_row
from headrace.spark.sink_task import SinkTask


@dataclass(slots=True)
class _Partition:
    """next_offset up to which the log was read; absent_offsets that no batch has since the task's last batch."""

    next_offset: int
    rows: list[int | None] = field(default_factory=list)
    absent_offsets: int = 0
    foreign: dict[int, list[int]] = field(default_factory=dict)


class FoundRows:
    """Of one attempt.

    begins       floors of the partitions, as the logs are now
    others       producer ids of the micro-batch's other tasks, whose rows count
    other_ends   of the partitions: rows of others count below
    """

    def __init__(
        self,
        task: SinkTask,
        begins: Mapping[TopicPartition, int],
        others: Collection[int],
        other_ends: Mapping[TopicPartition, int],
    ) -> None:
        self._task = task
        self._begins = begins
        self._others = others
        self._other_ends = other_ends
        self._partitions: dict[TopicPartition, _Partition] = {}

    def read(self, cluster: Cluster, ends: dict[TopicPartition, int]) -> None:
        """Read partitions up to these offsets, from where the last reading ended. raises   RowsDiffer, KafkaError, ConnectionFailed"""
        starts = cluster.offsets(dict.fromkeys(ends, EARLIEST))
        for name, end in ends.items():
            one = self._partitions.setdefault(name, _Partition(self._begins.get(name, 0)))
            for data in cluster.fetch(name, max(starts[name], one.next_offset), end):
                for _position, header, batch in iterate_batches(data):
                    one.absent_offsets += max(0, header.base_offset - one.next_offset)
                    one.next_offset = header.last_offset + 1
                    if header.producer_epoch == self._task.epoch:
                        self._take(name, one, header, batch)

    def rows(self) -> dict[TopicPartition, list[int | None]]:
        """Hashes of the task's rows, in the order of their sequences; None: it was stored, and is gone from the log."""
        return {name: one.rows for name, one in self._partitions.items() if one.rows}

    def foreign(self) -> ForeignRows:
        """The rows of other tasks."""
        found = ForeignRows()
        for one in self._partitions.values():
            for hashes in one.foreign.values():
                found.add(hashes)
        return found

    def _take(self, name: TopicPartition, one: _Partition, header: RecordBatchHeader, batch: memoryview) -> None:
        if header.producer_id == self._task.producer_id:
            self._check_next(name, one, header)
            gone: list[int | None] = [None] * (header.base_sequence - len(one.rows) + header.last_offset_delta + 1)
            base = len(gone) - header.last_offset_delta - 1 - header.base_offset
            for record in iterate_records(batch):
                gone[base + record.offset] = hash_row(record.key, record.value, record.headers)
            one.rows += gone
            one.absent_offsets = 0
        elif header.producer_id in self._others and header.base_offset < self._other_ends.get(name, 0):
            hashes = [hash_row(record.key, record.value, record.headers) for record in iterate_records(batch)]
            one.foreign.setdefault(header.producer_id, []).extend(hashes)

    def _check_next(self, name: TopicPartition, one: _Partition, header: RecordBatchHeader) -> None:
        """raises   RowsDiffer, where a batch of this task does not follow on the rows before it"""
        count = len(one.rows)
        if header.base_sequence < count:
            raise RowsDiffer(
                f"{self._task}: rows {header.base_sequence} to {count - 1} of {name} are in the log twice: its"
                " leader forgot the task (headrace.producer.ids.max) while an attempt was writing"
            )
        if header.base_sequence - count > one.absent_offsets:
            raise RowsDiffer(
                f"{self._task}: rows {count} to {header.base_sequence - 1} of {name} are missing from the log"
                f" before offset {header.base_offset}, where retention and compaction removed {one.absent_offsets}"
                " records: the log was truncated"
            )
