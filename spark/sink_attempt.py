"""An attempt of a task to write its rows once: what attempts before it wrote is found in the log, checked, and left out.

    1  leaders are asked what they know of the task's producer id in this epoch (DescribeProducers)
    2  where they know something, or nobody can be sure (the first micro-batch after a start), the log is read from the floors
    3  the first rows of a partition have to be those that are there; the rest is sent with the sequences that follow

What is not yet below the high watermark can still be lost, so it counts once it has been read. Rows have to come in the same order
in each attempt, and are compared; where they differ the attempt fails, and so does the query.

With another number of tasks rows are another task's: `foreign_rows.py`.

An attempt that Spark has given up may continue beside a later one: of both a partition takes each sequence once, and who comes second is
refused (OUT_OF_ORDER_SEQUENCE_NUMBER) and fails. The next attempt finds what both wrote.

Runs in: Python workers. Memory: 8 bytes for each row that is found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from headrace.client.cluster import EARLIEST, LATEST, Cluster, error_of
from headrace.client.partitioner import partition_of
from headrace.client.producer import Identity
from headrace.ids import TopicPartition
from headrace.limits import SINK_TASKS_KNOWN_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import Header, iterate_batches, iterate_records
from headrace.spark.errors import RowsDiffer
from headrace.spark.foreign_rows import ForeignRows, SinkRow
from headrace.spark.sink_floors import Floors
from headrace.spark.sink_task import SinkTask

KEYLESS_RUN = 1_000  # rows without key and partition that go into one partition, before the next one's turn
UNREAD_S = 10.0  # for what a leader knows of to be replicated
UNREAD_PAUSE_S = 0.2


class Attempt:
    """Where each row goes, and whether it is there already.

    floors   of the task; the number of its partitions places keys
    """

    def __init__(self, topic: str, task: SinkTask, floors: Floors) -> None:
        self._topic = topic
        self._task = task
        self._floors = floors
        self._found: dict[TopicPartition, list[int]] = {}  # rows that are in the log, by their hashes
        self._taken: dict[TopicPartition, int] = {}  # rows of this attempt
        self._keyless = 0
        self._foreign = ForeignRows()

    def look(self, cluster: Cluster) -> None:
        """Find what is there. raises   RowsDiffer, KafkaError, ConnectionFailed"""
        cluster.retried(lambda: None, {self._topic})
        names = sorted(name for name in cluster.partitions if name.topic == self._topic)
        known = cluster.retried(lambda: _told_of(cluster, names, self._task), {self._topic})
        if self._is_first_of_run or any(known.values()):
            deadline_s = time.monotonic() + UNREAD_S
            while True:
                self._found = self._read(cluster, names)
                missing = {name: count for name, count in known.items() if len(self._found.get(name, ())) < count}
                if not missing:
                    break
                if time.monotonic() > deadline_s:
                    raise RowsDiffer(
                        f"{self._task}: leaders know of rows {missing} that are not in the log from {self._floors.offsets} on: "
                        "not replicated, or deleted"
                    )
                time.sleep(UNREAD_PAUSE_S)

    @property
    def _is_first_of_run(self) -> bool:
        return not self._task.run or self._floors.run != self._task.run

    @property
    def identity(self) -> Identity:
        """Of the producer that writes the rest."""
        sequences = {name: len(rows) for name, rows in self._found.items()}
        return Identity(self._task.producer_id, self._task.epoch, sequences)

    def place(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header], partition: int | None
    ) -> int | None:
        """The partition that a row is to be sent to; None: it is there.

        raises   RowsDiffer, where another one is there in its place
        """
        if partition is None:
            partition = self._choose(key)
        name = TopicPartition(self._topic, partition)
        index = self._taken.get(name, 0)
        self._taken[name] = index + 1
        found = self._found.get(name, ())
        if index >= len(found):
            return partition
        if found[index] != _hash(key, value, headers):
            raise RowsDiffer(
                f"{self._task}: row {index} of partition {name} is not the one that an earlier attempt wrote there; exactly once "
                "needs the same rows in the same order in each attempt: sort them (sortWithinPartitions), and leave out what "
                "is drawn or read from a clock"
            )
        return None

    def passed(self, row: SinkRow) -> list[SinkRow]:
        """What can be sent now that this row is to be sent. raises   RowsDiffer, where another task wrote it"""
        value, key, headers, _partition = row
        return self._own(self._foreign.passed(row, _hash(key, value, headers)))

    def _own(self, rows: list[SinkRow] | None) -> list[SinkRow]:
        if rows is None:
            raise RowsDiffer(
                f"{self._task}: its next rows are in {self._topic}, written by other tasks before the query was started again: it has "
                "to continue with as many tasks as before (minPartitions, spark.sql.shuffle.partitions)"
            )
        return rows

    def finish(self) -> list[SinkRow]:
        """All rows were placed; returns those that are still to be sent. raises   RowsDiffer, where an earlier attempt wrote more"""
        for name, rows in self._found.items():
            if len(rows) > self._taken.get(name, 0):
                raise RowsDiffer(
                    f"{self._task}: an earlier attempt wrote {len(rows)} rows to {name}, this one has {self._taken.get(name, 0)}"
                )
        return self._own(self._foreign.released())

    def _choose(self, key: bytes | None) -> int:
        count = len(self._floors.offsets)
        if key is not None:
            return partition_of(key, count)
        turn = self._task.number + self._keyless // KEYLESS_RUN
        self._keyless += 1
        return turn % count

    def _read(self, cluster: Cluster, names: list[TopicPartition]) -> dict[TopicPartition, list[int]]:
        """Hashes of the rows of this task and micro-batch, in the order of their sequences."""
        starts = cluster.offsets(dict.fromkeys(names, EARLIEST))
        ends = cluster.offsets(dict.fromkeys(names, LATEST))
        own, others = self._task.producer_id, self._other_ids()
        found: dict[TopicPartition, list[int]] = {}
        self._foreign = ForeignRows()
        for name in names:
            start = max(starts[name], self._floors.offsets.get(name, 0))
            rows: list[int] = []
            foreign: dict[int, list[int]] = {}
            for data in cluster.fetch(name, start, ends[name]):
                for _position, header, batch in iterate_batches(data):
                    if header.producer_epoch != self._task.epoch:
                        continue
                    if header.producer_id in others:
                        foreign.setdefault(header.producer_id, []).extend(_hashes(batch))
                    if header.producer_id != own:
                        continue
                    if header.base_sequence != len(rows):
                        raise RowsDiffer(
                            f"{self._task}: rows {len(rows)} to {header.base_sequence - 1} of {name} are gone from the log "
                            "(retention, DeleteRecords, compaction)"
                        )
                    rows += _hashes(batch)
            if rows:
                found[name] = rows
            for hashes in foreign.values():
                self._foreign.add(hashes)
        return found

    def _other_ids(self) -> set[int]:
        """Producer ids of the micro-batch's other tasks, where a run before this one may have had another number of them."""
        if not self._is_first_of_run:
            return set()
        numbers = set(range(SINK_TASKS_KNOWN_MAX)) - {self._task.number}
        return {self._task._replace(number=number).producer_id for number in numbers}


