"""The run of `headrace import-07`: partition by partition, batch by batch, and a report that was read back.

For each partition: what a broken run left in flight is looked for in the topic and counted; then batches are sent, and the state
is synced behind each; at the end what the topic has is read, and its count and checksum are held against the source's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from headrace.cli.dump_text import printable
from headrace.cli.import_07_state import BadState, ImportState, PartitionState, StateFile
from headrace.cli.progress import ProgressLine, bytes_text
from headrace.client.cluster import Cluster
from headrace.client.import_topic import ImportTopic, Writer, following
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.limits import DAMAGES_SHOWN_MAX, IMPORTED_BATCH_RECORDS_MAX
from headrace.log.kafka07.log_07 import Carried, Damage, Log07, partitions_07

RECORD_OVERHEAD_BYTES = 24  # of a record without a key: varints, and a little more


class Damaged(HeadraceError):
    """A message that can't be read, and may not be left out."""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What was asked for. `timestamp` is "import", "file" or "none"."""

    directory: Path
    source_topic: str
    topic: str
    state_file: Path
    compression: str
    timestamp: str
    batch_bytes: int
    is_damage_skipped: bool
    is_read_back: bool
    is_quiet: bool


def run(plan: ImportPlan, cluster: Cluster) -> int:
    """0 where all was carried and reads back equal, else 1. raises HeadraceError"""
    try:
        logs = partitions_07(plan.directory, plan.source_topic)
    except OSError as failure:
        raise HeadraceError(f"{plan.directory}: {failure.strerror or failure}") from None
    states = StateFile(plan.state_file)
    target = ImportTopic(cluster, plan.topic)
    try:
        target.prepare(max(logs) + 1)
        return _Import(plan, logs, states, target).run()
    except OSError as failure:
        raise HeadraceError(str(failure)) from None
    finally:
        cluster.close()
        states.close()


