"""The judge of compacted topics: by key, since records go and only the last one of a key stays. Pure.

Used by: the campaign; `test_key_judge.py` shows that it catches each class. One client writes a key, one write after the
other; compaction keeps offsets.

    key-lost            the last acknowledged value of a key is not there at the end
    key-brought-back    a value is there that a later tombstone deleted
    key-order           an older value of a key after a newer one
    key-changed         at an offset there is something else than what was acknowledged there, or what nobody wrote
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tests.chaos.history import Outcome
from tests.chaos.judge import Anomaly

CLASSES = ("key-lost", "key-brought-back", "key-order", "key-changed")


class Write(NamedTuple):
    """A write of a key; `value` is None for a tombstone; writes of a key are in the order in which they were sent."""

    partition: int
    key: str
    value: str | None
    outcome: Outcome
    offset: int


class Kept(NamedTuple):
    """A record that the client at the end read."""

    partition: int
    offset: int
    key: str
    value: str | None


def judge_keys(writes: Sequence[Write], final: Iterable[Kept]) -> list[Anomaly]:
    """Everything that writes and what is left of them show."""
    written: dict[str, list[Write]] = defaultdict(list)
    for write in writes:
        written[write.key].append(write)
    kept: dict[str, list[Kept]] = defaultdict(list)
    for record in sorted(final, key=lambda record: record[:2]):
        kept[record.key].append(record)
    anomalies: list[Anomaly] = []
    for key in sorted(written.keys() | kept.keys()):
        anomalies += _judge_key(key, written[key], kept[key])
    return anomalies


def _judge_key(key: str, writes: list[Write], kept: list[Kept]) -> Iterator[Anomaly]:
    acknowledged = {write.offset: write for write in writes if write.outcome is Outcome.OK}
    order = {write.value: index for index, write in enumerate(writes) if write.value is not None}
    newest = -1
    for record in kept:
        told = acknowledged.get(record.offset)
        if told is not None and told.value != record.value:
            yield Anomaly("key-changed", f"{key}@{record.offset}: {record.value}, acknowledged was {told.value}")
        elif record.value is not None and record.value not in order:
            yield Anomaly("key-changed", f"{key}@{record.offset}: {record.value}, nobody wrote it")
        elif record.value is not None:
            if order[record.value] < newest:
                yield Anomaly("key-order", f"{key}@{record.offset}: {record.value} after {writes[newest].value}")
            newest = max(newest, order[record.value])
    last = max(acknowledged.values(), key=lambda write: write.offset, default=None)
    if last is None:
        return
    after = [record for record in kept if record.offset >= last.offset]
    if last.value is not None:
        deleted_later = any(
            write.value is None and write.outcome is Outcome.UNKNOWN for write in writes[writes.index(last) :]
        )
        if not after and not deleted_later:
            yield Anomaly("key-lost", f"{key}: {last.value} was acknowledged at {last.offset}")
    elif not after and any(record.value is not None for record in kept):
        yield Anomaly("key-brought-back", f"{key}: {kept[-1].value} is there, deleted at {last.offset}")
