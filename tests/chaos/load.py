"""Foreign clients under which faults fire: idempotent producers, consumers that read on and on, a group, writers of keys.

Used by: the campaign. Each is a thread around confluent-kafka that writes down every outcome (`history.py`). A message has
MESSAGE_TIMEOUT_S, longer than any fault: a producer that still can't get rid of it is wedged, and says so.
"""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.chaos import payload
from tests.chaos.history import NO_OFFSET, Commit, Committed, History, Outcome, Poll, Record, Send
from tests.chaos.key_judge import Write

IN_FLIGHT_MAX = 100
MESSAGE_TIMEOUT_S = 600
FLUSH_S = 60.0
COMMIT_S = 10.0  # without an answer to a commit
STOP_S = FLUSH_S + 30.0
LOG_BYTES = 128 << 20  # of what librdkafka says, and as much before it
HANGS_S = 60.0  # in a call that should take a fraction of a second, or in closing a consumer
CLIENT: dict[str, Any] = {
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 100,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "socket.timeout.ms": 5_000,
    "topic.metadata.refresh.fast.interval.ms": 50,
    "topic.metadata.refresh.interval.ms": 5_000,  # a consumer that was told that a topic is unknown stands still until then
    "log_level": 0,
}

_silent = logging.getLogger("chaos.clients")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False


def _logger(path: Path) -> logging.Logger:
    """What librdkafka says, for the reader of a round that failed."""
    logger = logging.getLogger(f"chaos.clients.{path}")
    handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", errors="replace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    return logger


class Client(ABC):
    """Something that runs in a thread until it is stopped."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.failure: str | None = None  # that ended it, or that it can't get over
        self.errors: Counter[str] = Counter()  # of deliveries
        self.refused = 0  # records that confluent-kafka would not take, since the node does not know the topic
        self.unknown_partitions = 0  # the same of a partition: the node knows fewer of them
        self.call_began: float | None = None  # the call with a bound of its own in which it is
        self.stopping = threading.Event()
        self.abandoned = threading.Event()  # nobody wants to know any more what it still has to do
        self.thread = threading.Thread(target=self._guarded, name=name, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(STOP_S)
        if self.thread.is_alive():
            self.failure = self.failure or f"{self.name}: waits for an answer, {STOP_S:.0f} s after the last fault"

    def abandon(self) -> None:
        """Have it end as soon as it can, without waiting for that."""
        self.abandoned.set()
        self.stopping.set()

    def _guarded(self) -> None:
        try:
            self.run()
        except Exception as failure:  # the campaign fails with it, rather than going on without a client
            self.failure = f"{self.name}: {type(failure).__name__}: {failure}"

    def _refused(self, failure: KafkaException) -> None:
        """The client library remembers for a while that the node said so. raises KafkaException, for anything else"""
        code = failure.args[0].code()
        if code not in (KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION):
            raise failure
        self.refused += code == KafkaError._UNKNOWN_TOPIC
        self.unknown_partitions += code == KafkaError._UNKNOWN_PARTITION
        self.stopping.wait(0.1)

    @property
    def hangs(self) -> bool:
        """Whether a call of its library that has a bound does not come back: librdkafka's own deadlock (docs/decisions/025)."""
        began = self.call_began
        return began is not None and time.monotonic() - began > HANGS_S

    @abstractmethod
    def run(self) -> None:
        """Until `stopping` is set."""


