"""An attempt of a task to write its rows once: what attempts before it wrote is found in the log, checked, and left out.

    1  leaders are asked what they know of the task's producer id in this epoch (DescribeProducers)
    2  the log is read from the floors where they know something, and where they may have forgotten it (an attempt that is not the first
       one, a run's first micro-batch up to where the driver found the log's end): a leader that knows nothing is no proof that
       nothing is there (`sink_found.py`)
    3  the first rows of a partition have to be those that are there; the rest is sent with the sequences that follow
    4  an attempt that may not be alone reads back what it was acknowledged: it has to be what it sent (`sink_acknowledged.py`)

What is not yet below the high watermark can still be lost, so it counts once it has been read. Rows have to come in the same order
in each attempt, and are compared; where they differ the attempt fails, and so does the query.

With another number of tasks rows are another task's: `foreign_rows.py`.

An attempt that Spark has given up may continue beside a later one: of both a partition takes each sequence once, and who comes second is
refused (OUT_OF_ORDER_SEQUENCE_NUMBER) and fails. The next attempt finds what both wrote. Where both have batches of the same sequences, the
second one's is acknowledged and not stored, whatever it holds: a partition compares numbers. Hence 4; `sink_repeats.py` says how the first
attempt learns that it is not alone. In the first micro-batch after a start an attempt of the run before may be there, so all compare.

Runs in: Python workers. Memory: 8 bytes for each row that is found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from headrace.client.active_producers import active_producers
from headrace.client.cluster import LATEST, Cluster
from headrace.client.engine.identity import GivenIdentity
from headrace.client.partitioner import partition_of
from headrace.ids import TopicPartition
from headrace.limits import SINK_TASKS_KNOWN_MAX
from headrace.protocol.record_batch import Header
from headrace.spark.errors import RowsDiffer
from headrace.spark.foreign_rows import ForeignRows, SinkRow, hash_row
from headrace.spark.sink_acknowledged import ADVICE, AcknowledgedRows
from headrace.spark.sink_floors import Floors, lowered
from headrace.spark.sink_found import FoundRows
from headrace.spark.sink_options import ALIKE_BATCH
from headrace.spark.sink_repeats import note_repeat, was_repeated
from headrace.spark.sink_task import SinkTask

KEYLESS_RUN = 1_000  # rows without key and partition that go into one partition, before the next one's turn
UNREAD_S = 10.0  # for what a leader knows of to be replicated
UNREAD_PAUSE_S = 0.2


class Attempt:
    """Where each row goes, and whether it is there already.

    floors        of the task; the number of its partitions places keys
    planned       ends of the partitions, before any task of this run
    batch_bytes   of the producer
    is_alike      tasks may have the same rows, and are as many as before: rows of other tasks don't count
    """

    def __init__(
        self,
        topic: str,
        task: SinkTask,
        floors: Floors,
        planned: dict[TopicPartition, int],
        *,
        batch_bytes: int,
        is_alike: bool = False,
    ) -> None:
        self._topic = topic
        self._task = task
        self._floors = floors
        self._planned = planned
        self._is_alike = is_alike
        self._found: dict[TopicPartition, list[int | None]] = {}  # rows that were stored, by their hashes
        self._taken: dict[TopicPartition, int] = {}  # rows of this attempt
        self._acknowledged = AcknowledgedRows(task, batch_bytes)
        self._is_alone = True  # as far as is known
        self._keyless = 0
        self._foreign = ForeignRows()

    def look(self, cluster: Cluster) -> None:
        """Find what is there. raises   RowsDiffer, KafkaError, ConnectionFailed"""
        names = self._partitions(cluster)
        known = cluster.retried(lambda: _told_of(cluster, names, self._task), {self._topic})
        if self._is_first_of_run:
            self._is_alone = False
        elif self._task.attempt or any(known.values()):
            self._is_alone = False
            cluster.retried(lambda: note_repeat(cluster, self._topic, self._task), {self._topic})
        if not self._is_alone:
            self._read(cluster, names, known)

    def _read(self, cluster: Cluster, names: list[TopicPartition], known: dict[TopicPartition, int]) -> None:
        """What is in the log; of this run only where an attempt of the task was there before."""
        ends = cluster.offsets(dict.fromkeys(names, LATEST))
        begins = lowered(cluster, self._floors, ends)
        if not (self._task.attempt or any(known.values())):
            ends = {name: min(end, self._planned.get(name, 0)) for name, end in ends.items()}
        found = FoundRows(self._task, begins, self._other_ids(), self._planned)
        found.read(cluster, ends)
        self._found = found.rows()
        deadline_s = time.monotonic() + UNREAD_S
        while missing := {name: count for name, count in known.items() if len(self._found.get(name, ())) < count}:
            if time.monotonic() > deadline_s:
                raise RowsDiffer(
                    f"{self._task}: leaders report rows {missing} that are not in the log from"
                    f" {self._floors.offsets} on: they were not replicated, or were deleted"
                )
            time.sleep(UNREAD_PAUSE_S)
            found.read(cluster, cluster.offsets(dict.fromkeys(missing, LATEST)))
            self._found = found.rows()
        self._foreign = found.foreign()

    def delivered(self, name: TopicPartition, base_offset: int, count: int) -> None:
        """A batch of the rows that were sent was acknowledged."""
        self._acknowledged.delivered(name, base_offset, count)

    def compare(self, cluster: Cluster) -> None:
        """All rows are acknowledged. raises   RowsDiffer, where others are stored in their place; KafkaError, ConnectionFailed"""
        if self._is_alone and not cluster.retried(lambda: was_repeated(cluster, self._task), {self._topic}):
            return
        self._acknowledged.compare(cluster)
        names = self._partitions(cluster)
        known = cluster.retried(lambda: _told_of(cluster, names, self._task), {self._topic})
        for name, count in known.items():
            taken = self._taken.get(name, 0)
            if count > taken:
                raise RowsDiffer(
                    f"{self._task}: another attempt wrote {count} rows to {name} at the same time, but this one has {taken}; {ADVICE}"
                )

    def _partitions(self, cluster: Cluster) -> list[TopicPartition]:
        cluster.retried(lambda: None, {self._topic})
        return sorted(name for name in cluster.partitions if name.topic == self._topic)

    @property
    def _is_first_of_run(self) -> bool:
        return not self._task.run or self._floors.run != self._task.run

    @property
    def identity(self) -> GivenIdentity:
        """Of the producer that writes the rest."""
        sequences = {name: len(rows) for name, rows in self._found.items()}
        return GivenIdentity(self._task.producer_id, self._task.epoch, sequences)

    def place(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header], partition: int | None
    ) -> int | None:
        """The partition that a row is to be sent to; None: it is there.

        raises   RowsDiffer, where another one is there in its place
        """
        if partition is None:
            partition = self._choose(key)
        name = TopicPartition(self._topic, partition)
        index, row_hash = self._taken.get(name, 0), hash_row(key, value, headers)
        self._taken[name] = index + 1
        found = self._found.get(name, ())
        if index >= len(found):
            self._acknowledged.sent(name, row_hash)
            return partition
        if found[index] not in (row_hash, None):
            raise RowsDiffer(
                f"{self._task}: row {index} of partition {name} is not the one that an earlier attempt wrote there; {ADVICE}"
            )
        return None

    def passed(self, row: SinkRow) -> list[SinkRow]:
        """What can be sent now that this row is to be sent. raises   RowsDiffer, where another task wrote it"""
        if self._foreign.is_empty:
            return [row]
        value, key, headers, _partition = row
        return self._own(self._foreign.passed(row, hash_row(key, value, headers)))

    def _own(self, rows: list[SinkRow] | None) -> list[SinkRow]:
        if rows is None:
            raise RowsDiffer(
                f"{self._task}: its next rows are already in {self._topic}, written by other tasks before the query"
                " was restarted: restart it with the same number of tasks (minPartitions,"
                " spark.sql.shuffle.partitions). If the number is the same and tasks have identical rows, restart"
                f" it with option {ALIKE_BATCH} {self._task.batch}"
            )
        return rows

    def finish(self) -> list[SinkRow]:
        """All rows were placed; returns those that are still to be sent. raises   RowsDiffer, where an earlier attempt wrote more"""
        for name, rows in self._found.items():
            taken = self._taken.get(name, 0)
            if len(rows) > taken:
                raise RowsDiffer(
                    f"{self._task}: an earlier attempt wrote {len(rows)} rows to {name}, this one has {taken}"
                )
        return self._own(self._foreign.released())

    def _choose(self, key: bytes | None) -> int:
        count = len(self._floors.offsets)
        if key is not None:
            return partition_of(key, count)
        turn = self._task.number + self._keyless // KEYLESS_RUN
        self._keyless += 1
        return turn % count

    def _other_ids(self) -> set[int]:
        """Producer ids of the micro-batch's other tasks, where a run before this one may have had another number of them."""
        if self._is_alike or not self._is_first_of_run:
            return set()
        numbers = set(range(SINK_TASKS_KNOWN_MAX)) - {self._task.number}
        return {self._task._replace(number=number).producer_id for number in numbers}


def _told_of(cluster: Cluster, names: list[TopicPartition], task: SinkTask) -> dict[TopicPartition, int]:
    """How many rows of a task its leaders have; 0 where they don't know the producer id in this epoch (any more).

    raises   KafkaError, ConnectionFailed
    """
    told = dict.fromkeys(names, 0)
    for leader, due in cluster.by_leader(names).items():
        for name, producers in active_producers(cluster.connection(leader), due).items():
            for one in producers:
                if one.producer_id == task.producer_id and one.producer_epoch == task.epoch:
                    told[name] = one.last_sequence + 1
    return told
