"""What a coordinator wants done: plain data, carried out by its host (`workers/partition/coordinator_host.py`).

Pure: a coordinator gets events with the time, emits effects, and touches nothing else.

    Append    write these records to the offsets partition; call `then` when they are committed, or can't be
    Answer    give this message to whoever sent the request
    Began     a rebalance began: to be counted

Answers are given in their order, and so are records appended. `then` is an event of its own: it emits further effects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.errors import ErrorCode

# (key, value or None for a tombstone)
KeyValue = tuple[bytes, bytes | None]


class Append(NamedTuple):
    """Records that belong together: all of them are appended, or none.

    then       called once with (what became of them, offset behind them or -1, now in ms)
    producer   (producer id, epoch) of a transaction they belong to
    """

    records: list[KeyValue]
    then: Callable[[ErrorCode, int, int], None]
    producer: tuple[int, int] | None = None


class Answer(NamedTuple):
    """A response: a message, or the bytes of its body.

    ticket   whatever came with the request; the coordinator never looks into it
    """

    ticket: Any
    message: Any


class Began(NamedTuple):
    """A rebalance, and why."""

    group_id: str
    reason: str


Effect = Append | Answer | Began