class IdempotentProducer(Client):
    """Unique values, round robin over the partitions of a topic.

    log       where librdkafka writes what it does about sequences and producer ids
    options   of librdkafka, over those here: a producer that is not as careful, where one is wanted
    """

    def __init__(
        self,
        name: str,
        bootstrap: str,
        history: History,
        topic: str,
        partitions: int,
        pause_s: float = 0.01,
        log: Path | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name)
        self.acknowledged = 0
        self.unknown = 0
        self._history, self._topic, self._partitions, self._pause_s = history, topic, partitions, pause_s
        self._log = log
        self._in_flight = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "message.timeout.ms": MESSAGE_TIMEOUT_S * 1000,
                "error_cb": self._failed,
                **CLIENT,
                **({"debug": "eos", "log_level": 7} if log else {}),
                **(options or {}),
            },
            logger=_logger(log) if log else _silent,
        )

    def run(self) -> None:
        try:
            self._send_all()
        finally:  # of what has no answer by then nobody knows what became of it
            self._producer.purge()
            self._producer.flush(1)

    def _send_all(self) -> None:
        for number in itertools.count():
            if self.stopping.is_set():
                break
            while self._in_flight >= IN_FLIGHT_MAX and not self.stopping.is_set():
                self._producer.poll(0.02)
            for index in range(3):
                self._send(f"{self.name}-{3 * number + index}", number % self._partitions)
            self._producer.poll(0)
            self.stopping.wait(self._pause_s)
        left = self._producer.flush(FLUSH_S)
        if left and not self.failure:
            self.failure = f"{self.name}: wedged, {left} records are not acknowledged after {FLUSH_S:.0f} s"

    def _send(self, value: str, partition: int) -> None:
        began = time.monotonic()
        self._in_flight += 1

        def delivered(error: Any, message: Any) -> None:
            self._in_flight -= 1
            outcome = Outcome.UNKNOWN if error is not None else Outcome.OK
            offset = _offset_of(message) if error is None else NO_OFFSET
            self.acknowledged += error is None
            self.unknown += error is not None
            if error is not None:
                self.errors[error.name()] += 1
            self._history.add(
                Send(self.name, self._topic, 0, partition, (value,), outcome, offset, began, time.monotonic())
            )

        try:
            self._producer.produce(self._topic, payload.encode(value), partition=partition, on_delivery=delivered)
        except KafkaException as failure:
            self._refused(failure)
            self._in_flight -= 1

    def new_epochs(self) -> int:
        """How often it lost its sequence, and began a new epoch: what has no answer then may be stored twice."""
        return self._log.read_text().count("bumped epoch") if self._log else 0

    def _failed(self, error: Any) -> None:
        if error.fatal():
            self.failure = f"{self.name}: wedged, fatal error {error.str()}"


class Tail(Client):
    """A consumer by assignment from the beginning, which reads on and on.

    log               where librdkafka writes what it does about fetches, brokers and metadata
    reads_committed   with isolation level read_committed
    """

    def __init__(
        self,
        name: str,
        bootstrap: str,
        history: History,
        topic: str,
        partitions: int,
        log: Path | None = None,
        *,
        reads_committed: bool = False,
    ) -> None:
        super().__init__(name)
        self.positions = dict.fromkeys(range(partitions), 0)
        self._history, self._topic, self._reads_committed = history, topic, reads_committed
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": name,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "fetch.error.backoff.ms": 20,
                "isolation.level": "read_committed" if reads_committed else "read_uncommitted",
                "check.crcs": True,
                **CLIENT,
                **({"debug": "fetch,broker,topic,metadata,consumer", "log_level": 7} if log else {}),
            },
            logger=_logger(log) if log else _silent,
        )

    def run(self) -> None:
        self._consumer.assign(
            [TopicPartition(self._topic, partition, OFFSET_BEGINNING) for partition in self.positions]
        )
        while not self.stopping.is_set():
            began = self.call_began = time.monotonic()
            records = []
            messages = self._consumer.consume(500, timeout=0.2)
            self.call_began = None
            for message in messages:
                if message.error():
                    self.refused += message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                    continue
                records.append(Record(message.partition(), message.offset(), payload.decode(message.value())))
                self.positions[message.partition()] = message.offset() + 1
            if records:
                self._history.add(
                    Poll(
                        self.name, self._topic, 0, tuple(records), began, time.monotonic(), is_buffered=True,
                        reads_committed=self._reads_committed,
                    )
                )  # fmt: skip
        self.call_began = time.monotonic()
        self._consumer.close()
        self.call_began = None


