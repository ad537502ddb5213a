"""One process of a mirror: its share of the partitions, from all sources, in one loop without threads.

    discover    which partitions of its share have a topic at the target
    locate      claim a partition in the journal, read the target's tail, find where it continues (`recovery.py`)
    fetch       one request to each leader of a source; what comes is planned, and its entries are in the journal before it is sent
    produce     several requests in flight to each leader of the target
    checkpoint  the position of a partition, once in `checkpoint_ms`; also before its lease passes

What differs where a partition is copied by key is in `keyed_copies.py`.

The order of what becomes durable: entry, batch, correction of the entry, position. docs/decisions/021 says why a restart at any point finds
its place.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.connection import ConnectionFailed, wait_for_answers
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import MIRROR_BYTES_MAX
from headrace.mirror.appender import is_idempotent
from headrace.mirror.identity import LaneName, data_producer_id, share_of
from headrace.mirror.journal import Journal, NotAlone
from headrace.mirror.journal_record import (
    Entry,
    Gap,
    KeyedPosition,
    Position,
    encode_entry,
    encode_gap,
    encode_position,
    encode_withdrawal,
)
from headrace.mirror.keyed_copies import KeyedCopies
from headrace.mirror.keyed_lane import KeyedLane, NotQuiet
from headrace.mirror.keyed_recovery import Contradiction
from headrace.mirror.lane import Lane, Outgoing
from headrace.mirror.outage import Outage
from headrace.mirror.partition_copy import WHOLE_TOPIC, CopyState, Outlet, PartitionCopy
from headrace.mirror.partitioner import KEEP, KEY
from headrace.mirror.passage import pass_on
from headrace.mirror.recovery import recover
from headrace.mirror.settings import MirrorSettings
from headrace.mirror.source import Source
from headrace.mirror.source_reader import Row, SourceReader
from headrace.mirror.target_tail import TargetLost, digest_at, read_tail
from headrace.mirror.target_writer import TargetWriter
from headrace.protocol.compression import CompressionError
from headrace.protocol.record_batch import CorruptRecord

IDLE_S = 0.05  # longest wait of a turn without an answer
LOOK_AGAIN_S = 1.0  # while topics are not there yet
FIRST_LOOK_S = 5.0  # after the start
DRAIN_S = 10.0  # of a clean stop, for what is in flight
LOCATED_PER_TURN = 20
RELOCATING = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)

log = logging.getLogger("headrace.mirror")


class Copier:
    """The loop of one process.

    number         of this process, among `settings.workers`
    should_stop    asked in each turn
    clock_s        counts while the machine is suspended: leases are measured with it
    """

    def __init__(
        self,
        settings: MirrorSettings,
        number: int,
        open_cluster: Callable[[str], Cluster],
        should_stop: Callable[[], bool],
        clock_s: Callable[[], float],
        wall_ms: Callable[[], int],
    ) -> None:
        self.settings = settings
        self.number = number
        self._should_stop = should_stop
        self._clock_s = clock_s
        self._wall_ms = wall_ms
        self.target = open_cluster(settings.target)
        self.journal = Journal(self.target, self._is_wanted, wall_ms, uuid4().hex)
        self._writer = TargetWriter(
            open_cluster(settings.target), self._may_send, self._stored, self._refused, self._send_failed
        )
        self._keyed = KeyedCopies(self.target, self.journal, self._append, wall_ms)
        self.sources = [self._source(bootstrap, open_cluster) for bootstrap in settings.sources]
        self._discover_s = 0.0
        self._begun_s = clock_s()
        self._missing = 1  # partitions of the sources without one at the target; not known before the first look

    def _source(self, bootstrap: str, open_cluster: Callable[[str], Cluster]) -> Source:
        outage = Outage(self._clock_s)
        is_committed = self.settings.is_read_committed
        reader = SourceReader(open_cluster(bootstrap), outage, is_committed, self._fetched, self._fetch_failed)
        return Source(bootstrap, open_cluster(bootstrap), reader, outage)

    # The journal of worker 0 knows all partitions: it carries groups over

    def _is_wanted(self, lane: LaneName) -> bool:
        if lane.mirror != self.settings.name:
            return False
        return self.number == 0 or share_of(lane, self.settings.workers) == self.number

    def start(self, needs_all: bool) -> None:
        """needs_all: no source may be away. One has to respond in any case. raises   ConnectionFailed, KafkaError"""
        silent = [source for source in self.sources if not source.responds()]
        if needs_all or len(silent) == len(self.sources):
            for source in silent:
                source.identify()
        self.target.retried(lambda: self.target.refresh([]), set())
        for source in self.sources:
            self._refuse_target(source)
        self.journal.create(self.settings.replication_factor)
        node_id = next(iter(self.target.brokers))
        self.journal.is_idempotent = is_idempotent(self.target.connection(node_id))
        if not self.journal.is_idempotent:
            log.warning("target does not support idempotence (before Kafka 0.11): a failure may duplicate records")
        self.journal.read()

    def _refuse_target(self, source: Source) -> None:
        """raises   KafkaError, where a source is the target"""
        if source.source_id and source.source_id == self.target.cluster_id and not self.settings.prefix:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"source {source.bootstrap} and target are the same cluster ({source.source_id})",
            )

    @property
    def copies(self) -> list[PartitionCopy]:
        return [copy for source in self.sources for copy in source.copies.values()]

    def is_caught_up(self) -> bool:
        """Whether each partition that is not stopped is copied to where the source ended at its last fetch, and no source is away.

        A partition whose topic is not there yet is waited for, but not long: it may be refused.
        """
        if any(one.is_away or not one.is_seen for one in self.sources):
            return False
        if self._missing and self._clock_s() < self._begun_s + FIRST_LOOK_S:
            return False
        return all(
            one.state is CopyState.STOPPED or (one.lane is not None and one.lane.is_idle and one.lag_records == 0)
            for one in self.copies
        )

    def turn(self) -> None:
        """One turn of the loop. raises   NotAlone"""
        now_s = self._clock_s()
        if now_s >= self._discover_s:
            self._discover(now_s)
        self._locate_due(now_s)
        copies = self.copies
        has_room = sum(one.lane.queued_bytes for one in copies if one.lane is not None) < MIRROR_BYTES_MAX
        self._writer.send([outlet for one in copies for outlet in one.outlets], now_s)
        for source in self.sources:
            source.reader.send(source.copies.values(), now_s, has_room)
        self._receive(IDLE_S)
        now_s = self._clock_s()
        self._writer.give_up_silent(now_s)
        for source in self.sources:
            source.reader.give_up_silent(now_s)
        self._checkpoints(now_s)

    def _receive(self, wait_s: float) -> None:
        readers = [source.reader for source in self.sources]
        keyed = [((0, node_id), connection) for node_id, connection in self._writer.connections()]
        for number, reader in enumerate(readers, 1):
            keyed += [((number, node_id), connection) for node_id, connection in reader.connections()]
        open_ones = [(key, connection) for key, connection in keyed if connection.fileno() >= 0]
        found = [index for index, (_key, connection) in enumerate(open_ones) if connection.has_begun_response]
        if not found:
            if not open_ones:
                time.sleep(wait_s)
                return
            found = wait_for_answers(
                ((index, connection) for index, (_key, connection) in enumerate(open_ones)), wait_s
            )
        now_s = self._clock_s()
        for index in found:
            number, node_id = open_ones[index][0]
            if number == 0:
                self._writer.receive(node_id, now_s)
            else:
                readers[number - 1].receive(node_id, now_s)

    def stop(self) -> None:
        """What is in flight is waited for, and the partitions are released. raises   NotAlone, KafkaError, ConnectionFailed"""
        deadline_s = self._clock_s() + DRAIN_S
        while not self._writer.is_idle and self._clock_s() < deadline_s:
            self._receive(IDLE_S)
            self._writer.give_up_silent(self._clock_s())
        is_drained = self._writer.is_idle
        for copy in self.copies:
            if copy.lane is not None and copy.is_claimed:
                now_s = self._clock_s()
                is_last = is_drained and copy.is_alone_at(now_s, self.settings.lease_ms)
                self._checkpoint(copy, now_s, is_released=is_last)

    def close(self) -> None:
        self._writer.close()
        self.target.close()
        for source in self.sources:
            source.close()

    # Partitions

    def _discover(self, now_s: float) -> None:
        self._discover_s = now_s + self.settings.refresh_ms / 1000
        pause_s = min(LOOK_AGAIN_S, self.settings.refresh_ms / 1000)
        try:
            self.target.refresh(None)
            if self.number:
                self.journal.read()  # origins, which process 0 writes
        except (ConnectionFailed, KafkaError, BadFrame) as failure:
            log.warning("discovery failed reason=%s", failure)
            self._discover_s = now_s + pause_s
            return
        self._missing = sum(self._look_at(source, now_s) for source in self.sources)
        if self._missing:
            self._discover_s = now_s + pause_s

    def _look_at(self, source: Source, now_s: float) -> int:
        """Returns how many partitions are not known yet; 0 of a source that is away."""
        if not source.responds():
            return 0
        try:
            self._refuse_target(source)
            source.cluster.refresh(None)
        except (ConnectionFailed, KafkaError, BadFrame) as failure:
            log.warning("discovery failed source=%s reason=%s", source.source_id, failure)
            return 1
        source.is_seen = True
        self._compare_ids(source, now_s)
        missing = self._add(source)
        for copy in source.copies.values():
            if copy.is_by_key:
                copy.grow(self._keyed.partitions_of(copy.target.topic))
        return missing

    def _compare_ids(self, source: Source, now_s: float) -> None:
        """A topic that was created again may have as many records by now, so that no fetch fails."""
        for copy in source.copies.values():
            found = source.cluster.topic_ids.get(copy.name.topic, "")
            if copy.topic_id and found and found != copy.topic_id and copy.state is not CopyState.STOPPED:
                copy.topic_id = found
                copy.try_again(now_s, f"topic {copy.name.topic} was re-created")

    def discover_soon(self) -> None:
        """Topics were created or have grown."""
        self._discover_s = 0.0

    def _add(self, source: Source) -> int:
        """Partitions that are new, of our share; returns how many have no partition at the target yet."""
        missing = 0
        for name in sorted(source.cluster.partitions):
            if name in source.copies or not self.settings.is_wanted(name.topic):
                continue
            if name.topic in source.cluster.internal_topics:
                continue
            lane = LaneName(self.settings.name, source.source_id, *name)
            target = self._target_of(lane)
            origin = self.journal.origins.get(self.settings.target_topic(name.topic))
            if target is None or origin is None or source.source_id not in origin.path:
                missing += 1
                continue
            if share_of(lane, self.settings.workers) == self.number:
                source.copies[name] = PartitionCopy(lane, target, source.cluster.topic_ids.get(name.topic, ""))
        return missing

    def _target_of(self, lane: LaneName) -> TopicPartition | None:
        """Where a partition goes; None: not known yet, or not there yet."""
        topic = self.settings.target_topic(lane.topic)
        notes = self.journal.lanes.get(lane)
        if notes is not None and notes.position is not None:
            partitioner = KEY if isinstance(notes.position, KeyedPosition) else KEEP
        else:
            partitioner = self.journal.partitioners.get(lane[:3], "")
        if partitioner == KEY:
            return TopicPartition(topic, WHOLE_TOPIC) if self._keyed.partitions_of(topic) else None
        name = TopicPartition(topic, lane.partition)
        return name if partitioner == KEEP and name in self.target.partitions else None

    def _source_of(self, copy: PartitionCopy) -> Source:
        return next(one for one in self.sources if one.source_id == copy.name.source)

    def _locate_due(self, now_s: float) -> None:
        due = [
            one for one in self.copies if one.state is CopyState.WAITING and now_s >= one.due_s and not one.in_flight
        ]
        for copy in due[:LOCATED_PER_TURN]:
            if self._should_stop():
                return
            try:
                self._locate(copy)
            except NotAlone:
                raise
            except (TargetLost, Contradiction) as failure:
                self._stop(copy, str(failure))
            except HeadraceError as failure:
                copy.try_again(self._clock_s(), str(failure))
                log.warning(
                    "position in the target not found lane=%s failures=%d reason=%s", copy.name, copy.failures, failure
                )

    def _locate(self, copy: PartitionCopy) -> None:
        claimed_s = self._clock_s()
        start = self._first_position(copy)
        position, entries, before = self.journal.claim(copy.name, start, not copy.is_claimed)
        if not copy.is_claimed:
            copy.claimed_s = claimed_s
            copy.is_alone = before.is_released or before.life == 0
        copy.is_claimed = True
        copy.is_alone_at(claimed_s, self.settings.lease_ms)
        copy.confirmed_s = claimed_s
        lane = self._locate_by_key(copy, position) if copy.is_by_key else self._locate_in_place(copy, position, entries)
        copy.open(lane)
        before_id = lane.acknowledged.topic_id
        if before_id and copy.topic_id and before_id != copy.topic_id:
            if not self._gap(copy, f"topic re-created: id {before_id} before, {copy.topic_id} now", True):
                return
        else:
            lane.acknowledged = replace(lane.acknowledged, topic_id=copy.topic_id)
        copy.state = CopyState.COPYING
        log.info(
            "partition located lane=%s life=%d source=%d ordinal=%d target=%d",
            copy.name, position.life, lane.next_offset, lane.acknowledged.ordinal, lane.acknowledged.target,
        )  # fmt: skip

    def _locate_by_key(self, copy: PartitionCopy, position: Position) -> KeyedLane:
        if not isinstance(position, KeyedPosition):
            raise Contradiction("the journal has a position that is not by key, written by another mirror of this name")
        return self._keyed.locate(copy, position)

    def _locate_in_place(self, copy: PartitionCopy, position: Position, entries: list[Entry]) -> Lane:
        if isinstance(position, KeyedPosition):
            raise Contradiction("the journal has a position by key, written by another mirror of this name")
        stored = []
        if self.journal.is_idempotent:
            stored = read_tail(self.target, copy.target, data_producer_id(copy.name), position.ordinal, position.target)
        recovered = recover(position, entries, stored, position.life)
        rows = [encode_entry(copy.name, entry) for entry in recovered.corrections]
        rows += [encode_withdrawal(copy.name, entry) for entry in recovered.refuted]
        rows.append(encode_position(copy.name, recovered.position))
        self.journal.append(copy.name, rows)
        lane = Lane(copy.name, copy.target, recovered)
        lane.may_prove = copy.is_alone
        return lane

    def _first_position(self, copy: PartitionCopy) -> Position:
        """Where a partition begins that the journal does not know."""
        if self.journal.notes(copy.name).position is not None:
            return Position(0, 0, 0, 0, 0)
        name = copy.name.source_partition
        when = LATEST if self.settings.starts_at_end else EARLIEST
        source = self._source_of(copy).cluster.offsets({name: when})[name]
        if copy.is_by_key:
            return self._keyed.first_position(copy, source)
        target = self.target.offsets({copy.target: LATEST})[copy.target]
        return Position(0, 0, source, 0, target, copy.topic_id)

    def _relocate(self, copy: PartitionCopy, reason: str) -> None:
        copy.try_again(self._clock_s(), reason)
        if copy.state is CopyState.STOPPED:
            log.error("partition stopped lane=%s reason=%s", copy.name, reason)
        else:
            log.warning(
                "partition will be located again lane=%s failures=%d reason=%s", copy.name, copy.failures, reason
            )

    def _stop(self, copy: PartitionCopy, reason: str) -> None:
        copy.stop(reason)
        log.error("partition stopped lane=%s reason=%s", copy.name, reason)

    # From the source

    def _fetched(self, copy: PartitionCopy, row: Row) -> None:
        lane = copy.lane
        assert lane is not None
        if row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(copy)
            return
        if row.error_code:
            self._stop(copy, f"the source refuses the fetch at offset {lane.next_offset}: error code {row.error_code}")
            return
        diverging = row.diverging_epoch
        if diverging is not None and diverging.end_offset >= 0:
            text = f"the source was truncated: epoch {lane.leader_epoch} ends at offset {diverging.end_offset}, it was read up to"
            self._gap(copy, f"{text} {lane.next_offset}", False, at_least=lane.next_offset)
            return
        is_committed = self.settings.is_read_committed
        copy.end_offset = row.last_stable_offset if is_committed and row.last_stable_offset >= 0 else row.high_watermark
        aborted = None
        if is_committed:
            aborted = [(one.first_offset, one.producer_id) for one in row.aborted_transactions or ()]
        try:
            if isinstance(lane, KeyedLane):
                self._keyed.fetched(copy, lane, memoryview(row.records or b""), aborted)
                return
            passage = pass_on(memoryview(row.records or b""), lane.next_offset, aborted, lane.is_after_removed)
        except (CorruptRecord, CompressionError) as failure:
            self._stop(copy, f"the source at offset {lane.next_offset}: {failure}")
            return
        except NotQuiet as failure:
            self._wait(copy, str(failure))
            return
        self._write_ahead(copy, lane.take(passage))

    def _wait(self, copy: PartitionCopy, reason: str) -> None:
        """Until nothing that was sent before can arrive any more."""
        due_s = copy.alone_from_s(self.settings.lease_ms)
        copy.wait_until(due_s, reason)
        log.warning(
            "partition waits lane=%s seconds=%.1f reason=%s", copy.name, max(0.0, due_s - self._clock_s()), reason
        )

    def _write_ahead(self, copy: PartitionCopy, entries: list[Entry]) -> None:
        if entries:
            self._append(copy, [encode_entry(copy.name, entry) for entry in entries])

    def _append(self, copy: PartitionCopy, rows: list[tuple[bytes, bytes | None]]) -> bool:
        """To the journal; where that fails the partition is located again, as what was written is not known. raises   NotAlone"""
        begun_s = self._clock_s()
        try:
            self.journal.append(copy.name, rows)
        except NotAlone:
            raise
        except HeadraceError as failure:
            self._relocate(copy, f"the journal can't be written: {failure}")
            return False
        copy.confirmed_s = begun_s
        return True

    def _out_of_range(self, copy: PartitionCopy) -> None:
        lane = copy.lane
        assert lane is not None
        name = copy.name.source_partition
        cluster = self._source_of(copy).cluster
        try:
            start = cluster.offsets({name: EARLIEST})[name]
            end = cluster.offsets({name: LATEST})[name]
        except HeadraceError as failure:
            self._relocate(copy, str(failure))
            return
        if lane.next_offset < start:
            text = f"the source begins at offset {start}, offset {lane.next_offset} comes next"
            self._gap(copy, f"{text}: retention or a deletion was faster", False, at_least=start)
        elif lane.next_offset > end:
            self._gap(
                copy,
                f"the source ends at offset {end}, offset {lane.next_offset} comes next: it was truncated or re-created",
                True,
            )

    def _gap(self, copy: PartitionCopy, reason: str, is_new_log: bool, at_least: int = 0) -> bool:
        """Stop, or skip what is gone; returns whether the copy goes on.

        is_new_log   offsets begin again: another generation
        """
        lane = copy.lane
        assert lane is not None
        if not self.settings.skips_gaps:
            self._stop(copy, reason)
            return False
        if isinstance(lane, KeyedLane) and copy.has_queued:
            return False  # the next fetch says the same, and by then what was fetched before is copied
        if isinstance(lane, Lane) and not lane.is_idle:
            copy.try_again(self._clock_s(), reason)  # what was fetched before the gap is copied first
            copy.failures -= 1
            return False
        before = lane.acknowledged
        offset = at_least
        if is_new_log:
            try:
                name = copy.name.source_partition
                offset = self._source_of(copy).cluster.offsets({name: EARLIEST})[name]
            except HeadraceError as failure:
                self._relocate(copy, str(failure))
                return False
        gap = Gap(before.generation, before.source, offset, reason, self._wall_ms())
        if isinstance(lane, KeyedLane):
            try:
                is_skipped = self._keyed.skip(copy, lane, gap, is_new_log)
            except NotQuiet as failure:
                self._wait(copy, f"{reason}; {failure}")
                return False
        else:
            lane.skip_to(offset, before.generation + is_new_log, copy.topic_id)
            position = replace(lane.acknowledged, time_ms=self._wall_ms())
            is_skipped = self._append(copy, [encode_gap(copy.name, gap), encode_position(copy.name, position)])
        log.warning("gap skipped lane=%s from=%d until=%d reason=%s", copy.name, gap.source, gap.until, reason)
        copy.gaps.append(reason)
        return is_skipped

    def _fetch_failed(self, copy: PartitionCopy, failure: HeadraceError) -> None:
        if isinstance(failure, KafkaError) and failure.code is ErrorCode.INCONSISTENT_TOPIC_ID:
            copy.try_again(self._clock_s(), str(failure))
            return
        copy.reason = str(failure)

    # To the target

    def _may_send(self, outlet: Outlet) -> bool:
        """The claim is fresh, or is asserted now. raises   NotAlone"""
        copy = outlet.copy
        now_s = self._clock_s()
        lease_s = self.settings.lease_ms / 1000
        is_alone_now = not copy.is_alone and copy.is_alone_at(now_s, self.settings.lease_ms)
        if is_alone_now and isinstance(copy.lane, Lane) and not copy.lane.may_prove:
            self._relocate(copy, "the lease of an earlier process has expired")
            copy.failures -= 1
            return False
        if now_s - copy.confirmed_s > lease_s / 2:
            return self._checkpoint(copy, now_s)
        return True

    def _stored(self, outlet: Outlet, outgoing: Outgoing, base_offset: int) -> None:
        copy, lane = outlet.copy, outlet.copy.lane
        if isinstance(lane, KeyedLane):
            self._keyed.stored(outlet, lane, base_offset)
            copy.progressed()
            return
        assert lane is not None
        if outgoing.digest and self.journal.is_idempotent:
            try:
                found = digest_at(self.target, copy.target, base_offset, outgoing.piece.records)
            except HeadraceError as failure:
                self._relocate(copy, f"a batch can't be read back: {failure}")
                return
            if found != outgoing.digest:
                self._relocate(copy, f"offset {base_offset} of the target has other records than those sent")
                return
        corrections = lane.acknowledge(base_offset)
        copy.progressed()
        self._write_ahead(copy, corrections)

    def _refused(self, outlet: Outlet, outgoing: Outgoing, failure: KafkaError) -> None:
        copy = outlet.copy
        if failure.code in RELOCATING:
            self._relocate(copy, str(failure))
            return
        first, last = outgoing.piece.runs[0].offset, outgoing.piece.next_offset - 1
        self._stop(copy, f"the target refuses source offsets {first} to {last}: {failure}")

    def _send_failed(self, outlet: Outlet, failure: HeadraceError) -> None:
        outlet.copy.left_unanswered(self._clock_s())
        outlet.copy.reason = str(failure)

    # Positions

    def _checkpoints(self, now_s: float) -> None:
        for copy in self.copies:
            lane = copy.lane
            if lane is None or copy.state is not CopyState.COPYING or now_s < copy.checkpoint_s:
                continue
            if isinstance(lane, KeyedLane):
                copy.checkpoint_s = now_s + self.settings.checkpoint_ms / 1000
                is_due = self._keyed.is_due(copy, lane, now_s)
            else:
                is_due = (lane.acknowledged.source, lane.acknowledged.target) != copy.saved
            if is_due:
                self._checkpoint(copy, now_s)

    def _checkpoint(self, copy: PartitionCopy, now_s: float, is_released: bool = False) -> bool:
        """raises   NotAlone"""
        lane = copy.lane
        if lane is None:
            return False
        if isinstance(lane, KeyedLane):
            return self._keyed.checkpoint(copy, lane, now_s, is_released)
        position = replace(lane.acknowledged, time_ms=self._wall_ms(), is_released=is_released)
        rows = [encode_withdrawal(copy.name, entry) for entry in lane.obsolete()]
        rows.append(encode_position(copy.name, position))
        if not self._append(copy, rows):
            return False
        copy.saved = (position.source, position.target)
        copy.checkpoint_s = now_s + self.settings.checkpoint_ms / 1000
        return True
