"""Transactional clients under which faults fire: writers of several partitions at once, copiers, readers of what is committed.

Used by: both campaigns. All are librdkafka's. A transaction's name is in each of its records' sends, and its end is an operation of
its own, so the judges know what may be read, and what may not.

    MoneyWriter   each transaction writes one record to some partitions, and is committed, or aborted by lot; what is read of it is all
                  or nothing (Redpanda's tx_money)
    Copier        reads a topic as a member of a group, and writes what it read, with the offsets, in one transaction; each record is
                  copied once (tx_subscribe)
    CommittedTail reads what is committed

A producer that was fenced, or whose library says that it can't go on, begins again with the same id: what became of its transaction
nobody knows then. At the end each writer commits one record to every partition: a reader that has those has read all before.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.chaos import payload
from tests.chaos.history import NO_OFFSET, History, Operation, Outcome, Poll, Record, Send, TransactionEnd
from tests.chaos.judge import Anomaly, settled_sends
from tests.chaos.load import CLIENT, FLUSH_S, Client, Tail, _logger, _offset_of, _silent
from tests.chaos.stand_still import is_main_silent
from tests.chaos.transaction_judge import judge_transactions

TRANSACTED, COPIED, COPIERS = "transacted", "copied", "copiers"  # topics, and the group of those that copy
PARTITIONS = 3  # of the topic that is written; that of copies has as many as its source
TRANSACTION_TIMEOUT_MS = 60_000
CALL_S = 5.0
ABORTED_SHARE = 0.25
COPY = "~of~"  # in a copy's value: before it the copier's own name of the record, after it the record's value
COPIED_MAX = 50  # records in one transaction


class TransactionalClient(Client):
    """A producer with a transactional id, in a thread.

    committed, aborted, unknown   transactions
    begun_again                   errors after which it took another producer, with the same id
    """

    def __init__(
        self, name: str, bootstrap: str, history: History, topic: str, partitions: int, directory: Path | None = None
    ) -> None:
        super().__init__(name)
        self._logger = _silent if directory is None else _logger(directory / f"{name}.log")
        self.committed = self.aborted = self.unknown = 0
        self.acknowledged = 0
        self.begun_again: Counter[str] = Counter()
        self.last: dict[int, int] = {}  # partition -> offset of its last committed record
        self._bootstrap, self._history, self._topic, self._partitions = bootstrap, history, topic, partitions
        self._producer: Producer | None = None
        self._names = itertools.count()
        self._offsets: dict[int, int] = {}  # of the transaction that is open

    def _is_over(self, since: float) -> bool:
        return self.abandoned.is_set() or time.monotonic() - since > FLUSH_S

    def _ready(self) -> Producer | None:
        """The producer; None where there is none, and nobody waits any more."""
        began: float | None = None
        while self._producer is None:
            producer = Producer(
                {
                    "bootstrap.servers": self._bootstrap,
                    "transactional.id": self.name,
                    "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                    "message.timeout.ms": TRANSACTION_TIMEOUT_MS,
                    "linger.ms": 2,
                    **CLIENT,
                    "metadata.recovery.strategy": "none",  # after a new bootstrap librdkafka 2.16 never returns from sending offsets
                    **({} if self._logger is _silent else {"debug": "eos", "log_level": 7}),
                },
                logger=self._logger,
            )
            while True:
                try:
                    producer.init_transactions(CALL_S)
                    self._producer = producer
                    break
                except KafkaException as failure:
                    if self.stopping.is_set():
                        began = began or time.monotonic()
                        if self._is_over(began):
                            self.failure = f"{self.name}: wedged, no producer id: {failure}"
                            return None
                    if not failure.args[0].retriable():
                        self.stopping.wait(0.1)
                        break
        return self._producer

    def _write(self, producer: Producer, transaction: str, value: str, partition: int) -> None:
        """raises KafkaException"""
        began = time.monotonic()

        def delivered(error: Any, message: Any) -> None:
            outcome = Outcome.UNKNOWN if error is not None else Outcome.OK
            offset = _offset_of(message) if error is None else NO_OFFSET
            if error is None:
                self.acknowledged += 1
                self._offsets[partition] = offset
            self._history.add(
                Send(
                    self.name, self._topic, 0, partition, (value,), outcome, offset, began, time.monotonic(),
                    transaction,
                )
            )  # fmt: skip

        producer.produce(self._topic, payload.encode(value), partition=partition, on_delivery=delivered)

    def _end(self, producer: Producer, transaction: str, *, is_commit: bool) -> Outcome:
        """Commit or abort, however long it takes: its outcome is in the history."""
        began, stopped_at = time.monotonic(), None
        while True:
            try:
                (producer.commit_transaction if is_commit else producer.abort_transaction)(CALL_S)
                outcome = Outcome.OK if is_commit else Outcome.FAILED
                break
            except KafkaException as failure:
                error = failure.args[0]
                if self.stopping.is_set():
                    stopped_at = stopped_at or time.monotonic()
                    if self._is_over(stopped_at):
                        self.failure = f"{self.name}: wedged, a transaction does not end: {error.str()}"
                        outcome = Outcome.UNKNOWN
                        break
                if error.txn_requires_abort():
                    is_commit = False
                elif not error.retriable():
                    self.begun_again[error.name()] += 1
                    outcome = Outcome.UNKNOWN
                    break
        self.committed += outcome is Outcome.OK
        self.aborted += outcome is Outcome.FAILED
        self.unknown += outcome is Outcome.UNKNOWN
        if outcome is Outcome.OK:
            self.last.update({place: offset for place, offset in self._offsets.items() if offset != NO_OFFSET})
        self._offsets = {}
        self._history.add(TransactionEnd(self.name, transaction, outcome, began, time.monotonic()))
        if outcome is Outcome.UNKNOWN:
            self._renew()
        return outcome

    def _renew(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaException):  # of the error that it ended with
                producer.purge()
                producer.flush(1)

    def _close(self) -> None:
        self._renew()


class MoneyWriter(TransactionalClient):
    """Transactions over some partitions of a topic."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        history: History,
        topic: str,
        partitions: int,
        seed: int,
        directory: Path | None = None,
        pause_s: float = 0.05,
    ) -> None:
        super().__init__(name, bootstrap, history, topic, partitions, directory)
        self._chance = random.Random(seed)
        self._pause_s = pause_s

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                places = self._chance.sample(range(self._partitions), self._chance.randint(1, self._partitions))
                self._transact(places, is_commit=self._chance.random() >= ABORTED_SHARE)
                self.stopping.wait(self._pause_s)
            since = time.monotonic()
            while self.failure is None and not self._is_over(since):
                if self._transact(list(range(self._partitions)), is_commit=True) is Outcome.OK:
                    break
        finally:
            self._close()

    def _transact(self, places: Sequence[int], *, is_commit: bool) -> Outcome:
        producer = self._ready()
        if producer is None:
            return Outcome.UNKNOWN
        number = next(self._names)
        transaction = f"{self.name}/{number}"
        try:
            producer.begin_transaction()
            for place in places:
                self._write(producer, transaction, f"{self.name}-{number}.{place}", place)
            if not is_commit and self._chance.random() < 0.5:
                producer.flush(CALL_S)
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                self.begun_again[failure.args[0].name()] += 1
                self._history.add(
                    TransactionEnd(self.name, transaction, Outcome.UNKNOWN, time.monotonic(), time.monotonic())
                )
                self.unknown += 1
                self._renew()
                return Outcome.UNKNOWN
            is_commit = False
        return self._end(producer, transaction, is_commit=is_commit)


