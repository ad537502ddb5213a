"""A single-producer, single-consumer ring of bytes in shared memory.

The writer owns `tail` and the free space, the reader owns `head`, and may change what it polled until it
releases it. Order of a publication:

    writer, write()     body and message word into free space, again and again
            commit()    tail stored
    reader, poll()      tail loaded, messages between head and tail taken and used
            release()   head stored

Stores stay in order on x86-64 (glibc fences the large copies that would not), so a reader that sees the new
tail sees whole messages; a writer killed anywhere before the tail store published nothing. Positions count
bytes for ever (2**64 of them); `position & mask` is the place in the data area. A message never wraps: what is
left at the end of the area is skipped by a padding message.

"Full" is a return value, wrong use an assertion, contradicting words a `CorruptRing`: the ends trust each
other's words no further than their own memory. Source: Agrona's OneToOneRingBuffer, for the idea.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import CorruptRing
from headrace.limits import RING_BYTES_MAX
from headrace.memory import Buffer, copy_in, load_word, store_word, view
from headrace.shm.layout import (
    KIND_MAX,
    KIND_PADDING,
    MESSAGE_HEADER_BYTES,
    RING_DATA,
    RING_HEAD,
    RING_TAIL,
    WORD,
    ring_capacity,
)
from headrace.shm.region import Region

_TAIL: Final = RING_TAIL // WORD
_HEAD: Final = RING_HEAD // WORD
_DATA_WORD: Final = RING_DATA // WORD


def _check_ends(region: Region) -> None:
    """Head and tail when an end is attached.

    raises   CorruptRing, where they contradict each other
    """
    tail, head, capacity = (
        load_word(region.words, _TAIL),
        load_word(region.words, _HEAD),
        ring_capacity(region.size_bytes),
    )
    if not 0 <= tail - head <= capacity or (tail | head) & 7:
        raise CorruptRing(f"{region.name}: tail {tail}, head {head}, capacity {capacity}")


class RingWriter:
    """The producer's end."""

    __slots__ = ("_capacity", "_head", "_memory", "_region", "_tail", "_words", "message_bytes_max")

    def __init__(self, region: Region) -> None:
        _check_ends(region)
        self._region = region
        self._words = region.words
        self._memory = region.memory
        self._capacity = ring_capacity(region.size_bytes)
        self._tail = load_word(self._words, _TAIL)  # where the next message goes; ahead of the shared word until commit
        self._head = load_word(self._words, _HEAD)
        self.message_bytes_max = self._capacity // 2 - MESSAGE_HEADER_BYTES

    def write(self, kind: int, header: Buffer, payload: Buffer | None = None) -> bool:
        """Copy one message into the ring; the reader sees it after `commit`.

        kind      1 to KIND_MAX
        returns   False: the ring is full, nothing was written
        raises    CorruptRing, if the reader's head is invalid
        """
        header_bytes = len(header)
        length = header_bytes if payload is None else header_bytes + len(payload)
        assert KIND_PADDING < kind <= KIND_MAX, kind
        assert length <= self.message_bytes_max, (length, self.message_bytes_max)
        needed = (length + (MESSAGE_HEADER_BYTES + 7)) & ~7
        tail = self._tail
        capacity = self._capacity
        place = tail & (capacity - 1)
        to_end = capacity - place
        total = needed if needed <= to_end else needed + to_end
        if tail + total - self._head > capacity:
            self._head = self._look_at_head()
            if tail + total - self._head > capacity:
                return False
        if needed > to_end:
            store_word(self._words, _DATA_WORD + (place >> 3), to_end - MESSAGE_HEADER_BYTES)  # kind 0: padding
            place = 0
        start = RING_DATA + place + MESSAGE_HEADER_BYTES
        memory = self._memory
        copy_in(memory, start, header)
        if payload is not None:
            copy_in(memory, start + header_bytes, payload)
        store_word(self._words, _DATA_WORD + (place >> 3), length | kind << 32)
        self._tail = tail + total
        return True

    def _look_at_head(self) -> int:
        """How far the reader is. A head that went back or overtook the tail would let us write over its messages."""
        head, tail = load_word(self._words, _HEAD), load_word(self._words, _TAIL)
        if not self._head <= head <= tail or head & 7:
            raise CorruptRing(f"{self._region.name}: head {head}, before {self._head}, tail {tail}")
        return head

    def commit(self) -> None:
        """Publish everything written so far: the one store that makes it visible."""
        store_word(self._words, _TAIL, self._tail)

    @property
    def region_bytes(self) -> int:
        return self._region.size_bytes

    def close(self) -> bool:
        """Unmap; False while views that are still out keep the mapping."""
        return self._region.close()


class RingReader:
    """The consumer's end."""

    __slots__ = ("_capacity", "_head", "_memory", "_region", "_words")

    def __init__(self, region: Region) -> None:
        _check_ends(region)
        self._region = region
        self._words = region.words
        self._memory = region.memory
        self._capacity = ring_capacity(region.size_bytes)
        self._head = load_word(self._words, _HEAD)  # next message to read; ahead of the shared word until release

    def poll(self, limit: int, bytes_max: int = RING_BYTES_MAX) -> list[tuple[int, memoryview]]:
        """At most `limit` messages, as (kind, writable view); the views are good until `release`.

        bytes_max   stop after this many bytes: the first one always comes, and the writer
                    gets room again before the ring is empty

        raises   CorruptRing, where tail, lengths or kinds contradict each other
        """
        words = self._words
        tail = load_word(words, _TAIL)
        head = self._head
        if head == tail:
            return []
        capacity = self._capacity
        available = tail - head
        if available < 0 or available > capacity or tail & 7:
            raise CorruptRing(f"{self._region.name}: tail {tail}, head {head}, capacity {capacity}")
        memory = self._memory
        mask = capacity - 1
        messages = []
        end = head + bytes_max
        while head < tail and limit and head < end:
            place = head & mask
            word = load_word(words, _DATA_WORD + (place >> 3))
            length = word & 0xFFFFFFFF
            kind = word >> 32
            size = (length + (MESSAGE_HEADER_BYTES + 7)) & ~7
            if size > tail - head or place + size > capacity:
                raise CorruptRing(f"{self._region.name}: message of {length} bytes at {head}, tail {tail}")
            if kind:
                if kind > KIND_MAX:
                    raise CorruptRing(f"{self._region.name}: message of kind {kind} at {head}")
                start = RING_DATA + place + MESSAGE_HEADER_BYTES
                messages.append((kind, view(memory, start, start + length)))
                limit -= 1
            elif place + size != capacity:
                raise CorruptRing(f"{self._region.name}: padding of {length} bytes at {head} ends before the edge")
            head += size
        self._head = head
        return messages

    def release(self) -> bool:
        """Give the space of all polled messages back to the writer.

        returns   whether the ring had been more than half full: its writer may be waiting for room
        """
        words = self._words
        was_crowded = load_word(words, _TAIL) - load_word(words, _HEAD) > self._capacity >> 1
        store_word(words, _HEAD, self._head)
        return was_crowded

    @property
    def region_bytes(self) -> int:
        return self._region.size_bytes

    def close(self) -> bool:
        """As of the writer."""
        return self._region.close()
