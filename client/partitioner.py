"""Which partition a record goes to: by its key as Kafka's Java clients do, else one partition at a time.

Keys are hashed by the record kernel where it was built (`protocol/kernel/murmur2.c`); the functions here are its reference.

Records without a key stick to one partition until its batch is full: fewer, larger batches.

Source: Kafka `Utils.murmur2`, `BuiltInPartitioner`; KIP-480, KIP-794.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from typing import Final

from headrace.protocol import record_kernel
from headrace.protocol.record_batch import Buffer

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2_in_python(data: Buffer) -> int:
    """MurmurHash2 with Kafka's seed, as an unsigned 32-bit number."""
    length = len(data)
    hashed = _SEED ^ length
    whole = length & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        hashed = hashed * _M & _MASK ^ word
    rest = data[whole:]
    if rest:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _M & _MASK
    hashed = (hashed ^ hashed >> 13) * _M & _MASK
    return hashed ^ hashed >> 15


def partition_in_python(key: Buffer, count: int) -> int:
    """The partition of a key among `count`, >= 1."""
    if count < 1:
        raise ValueError(f"count: {count} is not a number of partitions")
    return (murmur2_in_python(key) & 0x7FFFFFFF) % count


murmur2: Final[Callable[[Buffer], int]] = record_kernel.murmur2 or murmur2_in_python
partition_of: Final[Callable[[Buffer, int], int]] = record_kernel.partition_of or partition_in_python


class StickyPartitions:
    """The partition for records without a key, by topic."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()
        self._current: dict[str, int] = {}

    def current(self, topic: str, available: Sequence[int]) -> int:
        """The current partition, one of `available` (not empty)."""
        partition = self._current.get(topic)
        if partition is None or partition not in available:
            partition = self._current[topic] = self._chance.choice(available)
        return partition

    def move_on(self, topic: str, available: Sequence[int]) -> None:
        """A batch is full: switch to another partition, if there is one."""
        current = self._current.get(topic)
        others = [partition for partition in available if partition != current]
        if others:
            self._current[topic] = self._chance.choice(others)