class Copier(TransactionalClient):
    """Copies a topic, of as many partitions, record by record.

    source   what it reads, as a member of `group`
    """

    def __init__(
        self,
        name: str,
        bootstrap: str,
        history: History,
        source: str,
        group: str,
        topic: str,
        partitions: int,
        directory: Path | None = None,
    ) -> None:
        super().__init__(name, bootstrap, history, topic, partitions, directory)
        self._source, self._group = source, group
        self._has_moved = False  # the assignment, since the last transaction began

    def run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": self._group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 500,
                "partition.assignment.strategy": "range",
                **CLIENT,
            },
            logger=_silent,
        )
        consumer.subscribe([self._source], on_assign=self._moved, on_revoke=self._moved)
        try:
            while not self.stopping.is_set():
                self._copy_some(consumer)
        finally:
            self._close()
            self.call_began = time.monotonic()
            consumer.close()
            self.call_began = None

    def _moved(self, _consumer: Consumer, _partitions: object) -> None:
        self._has_moved = True

    def _copy_some(self, consumer: Consumer) -> None:
        self._has_moved = False
        self.call_began = time.monotonic()
        records = [one for one in consumer.consume(COPIED_MAX, 0.2) if not one.error()]
        self.call_began = None
        if not records:
            return
        producer = None if self._has_moved else self._ready()
        outcome = Outcome.FAILED if producer is None else self._copy(consumer, producer, records)
        if outcome is not Outcome.OK:
            self._rewind(consumer)

    def _copy(self, consumer: Consumer, producer: Producer, records: list[Any]) -> Outcome:
        transaction = f"{self.name}/{next(self._names)}"
        is_commit = True
        ends = {one.partition(): one.offset() + 1 for one in records}
        try:
            producer.begin_transaction()
            for one in records:
                value = f"{self.name}-{next(self._names)}{COPY}{payload.decode(one.value())}"
                self._write(producer, transaction, value, one.partition() % self._partitions)
            producer.send_offsets_to_transaction(
                [TopicPartition(self._source, partition, end) for partition, end in ends.items()],
                consumer.consumer_group_metadata(),
                CALL_S,
            )
        except KafkaException as failure:
            error = failure.args[0]
            if not (error.txn_requires_abort() or error.retriable()):
                self.begun_again[error.name()] += 1
            is_commit = False
        return self._end(producer, transaction, is_commit=is_commit)

    def _rewind(self, consumer: Consumer) -> None:
        """Read on from what is committed."""
        try:
            assigned = consumer.assignment()
            for place in consumer.committed(assigned, CALL_S) if assigned else ():
                consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))
        except KafkaException:
            consumer.unsubscribe()  # a member that begins again reads from what is committed
            consumer.subscribe([self._source], on_assign=self._moved, on_revoke=self._moved)