def _hashes(batch: memoryview) -> list[int]:
    return [_hash(one.key, one.value, one.headers) for one in iterate_records(batch)]


def _hash(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    return hash((key, value, tuple(headers)))


def _told_of(cluster: Cluster, names: list[TopicPartition], task: SinkTask) -> dict[TopicPartition, int]:
    """How many rows of a task its leaders have; 0 where they don't know the producer id in this epoch (any more).

    raises   KafkaError, ConnectionFailed
    """
    kind = messages.DescribeProducersRequest
    told: dict[TopicPartition, int] = {}
    by_leader: dict[int, list[int]] = {}
    for name in names:
        by_leader.setdefault(cluster.leader(name), []).append(name.partition)
    for leader, indexes in by_leader.items():
        connection = cluster.connection(leader)
        request = kind(topics=[kind.TopicRequest(names[0].topic, indexes)])
        answer = connection.request(
            ApiKey.DESCRIBE_PRODUCERS, connection.version(ApiKey.DESCRIBE_PRODUCERS, 0, 0), request
        )
        for topic in answer.topics:
            for row in topic.partitions:
                name = TopicPartition(topic.name, row.partition_index)
                if row.error_code:
                    raise error_of(row.error_code, f"producers of {name}")
                told[name] = 0
                for one in row.active_producers:
                    if one.producer_id == task.producer_id and one.producer_epoch == task.epoch:
                        told[name] = one.last_sequence + 1
    return told
