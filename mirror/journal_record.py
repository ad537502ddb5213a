"""The records of the journal, the compacted topic of the target in which mirrors keep what its log does not say. Pure.

Key and value are JSON, so that any console consumer shows them:

    ["entry", MIRROR, SOURCE, TOPIC, PARTITION, GENERATION, OFFSET, LIFE]
        {"ordinal": n, "target": t, "delta": t - OFFSET, "count": c, "digest": ""}
        the record at OFFSET of the source is the n-th that was copied and lies at offset t of the target; the ones after it follow with the
        same differences, up to the next entry. `digest`, `count`: of the batch that begins there, where it has to be verified
    ["position", MIRROR, SOURCE, TOPIC, PARTITION]
        {"life": l, "generation": g, "source": s, "ordinal": n, "target": t, "topic_id": "", "epoch": -1, "time_ms": ...,
         "holder": "", "is_released": false}
        everything below s is in the target, below t; n records in all. Written after they were acknowledged
    ["gap", MIRROR, SOURCE, TOPIC, PARTITION, GENERATION, OFFSET]
        {"until": s, "reason": "...", "time_ms": ...}
        the offsets from OFFSET up to s were skipped, with --on-gap=skip
    ["origin", TOPIC]
        {"path": [cluster id, ...]}
        the clusters that a topic came through, the nearest first

Of partitions that are copied by key (docs/decisions/021):

    ["partitioner", MIRROR, SOURCE, TOPIC]
        {"partitioner": "key"}
        how a topic is copied: decided once, when it is first seen
    ["position", ...] has two more fields
        {"ordinals": [n of each target partition], "targets": [t of each target partition]}
        nothing at or above s lies below t
    ["claim", MIRROR, SOURCE, TOPIC, PARTITION]
        {"life": l, "holder": "", "time_ms": ...}
        a life begins. It is no position: one that was read before the claim may be older than the last, whose chunks are withdrawn
    ["chunk", MIRROR, SOURCE, TOPIC, PARTITION, GENERATION, OFFSET]
        {"since": s, "until": u, "partitions": Q, "life": l, "shares": [[target partition, records, digest], ...]}
        the records of the offsets from OFFSET up to u go to Q target partitions, one batch for each share. From s to OFFSET there are none
    ["place", MIRROR, SOURCE, TOPIC, PARTITION, GENERATION, OFFSET]
        {"targets": [t of each target partition]}
        a position of the past, kept for the offsets of groups

A value that is null withdraws an entry, a chunk or a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from headrace.errors import HeadraceError
from headrace.mirror.identity import LaneName

JOURNAL_TOPIC = "__headrace_mirror"

Fields = list[str | int]


class CorruptJournal(HeadraceError):
    """A record of the journal that no mirror wrote."""


@dataclass(frozen=True, slots=True)
class Entry:
    """From `source` on, offsets of source, ordinals and offsets of the target grow together."""

    generation: int
    source: int
    ordinal: int
    target: int
    life: int
    count: int = 0
    digest: str = ""

    @property
    def needs_proof(self) -> bool:
        return bool(self.digest)


@dataclass(frozen=True, slots=True)
class Position:
    """Records below `source` are in the target below `target`, `ordinal` of them. source -1: nothing is known yet.

    holder        drawn by the process that claimed the partition with this life
    is_released   it has ended, and writes nothing more
    """

    life: int
    generation: int
    source: int
    ordinal: int
    target: int
    topic_id: str = ""
    epoch: int = -1
    time_ms: int = 0
    holder: str = ""
    is_released: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets that were skipped."""

    generation: int
    source: int
    until: int
    reason: str
    time_ms: int


