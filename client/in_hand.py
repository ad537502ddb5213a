"""What a consumer has of a partition beyond its fetched bytes: the chunk that it reads, the lists of records that its caller has.

Source: Kafka `CompletedFetch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.client.engine.fetching import Chunk, Subject
from headrace.client.reading import Run, runs_of
from headrace.client.records import Record
from headrace.ids import NO_EPOCH


class InHand:
    """Records that the caller has: one list of one partition.

    end        the offset after them
    serial     of the subject's position; another one: the caller moved it meanwhile, and the list counts for nothing
    iterator   by which the caller goes through them, where it takes them one by one
    """

    __slots__ = ("end", "end_epoch", "iterator", "run", "serial", "subject")

    def __init__(self, subject: Subject, run: Run, serial: int) -> None:
        self.subject = subject
        self.run = run
        self.end = run[-1].offset + 1
        self.end_epoch = epoch_of(run[-1])
        self.serial = serial
        self.iterator: Iterator[Any] | None = None


class Reading:
    """A chunk whose records are being handed out.

    run       that was read, and not decoded yet: what decodes it may raise
    failure   of the records that come next; it stays until the caller moves the position
    """

    __slots__ = ("chunk", "failure", "run", "runs")

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.runs = runs_of(chunk)
        self.run: Run | None = None
        self.failure: Exception | None = None

    def next_run(self) -> Run | None:
        """raises   CorruptRecord, CompressionError"""
        if self.failure is not None:
            raise self.failure
        if self.run is None:
            try:
                self.run = next(self.runs, None)
            except Exception as failure:
                self.failure = failure
                raise
        return self.run


def epoch_of(record: Record[Any, Any]) -> int:
    """The leader epoch of a record, as commits carry it."""
    return NO_EPOCH if record.leader_epoch is None else record.leader_epoch
