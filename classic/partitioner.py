"""Which partition a key goes to: `Partitioner.partition(key, num_partitions)`, by default Java's `hashCode`.

    str      31^(n-1) * unit[0] + ... + unit[n-1] over UTF-16 units, as int32     String.hashCode
    bytes    31^n + 31^(n-1) * byte[0] + ... + byte[n-1], bytes signed            Arrays.hashCode
    int      the number, or the exclusive or of its halves above 32 bits          Integer.hashCode, Long.hashCode

The partition is the absolute value of the hash, modulo the number of partitions; that of -2^31, which has none, is 0.
Python's own `hash` is salted in each process: two producers would disagree.

Source: Kafka 0.8.2 `DefaultPartitioner`, `ByteArrayPartitioner`, `Utils.abs`; the documentation of `java.lang.String.hashCode`.
"""

from __future__ import annotations

import struct
from typing import Any, Protocol, TypeVar

from headrace.classic.plugins import instance_of

_MASK = 0xFFFFFFFF
_SIGN = 1 << 31
_LONG_SIGN = 1 << 63

Key = TypeVar("Key", contravariant=True)


class Partitioner(Protocol[Key]):
    """Chooses the partition of a key that is not None."""

    def partition(self, key: Key, num_partitions: int) -> int:
        """A number in 0..num_partitions - 1."""


class DefaultPartitioner:
    """By the hash that Java has of the key: str, bytes, or int."""

    def partition(self, key: str | bytes | int, num_partitions: int) -> int:
        """raises   TypeError, for a key of another type"""
        hashed = java_hash(key)
        return (0 if hashed == -_SIGN else abs(hashed)) % num_partitions


def java_hash(key: object) -> int:
    """Java's hashCode, an int32; raises TypeError for a type that has no counterpart, OverflowError for more than 64 bits."""
    if isinstance(key, str):
        return _string_hash(key)
    if isinstance(key, bytes | bytearray | memoryview):
        return _bytes_hash(bytes(key))
    if isinstance(key, bool):
        return 1231 if key else 1237
    if isinstance(key, int):
        return _int_hash(key)
    raise TypeError(f"no hash for a key of type {type(key).__name__}: set partitioner.class")


def _string_hash(key: str) -> int:
    data = key.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for (unit,) in struct.iter_unpack(">H", data):
        hashed = 31 * hashed + unit & _MASK
    return _signed(hashed)


def _bytes_hash(key: bytes) -> int:
    hashed = 1
    for (byte,) in struct.iter_unpack(">b", key):
        hashed = 31 * hashed + byte & _MASK
    return _signed(hashed)


def _int_hash(key: int) -> int:
    if -_SIGN <= key < _SIGN:
        return key
    if not -_LONG_SIGN <= key < _LONG_SIGN:
        raise OverflowError(f"key {key} has more than 64 bits")
    return _signed((key ^ (key & (1 << 64) - 1) >> 32) & _MASK)


def _signed(hashed: int) -> int:
    return hashed - (1 << 32) if hashed & _SIGN else hashed


PARTITIONERS = {
    "kafka.producer.DefaultPartitioner": DefaultPartitioner,
    "kafka.producer.ByteArrayPartitioner": DefaultPartitioner,
}


def partitioner_of(key: str, value: Any) -> Partitioner[Any]:
    """The partitioner that a setting names; raises ConfigError."""
    found: Partitioner[Any] = instance_of(key, value, ("partition",), PARTITIONERS)
    return found
