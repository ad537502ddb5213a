"""What the controller process last knew of the cluster: every process of the node maps it, and follows what changed.

Runs in: the controller process writes; all others read. Two parts, one commit word:

    cluster table     what changes often: leader, epoch, in-sync and offline replicas, slot and key of each partition
                      (cluster_table.py)
    log               what changes seldom: brokers, settings, topics with their overrides and replicas, what is deleted
                      or released

The log is a compacted one. A publication appends a block that says what it changes; where that does not fit, a block
that says everything begins the other half:

    half       0  length u32, crc32 u32   of the block's bytes
               8  the block               MessagePack of a `Delta`, padded to 8; of the first block everything, of the
                                          others what changed

    writer:    claimed  ->  rows, journal  ->  block  ->  the idle descriptor (flips, end, changes, crc32)  ->  version
    reader:    version  ->  its descriptor  ->  block, journal  ->  the same version?      (VIEW_READ_TRIES_MAX)

One store commits a publication. A writer killed before it leaves the last view whole, and rows that are the old ones or
the new ones, each for itself; its successor, which finds more claimed than was published, makes everybody read all
rows. While the version is unchanged, nothing is written below `end` nor to the descriptor, so what was copied is of that
version. The checksums are for damage, not for races.

A reader decodes what was appended since it read last, and reads the rows of the journal's entries. A `TopicView` is the
same object until the topic's entry changes; its `partitions` are read when they are asked for, and kept until
their row changes. `ClusterViewReader.follow` says which topics and partitions these were.

The view is the desired state of this node's replicas, the partition table the actual one (docs/architecture.md).

Source: Kafka's compacted logs; `cluster_table.py` for the rows; docs/decisions/001.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

import msgspec

from headrace.shm.cluster_table import Ids
from headrace.shm.cluster_view import BrokerView, ReleasedTopic, ViewError
from headrace.shm.layout import WORD

BLOCK_HEADER_BYTES: Final = WORD

_DESCRIPTOR: Final = Struct("=QQQQ")


class Head(msgspec.Struct, array_like=True, frozen=True):
    """What is of no topic."""

    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerView, ...]
    cluster_settings: dict[str, str]
    node_settings: dict[str, str]


class TopicEntry(msgspec.Struct, array_like=True, frozen=True):
    """What changes seldom of a topic.

    incarnation   a number that no other topic of this boot has had
    rows          of the cluster table, by partition
    crowded       in-sync and offline replicas of the partitions whose row can't hold them
    """

    name: str
    topic_id: str
    internal: bool
    configs: dict[str, str]
    incarnation: int
    rows: tuple[int, ...]
    replicas: tuple[Ids, ...]
    crowded: dict[int, tuple[Ids, Ids]]


class Departing(msgspec.Struct, array_like=True, frozen=True):
    """Deleted topics of one name: their ids, and (partition, slot, key) of the replicas whose files are to go."""

    name: str
    topic_ids: tuple[str, ...]
    replicas: tuple[tuple[int, int, int], ...]


class Delta(msgspec.Struct, array_like=True, frozen=True):
    """What a publication changes; names alone say what is no longer there."""

    version: int
    head: Head | None = None
    topics: tuple[TopicEntry, ...] = ()
    departing: tuple[Departing, ...] = ()
    released: tuple[ReleasedTopic, ...] = ()
    topics_gone: tuple[str, ...] = ()
    departed: tuple[str, ...] = ()
    released_gone: tuple[str, ...] = ()


NO_HEAD: Final = Head("", -1, (), {}, {})
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_delta: Final = msgspec.msgpack.Decoder(Delta).decode


class Publication(NamedTuple):
    """A descriptor."""

    version: int
    flips: int
    end: int  # byte of the half
    changes: int  # entries of the journal

    def checksum(self) -> int:
        return zlib.crc32(_DESCRIPTOR.pack(*self))


UNPUBLISHED: Final = Publication(0, 0, 0, 0)


def encoded_bytes(record: Head | TopicEntry | Departing | ReleasedTopic) -> int:
    """How much of the log a record takes."""
    return len(_encode(record))


def block_of(delta: Delta) -> bytes:
    """A delta as it is appended."""
    body = _encode(delta)
    header = (len(body) | zlib.crc32(body) << 32).to_bytes(BLOCK_HEADER_BYTES, "little")
    return (header + body).ljust(_block_bytes(len(body)), b"\0")


def deltas_of(data: bytes) -> Iterator[Delta]:
    """The blocks of a stretch of a half, in order. raises ViewError"""
    place = 0
    while place < len(data):
        word = int.from_bytes(data[place : place + WORD], "little")
        length, crc = word & 0xFFFFFFFF, word >> 32
        body = data[place + WORD : place + WORD + length]
        if not body or len(body) != length or zlib.crc32(body) != crc:
            raise ViewError(f"a block of {length} bytes is corrupt")
        try:
            yield _decode_delta(body)
        except msgspec.MsgspecError as failure:
            raise ViewError(f"a block of {length} bytes can't be decoded: {failure}") from None
        place += _block_bytes(length)


def _block_bytes(length: int) -> int:
    """Bytes that a block with this many bytes of content takes of its half."""
    return BLOCK_HEADER_BYTES + -(-length // WORD) * WORD
