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

A value that is null withdraws an entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


Content = Entry | Position | Gap | Origin
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


def decode(key: bytes | None, value: bytes | None) -> tuple[LaneName | None, Content, bool]:
    """(the partition, none of an origin; what is said of it; whether it is withdrawn).

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
    lane = LaneName(str(rest[0]), str(rest[1]), str(rest[2]), int(rest[3]))
    if kind == "entry":
        generation, source, life = map(int, rest[4:7])
        numbers = (int(fields.get("ordinal", 0)), int(fields.get("target", 0)))
        return lane, Entry(
            generation, source, *numbers, life, int(fields.get("count", 0)), str(fields.get("digest", ""))
        )
    if kind == "position":
        return lane, msgspec.convert(fields, Position)
    if kind == "gap":
        generation, source = map(int, rest[4:6])
        return lane, Gap(generation, source, int(fields["until"]), str(fields["reason"]), int(fields["time_ms"]))
    raise ValueError(f"unknown kind {kind!r}")


def _entry_key(lane: LaneName, entry: Entry) -> bytes:
    return msgspec.json.encode(["entry", *lane, entry.generation, entry.source, entry.life])