class Member(Client):
    """A member of a group: reads, and commits what it read, one commit at a time.

    group   where it is not alone in it; then it also writes down what it was given, by assignment

    Commits are asynchronous: a synchronous one that librdkafka's own deadlock (docs/decisions/025) catches never returns, and the
    member could not be stopped.
    """

    def __init__(self, name: str, bootstrap: str, history: History, topic: str, group: str = "") -> None:
        super().__init__(name)
        self.commits = 0
        self.group = group or name
        self._keeps_polls = bool(group)
        self._assignments = 0
        self._bootstrap, self._history, self._topic = bootstrap, history, topic
        self._ends: dict[int, int] = {}  # read, not committed
        self._pending: dict[int, int] = {}  # of the commit that is on its way
        self._began = 0.0

    def run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": self.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 500,
                "partition.assignment.strategy": "range",
                "on_commit": self._committed,
                **CLIENT,
            },
            logger=_silent,
        )
        consumer.subscribe([self._topic], on_assign=self._assigned)
        while not self.stopping.is_set():
            began, assignment = time.monotonic(), self._assignments
            self.call_began = began
            messages = [one for one in consumer.consume(200, timeout=0.2) if not one.error()]
            self.call_began = None
            for message in messages if assignment == self._assignments else ():
                self._ends[message.partition()] = message.offset() + 1
            if messages and self._keeps_polls:
                self._keep(messages, began, assignment)
            if self._pending and time.monotonic() > self._began + COMMIT_S:
                self._end_commit({})
            if self._ends and not self._pending:
                self._commit(consumer)
        self._end_commit({})
        self.call_began = time.monotonic()
        consumer.close()
        self.call_began = None

    def _assigned(self, _consumer: Consumer, _partitions: object) -> None:
        """It reads on from what is committed; what it read before and did not commit, it reads again."""
        self._ends = {}
        self._assignments += 1

    def _keep(self, messages: list[Any], began: float, assignment: int) -> None:
        """What it was given, unless an assignment came in the middle: then nobody knows what belongs to which."""
        records = tuple(Record(one.partition(), one.offset(), payload.decode(one.value())) for one in messages)
        client = f"{self.name}#{assignment}"
        polls = [records]
        if assignment != self._assignments:
            client = f"{self.name}#{assignment}-{self._assignments}"
            polls = [(record,) for record in records]
        for index, some in enumerate(polls):
            name = f"{client}.{index}" if len(polls) > 1 else client
            self._history.add(
                Poll(name, self._topic, 0, some, began, time.monotonic(), is_buffered=True, group=self.group)
            )

    def _commit(self, consumer: Consumer) -> None:
        self._pending, self._ends, self._began = self._ends, {}, time.monotonic()
        try:
            consumer.commit(
                offsets=[TopicPartition(self._topic, partition, end) for partition, end in self._pending.items()],
                asynchronous=True,
            )
        except KafkaException:
            self._end_commit({})
        if random.random() < 0.1:
            self._read_back(consumer)

    def _committed(self, error: Any, rows: list[TopicPartition]) -> None:
        if error is not None or {row.partition: row.offset for row in rows} == self._pending:
            self._end_commit({row.partition: row.offset for row in rows if error is None and row.error is None})

    def _end_commit(self, stored: dict[int, int]) -> None:
        for partition, end in self._pending.items():
            outcome = Outcome.OK if stored.get(partition) == end else Outcome.UNKNOWN
            self.commits += outcome is Outcome.OK
            self._history.add(
                Commit(self.group, self._topic, 0, partition, end, outcome, self._began, time.monotonic())
            )
        self._pending = {}

    def _read_back(self, consumer: Consumer) -> None:
        began = time.monotonic()
        try:
            rows = consumer.committed([TopicPartition(self._topic, 0)], timeout=2)
        except KafkaException:
            return
        if rows[0].error is None:
            offset = max(rows[0].offset, NO_OFFSET)
            self._history.add(Committed(self.group, self._topic, 0, 0, offset, began, time.monotonic()))


class KeyWriter(Client):
    """Writes few keys again and again, tombstones among them, to a compacted topic.

    options   of librdkafka, over those here
    """

    def __init__(
        self,
        name: str,
        bootstrap: str,
        topic: str,
        partitions: int,
        seed: int,
        keys: int = 40,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name)
        self.writes: list[Write] = []
        self.acknowledged = 0
        self._topic, self._partitions, self._keys = topic, partitions, keys
        self._chance = random.Random(seed)
        self._in_flight = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": MESSAGE_TIMEOUT_S * 1000,
                **CLIENT,
                **(options or {}),
            },
            logger=_silent,
        )

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            while self._in_flight >= IN_FLIGHT_MAX and not self.stopping.is_set():
                self._producer.poll(0.02)
            for _ in range(4):
                number += 1
                self._send(number)
            self._producer.poll(0)
            self.stopping.wait(0.02)
        left = self._producer.flush(FLUSH_S)
        if left:
            self.failure = f"{self.name}: wedged, {left} records are not acknowledged after {FLUSH_S:.0f} s"
        self._producer.purge()
        self._producer.flush(1)

    def _send(self, number: int) -> None:
        key = self._chance.randrange(self._keys)
        value = None if self._chance.random() < 0.1 else f"{self.name}-{number}"
        index = len(self.writes)
        partition = key % self._partitions
        self.writes.append(Write(partition, f"k{key}", value, Outcome.UNKNOWN, NO_OFFSET))
        self._in_flight += 1

        def delivered(error: Any, message: Any) -> None:
            self._in_flight -= 1
            if error is not None:
                self.errors[error.name()] += 1
            else:
                self.acknowledged += 1
                if (offset := _offset_of(message)) != NO_OFFSET:
                    self.writes[index] = self.writes[index]._replace(outcome=Outcome.OK, offset=offset)

        try:
            self._producer.produce(
                self._topic,
                payload.encode(value) if value is not None else None,
                key=f"k{key}",
                partition=partition,
                on_delivery=delivered,
            )
        except KafkaException as failure:
            self._refused(failure)
            self._in_flight -= 1
            del self.writes[index]


def _offset_of(message: Any) -> int:
    """NO_OFFSET where the broker knew a batch again, and did not say where it is."""
    offset = message.offset()
    return offset if offset is not None and offset >= 0 else NO_OFFSET