class _Import:
    def __init__(self, plan: ImportPlan, logs: dict[int, Log07], states: StateFile, target: ImportTopic) -> None:
        self._plan = plan
        self._logs = logs
        self._states = states
        self._target = target
        self._line = ProgressLine(plan.is_quiet)
        self._bytes_all = sum(log.size_bytes() for log in logs.values())
        self._bytes_before = 0  # of partitions that are done
        self._started_s = time.monotonic()
        self._damages_shown = 0
        self._state = self._open_state()

    def run(self) -> int:
        is_equal = True
        try:
            for number, log in self._logs.items():
                self._carry(number, log)
                self._bytes_before += log.size_bytes()
        finally:
            self._line.clear()
        for number in self._logs:
            is_equal &= self._report(number)
        rows = self._state.partitions.values()
        count, size = sum(row.count for row in rows), sum(row.bytes for row in rows)
        damaged = sum(row.damaged for row in rows)
        left_out = f", {damaged} damaged places left out" if damaged else ""
        print(f"{self._plan.topic}: {count} messages, {bytes_text(size)} in {len(self._logs)} partitions{left_out}")
        return int(not is_equal)

    def _open_state(self) -> ImportState:
        """The state of a broken run of the same import, or a new one."""
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
                f"{self._states.path}: is the state of another import, of {state.source_topic} in {state.source} into"
                f" {state.topic} of cluster {state.cluster_id}; another file (--state), or remove it"
            )
        return state

    def _carry(self, number: int, log: Log07) -> None:
        """Bring one partition to the end of its source."""
        target, states = self._target, self._states
        row = self._state.partitions.setdefault(number, PartitionState())
        if row.target_end < 0:
            row.first_offset = row.target_end = target.end_offset(number)
            states.write(self._state)
        end_offset = target.end_offset(number)
        if end_offset < row.target_end:
            raise HeadraceError(
                f"partition {number} of {target.topic} ends at offset {end_offset}, {states.path} says {row.target_end}:"
                " records are gone, or the topic was made anew; without the state file the import begins anew too"
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
            raise HeadraceError(f"partition {number}: {arrived} messages more in the topic than in the source")
        states.write(self._state)  # damaged places at the end

    def _send(self, number: int, row: PartitionState, group: list[Carried]) -> int:
        """Send a batch; returns the offset behind it."""
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
                advice = (
                    f"raise max.message.bytes of {self._plan.topic} above {size} and something, or --batch-bytes less"
                )
                raise HeadraceError(f"{where}: {failure}: {advice}") from None
            raise HeadraceError(f"{where}: {failure}") from None
        if offset >= 0:
            return offset + len(group)
        arrived, end = self._target.arrived(number, row.target_end, self._state.producer_id, row.next_sequence)
        if arrived != len(group):
            raise HeadraceError(
                f"partition {number}: the broker says that sequence {row.next_sequence} of producer"
                f" {self._state.producer_id} is there or out of order, and {arrived} of {len(group)} records are"
            )
        return end

    def _groups(self, log: Log07, row: PartitionState) -> Iterator[list[Carried]]:
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

    def _count(self, row: PartitionState, group: list[Carried]) -> None:
        checksum = row.checksum
        for one in group:
            checksum = add_to_checksum(checksum, one.payload)
            row.bytes += len(one.payload)
        row.checksum = checksum
        row.count += len(group)
        row.next_sequence = following(row.next_sequence, len(group))
        place = group[-1].next_place
        row.place = (place.segment, place.position, place.inner)

    def _on_damage(self, row: PartitionState, damage: Damage) -> None:
        if not self._plan.is_damage_skipped:
            raise Damaged(f"{damage} -> --skip-damaged leaves it out")
        place = (damage.place.segment, damage.place.position, damage.place.inner)
        if row.last_damage is None or place > row.last_damage:
            row.damaged += 1
            row.lost_bytes += damage.lost_bytes
            row.last_damage = place
        self._damages_shown += 1
        if self._damages_shown <= DAMAGES_SHOWN_MAX:
            self._line.clear()
            print(printable(f"damaged, left out: {damage} ({damage.lost_bytes} bytes)"))

    def _timestamp_ms(self, number: int, first: Carried) -> int:
        if self._plan.timestamp == "none":
            return -1
        if self._plan.timestamp == "file":
            return int(self._logs[number].path_of(first.place.segment).stat().st_mtime * 1000)
        return int(time.time() * 1000)

    def _show(self, number: int, row: PartitionState, log: Log07) -> None:
        assert row.place is not None
        done = self._bytes_before + row.place[0] + row.place[1] - log.segments[0]
        share = 100 * done // self._bytes_all if self._bytes_all else 100
        rate = done / max(time.monotonic() - self._started_s, 0.001)
        self._line.show(
            f"import {share}%  partition {number}  {bytes_text(done)} of {bytes_text(self._bytes_all)}"
            f"  {row.count} messages  {bytes_text(rate)}/s"
        )

    def _report(self, number: int) -> bool:
        """A line for a partition; whether the topic has what the source had."""
        row = self._state.partitions[number]
        text = f"partition {number}: {row.count} messages, {bytes_text(row.bytes)}, checksum {row.checksum:08x}"
        if row.damaged:
            text += f", {row.damaged} damaged places left out ({row.lost_bytes} bytes)"
        if not row.count or not self._plan.is_read_back:
            print(text)
            return True
        text += f", offsets {row.first_offset} to {row.target_end - 1}"
        first = self._target.start_offset(number)
        if first > row.first_offset:
            print(f"{text}, not read back: the topic begins at {first} by now")
            return True
        count = checksum = 0
        for payload in self._target.payloads(number, row.first_offset, row.target_end, self._state.producer_id):
            checksum = add_to_checksum(checksum, payload)
            count += 1
            if not count % IMPORTED_BATCH_RECORDS_MAX:
                self._line.show(f"read back  partition {number}  {count} of {row.count} messages")
        self._line.clear()
        is_equal = (count, checksum) == (row.count, row.checksum)
        found = "equal" if is_equal else f"DIFFERENT: {count} messages, checksum {checksum:08x}"
        print(f"{text}, read back: {found}")
        return is_equal


def add_to_checksum(checksum: int, payload: bytes) -> int:
    """CRC-32 over length and bytes of payload after payload."""
    return crc32(payload, crc32(len(payload).to_bytes(4, "big"), checksum))
