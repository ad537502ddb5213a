"""A batch of a producer: the records of one partition, from the first `send` to their acknowledgement.

    open       records are added; its partition's last
    waiting    closed; sent when its turn comes, or again after a failure
    in flight  a request has it
    done       acknowledged, or failed for good

Its records are written into the builder as they come, and sealed once, when it is first sent: where no codec is used the socket takes
them out of the builder's own memory, which is kept for another batch when this one is done. A retry sends the same bytes; another
identity is stamped into a copy of them.

Source: Kafka `ProducerBatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.client.engine.builders import Builders
from headrace.client.engine.identity import Identity
from headrace.client.failures import error_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_PRODUCER_ID, TopicPartition
from headrace.protocol.batch_builder import BatchBuilder
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    NO_SEQUENCE,
    SEQUENCE_MASK,
    Record,
    iterate_records,
    parse_header,
    producer_of,
    store_crc,
    store_header,
)

NO_OFFSET: Final = -1
RECORD_OVERHEAD_BYTES: Final = 36  # at most: six varints and the attributes of a record
VERSION_OF_BATCHES: Final = 3  # of Produce, from which on a request has batches of v2; sets of v1 before


class Batch:
    """Records of one partition, in the order they were sent.

    order         of its partition's batches; halves of one have the same
    size          bytes, uncompressed; of one that is open the header alone
    base_offset   of the first record, once it was acknowledged; NO_OFFSET: the broker did not say
    failure       why it was not stored, or not known to be
    is_seen       its failure is known to the caller: a flush does not raise it
    parts         the halves that took its place
    """

    __slots__ = (
        "_builders", "_encoded", "_waiters", "attempts", "base_offset", "builder", "count", "created_s", "failure", "is_closed",
        "is_done", "is_seen", "last_failure", "log_append_time_ms", "name", "order", "parts", "sequence", "size", "whole",
    )  # fmt: skip

    def __init__(self, name: TopicPartition, created_s: float, order: int, builders: Builders) -> None:
        self.name = name
        self.order = order
        self.builder: BatchBuilder | None = builders.take()
        self._builders = builders
        self.size = HEADER_BYTES
        self.count = 0  # once it is closed
        self.created_s = created_s
        self.attempts = 0
        self.sequence = NO_SEQUENCE
        self.last_failure: HeadraceError | None = None
        self.is_closed = False
        self.is_done = False
        self.is_seen = False
        self.failure: HeadraceError | None = None
        self.base_offset = NO_OFFSET
        self.log_append_time_ms = -1
        self.whole: Batch | None = None  # whose half this is
        self.parts: list[Batch] = []
        self._encoded: bytes | bytearray | memoryview | None = None
        self._waiters: list[Callable[[Batch], None]] = []

    def close(self) -> None:
        """No record comes any more."""
        if not self.is_closed:
            assert self.builder is not None
            self.is_closed, self.count, self.size = True, self.builder.count, self.builder.size_bytes

    def number(self, identity: Identity) -> None:
        """Give it the next sequences of its partition."""
        self.sequence = identity.sequence
        identity.sequence = (identity.sequence + self.count) & SEQUENCE_MASK

    def encoded(self, identity: Identity, codec: int, level: int | None = None) -> bytes | bytearray | memoryview:
        """The whole batch as a broker gets it."""
        assert self.is_closed
        if self._encoded is None:
            assert self.builder is not None
            if codec:
                self._encoded = self.builder.build(
                    codec, identity.producer_id, identity.epoch, self.sequence, identity.attributes, level
                )
                self._leave_builder()
            else:
                self._encoded = self.builder.seal_in_place(
                    identity.attributes, identity.producer_id, identity.epoch, self.sequence
                )
            return self._encoded
        producer = (identity.producer_id, identity.epoch, self.sequence)
        if producer_of(self._encoded) != producer:
            # a new object: the socket may still have the old bytes
            self._encoded = renewed = bytearray(self._encoded)
            producer_id, producer_epoch, sequence = producer
            header = parse_header(renewed)._replace(
                producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=sequence
            )
            store_header(renewed, header)
            store_crc(renewed)
        return self._encoded

    def records(self) -> list[Record]:
        """Its records, with offsets from 0."""
        if self._encoded is not None:
            return list(iterate_records(self._encoded))
        assert self.builder is not None
        return list(iterate_records(self.builder.build(0, NO_PRODUCER_ID, -1, NO_SEQUENCE, 0, None)))

    def as_set(self, codec: int) -> bytes:
        """The same for a broker before 0.11. raises KafkaError, where a record has headers"""
        from headrace.protocol.message_set import MAGIC_V1, build_message_set  # few clusters are as old

        records = self.records()
        if any(record.headers for record in records):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                f"records of {self.name} have headers, which brokers before Kafka 0.11 don't support",
            )
        return build_message_set(records, MAGIC_V1, codec)

    def halves(self) -> list[Batch]:
        """Two closed batches of its records, which take its place: it is done when both are."""
        records = self.records()
        self._encoded = None
        self._leave_builder()
        middle = len(records) // 2
        made = []
        for part in (records[:middle], records[middle:]):
            half = Batch(self.name, self.created_s, self.order, self._builders)
            assert half.builder is not None
            for record in part:
                half.builder.append(record.timestamp_ms, record.key, record.value, record.headers)
            half.close()
            half.attempts = self.attempts
            half.whole = self
            made.append(half)
        first, second = self.parts = made

        def done(_half: Batch) -> None:
            if first.is_done and second.is_done:
                self.base_offset, self.log_append_time_ms = first.base_offset, first.log_append_time_ms
                self.settle(first.failure or second.failure)

        first.on_done(done)
        second.on_done(done)
        return made

    def part_of(self, index: int) -> tuple[Batch, int]:
        """The batch that a record was sent in at last, and its place there: halves may lie apart in the log."""
        batch = self
        while batch.parts:
            first, second = batch.parts
            batch, index = (first, index) if index < first.count else (second, index - first.count)
        return batch, index

    @property
    def is_watched(self) -> bool:
        """Whether the caller knows of its failure, or of that of the batch it is a half of."""
        return self.is_seen or (self.whole is not None and self.whole.is_watched)

    def settle(self, failure: HeadraceError | None) -> None:
        """It is done: stored, or failed for good."""
        if self.is_done:
            return
        self.is_done, self.failure = True, failure
        self._encoded = None
        self._leave_builder()
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter(self)

    def _leave_builder(self) -> None:
        builder, self.builder = self.builder, None
        if builder is not None:
            self._builders.keep(builder)

    def on_done(self, waiter: Callable[[Batch], None]) -> None:
        """Called once; at once where it is done."""
        if self.is_done:
            waiter(self)
        else:
            self._waiters.append(waiter)


def failure_of(name: TopicPartition, row: object) -> KafkaError:
    """The error of a partition's row in a Produce response, with the first record that it names."""
    code: int = row.error_code  # type: ignore[attr-defined]
    text = getattr(row, "error_message", None) or str(name)
    errors = getattr(row, "record_errors", None) or ()
    if errors:
        first = errors[0]
        text = f"{text} (record {first.batch_index} of the batch: {first.batch_index_error_message or 'refused'})"
    return error_of(code, text if str(name) in text else f"{name}: {text}")