class CommittedTail(Tail):
    """Reads on and on what is committed."""

    def __init__(
        self, name: str, bootstrap: str, history: History, topic: str, partitions: int, log: Path | None = None
    ) -> None:
        super().__init__(name, bootstrap, history, topic, partitions, log, reads_committed=True)


def judge_money(operations: Sequence[Operation], reader: str) -> Iterator[Anomaly]:
    """What a reader of everything was given of each committed transaction: all or nothing, and all of those known as committed."""
    seen = {
        record.value
        for one in operations
        if isinstance(one, Poll) and one.client == reader and one.reads_committed
        for record in one.records
    }
    by_transaction: dict[str, list[Send]] = defaultdict(list)
    for send in settled_sends(operations):
        if send.transaction:
            by_transaction[send.transaction].append(send)
    for name, sends in by_transaction.items():
        values = [value for send in sends for value in send.values]
        there = [value for value in values if value in seen]
        if 0 < len(there) < len(values):
            missing = sorted(set(values) - seen)
            yield Anomaly("half-transaction", f"{name}: {reader} was given {there[:4]}, and not {missing[:4]}")


def judge_copies(
    operations: Iterable[Operation], source: str, target: str, groups_offsets: Mapping[int, int]
) -> Iterator[Anomaly]:
    """Each record of the source below the group's offsets was copied once, and none twice.

    Both topics' final readings are in the history, by readers of what is committed.
    """
    originals: dict[str, tuple[int, int]] = {}
    copies: dict[str, list[Record]] = defaultdict(list)
    for one in operations:
        if isinstance(one, Poll) and one.reads_committed and one.client.startswith("final"):
            for record in one.records:
                if one.topic == source:
                    originals[record.value] = (record.partition, record.offset)
                elif one.topic == target:
                    copies[record.value.partition(COPY)[2]].append(record)
    for value, records in copies.items():
        if len(records) > 1:
            yield Anomaly("copied-twice", f"{value} of {source}: {[record.value for record in records][:3]}")
        if value not in originals:
            yield Anomaly("copied-nothing", f"{value} is in {target}, and not in {source}")
    for value, (partition, offset) in originals.items():
        if offset < groups_offsets.get(partition, 0) and value not in copies:
            yield Anomaly("not-copied", f"{value} at {source}-{partition}:{offset}, offset {groups_offsets[partition]}")


