"""Lists of records through a consumer's deserializers: what can't be decoded is raised, left out, or stored in another topic.

    run -> decoded, one record after the other
             a schema is not known yet   -> looked up on a thread, then continued from this record
             undecodable                 -> "raise": the list ends before it;  "skip", a function: it is left out;
                                            dead_letter(topic): stored there first
        -> done: the list may be handed out

The progress is kept beside the chunk (`ChunkReader.half`). A call whose time is up, or that is interrupted, leaves it to the next call.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from itertools import islice
from typing import Any

from headrace.client.chunk_reader import ChunkReader
from headrace.client.consumer_options import ConsumerOptions, OnError
from headrace.client.dead_letters import DeadLetter, DeadLetters, Letters, check_source
from headrace.client.engine.engine import Engine
from headrace.client.failures import SerializerUnavailable
from headrace.client.lookups import LookupNeeded, bound, started
from headrace.client.reading import Run
from headrace.client.records import Record
from headrace.client.serializers import DecodingFailed, Deserializer, Part
from headrace.client.steps import Steps, Until

_new = tuple.__new__


class HalfDecoded:
    """A list of records that is not done.

    found     decoded, in order
    left_out  how many were not
    failure   the list ends before this one
    letters   that have to be stored before it is handed out
    """

    __slots__ = ("failure", "found", "left_out", "letters", "looking")

    def __init__(self) -> None:
        self.found: Run = []
        self.left_out = 0
        self.failure: DecodingFailed | None = None
        self.letters = Letters()
        self.looking: Future[None] | None = None


class Decoding:
    """The deserializers of one consumer.

    wake        of the driver, for the thread of a lookup
    waits_for   in words, for `health`
    """

    def __init__(
        self,
        key: Deserializer[Any] | None,
        value: Deserializer[Any] | None,
        on_error: OnError,
        dead_letters: DeadLetters | None,
        clock_s: Callable[[], float],
        wake: Callable[[], None],
    ) -> None:
        self._read_key = None if key is None else bound(key, "key", may_block=False).deserialize
        self._read_value = None if value is None else bound(value, "value", may_block=False).deserialize
        self._on_error = on_error
        self._dead_letters = dead_letters
        self._clock_s = clock_s
        self._wake = wake
        self.waits_for: str | None = None

    def decode(self, reader: ChunkReader, until_s: float) -> Steps[HalfDecoded | None]:
        """The reader's run, decoded; None: it is not by then. `failure` is the reader's from then on.

        raises   DeadLetterFailed; SerializerUnavailable; what a function of the caller's raises
        """
        run = reader.run
        assert run is not None
        if self._dead_letters is not None and not (yield from self._dead_letters.ready(until_s)):
            return None
        half = reader.half
        if half is None:
            half = reader.half = HalfDecoded()
        while True:
            if half.looking is None:
                needed = self._pass(run, half)
                if needed is None:
                    break
                half.looking = started(needed)
                half.looking.add_done_callback(lambda _future: self._wake())
                self.waits_for = needed.what
            left_s = None if until_s == float("inf") else max(0.0, until_s - self._clock_s())
            if not (yield Until(half.looking.done, left_s, "")):
                return None
            looking, half.looking, self.waits_for = half.looking, None, None
            looking.result(0)
        if half.letters:
            assert self._dead_letters is not None
            self.waits_for = f"acknowledgement of dead letters by topic {self._dead_letters.topic}"
            if not (yield from self._dead_letters.store(half.letters, until_s)):
                return None
            self.waits_for = None
        reader.run, reader.half, reader.failure = None, None, half.failure
        return half

    def _pass(self, run: Run, half: HalfDecoded) -> LookupNeeded | None:
        """Decode the rest of the list. Returns what has to be looked up first; None: it is done."""
        read_key, read_value, on_error = self._read_key, self._read_value, self._on_error
        found = half.found
        for record in islice(run, len(found) + half.left_out, None):
            topic, partition, offset, timestamp_ms, key_data, value_data, headers, epoch = record
            part: Part = "key"
            try:
                key = key_data if read_key is None or key_data is None else read_key(topic, key_data)
                part = "value"
                value = value_data if read_value is None or value_data is None else read_value(topic, value_data)
            except LookupNeeded as needed:
                return needed
            except SerializerUnavailable:
                raise
            except Exception as failure:
                undecodable = DecodingFailed(record, part, failure)
                if on_error == "raise":
                    half.failure = undecodable
                    return None
                if self._dead_letters is not None:
                    half.letters.unsent.append(undecodable)
                elif callable(on_error):
                    on_error(undecodable)
                half.left_out += 1
                continue
            found.append(_new(Record, (topic, partition, offset, timestamp_ms, key, value, headers, epoch)))
        return None


def decoding_of(
    key: Deserializer[Any] | None,
    value: Deserializer[Any] | None,
    on_error: OnError,
    engine: Engine,
    options: ConsumerOptions,
    clock_s: Callable[[], float],
    wake: Callable[[], None],
) -> Decoding | None:
    """What deserializes a consumer's records; None: keys and values stay bytes. raises ValueError"""
    if isinstance(on_error, DeadLetter):
        check_source(on_error.topic, options)
    if key is None and value is None:
        return None
    letters = DeadLetters(engine, on_error, clock_s) if isinstance(on_error, DeadLetter) else None
    return Decoding(key, value, on_error, letters, clock_s, wake)
