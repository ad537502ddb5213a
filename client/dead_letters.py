"""Records that can't be decoded, kept in another topic: `on_error=dead_letter("orders.dead")`.

    key, value, headers    as they were read
    __connect.errors.*     after its own headers: where it was, and why it could not be decoded

A record is left out after its dead letter is acknowledged: no position passes it before. Where that fails, DeadLetterFailed is raised. Each
call raises it again until the dead letter is stored, or the caller moves the position: nothing is dropped. After a crash a dead letter may
be there twice. Its timestamp is the time of now: with the time of its record, the topic's retention could delete it at once. The record's
own time is in a header.

The producer is a part of the consumer's own engine: there is no thread, and the blocking and the asyncio driver turn it alike.

Source: Kafka Connect's DeadLetterQueueReporter (KIP-298), whose names tools know; decision 020.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.client.engine.batches import RECORD_OVERHEAD_BYTES, Batch
from headrace.client.engine.engine import Engine
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.engine.routes import Route
from headrace.client.engine.tasks import Task
from headrace.client.partitioner import partition_of
from headrace.client.records import Header
from headrace.client.serializers import DecodingFailed
from headrace.client.steps import Steps, Until
from headrace.errors import HeadraceError
from headrace.limits import DEAD_LETTER_MS_MAX, DEAD_LETTER_REASON_CHARS_MAX, DEAD_LETTERS_IN_FLIGHT_MAX

if TYPE_CHECKING:
    from headrace.client.consumer_options import ConsumerOptions

PREFIX: Final = "__connect.errors."
_STAGES: Final = {"key": "KEY_CONVERTER", "value": "VALUE_CONVERTER"}
_HEADER_BYTES: Final = 10  # at most: the two lengths of a header


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Where undecodable records go.

    topic   which has to be there
    """

    topic: str

    def __post_init__(self) -> None:
        if not self.topic:
            raise ValueError("dead_letter: topic: '': expected the name of a topic")


def dead_letter(topic: str) -> DeadLetter:
    """For `on_error=`: undecodable records go to a topic, with headers that say where they were and what is wrong with them."""
    return DeadLetter(topic)


class DeadLetterFailed(HeadraceError):
    """A dead letter was not stored: the consumer stays before its record.

    topic   of dead letters
    cause   why
    """

    def __init__(self, topic: str, cause: HeadraceError, what: str = "") -> None:
        super().__init__(f"dead letter topic {topic}: {what}{cause}")
        self.topic = topic
        self.cause = cause


class Letters:
    """The dead letters of one list of records.

    unsent   in order
    """

    __slots__ = ("sent", "unsent")

    def __init__(self) -> None:
        self.unsent: deque[DecodingFailed] = deque()
        self.sent: list[tuple[DecodingFailed, Batch, int]] = []

    def __bool__(self) -> bool:
        return bool(self.unsent or self.sent)

    def are_done(self) -> bool:
        """Whether all that were sent are acknowledged, or failed."""
        return all(batch.is_done for _failure, batch, _place in self.sent)