def read_committed_whole(
    bootstrap: str, history: History, topic: str, partitions: int, ends: Mapping[int, int], limit_s: float = FLUSH_S
) -> list[Anomaly]:
    """Everything of a topic that is committed, up to these ends (high watermarks), by a fresh client, into the history.

    A reader that does not come so far stands before a transaction that nobody has ended.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"final-{topic}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            **CLIENT,
        },
        logger=_silent,
    )
    left = {partition for partition, end in ends.items() if end > 0}
    records: list[Record] = []
    began = time.monotonic()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    try:
        while left and time.monotonic() - began < limit_s:
            for message in consumer.consume(500, 0.2):
                if message.error() is None:
                    records.append(Record(message.partition(), message.offset(), payload.decode(message.value())))
                elif message.error().name() == "_PARTITION_EOF" and message.offset() >= ends.get(
                    message.partition(), 0
                ):
                    left.discard(message.partition())
    finally:
        consumer.close()
    records.sort()
    history.add(Poll(f"final-{topic}", topic, 0, tuple(records), began, time.monotonic(), reads_committed=True))
    return [
        Anomaly("hanging", f"{topic}-{partition} can't be read up to {ends[partition]}") for partition in sorted(left)
    ]


class Transactions:
    """Those of one round: two writers and a reader of one topic, two copiers of another.

    stands_still   the reader, in librdkafka's own deadlock (docs/decisions/025)
    """

    def __init__(self, bootstrap: str, history: History, seed: int, source: tuple[str, int], directory: Path) -> None:
        self._bootstrap, self._history, self._source = bootstrap, history, source
        self._tail_log = directory / "committed-tail.log"
        self.writers = [
            MoneyWriter(f"money{n}", bootstrap, history, TRANSACTED, PARTITIONS, seed + n, directory) for n in range(2)
        ]
        self.copiers = [
            Copier(f"copier{n}", bootstrap, history, source[0], COPIERS, COPIED, source[1], directory) for n in range(2)
        ]
        self.stands_still = False
        self._make_state_topic()
        self.tail = CommittedTail("committed-tail", bootstrap, history, TRANSACTED, PARTITIONS, self._tail_log)

    def _make_state_topic(self) -> None:
        """`__transaction_state`, before any fault: a ZooKeeper that is taken back to before that would forget every transaction."""
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "transactional.id": "first", **CLIENT}, logger=_silent
        )
        deadline = time.monotonic() + FLUSH_S
        while True:
            try:
                producer.init_transactions(CALL_S)
                return
            except KafkaException:
                if time.monotonic() > deadline:
                    raise

    @property
    def producers(self) -> list[TransactionalClient]:
        return [*self.writers, *self.copiers]

    @property
    def clients(self) -> list[Client]:
        return [*self.producers, self.tail]

    def notes(self) -> Counter[str]:
        """What became of the transactions."""
        found: Counter[str] = Counter()
        if self.stands_still:
            found["the reader of what is committed stands still in librdkafka's deadlock"] += 1
        for one in self.producers:
            kind = type(one).__name__
            found[f"{kind}: committed"] += one.committed
            found[f"{kind}: aborted"] += one.aborted
            found[f"{kind}: not known"] += one.unknown
            for error, count in one.begun_again.items():
                found[f"{kind}: begun again after {error}"] += count
        return found

    def judge(self) -> list[Anomaly]:
        """When nothing is written any more: what is committed is read whole, and by the reader that was there all the while."""
        anomalies = self._read_all()
        ends: dict[int, int] = {}
        for one in self.writers:
            for partition, offset in one.last.items():
                ends[partition] = max(ends.get(partition, 0), offset + 1)
        deadline = time.monotonic() + FLUSH_S
        while any(self.tail.positions[p] < end for p, end in ends.items()) and time.monotonic() < deadline:
            time.sleep(0.05)
        if any(self.tail.positions[p] < end for p, end in ends.items()):
            if self.tail.hangs or is_main_silent(
                self._tail_log.read_text("utf-8", "replace").splitlines(), time.time()
            ):
                self.stands_still = True
            else:
                what = f"{self.tail.name} stands at {self.tail.positions}, committed: {ends}"
                anomalies.append(Anomaly("unseen", what))
        self.tail.stop()
        operations = self._history.operations
        anomalies += judge_money(operations, f"final-{TRANSACTED}")
        anomalies += judge_copies(operations, self._source[0], COPIED, self._group_offsets(anomalies))
        return anomalies + judge_transactions(operations)

    def _read_all(self) -> list[Anomaly]:
        anomalies: list[Anomaly] = []
        for topic, partitions in ((TRANSACTED, PARTITIONS), (COPIED, self._source[1]), self._source):
            consumer = Consumer(
                {
                    "bootstrap.servers": self._bootstrap,
                    "group.id": "ends",
                    "isolation.level": "read_uncommitted",  # else the end is the last stable offset
                    **CLIENT,
                },
                logger=_silent,
            )
            ends = {}
            for partition in range(partitions):
                try:
                    ends[partition] = consumer.get_watermark_offsets(TopicPartition(topic, partition), FLUSH_S)[1]
                except KafkaException as failure:
                    anomalies.append(Anomaly("not-served", f"{topic}-{partition} has no end at the end: {failure}"))
            consumer.close()
            anomalies += read_committed_whole(self._bootstrap, self._history, topic, partitions, ends)
        return anomalies

    def _group_offsets(self, anomalies: list[Anomaly]) -> dict[int, int]:
        source, partitions = self._source
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": COPIERS, **CLIENT}, logger=_silent)
        try:
            rows = consumer.committed([TopicPartition(source, partition) for partition in range(partitions)], FLUSH_S)
        except KafkaException as failure:
            anomalies.append(Anomaly("not-served", f"offsets of {COPIERS} can't be read at the end: {failure}"))
            return {}
        finally:
            consumer.close()
        return {row.partition: row.offset for row in rows if row.error is None and row.offset > 0}
