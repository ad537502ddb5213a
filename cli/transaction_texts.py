"""What `headrace transactions` says of an open transaction: lines for people, fields for JSON. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from headrace.client.admin import TransactionDescription
    from headrace.client.open_transactions import Found, OpenTransaction, Standstill

ONGOING: Final = "Ongoing"
DECIDED: Final = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
NAMED = 5  # of a long list
_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))


def in_words(duration_ms: int) -> str:
    """`4 min`: the largest unit that fits."""
    for unit, length_ms in _UNITS:
        if duration_ms >= length_ms:
            return f"{duration_ms // length_ms} {unit}"
    return f"{max(0, duration_ms)} ms"


def date_of(time_ms: int) -> str:
    """`2026-11-28T11:40:00Z`."""
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def abort_command(found: Found) -> str:
    """What ends it."""
    one = found.transaction
    holder = holder_of(found)
    if not found.is_hanging and holder is not None:
        return f"headrace transactions abort {holder.transactional_id}"
    return (
        f"headrace transactions abort --topic {one.name.topic} --partition {one.name.partition}"
        f" --start-offset {one.first_offset} --force"
    )


def holder_of(found: Found) -> TransactionDescription | None:
    """The id whose transaction it is; where it hangs, an id of its producer."""
    for row in found.ids:
        if found.transaction.name in row.partitions:
            return row
    return found.ids[0] if found.ids else None


def why_lines(standstill: Standstill, now_ms: int) -> list[str]:
    """The answer to `why`: how far behind, what holds it, what to do."""
    name, behind = standstill.name, standstill.behind
    found = standstill.held_by
    place = f"{name}: last stable offset {standstill.last_stable_offset:,}"
    if found is None:
        if not behind:
            return [f"{place} is the high watermark: no transaction is open there"]
        return [
            f"{place} is {behind:,} behind the high watermark {standstill.high_watermark:,}; no transaction is open there any more",
            f"its end may not be replicated yet: ask again, then see headrace topics describe {name.topic}",
        ]
    lines = [f"{place} is {behind:,} behind the high watermark {standstill.high_watermark:,} {_since(found, now_ms)}"]
    lines.append(holder_line(found, now_ms))
    lines.append(_advice(found))
    if standstill.others:
        lines.append(f"transactions that are open behind it: {standstill.others:,}")
    return lines


def _since(found: Found, now_ms: int) -> str:
    """How long; only a coordinator knows when a transaction began."""
    holder = holder_of(found)
    if not found.is_hanging and holder is not None and holder.start_ms >= 0:
        return f"since {in_words(now_ms - holder.start_ms)}"
    written_ms = found.transaction.producer.last_timestamp_ms
    return f"since {in_words(now_ms - written_ms)} or longer" if written_ms >= 0 else "for an unknown time"


def holder_line(found: Found, now_ms: int) -> str:
    """Whose it is, and in which state."""
    one, holder = found.transaction, holder_of(found)
    producer = f"producer {one.producer.producer_id} epoch {one.producer.epoch}"
    written_ms = one.producer.last_timestamp_ms
    written = f"last written to {in_words(now_ms - written_ms)} ago" if written_ms >= 0 else "records without a time"
    if holder is None:
        return f"no coordinator knows {producer}: hanging transaction, {written}"
    where = f"transactional id {holder.transactional_id} ({producer})"
    if found.is_hanging:
        return (
            f"{where} is {holder.state} at broker {holder.coordinator}, which has no transaction in {one.name}:"
            f" hanging transaction, {written}"
        )
    state = f"{where}: state {holder.state} at broker {holder.coordinator}"
    if holder.state == ONGOING:
        return f"{state}, started {date_of(holder.start_ms)}, {_end(holder, now_ms)}"
    return f"{state}: it has ended, and markers are still to be written in {listed(list(map(str, holder.partitions)))}"


def _end(holder: TransactionDescription, now_ms: int) -> str:
    left_ms = holder.start_ms + holder.timeout_ms - now_ms
    if left_ms >= 0:
        return f"times out in {in_words(left_ms)}"
    return f"timed out {in_words(-left_ms)} ago, and its coordinator has not aborted it"


def _advice(found: Found) -> str:
    holder = holder_of(found)
    if not found.is_hanging and holder is not None and holder.state != ONGOING:
        return (
            "its coordinator writes them once the leaders respond: see headrace cluster describe --offline, and its log"
        )
    return f"to abort it: {abort_command(found)}"


def why_fields(standstill: Standstill) -> dict[str, Any]:
    """For JSON."""
    found = standstill.held_by
    return {
        "topic": standstill.name.topic,
        "partition": standstill.name.partition,
        "last_stable_offset": standstill.last_stable_offset,
        "high_watermark": standstill.high_watermark,
        "behind": standstill.behind,
        "held_by": None if found is None else found_fields(found),
        "others": standstill.others,
    }


def found_fields(found: Found) -> dict[str, Any]:
    """An open transaction, for JSON."""
    one, holder = found.transaction, holder_of(found)
    is_ongoing = holder is not None and holder.state == ONGOING
    return {
        **open_fields(one),
        "hanging": found.is_hanging,
        "transactional_id": None if holder is None else holder.transactional_id,
        "coordinator": None if holder is None else holder.coordinator,
        "state": None if holder is None else holder.state,
        "started_ms": holder.start_ms if holder is not None and is_ongoing else None,
        "timeout_ms": None if holder is None else holder.timeout_ms,
    }


def open_fields(one: OpenTransaction) -> dict[str, Any]:
    """What the leader knows of it, for JSON."""
    return {
        "topic": one.name.topic,
        "partition": one.name.partition,
        "producer": one.producer.producer_id,
        "epoch": one.producer.epoch,
        "coordinator_epoch": one.producer.coordinator_epoch,
        "start_offset": one.first_offset,
        "last_written_ms": one.producer.last_timestamp_ms,
    }


def description_fields(row: TransactionDescription, now_ms: int) -> dict[str, Any]:
    """An id, for JSON and for lines."""
    is_open = row.start_ms >= 0
    return {
        "transactional_id": row.transactional_id,
        "coordinator": row.coordinator,
        "producer": row.producer_id,
        "epoch": row.epoch,
        "state": row.state,
        "timeout_ms": row.timeout_ms,
        "started_ms": row.start_ms if is_open else None,
        "open_ms": max(0, now_ms - row.start_ms) if is_open else None,
        "partitions": [str(name) for name in row.partitions],
    }


def description_lines(row: TransactionDescription, now_ms: int) -> list[str]:
    """An id, for people."""
    lines = [
        f"transactional id {row.transactional_id}  coordinator {row.coordinator}  producer {row.producer_id}  epoch {row.epoch}",
        f"state {row.state}  timeout {in_words(row.timeout_ms)}",
    ]
    if row.start_ms >= 0:
        lines[1] += f"  started {date_of(row.start_ms)}, {in_words(now_ms - row.start_ms)} ago: {_end(row, now_ms)}"
    if row.partitions:
        lines.append(f"partitions {' '.join(map(str, row.partitions))}")
    return lines


def listed(names: Sequence[str]) -> str:
    """`a, b and 7 others`."""
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"
