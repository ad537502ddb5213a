"""`AcknowledgedRows`: what an attempt was acknowledged, by batch, and whether the log has it.

A leader that has a batch of the same sequences already acknowledges the second one with the first one's offset, whatever rows it has: a
partition compares numbers. So each batch is read back at the offset that its response reported:

    the attempt's batch, all records    its rows are compared
    the same, with fewer records        the cleaner has passed: nothing to compare
    a gap, or below the log's start     the cleaner or retention has passed
    another batch                       the log was truncated, and the rows are lost

Only the attempt's own batches are read, whatever others write between them.

Runs in: Python workers. Memory: 24 bytes for each batch; 8 bytes for each row that the producer has not delivered.
"""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from headrace.client.cluster import EARLIEST, FETCH_BYTES, LATEST, Cluster
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.record_batch import RecordBatchHeader, iterate_batches, iterate_records
from headrace.spark.errors import RowsDiffer
from headrace.spark.foreign_rows import hash_row
from headrace.spark.sink_task import SinkTask

REPLICATED_S = 10.0  # for what was acknowledged to be below the high watermark, after an election
REPLICATED_PAUSE_S = 0.2
ADVICE = (
    "exactly-once needs the same rows in the same order in each attempt: sort them (sortWithinPartitions), and avoid"
    " random values and clocks"
)


class _Batch(NamedTuple):
    """As it was acknowledged; `total` is a hash over its rows'."""

    base_offset: int
    rows: int
    total: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.rows - 1


class _Partition:
    """Batches as columns, and the hashes of rows that were sent and are not acknowledged yet."""

    __slots__ = ("base_offsets", "counts", "pending", "totals")

    def __init__(self) -> None:
        self.base_offsets, self.counts, self.totals = array("q"), array("q"), array("q")
        self.pending: deque[int] = deque()

    @property
    def end_offset(self) -> int:
        return max(base_offset + rows for base_offset, rows in zip(self.base_offsets, self.counts, strict=True))

    def batches(self) -> list[_Batch]:
        """In the order of their offsets."""
        return sorted(map(_Batch, self.base_offsets, self.counts, self.totals))


class AcknowledgedRows:
    """Of one attempt.

    batch_bytes   of the producer: about what a batch takes at most
    """

    def __init__(self, task: SinkTask, batch_bytes: int) -> None:
        self._task = task
        self._batch_bytes = batch_bytes
        self._partitions: dict[TopicPartition, _Partition] = {}

    def sent(self, name: TopicPartition, row_hash: int) -> None:
        """A row goes to the producer, as the partition's next one."""
        one = self._partitions.get(name)
        if one is None:
            one = self._partitions[name] = _Partition()
        one.pending.append(row_hash)

    def delivered(self, name: TopicPartition, base_offset: int, count: int) -> None:
        """A batch was acknowledged: the producer's `OnStored`."""
        one = self._partitions[name]
        one.base_offsets.append(base_offset)
        one.counts.append(count)
        one.totals.append(hash(tuple(one.pending.popleft() for _ in range(count))))

    def compare(self, cluster: Cluster) -> None:
        """raises   RowsDiffer, where the log has others in their place; KafkaError, ConnectionFailed"""
        self._wait(cluster)
        for name, one in self._partitions.items():
            self._compare(cluster, name, one.batches())

    def _wait(self, cluster: Cluster) -> None:
        """Until all is below the high watermarks. raises   RowsDiffer, KafkaError, ConnectionFailed"""
        due = {name: one.end_offset for name, one in self._partitions.items() if one.counts}
        deadline_s = None
        while due:
            ends = cluster.offsets(dict.fromkeys(due, LATEST))
            due = {name: end for name, end in due.items() if ends[name] < end}
            if not due:
                return
            if deadline_s is None:
                deadline_s = time.monotonic() + REPLICATED_S
            elif time.monotonic() > deadline_s:
                name = min(due)
                raise RowsDiffer(
                    f"{self._task}: rows of {name} were acknowledged up to offset {due[name]}, but the log ends at"
                    f" {ends[name]}: they were not replicated, or were truncated"
                )
            time.sleep(REPLICATED_PAUSE_S)

    def _compare(self, cluster: Cluster, name: TopicPartition, batches: list[_Batch]) -> None:
        start = -1
        while True:
            known, start = start, cluster.offsets({name: EARLIEST})[name]
            batches = [one for one in batches if one.last_offset >= start]
            done = 0
            try:
                for run in _runs(batches):
                    self._compare_run(cluster, name, start, run)
                    done += len(run)
                return
            except KafkaError as failure:
                if failure.code != ErrorCode.OFFSET_OUT_OF_RANGE or start == known:
                    raise  # else retention may have passed meanwhile
            batches = batches[done:]

    def _compare_run(self, cluster: Cluster, name: TopicPartition, start: int, run: list[_Batch]) -> None:
        """Batches that follow each other without a gap."""
        left = deque(run)
        end = run[-1].last_offset + 1
        size = min(FETCH_BYTES, (len(run) - 1) * self._batch_bytes + 1)  # 1: the first batch alone (KIP-74)
        for data in cluster.fetch(name, max(start, run[0].base_offset), end, bytes_max=size):
            for _position, header, batch in iterate_batches(data):
                while left and left[0].last_offset < header.base_offset:
                    left.popleft()
                if left and header.last_offset >= left[0].base_offset:
                    self._compare_batch(name, header, batch, left.popleft())

    def _compare_batch(self, name: TopicPartition, header: RecordBatchHeader, batch: memoryview, one: _Batch) -> None:
        place = f"rows of {name} from offset {one.base_offset} to {one.last_offset}"
        if (header.producer_id, header.producer_epoch) != (self._task.producer_id, self._task.epoch) or (
            header.base_offset, header.last_offset,
        ) != (one.base_offset, one.last_offset):  # fmt: skip
            raise RowsDiffer(
                f"{self._task}: {place} were acknowledged, and the log has the batch from {header.base_offset} to {header.last_offset} "
                f"of producer {header.producer_id} there: the log was truncated, and they are lost"
            )
        if header.record_count < one.rows:
            return
        if hash(tuple(hash_row(row.key, row.value, row.headers) for row in iterate_records(batch))) != one.total:
            raise RowsDiffer(
                f"{self._task}: {place} are not the {one.rows} of this attempt: another attempt wrote there at the"
                f" same time, with other rows or in another order; some rows may be lost or duplicated; {ADVICE}"
            )


def _runs(batches: list[_Batch]) -> Iterator[list[_Batch]]:
    run: list[_Batch] = []
    for one in batches:
        if run and one.base_offset != run[-1].last_offset + 1:
            yield run
            run = []
        run.append(one)
    if run:
        yield run
