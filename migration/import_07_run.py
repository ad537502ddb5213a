"""One import of Kafka 0.7's logs: partition by partition, batch by batch, and read back at the end.

For each partition: batches that an interrupted run left in flight are searched for in the topic and counted; then batches are sent,
and the state is synced after each; at the end the topic's records are read, and their count and checksum compared with the source's.

It prints nothing: what happens goes to a `Report`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from zlib import crc32

from headrace.client.cluster import Cluster
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.limits import IMPORTED_BATCH_RECORDS_MAX
from headrace.log.kafka07.log_07 import Carried, Damage, Log07, partitions_07
from headrace.migration.consumers_07 import ConsumerOffsets07, GroupOffset, read_offsets_07
from headrace.migration.import_07_state import BadState, ImportState, PartitionProgress, StateFile
from headrace.migration.import_topic import ImportTopic, Writer, following

RECORD_OVERHEAD_BYTES = 24  # of a record without a key: varints, and a little more


class Damaged(HeadraceError):
    """A message can't be read, and the plan doesn't allow to skip it."""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What was asked for. `timestamp` is "import", "file" or "none".

    consumers   connect string of the ZooKeeper that has the offsets of 0.7's consumers; empty: they stay there
    broker_id   whose log the directory is; None: there is one broker only
    """

    directory: Path
    source_topic: str
    topic: str
    state_file: Path
    compression: str
    timestamp: str
    batch_bytes: int
    is_damage_skipped: bool
    is_read_back: bool
    consumers: str = ""
    broker_id: int | None = None


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What the topic has of a partition's import; `start_offset` alone where retention removed some of it."""

    start_offset: int
    is_complete: bool = False
    count: int = 0
    checksum: int = 0


class Report(Protocol):
    """Who is told how the import proceeds."""

    def carrying(self, partition: int, messages: int, bytes_done: int, bytes_all: int) -> None:
        """Called after each batch; bytes are those of all partitions."""

    def reading_back(self, partition: int, count: int, messages: int) -> None:
        """Called after each IMPORTED_BATCH_RECORDS_MAX records."""

    def damaged(self, damage: Damage) -> None:
        """Damage was skipped, in this run."""

    def partition(self, partition: int, row: PartitionProgress, found: ReadBack | None) -> bool:
        """A partition is done; None: not read back. Returns whether the topic has what the source had."""

    def consumer(self, found: GroupOffset) -> None:
        """The offset of a group in a partition is stored, or is not."""

    def total(self, topic: str, rows: Iterable[PartitionProgress]) -> None:
        """All partitions are done."""


def run(plan: ImportPlan, cluster: Cluster, report: Report) -> bool:
    """Whether everything was carried and reads back equal. raises HeadraceError"""
    try:
        logs = partitions_07(plan.directory, plan.source_topic)
    except OSError as failure:
        raise HeadraceError(f"{plan.directory}: {failure.strerror or failure}") from None
    groups = read_offsets_07(plan.consumers, plan.source_topic, plan.broker_id) if plan.consumers else {}
    states = StateFile(plan.state_file)
    target = ImportTopic(cluster, plan.topic)
    try:
        target.prepare(max(logs) + 1)
        one = _Import(plan, logs, states, target, report)
        is_equal = one.run()
        state = one.state
        carried = ConsumerOffsets07(cluster, target, logs, state.partitions, state.producer_id, report).carry(groups)
        return is_equal and carried
    except OSError as failure:
        raise HeadraceError(str(failure)) from None
    finally:
        cluster.close()
        states.close()


