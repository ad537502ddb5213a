"""Clients that delete and create topics, delete records, and leave topics at rest: each knows exactly what it asked for.

Used by: the campaign. They have no retries and no buffers (`raw_client.py`). Jobs (a deletion and creation, a DeleteRecords) are put
into their queue by faults; in between they write, read, commit.
"""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Callable
from typing import Any

from headrace.errors import ErrorCode
from tests.chaos import payload
from tests.chaos.history import NO_OFFSET, Commit, Committed, Create, Delete, History, Outcome, Poll, Record, Send, Trim
from tests.chaos.load import Client
from tests.chaos.raw_client import EARLIEST, LATEST, Batches, Fetched, NoAnswer, NotSent, RawClient
from tests.chaos.running_node import Node

PAUSE_S = 0.02
SETTLED_S = 5.0  # after that a group knows that a topic's incarnation is another one
KNOWN_S = 5.0  # after that every network worker knows a topic that was created
JOBS_MAX = 2
NO_ANSWER = (NotSent, NoAnswer)


class TopicClient(Client):
    """Writes, reads, commits in one topic."""

    def __init__(
        self,
        name: str,
        node: Node,
        history: History,
        chance: random.Random,
        partitions: int = 1,
        configs: dict[str, str] | None = None,
    ) -> None:
        super().__init__(name)
        self.topic = name
        self.partitions = partitions
        self.generation = 0
        self.acknowledged = 0
        self.jobs: queue.Queue[Callable[[], None]] = queue.Queue(JOBS_MAX)
        self._configs = configs
        self._history = history
        self._chance = chance
        self.raw = RawClient(lambda: node.port)
        self._node = node
        self._topic_id = ""
        self._number = 0
        self._position = dict.fromkeys(range(partitions), 0)
        self._committed = dict.fromkeys(range(partitions), NO_OFFSET)

    @property
    def is_at_a_job(self) -> bool:
        return self.jobs.unfinished_tasks > 0

    @property
    def group(self) -> str:
        return f"group-{self.topic}"

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                job = self.jobs.get_nowait()
            except queue.Empty:
                self.step()
                self.stopping.wait(PAUSE_S)
                continue
            job()
            self.jobs.task_done()
        self.raw.close()

    def step(self) -> None:
        """One thing that clients do."""
        partition = self._chance.randrange(self.partitions)
        self._chance.choice([self.write, self.write, self.read, self.commit, self.read_committed])(partition)

    def write(self, partition: int, count: int = 0) -> None:
        count = count or self._chance.randint(1, 8)
        values = [f"{self.topic}.{self.generation}-{self._number + index}" for index in range(count)]
        self._number += count
        began = time.monotonic()
        outcome, offset = self.raw.produce(self.topic, {partition: values})[partition]
        self.acknowledged += count * (outcome is Outcome.OK)
        self._history.add(
            Send(
                self.name,
                self.topic,
                self.generation,
                partition,
                tuple(values),
                outcome,
                offset,
                began,
                time.monotonic(),
            )
        )

    def read(self, partition: int) -> None:
        position = self._position[partition]
        began = time.monotonic()
        try:
            found = self.raw.fetch(self.topic, partition, position)
            if found is ErrorCode.OFFSET_OUT_OF_RANGE:
                self._position[partition] = self.raw.offset(self.topic, partition, EARLIEST)
        except NO_ANSWER:
            return
        if isinstance(found, Batches) and found.records:
            add_poll(self._history, self.name, self.topic, self.generation, partition, found.records, began, position)
            self._position[partition] = found.next_offset

    def commit(self, partition: int) -> None:
        """Each commit is as high as the last one at least."""
        offset = max(self._position[partition], self._committed[partition])
        self._committed[partition] = offset
        began = time.monotonic()
        outcome = self.raw.commit(self.group, self.topic, partition, offset)
        self._history.add(
            Commit(self.group, self.topic, self.generation, partition, offset, outcome, began, time.monotonic())
        )

    def read_committed(self, partition: int, is_settled: bool = False) -> int | None:
        began = time.monotonic()
        try:
            offset = self.raw.committed(self.group, self.topic, partition)
        except NO_ANSWER:
            return None
        self._history.add(
            Committed(self.group, self.topic, self.generation, partition, offset, began, time.monotonic(), is_settled)
        )
        return offset

    def trim(self) -> None:
        """DeleteRecords up to somewhere."""
        partition = self._chance.randrange(self.partitions)
        began = time.monotonic()
        try:
            start = self.raw.offset(self.topic, partition, EARLIEST)
            end = self.raw.offset(self.topic, partition, LATEST)
        except NO_ANSWER:
            return
        asked = self._chance.randint(start, max(start, end))
        began = time.monotonic()
        outcome, low = self.raw.trim(self.topic, partition, asked)
        self._history.add(Trim(self.topic, self.generation, partition, asked, low, outcome, began, time.monotonic()))

    # Topics come and go

    def create(self) -> None:
        """Another incarnation; returns when it is known, or when we are stopped."""
        began = time.monotonic()
        while not self.stopping.is_set():
            try:
                error = self.raw.create(self.topic, self.partitions, self._configs)
                if error not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    self.stopping.wait(0.05)
                    continue
                if self._sees_another():
                    break
                self._delete()  # an old one was still there
            except NO_ANSWER:
                self.stopping.wait(0.05)
        else:
            return
        self.generation += 1
        self._position = dict.fromkeys(self._position, 0)
        self._committed = dict.fromkeys(self._committed, NO_OFFSET)
        self._history.add(Create(self.topic, self.generation, began, time.monotonic()))

    def try_create(self, timeout_s: float) -> bool:
        """The first incarnation; False where the node does not say in time that it is there."""
        began = time.monotonic()
        try:
            if self.raw.create(self.topic, self.partitions, self._configs) is not ErrorCode.NONE:
                return False
        except NO_ANSWER:
            return False
        self.generation = 1
        self._history.add(Create(self.topic, 1, began, time.monotonic()))
        deadline = began + timeout_s
        while time.monotonic() < deadline:
            try:
                if self.raw.knows(self.topic):
                    break
            except NO_ANSWER:
                pass
            time.sleep(0.01)
        return True

    def recreate(self, between: Callable[[], Any] | None = None) -> None:
        """Delete and create again; `between` is done in between."""
        began = time.monotonic()
        self._history.add(Delete(self.topic, self.generation, Outcome.UNKNOWN, began, began))
        self._delete()
        if between is not None:
            between()
        self.create()
        if self.stopping.is_set():
            return
        if self._chance.random() < 0.7:
            self.write(0)
        self._settle()
        if self._chance.random() < 0.5:  # so that the next incarnation follows one whose log start was written down
            self.write(0, 40)
            self.trim()
            self.write(0)

    def _sees_another(self) -> bool:
        deadline = time.monotonic() + KNOWN_S
        while not self.stopping.is_set() and time.monotonic() < deadline:
            topic_id = self._node.topic_id(self.topic)
            if topic_id and topic_id != self._topic_id and self.raw.knows(self.topic):
                self._topic_id = topic_id
                return True
            self.stopping.wait(0.01)
        return False

    def _delete(self) -> None:
        while not self.stopping.is_set():
            try:
                if self.raw.delete(self.topic) in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                    return
            except NO_ANSWER:
                pass
            self.stopping.wait(0.05)

    def _settle(self) -> None:
        """The group has no offset in a new incarnation."""
        deadline = time.monotonic() + SETTLED_S
        while not self.stopping.is_set():
            is_late = time.monotonic() > deadline
            offset = self.read_committed(0, is_settled=is_late)
            if offset == NO_OFFSET or (is_late and offset is not None):
                return
            self.stopping.wait(0.05)


def add_poll(
    history: History,
    client: str,
    topic: str,
    generation: int,
    partition: int,
    found: list[Fetched],
    began: float,
    position: int = NO_OFFSET,
) -> None:
    records = tuple(Record(partition, one.offset, payload.decode(one.value)) for one in found)
    history.add(Poll(client, topic, generation, records, began, time.monotonic(), position))
