"""What a consumer has given away and waits for: lists of records, a commit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from headrace.client.engine.coordinator import Position
from headrace.client.engine.fetching import Subject
from headrace.client.engine.tasks import Task
from headrace.client.reading import Run
from headrace.client.records import Record
from headrace.ids import NO_EPOCH, TopicPartition


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


class BackgroundCommit:
    """A commit that nothing waits for."""

    __slots__ = ("offsets", "stored")

    def __init__(self, offsets: dict[TopicPartition, Position], stored: Task[None] | Future[None]) -> None:
        self.offsets = offsets
        self.stored = stored

    @property
    def is_done(self) -> bool:
        return self.stored.is_done if isinstance(self.stored, Task) else self.stored.done()

    @property
    def failure(self) -> BaseException | None:
        return self.stored.failure if isinstance(self.stored, Task) else self.stored.exception()


def epoch_of(record: Record[Any, Any]) -> int:
    """The leader epoch that a record was written in; NO_EPOCH: not known."""
    return NO_EPOCH if record.leader_epoch is None else record.leader_epoch
