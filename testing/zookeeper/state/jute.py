"""Jute, ZooKeeper's encoding: big-endian integers, and strings, buffers and vectors after their length.

    int 4 | long 8 | bool 1 | buffer: length 4, bytes (-1: null) | string: as a buffer, UTF-8 | vector: count 4, items (-1: null)

A record has no tags: its fields follow each other. `Reader` checks each length against what is left of the frame.

Source: ZooKeeper `zookeeper.jute`, `BinaryInputArchive`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

_INT: Final = Struct(">i")
_LONG: Final = Struct(">q")
_STAT: Final = Struct(">qqqqiiiqiiq")
_NULL: Final = _INT.pack(-1)


class BadJute(Exception):
    """Bytes that are not what the operation's record says."""


class Acl(NamedTuple):
    """One entry of an access control list."""

    perms: int
    scheme: str
    id: str


class Stat(NamedTuple):
    """What ZooKeeper says of a node beside its data, in the order of the wire."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class Reader:
    """The fields of one record, from its first byte on. Every method raises BadJute."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._data)

    def integer(self) -> int:
        return int(_INT.unpack(self._take(4))[0])

    def long(self) -> int:
        return int(_LONG.unpack(self._take(8))[0])

    def flag(self) -> bool:
        return self._take(1) != b"\0"

    def buffer(self) -> bytes | None:
        length = self.integer()
        return None if length < 0 else self._take(length)

    def string(self) -> str:
        """A null is an empty string: kazoo sends the one for the other."""
        try:
            return (self.buffer() or b"").decode()
        except UnicodeDecodeError as failure:
            raise BadJute(str(failure)) from None

    def strings(self) -> list[str]:
        return [self.string() for _ in range(self._count(4))]

    def acls(self) -> list[Acl]:
        return [Acl(self.integer(), self.string(), self.string()) for _ in range(self._count(12))]

    def _count(self, item_bytes: int) -> int:
        """Of a vector whose items take at least `item_bytes` each."""
        count = max(0, self.integer())
        if count * item_bytes > len(self._data) - self._at:
            raise BadJute(f"a vector of {count} items in {len(self._data) - self._at} bytes")
        return count

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._data):
            raise BadJute(f"{length} bytes wanted at {self._at} of {len(self._data)}")
        taken = self._data[self._at : end]
        self._at = end
        return taken


def pack_int(value: int) -> bytes:
    return _INT.pack(value)


def pack_long(value: int) -> bytes:
    return _LONG.pack(value)


def pack_bool(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def pack_buffer(value: bytes | None) -> bytes:
    return _NULL if value is None else _INT.pack(len(value)) + value


def pack_string(value: str) -> bytes:
    return pack_buffer(value.encode())


def pack_strings(values: list[str]) -> bytes:
    return _INT.pack(len(values)) + b"".join(map(pack_string, values))


def pack_acls(acls: tuple[Acl, ...]) -> bytes:
    entries = (pack_int(acl.perms) + pack_string(acl.scheme) + pack_string(acl.id) for acl in acls)
    return _INT.pack(len(acls)) + b"".join(entries)


def pack_stat(stat: Stat) -> bytes:
    return _STAT.pack(*stat)


def frame(*parts: bytes) -> bytes:
    """What goes on the wire: the length, then the record."""
    body = b"".join(parts)
    return _INT.pack(len(body)) + body