class _Import:
    def __init__(
        self, plan: ImportPlan, logs: dict[int, Log07], states: StateFile, target: ImportTopic, report: Report
    ) -> None:
        self._plan = plan
        self._logs = logs
        self._states = states
        self._target = target
        self._told = report
        self._bytes_all = sum(log.size_bytes() for log in logs.values())
        self._bytes_before = 0  # of partitions that are done
        self._state = self._open_state()

    @property
    def state(self) -> ImportState:
        """How far the import is."""
        return self._state

    def run(self) -> bool:
        for number, log in self._logs.items():
            self._carry(number, log)
            self._bytes_before += log.size_bytes()
        is_equal = True
        for number in self._logs:
            is_equal &= self._compare(number)
        self._told.total(self._plan.topic, self._state.partitions.values())
        return is_equal

    def _open_state(self) -> ImportState:
        """The state of an interrupted run of the same import, or a new one."""
        plan, target = self._plan, self._target
        source = str(plan.directory.resolve())
        state = self._states.read()
        if state is None:
            producer_id, epoch = target.new_producer()
            state = ImportState(
                source, plan.source_topic, plan.topic, target.cluster_id, plan.batch_bytes, producer_id, epoch
            )
            self._states.write(state)
        wanted = (source, plan.source_topic, plan.topic, target.cluster_id)
        if (state.source, state.source_topic, state.topic, state.cluster_id) != wanted:
            raise BadState(
                f"{self._states.path}: belongs to another import, of {state.source_topic} in {state.source} into"
                f" {state.topic} of cluster {state.cluster_id}: use another file (--state) or remove this one"
            )
        return state

    def _carry(self, number: int, log: Log07) -> None:
        """Bring one partition to the end of its source."""
        target, states = self._target, self._states
        row = self._state.partitions.setdefault(number, PartitionProgress())
        if row.target_end < 0:
            row.first_offset = row.target_end = target.end_offset(number)
            states.write(self._state)
        end_offset = target.end_offset(number)
        if end_offset < row.target_end:
            raise HeadraceError(
                f"partition {number} of {target.topic} ends at offset {end_offset}, but {states.path} says {row.target_end}:"
                " records were lost, or the topic was recreated; remove the state file to import from the beginning"
            )
        producer_id = self._state.producer_id
        arrived, end = target.arrived(number, row.target_end, producer_id, row.next_sequence)
        for group in self._groups(log, row):
            if arrived:
                there, group = group[:arrived], group[arrived:]
                arrived -= len(there)
                row.target_end = row.target_end if arrived else end
                self._count(row, there)
                states.write(self._state)
            if group:
                row.target_end = self._send(number, row, group)
                self._count(row, group)
                states.write(self._state)
            self._show(number, row, log)
        if arrived:
            raise HeadraceError(f"partition {number}: the topic has {arrived} more messages than the source")
        states.write(self._state)  # damage at the end of the source

    def _send(self, number: int, row: PartitionProgress, group: list[Carried]) -> int:
        """Send a batch; returns the offset after its last record."""
        payloads = [one.payload for one in group]
        state = self._state
        writer = Writer(state.producer_id, state.producer_epoch, row.next_sequence, self._plan.compression)
        try:
            offset = self._target.send(number, payloads, writer, self._timestamp_ms(number, group[0]))
        except KafkaError as failure:
            if failure.code is ErrorCode.UNKNOWN_PRODUCER_ID and row.next_sequence:
                row.next_sequence = 0  # forgotten after a day, and so is no duplicate: nothing of this batch is there
                self._states.write(state)
                return self._send(number, row, group)
            place = group[0].place
            where = f"{self._logs[number].path_of(place.segment)} byte {place.position}"
            if failure.code is ErrorCode.MESSAGE_TOO_LARGE:
                size = sum(map(len, payloads))
                advice = f"raise max.message.bytes of {self._plan.topic} well above {size}, or lower --batch-bytes"
                raise HeadraceError(f"{where}: {failure}: {advice}") from None
            raise HeadraceError(f"{where}: {failure}") from None
        if offset >= 0:
            return offset + len(group)
        arrived, end = self._target.arrived(number, row.target_end, self._state.producer_id, row.next_sequence)
        if arrived != len(group):
            raise HeadraceError(
                f"partition {number}: the broker refused sequence {row.next_sequence} of producer"
                f" {self._state.producer_id} as duplicate or out of order, but the topic has {arrived} of {len(group)} records"
            )
        return end

    def _groups(self, log: Log07, row: PartitionProgress) -> Iterator[list[Carried]]:
        """Messages for one batch each. Where a group ends follows from where it begins, in every run."""
        limit = self._state.batch_bytes
        group: list[Carried] = []
        size = 0
        for one in log.read(row.start, lambda damage: self._on_damage(row, damage)):
            cost = len(one.payload) + RECORD_OVERHEAD_BYTES
            if group and (size + cost > limit or len(group) >= IMPORTED_BATCH_RECORDS_MAX):
                yield group
                group, size = [], 0
            group.append(one)
            size += cost
        if group:
            yield group

    def _count(self, row: PartitionProgress, group: list[Carried]) -> None:
        checksum = row.checksum
        for one in group:
            checksum = add_to_checksum(checksum, one.payload)
            row.bytes += len(one.payload)
        row.checksum = checksum
        row.count += len(group)
        row.next_sequence = following(row.next_sequence, len(group))
        place = group[-1].next_place
        row.place = (place.segment, place.position, place.inner)

    def _on_damage(self, row: PartitionProgress, damage: Damage) -> None:
        if not self._plan.is_damage_skipped:
            raise Damaged(f"{damage} -> --skip-damaged skips it")
        place = (damage.place.segment, damage.place.position, damage.place.inner)
        if row.last_damage is None or place > row.last_damage:
            row.damaged += 1
            row.lost_bytes += damage.lost_bytes
            row.last_damage = place
        self._told.damaged(damage)

    def _timestamp_ms(self, number: int, first: Carried) -> int:
        if self._plan.timestamp == "none":
            return -1
        if self._plan.timestamp == "file":
            return int(self._logs[number].path_of(first.place.segment).stat().st_mtime * 1000)
        return int(time.time() * 1000)

    def _show(self, number: int, row: PartitionProgress, log: Log07) -> None:
        assert row.place is not None
        done = self._bytes_before + row.place[0] + row.place[1] - log.segments[0]
        self._told.carrying(number, row.count, done, self._bytes_all)

    def _compare(self, number: int) -> bool:
        """Whether the topic has what the source had of a partition, as far as the plan wants to know."""
        row = self._state.partitions[number]
        found = self._read_back(number, row) if row.count and self._plan.is_read_back else None
        return self._told.partition(number, row, found)

    def _read_back(self, number: int, row: PartitionProgress) -> ReadBack:
        first = self._target.start_offset(number)
        if first > row.first_offset:
            return ReadBack(first)
        count = checksum = 0
        for payload in self._target.payloads(number, row.first_offset, row.target_end, self._state.producer_id):
            checksum = add_to_checksum(checksum, payload)
            count += 1
            if not count % IMPORTED_BATCH_RECORDS_MAX:
                self._told.reading_back(number, count, row.count)
        return ReadBack(first, True, count, checksum)


def add_to_checksum(checksum: int, payload: bytes) -> int:
    """CRC-32 over length and bytes of payload after payload."""
    return crc32(payload, crc32(len(payload).to_bytes(4, "big"), checksum))
