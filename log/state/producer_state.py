"""What each idempotent producer wrote last: what exactly-once appends go by.

For every producer id: its epoch, its last five batches (first and last sequence, last offset), the time of
its last append, and where its open transaction began. A batch is a duplicate (answered with its old offset), the
next one in sequence, or an error. Sequences wrap from 2**31 - 1 to 0.

The first offset that is not decided, of an open transaction or of one whose marker is not below the high
watermark yet, holds the last stable offset down.

A client's first batch of a transaction is appended once the transaction's coordinator has verified that it may (KIP-890). The
question takes time. A `Verification` stands for it here, and goes with whatever else the producer does meanwhile: then the
answer says nothing of the batch.

What is written down of it: `producer_snapshot.py`.

Runs in: the partition worker that owns the log. Source: Kafka `ProducerStateManager`, `ProducerAppendInfo`;
KIP-98, KIP-360.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from headrace.errors import ErrorCode
from headrace.log.disk import Disk
from headrace.log.index_layout import AbortedTransaction
from headrace.log.state.producer import BATCHES_KEPT, Appended, Producer
from headrace.log.state.producer_snapshot import ProducerSnapshots
from headrace.protocol.record_batch import SEQUENCE_MASK

NOT_VERIFIED: Final = -2  # no error of Kafka: a batch that is to be verified first
EVICTED_SHARE: Final = 16  # of all producers: that part of them is forgotten at a time

_NONE: Final = 0
_OUT_OF_ORDER: Final = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
_OLD_EPOCH: Final = int(ErrorCode.INVALID_PRODUCER_EPOCH)
_NO_TRANSACTION: Final = int(ErrorCode.INVALID_TXN_STATE)
_OLD_COORDINATOR: Final = int(ErrorCode.TRANSACTION_COORDINATOR_FENCED)
_NEXT: Final[tuple[int, None]] = (_NONE, None)


class ProducerBudget:
    """The bound on producers in memory, over all logs of a process: beyond it the idlest are forgotten, wherever they are.

    Logs are opened one after the other, those that clients ask for first. So when a log was opened says nothing of its producers. What
    an opening finds counts as seen at its date, and dates become times of the monotonic clock in one way for the whole process.

    logs                    id -> the producers of a log that shares it, for as long as that is there
    begun_ms, begun_date_ms   when the process began: by the monotonic clock, and the date that it believes (decision 008)
    """

    def __init__(self, producers_max: int = 100_000, begun_ms: int = 0, begun_date_ms: int = 0) -> None:
        self.producers_max = producers_max
        self.logs: WeakValueDictionary[int, OrderedDict[int, Producer]] = WeakValueDictionary()
        self._begun_ms = begun_ms
        self._begun_date_ms = begun_date_ms
        self._room = 0  # how many may come before they are counted again

    def seen_at(self, date_ms: int, now_ms: int) -> int:
        """When a date was, by the monotonic clock.

        A date that is still to come is wrong. It counts as the process's begin: among such ones the dates rank (`_ages`).

        now_ms   of the monotonic clock
        """
        since_ms = date_ms - self._begun_date_ms
        return self._begun_ms + (since_ms if since_ms <= now_ms - self._begun_ms else 0)

    def take(self, count: int, newest: Producer | None = None) -> None:
        """So many more; `newest` may not be evicted itself."""
        self._room -= count
        if self._room < 0:
            self._make_room(newest)

    def _make_room(self, newest: Producer | None) -> None:
        """Count; beyond the bound a share of the idlest goes at once, so that this is seldom needed."""
        share = self.producers_max // EVICTED_SHARE
        logs = list(self.logs.values())
        excess = sum([len(producers) for producers in logs]) - self.producers_max
        if excess > 0:
            evicted = nsmallest(excess + share, _ages(logs, newest))
            for _time, _date, _place, _log, producer_id, producers in evicted:
                del producers[producer_id]
            excess -= len(evicted)
        self._room = (
            share if excess > 0 else -excess
        )  # more than the bound have a transaction open: don't count each time


Ages = Iterator[tuple[int, int, int, int, int, OrderedDict[int, Producer]]]


def _ages(logs: list[OrderedDict[int, Producer]], newest: Producer | None) -> Ages:
    """(when it was last seen, the date of its last batch, its place in the log, id of the log, its id, producers of the log).

    Of all that may be evicted. The date ranks those with dates that were wrong. The place is counted from the last producer of a log.
    """
    for producers in logs:
        place = -len(producers)
        for producer_id, producer in producers.items():
            if producer.txn_first_offset < 0 and producer is not newest:
                yield producer.seen_ms, producer.last_timestamp_ms, place, id(producers), producer_id, producers
            place += 1


class Verification:
    """A question to a transaction's coordinator: whether a producer may append to this partition.

    is_valid   the answer was yes
    """

    __slots__ = ("epoch", "is_valid")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.is_valid = False


class ProducerState:
    """The producers of one log, least recently active first; `snapshots` are those of them in its directory.

    now_ms   of the monotonic clock, as of this call into the log: ages count by it, so that none ends because the date was set,
             in whatever process the log is opened again. While batches are replayed, when they were appended (`replay_at`)
    """

    def __init__(
        self,
        directory: Path,
        disk: Disk,
        expiration_ms: int = 86_400_000,
        budget: ProducerBudget | None = None,
    ) -> None:
        self._expiration_ms = expiration_ms
        self._budget = budget or ProducerBudget()
        self.now_ms = 0
        self._opened_ms = 0  # when the log was opened: no age counts from before that
        self._loaded_ms = 0  # the same, or when it was loaded again after a truncation
        self.snapshots = ProducerSnapshots(directory, disk)
        self.producers: OrderedDict[int, Producer] = OrderedDict()
        self._budget.logs[id(self.producers)] = self.producers
        self.verifications: dict[int, Verification] = {}  # producer id -> what was asked, and it has done nothing since
        self._ongoing: dict[int, int] = {}  # first offset -> producer id, in the order of offsets
        # (offset of a marker that may not be committed yet, first offset), both in order: one that ended before another, and began
        # after it, is not remembered. It never decides.
        self._unreplicated: deque[tuple[int, int]] = deque()

    def check(
        self, producer_id: int, epoch: int, first_sequence: int, last_delta: int, is_transactional: int = 0
    ) -> tuple[int, Appended | None]:
        """Judge a batch before it is appended. One of a coordinator has no sequence: its epoch alone is judged.

        returns   (error, None), (0, None) for the next batch, or (0, the batch that it repeats)
        """
        producer = self.producers.get(producer_id)
        if producer is None:
            return _NEXT  # KIP-360: it was forgotten. What comes behind a refused batch does not get here (`refused_producers.py`)
        if first_sequence < 0:
            return (_OLD_EPOCH, None) if epoch < producer.epoch else _NEXT
        if epoch == producer.epoch:
            batches = producer.batches
            if first_sequence == (batches[-1].last_sequence + 1 if batches else 0) & SEQUENCE_MASK:
                if producer.txn_first_offset >= 0 and not is_transactional:
                    return _NO_TRANSACTION, None
                return _NEXT
            last_sequence = (first_sequence + last_delta) & SEQUENCE_MASK
            for batch in batches:
                if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                    return _NONE, batch
            if producer.is_behind and _is_later(first_sequence, batches):
                return _NEXT if is_transactional or producer.txn_first_offset < 0 else (_NO_TRANSACTION, None)
            return _OUT_OF_ORDER, None
        if epoch < producer.epoch:
            return _OLD_EPOCH, None
        if first_sequence and not producer.is_behind:
            return _OUT_OF_ORDER, None
        return _NEXT if is_transactional or producer.txn_first_offset < 0 else (_NO_TRANSACTION, None)

    def begin_verification(self, producer_id: int, epoch: int) -> Verification:
        """A question is asked; two at a time about one epoch share it. One of another epoch has no answer any more."""
        verification = self.verifications.get(producer_id)
        if verification is None or verification.epoch != epoch:
            verification = self.verifications[producer_id] = Verification(epoch)
        return verification

    def must_verify(self, producer_id: int, epoch: int) -> bool:
        """Whether a transactional batch would begin a transaction that the coordinator was not asked about."""
        producer = self.producers.get(producer_id)
        if producer is not None and producer.txn_first_offset >= 0 and producer.epoch == epoch:
            return False
        verification = self.verifications.get(producer_id)
        return verification is None or verification.epoch != epoch or not verification.is_valid

    def update(
        self,
        producer_id: int,
        epoch: int,
        first_sequence: int,
        last_delta: int,
        first_offset: int,
        timestamp_ms: int,
        is_transactional: int = 0,
    ) -> None:
        """Remember a batch that is in the log, or goes into it in this call.

        is_transactional   not 0: it belongs to a transaction, and begins one where none is open
        timestamp_ms       when it was appended, not what its records say: records of long ago must not expire their
                           producer at once (KAFKA-9144)
        """
        producer = self.producers.get(producer_id)
        if producer is None:
            producer = self._new(producer_id, epoch)
        else:
            self.producers.move_to_end(producer_id)
            if epoch > producer.epoch:
                producer.epoch = epoch
                producer.batches.clear()
        if is_transactional and producer.txn_first_offset < 0:
            producer.txn_first_offset = first_offset
            self._ongoing[first_offset] = producer_id
        producer.last_timestamp_ms = timestamp_ms
        producer.seen_ms = self.now_ms
        if self.verifications:
            self.verifications.pop(producer_id, None)
        if first_sequence < 0:
            return
        producer.is_behind = False  # this is its last batch, whatever came before
        last_sequence = (first_sequence + last_delta) & SEQUENCE_MASK
        batches = producer.batches
        batches.append(Appended(first_sequence, last_sequence, first_offset, first_offset + last_delta, timestamp_ms))
        if len(batches) > BATCHES_KEPT:
            del batches[0]

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> int:
        """Judge an end-of-transaction marker of the coordinator; the error, or 0. source: Kafka `ProducerAppendInfo`"""
        producer = self.producers.get(producer_id)
        if producer is None:
            return _NONE
        if epoch < producer.epoch:
            return _OLD_EPOCH
        return _OLD_COORDINATOR if coordinator_epoch < producer.coordinator_epoch else _NONE

    def end_transaction(
        self,
        producer_id: int,
        epoch: int,
        coordinator_epoch: int,
        marker_offset: int,
        is_abort: bool,
        timestamp_ms: int,
    ) -> AbortedTransaction | None:
        """Remember a marker that is in the log, or goes into it in this call.

        returns   the transaction, where the marker aborts one in which something was written
        """
        producer = self.producers.get(producer_id)
        if producer is None:
            producer = self._new(producer_id, epoch)
        else:
            self.producers.move_to_end(producer_id)
        if epoch > producer.epoch:
            producer.epoch = epoch
            producer.batches.clear()
            producer.is_behind = False
        self.verifications.pop(producer_id, None)
        producer.coordinator_epoch = max(coordinator_epoch, producer.coordinator_epoch)
        producer.last_timestamp_ms = timestamp_ms
        producer.seen_ms = self.now_ms
        first_offset, producer.txn_first_offset = producer.txn_first_offset, -1
        if first_offset < 0:
            return None
        self._ongoing.pop(first_offset, None)
        unreplicated = self._unreplicated
        while unreplicated and unreplicated[-1][1] > first_offset:
            unreplicated.pop()
        unreplicated.append((marker_offset, first_offset))
        if not is_abort:
            return None
        stable = next(iter(self._ongoing), marker_offset + 1)
        return AbortedTransaction(producer_id, first_offset, marker_offset, stable)

    def last_stable_offset(self, high_watermark: int) -> int:
        """Below it every transaction is decided, and so is replicated: what read_committed may see.

        Costs what the mark has passed since the last call, however many markers wait for it.
        """
        unreplicated = self._unreplicated
        while unreplicated and unreplicated[0][0] < high_watermark:
            unreplicated.popleft()
        stable = high_watermark
        if unreplicated and unreplicated[0][1] < stable:
            stable = unreplicated[0][1]
        if self._ongoing:
            stable = min(stable, next(iter(self._ongoing)))
        return stable

    def doubt(self, log_start_offset: int) -> None:
        """A part of the log can't be read: each producer may have had more batches in it than are known.

        A later sequence of such a producer is taken, as of one that is not known. An open transaction that began below the
        log's start may have ended in that part, and is not kept open: the next batch that belongs to it opens it again.
        """
        self.verifications.clear()
        for producer in self.producers.values():
            producer.is_behind = True
            if 0 <= producer.txn_first_offset < log_start_offset:
                self._ongoing.pop(producer.txn_first_offset, None)
                producer.txn_first_offset = -1

    def expire(self, now_ms: int) -> int:
        """Forget producers that were idle for too long and have no transaction open; returns how many.

        What an opening found may have a wrong date, so its age counts from the opening. The least recently active are first: the first
        one that is young ends the search.
        """
        stale = []
        for producer_id, producer in self.producers.items():
            if now_ms - max(producer.seen_ms, self._opened_ms) <= self._expiration_ms:
                break
            if producer.txn_first_offset < 0:
                stale.append(producer_id)
        for producer_id in stale:
            del self.producers[producer_id]
        return len(stale)

    def take_over(self, other: ProducerState) -> None:
        """Know what another log's state knows: its copy takes its place."""
        self.producers, self._ongoing, self._unreplicated = other.producers, other._ongoing, other._unreplicated
        self._opened_ms = other._opened_ms
        self.verifications.clear()

    def recall(self, other: ProducerState, end_offset: int) -> None:
        """Know the batches of each producer that another state of the same log has, below an offset, where both have the same last one.

        An opening reads back so much of the log at most (`producer_recall.py`). A batch that it does not find would be out of order,
        sent again, though it is stored.
        """
        for producer_id, producer in self.producers.items():
            known = other.producers.get(producer_id)
            if known is None or known.epoch != producer.epoch or not producer.batches:
                continue
            batches = [one for one in known.batches if one.last_offset < end_offset]
            if len(batches) > len(producer.batches) and batches[-1][:4] == producer.batches[-1][:4]:
                producer.batches = batches

    def clear(self) -> None:
        """Forget everything, as for a log that is reset."""
        self.producers.clear()
        self.verifications.clear()
        self._ongoing.clear()
        self._unreplicated.clear()

    def load(self, limit: int) -> int:
        """Take the newest good snapshot at or below an offset.

        A snapshot has dates alone, and one of them may have been wrong: the producer's, or ours. So its date says no more than which
        producer goes first beyond the bound of all (`ProducerBudget`). None expires by it: ages begin with the opening.

        returns   the offset from which batches have to be replayed
        """
        self._loaded_ms = self.now_ms
        self.clear()
        self.producers = self.snapshots.load(limit)
        for producer in self.producers.values():
            producer.seen_ms = self._budget.seen_at(producer.last_timestamp_ms, self.now_ms)
        self._budget.logs[id(self.producers)] = self.producers
        self._budget.take(len(self.producers))
        open_transactions = [(one.txn_first_offset, name) for name, one in self.producers.items()]
        self._ongoing = {offset: name for offset, name in sorted(open_transactions) if offset >= 0}
        return self.snapshots.loaded_offset

    def replay_at(self, date_ms: int) -> None:
        """Batches of a date are replayed next: their producers were seen then, and not when the log is opened."""
        self.now_ms = self._budget.seen_at(date_ms, self._loaded_ms)

    def begin_opening(self, now_ms: int) -> None:
        """The log is opened, or loaded again. now_ms: of the monotonic clock"""
        self.now_ms = self._loaded_ms = now_ms
        self._opened_ms = self._opened_ms or now_ms

    def seen(self) -> dict[int, int]:
        """When each producer was seen, by its id."""
        return {producer_id: producer.seen_ms for producer_id, producer in self.producers.items()}

    def note_seen(self, seen_ms: dict[int, int]) -> None:
        """It was loaded again: of what this process has seen, it knows better than dates when that was."""
        for producer_id, known_ms in seen_ms.items():
            producer = self.producers.get(producer_id)
            if producer is not None and producer.seen_ms < known_ms:
                producer.seen_ms = known_ms

    @property
    def has_snapshot_of_all(self) -> bool:
        """Whether the last snapshot has as many producers as are known: some were forgotten since, or none."""
        return self.snapshots.producers_count == len(self.producers)

    def write_snapshot(self, offset: int, bases: Sequence[int], *, is_durable: bool) -> None:
        """`ProducerSnapshots.write`."""
        self.snapshots.write(self.producers, offset, bases, is_durable=is_durable)

    def _new(self, producer_id: int, epoch: int) -> Producer:
        producer = self.producers[producer_id] = Producer(epoch)
        self._budget.take(1, producer)
        return producer


def _is_later(sequence: int, batches: list[Appended]) -> bool:
    """Whether a sequence comes after the last known one; sequences wrap, so half of them do."""
    return not batches or (sequence - batches[-1].last_sequence) & SEQUENCE_MASK <= SEQUENCE_MASK >> 1
