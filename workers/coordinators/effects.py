"""What a coordinator wants done: plain data, carried out by its host (`workers/partition/coordination/coordinator_host.py`).

Pure: a coordinator gets events with the time, returns effects, and touches nothing else. Effects hold no functions: they can
be compared, written to a log, and answered by a test.

    Append        write these records to the coordinator's partition; its outcome is an event, `Appended` or `AppendFailed`
    Answer        give this message to the sender of a request
    SetTimer      hand this event back at that time
    CancelTimer   or don't
    LogLine       a change that operators want to see

A coordinator may have further ones of its own (`RebalanceStarted`): the host hands those to its kind. Answers are given in
their order, and so are records appended.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# (key, value or None for a tombstone)
KeyValue = tuple[bytes, bytes | None]


class Append(NamedTuple):
    """Records that belong together: all of them are appended, or none.

    what       what they say, in the coordinator's own terms; comes back with the outcome
    producer   (producer id, epoch) of a transaction they belong to
    """

    records: list[KeyValue]
    what: Any
    producer: tuple[int, int] | None = None


class Answer(NamedTuple):
    """A response: a message, or the bytes of its body.

    ticket   came with the request; the coordinator never looks into it
    """

    ticket: Any
    message: Any


class SetTimer(NamedTuple):
    """At `deadline_ms` or later, `event` comes.

    serial   the coordinator's number for it, never 0; unique among the timers of a worker
    """

    serial: int
    deadline_ms: int
    event: Any


class CancelTimer(NamedTuple):
    """An event that has not come is no longer wanted."""

    serial: int


class LogLine(NamedTuple):
    """One line of the log.

    level   of the logging module
    text    with its placeholders, `arguments` for them
    """

    level: int
    text: str
    arguments: tuple[Any, ...]
