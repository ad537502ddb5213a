"""One partition that follows another node's leader, under one leader epoch; its log parts from the leader's nowhere, or is cut.

Runs in: the partition worker that owns the partition. Another leader epoch, or another replica in its slot, makes another of
these (`fetchers.py`), so that nothing that was asked for an older one is ever applied to it.

    apply   what a fetch brought: records, the leader's high watermark and log start offset     (`Replica.follow`)
    part    where the leader's log parts from ours: ours is cut there                           (`Replica.truncate`)
    reset   our end, or that batch, is not in the leader's log: cut to its end, or restarted at its start
    prove   the first fetch under each leader and leader epoch begins with the last batch that we have: the leader's is the same one,
            or the two logs parted though their epochs and offsets agree (a restored ZooKeeper gave an epoch twice: decision 015). It
            says the epoch of the record before, as each fetch does: where the logs parted before that, ours is cut, and the batch
            before is asked for. Where the answer has no record, the leader is asked where its log ends; and where it has one there,
            asked on until an answer has room for it. Where its log begins within our last batch, that batch is asked for from there.
            Another epoch in its place is where the logs part, or they part before. The answer gives the proof alone, it has room for one
            batch, and our leaders do not count it (NO_LOG_START): the next fetch begins at our end, and says our latest epoch, so that
            one in which nothing was written is found before records follow it
    doubt   a cut is refused, and no content was compared: where the leader's log ends is no place where the two parted, if an epoch was
            given twice. So the batch before that place is asked for. The same one: they parted there. Else, and where the leader's log
            has that batch no longer, they did where its epoch begins, or before (decision 015)

Where the log has more than its leader in the leader's own epoch, or in the same batch's place another one, or would be truncated below
its high watermark by a leader of the same era (decision 015), nothing is truncated: the controller is notified (`Replica.tell_ahead`). It
compares all replicas, and has the best one lead, or leaves it to an operator.

Each takes what the disk refuses for what it is (`Replica.fail`), and says what becomes of the partition.

Source: Kafka `ReplicaFetcherThread.processPartitionData`, `truncate`, `AbstractFetcherThread.fetchOffsetAndTruncate`,
`Partition.appendRecordsToFollowerOrFutureReplica`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from headrace.backoff import pause_after
from headrace.errors import HeadraceError, StorageExhausted, StorageFailed
from headrace.ids import NO_EPOCH, NO_LOG_START
from headrace.leader_eras import era_of
from headrace.limits import FETCH_PAUSE_FIRST_MS
from headrace.log.state.leader_epochs import epoch_of
from headrace.log.writing.follower_append import OffsetsOutOfOrder
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    CorruptRecord,
    RecordBatchHeader,
    parse_header,
)
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replication.divergence import find_cut
from headrace.workers.partition.replication.fetch_session import Subject, Wish
from headrace.workers.partition.replication.follower_states import TABLE, FollowerEvent, FollowerState
from headrace.workers.partition.replication.own_batches import batch_before, last_batch, may_be_compacted, was_cleaned

_RESETS_WITH_EPOCH: Final = 2
_NO_OFFSET: Final = -1

_log: Final = logging.getLogger(__name__)


class Followed(Subject):
    """A follower.

    replica                ours; what is read of it is never kept
    leader, leader_epoch   whom it follows
    state                  `FollowerState`; changed by `step` alone
    failures               in a row
    resets                 that changed nothing, since the last append: the leader has our end's offset, and not our latest epoch
    last_error             that was said of it; 0: none
    proof                  our last batch, or that before a doubted cut, with which the fetch that is asked for begins; None: it begins at
                           our end, which was at `proof_end` where there is a proof
    proof_offset           where it is asked for: its base offset, or where the leader's log begins within it
    leader_start           where the leader's log begins, as it said when an offset was out of range; 0: it was not asked
    is_proven              whether that was tried since the log was cut last
    is_compacted           whether the log of that proof may have been compacted
    has_record             the leader has a record at the proof: an answer without one had no room for it. Not known of a leader that may
                           have restarted since, and have lost it
    doubted                a cut to this offset was refused, and the batch before it is compared first; _NO_OFFSET: none was
    is_parted_below        the leader has an earlier epoch in the place of our last batch: the next proof is asked by our epoch. If the
                           leader has that all the same, it began elsewhere there, and was given twice
    timer                  serial of its back-off
    """

    __slots__ = (
        "doubted", "failures", "has_record", "is_compacted", "is_parted_below", "is_proven", "last_error", "leader", "leader_epoch",
        "leader_start", "proof", "proof_end", "proof_offset", "replica", "resets", "state", "timer",
    )  # fmt: skip

    def __init__(self, replica: Replica, topic_id: bytes, state: FollowerState) -> None:
        super().__init__(replica.partition.topic, topic_id, replica.partition.partition)
        self.replica = replica
        self.leader = replica.leader_id
        self.leader_epoch = replica.leader_epoch
        self.state = state
        self.failures = 0
        self.resets = 0
        self.last_error = 0
        self.timer = 0
        self.proof: RecordBatchHeader | None = None
        self.is_proven = False  # whatever was proven before: the leader may have restarted while it was not followed
        replica.is_unproven = True
        self.proof_end = self.proof_offset = 0
        self.leader_start = 0
        self.has_record = False
        self.is_compacted = False
        self.doubted = _NO_OFFSET
        self.is_parted_below = False

    def __repr__(self) -> str:
        return f"{self.replica.partition} {self.state.value}"

    def step(self, event: FollowerEvent) -> None:
        """Into the state that the table names."""
        state = TABLE[self.state][event]
        assert state is not None, f"{event.name} in {self.state.name}"
        self.state = state

    def next_pause_ms(self, most_ms: int) -> int:
        """It failed once more: how long it is left alone."""
        self.failures += 1
        return pause_after(self.failures, FETCH_PAUSE_FIRST_MS, most_ms)

    @property
    def is_current(self) -> bool:
        """Whether its replica follows this leader still, and under this epoch: a restored ZooKeeper may give one to two leaders."""
        replica = self.replica
        role = (replica.state, replica.leader_epoch, replica.leader_id)
        return role == (RowState.FOLLOWER, self.leader_epoch, self.leader)

    @property
    def is_out(self) -> bool:
        """Whether its replica is out of service."""
        return self.replica.state is RowState.OFFLINE

    @property
    def is_doubting(self) -> bool:
        """Whether a batch is compared before it is said where the logs part."""
        return self.doubted != _NO_OFFSET

    @property
    def asked_epoch(self) -> int:
        """The epoch whose end the leader is asked for before the first fetch: that of our last record. It may have our latest epoch, in
        which we wrote nothing, from another leader. -1: none is known
        """
        log = self.replica.log
        return log.epochs.written(log.log_end_offset)

    def wish(self, says_last_epoch: bool) -> Wish | FollowerEvent:
        """What a fetch of it asks for now; what happened, where the batch that is compared can't be read."""
        log = self.replica.log
        try:
            self.proof = self._proof()
            self.is_compacted = self.proof is not None and may_be_compacted(log)
        except StorageFailed as failure:
            return self._refused(failure)
        if self.proof is not None:
            return self._wish_for(self.proof, says_last_epoch)
        is_epoch_said = says_last_epoch and (self.resets < _RESETS_WITH_EPOCH or self.replica.is_wary)
        last_epoch = log.epochs.latest if is_epoch_said else NO_EPOCH
        return Wish(self.leader_epoch, log.log_end_offset, last_epoch, log.log_start_offset)

    def _wish_for(self, proof: RecordBatchHeader, says_last_epoch: bool) -> Wish:
        """Ask for a batch of ours, from where the leader's log has it on. No record is before the beginning of a log, so no epoch is said.

        A leader that refuses an epoch where it has records may know none: then the batch alone decides.
        """
        self.proof_end = self.replica.log.log_end_offset
        is_within = proof.base_offset < self.leader_start <= proof.last_offset
        self.proof_offset = self.leader_start if is_within else proof.base_offset
        epoch = NO_EPOCH
        if says_last_epoch and self.is_parted_below:
            epoch = proof.partition_leader_epoch
        elif says_last_epoch and not is_within and self.resets < _RESETS_WITH_EPOCH:
            epoch = self._epoch_before(proof)
        return Wish(self.leader_epoch, self.proof_offset, epoch, NO_LOG_START, proof.size_bytes)

    def prove(
        self, records: memoryview, high_watermark: int, on_cut: Callable[[Replica], None], *, is_epoch_said: bool
    ) -> FollowerEvent | None:
        """Compare what a fetch brought with the last batch that we have: another one of the same epoch proves an epoch given twice.

        records          from the offset on that was asked for
        high_watermark   the leader's
        is_epoch_said    whether fetches say the last epoch; else it was asked before where the epoch of our last record ended
        returns          what happened; None: the next fetch begins at our end, or asks for the proof again
        """
        own, self.proof = self.proof, None
        assert own is not None
        if self.is_parted_below:  # and yet its epoch of that number does not end before our batch
            return self.refuse_epoch(own.base_offset, on_cut)
        is_batch = len(records) > MAGIC_POSITION and records[MAGIC_POSITION] == MAGIC_V2
        if len(records) <= MAGIC_POSITION or (is_batch and len(records) < HEADER_BYTES):
            if len(records) or high_watermark > self.proof_offset or self.has_record:
                return None  # there was no room for it in this answer
            return FollowerEvent.OUT_OF_RANGE  # the leader may have no record there: it says where its log ends
        found = parse_header(records) if is_batch else None
        if self.is_doubting:
            return self._refuse(self.doubted if found == own else self._lowest_parting(own.base_offset))
        self.is_proven, self.resets = True, 0
        log = self.replica.log
        is_compacted = log.config.is_compacted or was_cleaned(own) or (found is not None and was_cleaned(found))
        if found is None:  # of an old format, which names no epoch
            return None if is_compacted else self._cut_another(own, on_cut)
        if found.base_offset > own.last_offset or (is_compacted and found.base_offset != own.base_offset):
            return None  # the leader's cleaner has taken it
        if found.partition_leader_epoch > own.partition_leader_epoch:
            return self._cut_another(own, on_cut)
        if found.partition_leader_epoch < own.partition_leader_epoch and is_epoch_said:
            self.is_parted_below, self.is_proven = True, False  # the same, but where the leader has our epoch
            return None
        if (found[:3:2], found.last_offset) == (own[:3:2], own.last_offset) if is_compacted else found == own:
            self.replica.note_proven()
            return self._note_history()
        return self.refuse_epoch(own.base_offset, on_cut)

    def _note_history(self) -> FollowerEvent | None:
        """Our log is a part of the leader's: its era is known now, though its next answer may have no news of this partition."""
        try:
            self.replica.log.note_history(self.leader_epoch)
        except StorageFailed as failure:
            return self._refused(failure)
        return None

    def _cut_another(self, own: RecordBatchHeader, on_cut: Callable[[Replica], None]) -> FollowerEvent | None:
        """The leader has another epoch in the place of our last batch: ours was not committed, as after any election, or the cut is
        refused. That batch goes, whether the leader has our latest epoch or not; the one before is compared next, by its own epoch.
        """
        event = self._cut(own.base_offset, on_cut, is_compared=True)
        return event if event is not None or self.is_doubting else FollowerEvent.CUT

    def refuse_doubt(self) -> FollowerEvent:
        """The batch before a refused cut can't be compared: the logs part where its epoch begins, or before."""
        return self._refuse(self._lowest_parting(self.doubted - 1))

    def doubt(self) -> None:
        """The leader may have lost what it had, and have other records there now: our last batch is compared again. What it said of its
        own counts no longer.
        """
        self.has_record = self.is_proven = self.is_parted_below = False
        self.replica.is_unproven = True

    def refuse_epoch(self, offset: int, on_cut: Callable[[Replica], None]) -> FollowerEvent:
        """The epoch of the batch at an offset was given twice, and the logs part there at the latest."""
        self.is_parted_below, self.is_proven = False, True
        return self._cut(self._lowest_parting(offset), on_cut, is_another=True) or FollowerEvent.CUT

    def _lowest_parting(self, offset: int) -> int:
        """Where the epoch of the record at an offset begins: within one that was given twice, the logs may part anywhere."""
        entries = self.replica.log.epochs.entries
        return max((start for _epoch, start in entries if start <= offset), default=self.replica.log.log_start_offset)

    def pass_over_proof(self) -> bool:
        """The leader says that the logs part before our last batch. Of a compacted log that proves nothing: an epoch of which no record
        is left is not known to who fetched the log later. The fetch from our end decides. False: the log is to be cut.
        """
        if self.proof is None or self.is_parted_below or self.is_doubting or not self.is_compacted:
            return False
        self.proof, self.is_proven = None, True
        return True

    def apply(
        self,
        records: memoryview,
        high_watermark: int,
        log_start_offset: int,
        now_ms: int,
        on_cut: Callable[[Replica], None],
    ) -> tuple[int, FollowerEvent | None]:
        """Append what a fetch brought, or a slice of it.

        returns   bytes taken, and what happened to the partition; None: nothing but that
        """
        replica = self.replica
        if self.doubted != _NO_OFFSET:
            return 0, self.refuse_doubt()  # its batch could not be read
        end_offset = replica.log.log_end_offset
        try:
            replica.log.note_history(self.leader_epoch)
            if len(records) and end_offset == replica.log.log_start_offset:
                self._begin_in_batch(records)
            taken = replica.follow(records, high_watermark, log_start_offset, now_ms)
            if taken and self.resets:
                self.resets = 0
            return taken, None
        except StorageFailed as failure:
            return 0, self._refused(failure)
        except CorruptRecord as failure:
            _log.error("fetched batch is corrupt, fetched again %s reason=%s", self._place(), failure)
            return 0, FollowerEvent.REFUSED
        except OffsetsOutOfOrder as failure:
            _log.error("fetched batch does not fit the log %s reason=%s", self._place(), failure)
            is_first = replica.log.log_end_offset == end_offset
            return 0, self._cut_misfit(records if is_first else records[:0], on_cut)
        except HeadraceError as failure:
            _log.error("fetched batch does not fit the log, replication stopped %s reason=%s", self._place(), failure)
            return 0, FollowerEvent.GIVEN_UP

    def _cut_misfit(self, records: memoryview, on_cut: Callable[[Replica], None]) -> FollowerEvent:
        """The leader has a batch that begins before our end and ends after it. So the place of our last batch is another one's.

        records   that begin with it; none, where we took what comes before it from the same leader. Its log is damaged then
        """
        own = None
        if self.replica.is_unproven and len(records) >= HEADER_BYTES and records[MAGIC_POSITION] == MAGIC_V2:
            try:
                own = last_batch(self.replica.log)
            except StorageFailed as failure:
                return self._refused(failure)
        if own is None:
            return self._refuse(self._lowest_parting(self.replica.log.log_end_offset - 1))
        if parse_header(records).partition_leader_epoch <= own.partition_leader_epoch:
            return self.refuse_epoch(own.base_offset, on_cut)
        return self._cut(own.base_offset, on_cut, is_compared=True) or FollowerEvent.CUT

    def part(self, leader_epoch: int, end_offset: int, on_cut: Callable[[Replica], None]) -> tuple[FollowerEvent, bool]:
        """Cut where the leader says that an epoch ended in its log (`divergence.py`).

        returns   what happened, and whether the log is another now
        """
        self.is_parted_below = False
        log = self.replica.log
        entries = log.epochs.entries
        cut = find_cut(leader_epoch, end_offset, entries, log.log_end_offset, self.replica.high_watermark)
        before = (log.log_end_offset, log.epochs.latest)
        event = self._cut(cut.offset, on_cut)
        if event is None:
            event = FollowerEvent.CUT if cut.is_final or self.is_doubting else FollowerEvent.CUT_FURTHER
        return event, self.is_doubting or (log.log_end_offset, log.epochs.latest) != before

    def cut_to_high_watermark(self, on_cut: Callable[[Replica], None]) -> FollowerEvent:
        """For a log without epochs: what is above may be another record in the leader's."""
        return self._cut(self.replica.high_watermark, on_cut) or FollowerEvent.CUT

    def reset(self, start_offset: int, end_offset: int, on_cut: Callable[[Replica], None]) -> FollowerEvent:
        """Our end, or the batch that is compared, is not in the leader's log, which begins and ends at these offsets.

        Where the leader has a part of that batch it is asked for again, from there on. Where our end is in its log by now we ask again; and
        then without our epoch, from the high watermark on, since a leader that does not know that epoch (its file was lost, or its log has
        older formats at the end) refuses the offset too. That is for a log that was compared, as far as it can be, and found no other.
        """
        log = self.replica.log
        own_end_offset = log.log_end_offset
        try:
            own = self._proof()
        except StorageFailed as failure:
            return self._refused(failure)
        self.leader_start = start_offset
        if own is not None and start_offset <= own.last_offset and max(start_offset, own.base_offset) < end_offset:
            return self._ask_proof_again(own, on_cut)
        if self.is_doubting:
            return self.refuse_doubt()
        if end_offset < own_end_offset:
            return self._cut(end_offset, on_cut) or FollowerEvent.RESET
        if start_offset > own_end_offset:
            return self._restart_at(start_offset, on_cut)
        if own is not None:  # the leader has deleted all that we have, and nothing of ours is left to compare
            self.is_proven = True
            return FollowerEvent.RESET
        self.resets += 1
        if self.resets >= _RESETS_WITH_EPOCH and self.replica.is_wary:
            return self._refuse(self._lowest_parting(own_end_offset - 1))
        if self.resets == _RESETS_WITH_EPOCH:
            return self._cut(self.replica.high_watermark, on_cut) or FollowerEvent.RESET
        return FollowerEvent.RESET if self.resets < _RESETS_WITH_EPOCH else FollowerEvent.REFUSED

    def _ask_proof_again(self, own: RecordBatchHeader, on_cut: Callable[[Replica], None]) -> FollowerEvent:
        """The leader has records at our last batch. There was no room for it, its log begins within it, or it does not know our epoch."""
        self.has_record = True
        self.resets += 1
        if self.resets <= _RESETS_WITH_EPOCH:
            return FollowerEvent.RESET
        if not self.is_parted_below:
            return FollowerEvent.REFUSED
        self.is_parted_below = False  # it has another batch there, and does not say where our epoch ended
        return self._cut(own.base_offset, on_cut, is_compared=True) or FollowerEvent.RESET

    def _restart_at(self, start_offset: int, on_cut: Callable[[Replica], None]) -> FollowerEvent:
        """The leader's log begins after our end. What we have is deleted there, whatever it was: all of it is below our high watermark, or
        was never committed. A log that was found to be of another history waits for the decision.
        """
        replica, log = self.replica, self.replica.log
        has_records = log.log_start_offset < log.log_end_offset
        is_decided = replica.parted_from == self.leader or self._is_later_era
        if has_records and replica.is_wary and not is_decided:
            return self._refuse(log.log_start_offset)
        _log.log(
            logging.WARNING if has_records else logging.INFO,
            "log restarted, the leader's log starts later %s start_offset=%d",
            self._place(),
            start_offset,
        )
        try:
            replica.restart_at(start_offset)
        except StorageFailed as failure:
            return self._refused(failure)
        on_cut(replica)
        return FollowerEvent.RESET

    def _proof(self) -> RecordBatchHeader | None:
        """The batch that is compared next, None: none is. raises StorageFailed: what can't be read is not proven"""
        if self.is_doubting:
            return batch_before(self.replica.log, self.doubted)
        return None if self.is_proven else self._last_batch()

    def _base_of(self, offset: int) -> int:
        """Where the log ends that is cut at an offset: at the beginning of the batch that holds it. The mark is compared with this."""
        log = self.replica.log
        if not log.log_start_offset <= offset < log.log_end_offset:
            return offset
        header = batch_before(log, offset + 1)
        return offset if header is None else min(offset, header.base_offset)

    def _last_batch(self) -> RecordBatchHeader | None:
        """Ours, to compare; None: there is none that can be, and so nothing to prove. raises StorageFailed"""
        header = last_batch(self.replica.log)
        self.is_proven = header is None
        self.is_parted_below = self.is_parted_below and not self.is_proven
        return header

    def _epoch_before(self, header: RecordBatchHeader) -> int:
        """Of the record before a batch of ours, -1: there is none, or its epoch is not known.

        The leader takes the offset of a fetch for all that the follower has. So it is to find first that the logs have parted before it.
        """
        log = self.replica.log
        if header.base_offset <= log.log_start_offset:
            return NO_EPOCH
        return epoch_of(log.epochs.entries, header.base_offset - 1)

    @property
    def _is_later_era(self) -> bool:
        """Whether it was decided since that another history counts."""
        return era_of(self.leader_epoch) > era_of(self.replica.log.known_epoch)

    def _is_refused(self, offset: int, is_another: bool, is_compared: bool) -> bool:
        """Whether a cut is the sign of an old state, and of nothing that was ever decided."""
        replica = self.replica
        if replica.parted_from == self.leader or offset >= replica.log.log_end_offset:
            return False
        return is_another or self._is_committed(offset, is_compared) or replica.log.epochs.latest >= self.leader_epoch

    def _is_committed(self, offset: int, is_compared: bool) -> bool:
        """Whether records from an offset on are known to be committed, and nobody has decided that another history counts.

        Of a compacted log a truncation there proves nothing, unless batches were compared: an epoch of which no record is left ends
        elsewhere in each of the logs.
        """
        replica = self.replica
        if offset >= replica.high_watermark or self._is_later_era:
            return False
        if replica.is_wary:
            return True
        return not replica.may_be_unclean and (is_compared or not may_be_compacted(replica.log))

    def _cut(
        self,
        offset: int,
        on_cut: Callable[[Replica], None],
        *,
        is_another: bool = False,
        is_compared: bool = False,
    ) -> FollowerEvent | None:
        """Cut the log, if it is longer; None where that worked, or where the batch before is compared first.

        is_another    the leader has another batch of the same epoch in the place of ours
        is_compared   it has another batch there, of whatever epoch
        """
        replica = self.replica
        end_offset, high_watermark = replica.log.log_end_offset, replica.high_watermark
        try:
            offset = self._base_of(offset)
            if self._is_refused(offset, is_another, is_compared):
                return self._doubt(offset, is_another)
        except StorageFailed as failure:
            return self._refused(failure)
        self.doubted = _NO_OFFSET
        if offset < end_offset and replica.parted_from == self.leader:
            _log.error(
                "acknowledged records may be lost partition=%s first_offset=%d reason=truncated because another"
                " history was chosen end_offset=%d leader=%d leader_epoch=%d",
                replica.partition, offset, end_offset, self.leader, self.leader_epoch,
            )  # fmt: skip
        elif offset < high_watermark:
            _log.error(
                "acknowledged records may be lost partition=%s first_offset=%d reason=truncated here because the leader lacks them"
                " last_offset=%d high_watermark=%d end_offset=%d leader=%d leader_epoch=%d",
                replica.partition, offset, high_watermark - 1, high_watermark, end_offset, self.leader, self.leader_epoch,
            )  # fmt: skip
        elif offset < end_offset:
            _log.info("log truncated at divergence from leader %s offset=%d", self._place(), offset)
        try:
            replica.truncate(offset)
        except StorageFailed as failure:
            return self._refused(failure)
        self.is_parted_below = False
        if offset < end_offset:
            self.is_proven = not replica.is_unproven
            on_cut(replica)
        return None

    def _doubt(self, offset: int, is_another: bool) -> FollowerEvent | None:
        """A cut that is refused: None where the batch before it is compared first. raises StorageFailed"""
        log = self.replica.log
        if is_another or may_be_compacted(log) or offset <= log.log_start_offset:
            return self._refuse(offset)
        if offset == self.doubted or batch_before(log, offset) is None:
            return self._refuse(self._lowest_parting(offset - 1))  # there is nothing to compare
        self.doubted, self.has_record = offset, False
        return None

    def _refuse(self, parted_at: int) -> FollowerEvent:
        """Nothing is truncated, and the controller is notified of where the logs part, at the latest."""
        replica = self.replica
        _log.error(
            "log has diverged from the leader's and is not truncated: the leader lacks committed records, or its"
            " epoch was assigned twice, as after a restored ZooKeeper %s first_offset=%d log_epoch=%d"
            " high_watermark=%d; see headrace cluster describe"
            " --held",
            self._place(), parted_at, replica.log.epochs.latest, replica.high_watermark,
        )  # fmt: skip
        self.doubted = _NO_OFFSET
        replica.tell_ahead(parted_at, self.leader, self.leader_epoch)
        return FollowerEvent.GIVEN_UP

    def _begin_in_batch(self, records: memoryview) -> None:
        """The leader's log begins within a batch: ours, empty, has to begin where the batch does. raises StorageFailed"""
        offset = self.replica.log.log_start_offset
        if len(records) < HEADER_BYTES or records[MAGIC_POSITION] != MAGIC_V2:
            return  # an entry of an old format names its last offset
        header = parse_header(records)
        if header.base_offset < offset <= header.last_offset:
            self.replica.restart_at(header.base_offset)

    def _refused(self, failure: StorageFailed) -> FollowerEvent:
        """What the disk refused is for all replicas to follow; without room it is retried."""
        self.replica.fail(failure)
        return FollowerEvent.REFUSED if isinstance(failure, StorageExhausted) else FollowerEvent.GIVEN_UP

    def _place(self) -> str:
        replica = self.replica
        return (
            f"partition={replica.partition} end_offset={replica.log.log_end_offset} leader={self.leader} "
            f"leader_epoch={self.leader_epoch}"
        )
