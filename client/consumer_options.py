"""Options of a consumer, checked when they are given."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

from headrace.client.dead_letters import DeadLetter
from headrace.client.engine.fetching import FetchingOptions, OffsetReset
from headrace.client.engine.membership import MembershipOptions
from headrace.client.serializers import DecodingFailed
from headrace.ids import TopicPartition

Start = Literal["earliest", "latest", "none"] | datetime.datetime | int
OnError = Literal["raise", "skip"] | Callable[[DecodingFailed], None] | DeadLetter
_MS: Final = 1000


class Delivery(Enum):
    """When a record counts as done: the three words of the design document, and a fourth."""

    AT_MOST_ONCE = "at_most_once"
    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"
    TRANSACTIONAL = "transactional"  # committed by a producer's transaction, and read from there


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """What a consumer reads, and how.

    topics, pattern, partitions   one of them
    start_ms                      where to begin without an offset, if by time
    """

    fetching: FetchingOptions
    membership: MembershipOptions | None
    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None
    partitions: tuple[TopicPartition, ...] | None
    group: str | None
    delivery: Delivery
    start_ms: int | None
    auto_commit_s: float
    max_poll_records: int
    metadata_max_age_s: float

    @classmethod
    def of(
        cls,
        *,
        topics: Iterable[str] = (),
        pattern: str | re.Pattern[str] | None = None,
        partitions: Iterable[TopicPartition | tuple[str, int]] | None = None,
        group: str | None = None,
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
        start: Start = "latest",
        isolation_level: str | None = None,
        auto_commit_interval_ms: float = 5_000,
        max_poll_records: int = 500,
        client_rack: str = "",
        metadata_max_age_ms: float = 300_000,
        assignors: str | Iterable[str] = ("range", "cooperative-sticky"),
        session_timeout_ms: int = 45_000,
        heartbeat_interval_ms: int = 3_000,
        max_poll_interval_ms: int = 300_000,
        group_instance_id: str | None = None,
        **rest: Any,
    ) -> ConsumerOptions:
        """raises   ValueError, which names key, value and reason"""
        if isolation_level is None:
            isolation_level = "read_committed" if delivery is Delivery.TRANSACTIONAL else "read_uncommitted"
        chosen = tuple(topics)
        if sum((bool(chosen), pattern is not None, partitions is not None)) != 1:
            raise ValueError("a consumer takes topics, or a pattern, or partitions")
        if isolation_level not in ("read_uncommitted", "read_committed"):
            raise ValueError(f"isolation.level: {isolation_level!r}: expected read_uncommitted or read_committed")
        if max_poll_records < 1:
            raise ValueError(f"max.poll.records: {max_poll_records}: expected 1 or more")
        known = {"fetch_min_bytes", "fetch_max_bytes", "fetch_max_wait_ms", "max_partition_fetch_bytes"}
        for name in rest:
            if name not in known:
                raise _unknown(name, known)
        reset, start_ms = _start_of(start)
        membership = None
        if group is not None and partitions is None:
            membership = MembershipOptions(
                group,
                assignors_of(assignors),
                session_timeout_ms,
                heartbeat_interval_ms,
                max_poll_interval_ms,
                group_instance_id,
                client_rack or None,
            )
        if delivery is Delivery.AT_MOST_ONCE and group is None:
            raise ValueError("delivery: at_most_once commits before it returns records: set a group")
        if delivery is Delivery.TRANSACTIONAL and group is None:
            raise ValueError("delivery: transactional begins at what its group has committed: set a group")
        return cls(
            FetchingOptions(
                is_read_committed=isolation_level == "read_committed", rack=client_rack, reset=reset, **rest
            ),
            membership,
            chosen,
            re.compile(pattern) if isinstance(pattern, str) else pattern,
            None if partitions is None else tuple(TopicPartition(*one) for one in partitions),
            group,
            delivery,
            start_ms,
            auto_commit_interval_ms / _MS,
            max_poll_records,
            metadata_max_age_ms / _MS,
        )


def assignors_of(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _start_of(start: Start) -> tuple[OffsetReset, int | None]:
    if isinstance(start, datetime.datetime):
        return OffsetReset.LATEST, int(start.timestamp() * _MS)
    if isinstance(start, int) and not isinstance(start, bool):
        if start < 0:
            raise ValueError(f"start: {start}: milliseconds since 1970 must be 0 or more")
        return OffsetReset.LATEST, start
    try:
        return OffsetReset(start), None
    except ValueError:
        raise ValueError(f"start: {start!r}: expected earliest, latest, none, a datetime or milliseconds") from None


def _unknown(name: str, known: Iterable[str]) -> ValueError:
    import difflib

    names = [
        *known, "isolation_level", "auto_commit_interval_ms", "max_poll_records", "client_rack",
        "metadata_max_age_ms", "assignors", "session_timeout_ms",
        "heartbeat_interval_ms", "max_poll_interval_ms", "group_instance_id", "pattern", "partitions", "group", "delivery", "start",
    ]  # fmt: skip
    near = difflib.get_close_matches(name, names, 1)
    return ValueError(f"consumer option {name!r} is unknown" + (f": did you mean {near[0]!r}?" if near else ""))