class DeadLetters:
    """The dead letters of one consumer."""

    def __init__(self, engine: Engine, letter: DeadLetter, clock_s: Callable[[], float]) -> None:
        self.topic = letter.topic
        self._clock_s = clock_s
        self._engine = engine
        from headrace.client.engine.producing import Producing  # most consumers need no producer

        limits = ProducingOptions(linger_ms=0, delivery_timeout_ms=DEAD_LETTER_MS_MAX)
        self._producing = Producing(engine.requests, engine.tasks, engine.metadata, limits)
        engine.parts.append(self._producing)
        self._route: Route | None = None
        self._learning: Task[Route] | None = None

    def ready(self, until_s: float) -> Steps[bool]:
        """Whether the topic is known. It is looked up with the first records: a missing one is reported early. raises DeadLetterFailed"""
        if self._route is None:
            learning = self._learning
            if learning is None:
                what = f"metadata of dead letter topic {self.topic}"
                learning = self._learning = self._engine.start(self._producing.learn(self.topic), what)
            if not (yield Until(lambda: learning.is_done, self._left(until_s), "")):
                return False
            self._learning = None
            try:
                self._route = learning.value()
            except HeadraceError as failure:
                self._engine.metadata.topics.pop(self.topic, None)  # no topic of this consumer
                raise DeadLetterFailed(self.topic, failure) from None
        return True

    def store(self, letters: Letters, until_s: float) -> Steps[bool]:
        """Whether they are acknowledged by then. Called again, it continues. raises DeadLetterFailed, and keeps those that failed"""
        while letters:
            while letters.unsent and len(letters.sent) < DEAD_LETTERS_IN_FLIGHT_MAX:
                if letters.sent and self._producing.is_full:
                    break
                self._send(letters)
            self._producing.turn(self._clock_s(), is_flushing=True)
            if not (yield Until(letters.are_done, self._left(until_s), "")):
                return False
            sent, letters.sent = letters.sent, []
            failed = [(one, failure) for one, batch, place in sent if (failure := batch.part_of(place)[0].failure)]
            if failed:
                letters.unsent.extendleft(one for one, _failure in reversed(failed))
                raise DeadLetterFailed(
                    self.topic, failed[0][1], f"{len(failed)} records that can't be decoded were not stored: "
                )
        return True

    def _send(self, letters: Letters) -> None:
        """The first one into its batch. raises DeadLetterFailed, where no batch has room for it"""
        failure, route, producing = letters.unsent[0], self._route, self._producing
        assert route is not None
        record = failure.record
        headers = [*record.headers, *headers_of(failure)]
        size = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
        size += sum(_HEADER_BYTES + 4 * len(name) + len(content or b"") for name, content in headers)
        if record.key is None:
            queue = producing.sticky_queue(route)
        else:
            queue = producing.queue(route, partition_of(record.key, route.count))
        batch = queue.open
        try:
            if batch is None or batch.builder.size_bytes + size > producing.options.batch_size:  # type: ignore[union-attr]
                batch = producing.open_batch(queue, size, self._clock_s())
            builder = batch.builder
            assert builder is not None
            before = builder.size_bytes
            producing.path.add(builder.append(int(time.time() * 1000), record.key, record.value, headers) - before)
        except HeadraceError as refused:
            raise DeadLetterFailed(
                self.topic, refused, f"the record at {record.topic}-{record.partition} offset {record.offset}: "
            ) from None
        batch.is_seen = True  # its failure is ours
        letters.unsent.popleft()
        letters.sent.append((failure, batch, builder.count - 1))

    def _left(self, until_s: float) -> float | None:
        return None if until_s == float("inf") else max(0.0, until_s - self._clock_s())


def headers_of(failure: DecodingFailed) -> list[Header]:
    """Where a record was, and why it could not be decoded; numbers as text."""
    record, cause = failure.record, failure.cause
    kind = type(cause)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    said = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "timestamp": str(record.timestamp_ms),
        "stage": _STAGES[failure.part],
        "exception.class.name": name,
        "exception.message": str(cause)[:DEAD_LETTER_REASON_CHARS_MAX],
    }
    return [(PREFIX + key, value.encode(errors="replace")) for key, value in said.items()]


def check_source(topic: str, options: ConsumerOptions) -> None:
    """Refuse a topic of dead letters that the same consumer reads: they would come again, for ever. raises ValueError"""
    topics = {*options.topics, *(name.topic for name in options.partitions or ())}
    if topic in topics:
        raise ValueError(
            f"dead_letter: topic: {topic!r} is read by this consumer: its dead letters would be read again"
        )
    if options.pattern is not None and options.pattern.fullmatch(topic):
        raise ValueError(
            f"dead_letter: topic: {topic!r} matches pattern {options.pattern.pattern!r}: its dead letters would be read again"
        )
