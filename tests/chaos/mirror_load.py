"""What the mirror's campaign writes to a source: records in chunks, in all codecs, with and without keys and headers.

A record's value is the source's letter, a number, and random bytes. Numbers grow, so within a partition each is larger than the one
before it: a judge sees by the number alone what is doubled, lost or out of order.

Used by: the mirror's campaign, in a thread.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence

from headrace.client.kafka import Kafka
from headrace.errors import HeadraceError
from headrace.protocol.compression import Codec

WAIT_S = 60.0
PAUSE_S = 0.02
RECORD_BYTES = 100
FILLER_BYTES = 1 << 16
BATCHES = ((0, 16 << 10), (20, 64 << 10), (20, 256 << 10))  # linger in milliseconds, size in bytes
HEADERS_SHARE = 0.25  # of the chunks
PAST_MS = 3_600_000  # how old a record of a chunk with headers may be
KEYS = 101
KEYLESS = 10  # one of so many has no key


class Load:
    """Writes records until it is stopped.

    letter         begins each value
    chunk_records  at most, by one producer
    allowance      records that may be written; None: as many as it can
    acknowledged   records of chunks that were acknowledged as a whole
    failures       chunks of which some may be there and some not
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        letter: str,
        seed: int,
        codecs: Sequence[Codec],
        has_headers: bool,
        chunk_records: int,
        allowance: int | None,
    ) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self.letter = letter
        self._chance = random.Random(seed)
        self._codecs = codecs
        self._has_headers = has_headers
        self._chunk_records = chunk_records
        self.allowance = allowance
        self._filler = self._chance.randbytes(FILLER_BYTES)
        self._number = 0
        self.acknowledged = 0
        self.failures = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(2 * WAIT_S)

    def wait_for(self, count: int) -> bool:
        """Whether so many records were acknowledged in time."""
        deadline_s = time.monotonic() + 2 * WAIT_S
        while self.acknowledged < count:
            if time.monotonic() > deadline_s:
                return False
            time.sleep(PAUSE_S)
        return True

    def _run(self) -> None:
        while not self._stop.is_set():
            count = self._chunk_records
            if self.allowance is not None:
                count = min(self._chance.randint(count // 2, count), self.allowance - self.acknowledged)
            if count > 0:
                numbers = range(self._number, self._number + count)
                self._number += count
                try:
                    self._write(numbers)
                    self.acknowledged += count
                except HeadraceError:
                    self.failures += 1
                    time.sleep(0.1)
            self._stop.wait(PAUSE_S)

    def _write(self, numbers: range) -> None:
        """raises   HeadraceError"""
        codec = self._chance.choice(self._codecs)
        linger_ms, batch_bytes = self._chance.choice(BATCHES)
        options = {
            "compression": codec.name.lower(),
            "linger_ms": linger_ms,
            "batch_size": batch_bytes,
            "delivery_timeout_ms": int(WAIT_S * 1000),
        }
        values = [self._value(number) for number in numbers]
        keys = [b"key %d" % (number % KEYS) if number % KEYLESS else None for number in numbers]
        with Kafka(self._bootstrap) as kafka, kafka.producer(**options) as producer:
            if not self._has_headers or self._chance.random() > HEADERS_SHARE:
                producer.send_many(self._topic, values, keys)
                return
            now_ms = int(time.time() * 1000)
            for number, value, key in zip(numbers, values, keys, strict=True):
                producer.send(
                    self._topic,
                    value,
                    key,
                    headers=(("n", b"%d" % number), ("empty", None)),
                    timestamp_ms=now_ms - self._chance.randrange(PAST_MS),
                )

    def _value(self, number: int) -> bytes:
        head = b"%s%d " % (self.letter.encode(), number)
        place = number * 31 % (FILLER_BYTES - RECORD_BYTES)
        return head + self._filler[place : place + RECORD_BYTES - len(head)]


def number_of(value: bytes) -> int:
    """The number of a record, from its value."""
    return int(value[1 : value.index(b" ")])