@dataclass(frozen=True, slots=True)
class Origin:
    """The clusters that a topic came through, the nearest first."""

    topic: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyedPosition(Position):
    """The position of a partition that is copied by key. `ordinal` and `target` of it have no meaning.

    ordinals   records that were copied to each target partition
    targets    offsets of the target partitions: records at or above `source` are not below them
    """

    ordinals: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A life of a partition that is copied by key begins."""

    life: int
    holder: str
    time_ms: int


class Share(NamedTuple):
    """What a target partition gets of a chunk: one batch. `records` is at least 1."""

    partition: int
    records: int
    digest: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """The offsets from `source` up to `until`, divided among the target partitions.

    since        where the chunk before it ended, or a position between the two
    partitions   of the target, when it was planned
    """

    generation: int
    since: int
    source: int
    until: int
    partitions: int
    life: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A position of the past: records at or above `source` are not below `targets`."""

    generation: int
    source: int
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How a mirror copies a topic of a source: `keep` or `key`."""

    mirror: str
    source: str
    topic: str
    partitioner: str


Content = Entry | Position | Gap | Origin | Claim | Chunk | Place | Partitioning
KeyValue = tuple[bytes, bytes | None]


def encode_entry(lane: LaneName, entry: Entry) -> KeyValue:
    value = {
        "ordinal": entry.ordinal,
        "target": entry.target,
        "delta": entry.target - entry.source,
        "count": entry.count,
        "digest": entry.digest,
    }
    return _entry_key(lane, entry), msgspec.json.encode(value)


def encode_withdrawal(lane: LaneName, entry: Entry) -> KeyValue:
    return _entry_key(lane, entry), None


def encode_position(lane: LaneName, position: Position) -> KeyValue:
    return msgspec.json.encode(["position", *lane]), msgspec.json.encode(position)


def encode_gap(lane: LaneName, gap: Gap) -> KeyValue:
    value = {"until": gap.until, "reason": gap.reason, "time_ms": gap.time_ms}
    return msgspec.json.encode(["gap", *lane, gap.generation, gap.source]), msgspec.json.encode(value)


def encode_origin(origin: Origin) -> KeyValue:
    return msgspec.json.encode(["origin", origin.topic]), msgspec.json.encode({"path": origin.path})


def encode_claim(lane: LaneName, claim: Claim) -> KeyValue:
    return msgspec.json.encode(["claim", *lane]), msgspec.json.encode(claim)


def encode_chunk(lane: LaneName, chunk: Chunk) -> KeyValue:
    value = {
        "since": chunk.since,
        "until": chunk.until,
        "partitions": chunk.partitions,
        "life": chunk.life,
        "shares": chunk.shares,
    }
    return _chunk_key(lane, chunk), msgspec.json.encode(value)


def encode_chunk_withdrawal(lane: LaneName, chunk: Chunk) -> KeyValue:
    return _chunk_key(lane, chunk), None


def encode_place(lane: LaneName, place: Place) -> KeyValue:
    return _place_key(lane, place), msgspec.json.encode({"targets": place.targets})


def encode_place_withdrawal(lane: LaneName, place: Place) -> KeyValue:
    return _place_key(lane, place), None


def encode_partitioning(one: Partitioning) -> KeyValue:
    key = ["partitioner", one.mirror, one.source, one.topic]
    return msgspec.json.encode(key), msgspec.json.encode({"partitioner": one.partitioner})


def decode(key: bytes | None, value: bytes | None) -> tuple[LaneName | None, Content, bool]:
    """(the partition, none where it is about a topic; what is said of it; whether it is withdrawn).

    raises   CorruptJournal
    """
    try:
        kind, *rest = msgspec.json.decode(key or b"", type=Fields)
        fields: dict[str, Any] = msgspec.json.decode(value) if value is not None else {}
        lane, content = _decoded(str(kind), rest, fields)
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, IndexError) as failure:
        raise CorruptJournal(f"record {key!r}, {value!r} of {JOURNAL_TOPIC}: {failure}") from None
    return lane, content, value is None


def _decoded(kind: str, rest: Fields, fields: dict[str, Any]) -> tuple[LaneName | None, Content]:
    if kind == "origin":
        return None, Origin(str(rest[0]), tuple(fields.get("path", ())))
    if kind == "partitioner":
        return None, Partitioning(str(rest[0]), str(rest[1]), str(rest[2]), str(fields.get("partitioner", "")))
    lane = LaneName(str(rest[0]), str(rest[1]), str(rest[2]), int(rest[3]))
    if kind == "entry":
        generation, source, life = map(int, rest[4:7])
        numbers = (int(fields.get("ordinal", 0)), int(fields.get("target", 0)))
        return lane, Entry(
            generation, source, *numbers, life, int(fields.get("count", 0)), str(fields.get("digest", ""))
        )
    if kind == "position":
        return lane, msgspec.convert(fields, KeyedPosition if "ordinals" in fields else Position)
    if kind == "claim":
        return lane, msgspec.convert(fields, Claim)
    if kind == "chunk":
        return lane, _chunk(int(rest[4]), int(rest[5]), fields)
    if kind == "place":
        return lane, Place(int(rest[4]), int(rest[5]), tuple(map(int, fields.get("targets", ()))))
    if kind == "gap":
        generation, source = map(int, rest[4:6])
        return lane, Gap(generation, source, int(fields["until"]), str(fields["reason"]), int(fields["time_ms"]))
    raise ValueError(f"unknown kind {kind!r}")


def _chunk(generation: int, source: int, fields: dict[str, Any]) -> Chunk:
    """One without values, as it is withdrawn, has only its key."""
    until, partitions, life = (int(fields.get(name, 0)) for name in ("until", "partitions", "life"))
    shares = tuple(Share(int(one), int(records), str(digest)) for one, records, digest in fields.get("shares", ()))
    return Chunk(generation, int(fields.get("since", 0)), source, until, partitions, life, shares)


def _chunk_key(lane: LaneName, chunk: Chunk) -> bytes:
    return msgspec.json.encode(["chunk", *lane, chunk.generation, chunk.source])


def _place_key(lane: LaneName, place: Place) -> bytes:
    return msgspec.json.encode(["place", *lane, place.generation, place.source])


def _entry_key(lane: LaneName, entry: Entry) -> bytes:
    return msgspec.json.encode(["entry", *lane, entry.generation, entry.source, entry.life])
