"""`ByteBufferMessageSet`: the messages of one partition's fetch, read as they are iterated. Pure.

A fetch of S bytes of a log ends where S bytes end, in the middle of a message as a rule. The part is seen by its size
and left out. A compressed set may begin before the offset that was asked for: those messages are left out too.

Each message's checksum is verified when it is reached.

Source: Kafka 0.8.2 `ByteBufferMessageSet`, `MessageAndOffset`; the documentation's "Reads".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from headrace.classic.errors import OffsetOutOfRange
from headrace.client.cluster import error_of
from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.protocol.message_set import iterate_entries, iterate_entry_records
from headrace.protocol.record_batch import (
    LOG_OVERHEAD_BYTES,
    MAGIC_V2,
    CorruptRecord,
    compute_crc,
    entry_bytes,
    parse_header,
    unpack_base_offset,
)


class Message(NamedTuple):
    """A message without its place."""

    key: bytes | None
    payload: bytes | None
    timestamp_ms: int  # -1: it has none


class MessageAndOffset(NamedTuple):
    """A message, and its offset in the partition."""

    message: Message
    offset: int

    @property
    def next_offset(self) -> int:
        """Where to fetch next."""
        return self.offset + 1


@dataclass(frozen=True, slots=True)
class ByteBufferMessageSet:
    """What a fetch of one partition returned.

    initial_offset   that was asked for
    high_watermark   the end of what consumers may read; -1 where the fetch failed
    """

    name: TopicPartition
    data: bytes
    initial_offset: int
    high_watermark: int = -1
    error_code: int = 0

    def __iter__(self) -> Iterator[MessageAndOffset]:
        """raises   OffsetOutOfRange, KafkaError, where the fetch failed; CorruptRecord"""
        self.check()
        view = memoryview(self.data)
        for position, size, magic in iterate_entries(view):
            entry = view[position : position + size]
            if magic == MAGIC_V2 and not self._is_read(entry):
                continue
            for record in iterate_entry_records(entry):
                if record.offset >= self.initial_offset:
                    yield MessageAndOffset(Message(record.key, record.value, record.timestamp_ms), record.offset)

    def check(self) -> None:
        """raises   OffsetOutOfRange, KafkaError, where the fetch failed"""
        if self.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OffsetOutOfRange(self.name.topic, self.name.partition, self.initial_offset)
        if self.error_code:
            raise error_of(self.error_code, str(self.name))

    @property
    def size_in_bytes(self) -> int:
        """All of it, a part of a message at the end included."""
        return len(self.data)

    @property
    def valid_bytes(self) -> int:
        """What whole messages take."""
        return sum(size for _position, size, _magic in iterate_entries(memoryview(self.data)))

    @property
    def next_offset(self) -> int:
        """The offset after the last whole message; the initial one, if there is none. Batches without records count."""
        last = self.initial_offset - 1
        view = memoryview(self.data)
        for position, size, magic in iterate_entries(view):
            if magic == MAGIC_V2:
                last = max(last, parse_header(view, position).last_offset)
            else:
                last = max(last, unpack_base_offset(view, position))
            assert size > LOG_OVERHEAD_BYTES
        return last + 1

    @property
    def wanted_bytes(self) -> int:
        """What the first message takes, where not all of it is here; 0 where a whole one is, or nothing at all."""
        if not self.data or self.valid_bytes:
            return 0
        if len(self.data) < LOG_OVERHEAD_BYTES:
            return len(self.data) + 1
        return max(entry_bytes(self.data, 0), len(self.data) + 1)

    def _is_read(self, entry: memoryview) -> bool:
        header = parse_header(entry)
        if compute_crc(entry) != header.crc:
            raise CorruptRecord(f"{self.name}: checksum mismatch in the batch at offset {header.base_offset}")
        return not header.is_control
