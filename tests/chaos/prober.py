"""Whether a node serves: a record to every partition of a topic on a new connection, many times a second.

Used by: the campaign. It writes its sends down like any client, reads back what it was told it wrote, and measures for each fault
how long it took until every partition acknowledged a record that was sent after it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.history import History, Outcome, Send
from tests.chaos.load import Client
from tests.chaos.raw_client import Batches, NoAnswer, NotSent, RawClient, raw_client
from tests.chaos.topic_clients import add_poll

PAUSE_S = 0.02
READ_BACK_EVERY = 5


@dataclass
class Watch:
    """A fault after which not every partition was served again so far."""

    fault: str
    since: float
    left: set[int]


class Prober(Client):
    """Probes `topic`; `times_s` has the times to serve again by fault."""

    def __init__(self, port: Callable[[], int], history: History, topic: str, partitions: int) -> None:
        super().__init__("probe")
        self.times_s: dict[str, list[float]] = defaultdict(list)
        self.watches: list[Watch] = []
        self.acknowledged = 0
        self.unknown = 0
        self._port, self._history, self._topic, self._partitions = port, history, topic, partitions

    def watch(self, fault: str, since: float) -> None:
        self.watches.append(Watch(fault, since, set(range(self._partitions))))

    def oldest_s(self) -> float:
        """For how long the node has owed an answer after a fault."""
        return max((time.monotonic() - watch.since for watch in list(self.watches)), default=0.0)

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            number += 1
            self._probe(number)
            self.stopping.wait(PAUSE_S)

    def _probe(self, number: int) -> None:
        began = time.monotonic()
        values = {partition: [f"probe{partition}-{number}"] for partition in range(self._partitions)}
        with raw_client(self._port, timeout_s=2.0) as client:
            results = client.produce(self._topic, values)
            ended = time.monotonic()
            served = {partition for partition, (outcome, _offset) in results.items() if outcome is Outcome.OK}
            for partition, (outcome, offset) in results.items():
                self._history.add(
                    Send(self.name, self._topic, 0, partition, tuple(values[partition]), outcome, offset, began, ended)
                )
            self.acknowledged += len(served)
            self.unknown += sum(outcome is Outcome.UNKNOWN for outcome, _offset in results.values())
            self._note(served, began, ended)
            if served and number % READ_BACK_EVERY == 0:
                partition = min(served)
                self._read_back(client, partition, results[partition][1])

    def _note(self, served: set[int], began: float, ended: float) -> None:
        for watch in list(self.watches):
            if began > watch.since:
                watch.left -= served
                if not watch.left:
                    self.times_s[watch.fault].append(ended - watch.since)
                    self.watches.remove(watch)

    def _read_back(self, client: RawClient, partition: int, offset: int) -> None:
        """What was just acknowledged can be read at once, at its offset."""
        began = time.monotonic()
        try:
            found = client.fetch(self._topic, partition, offset)
        except (NotSent, NoAnswer):
            return
        if isinstance(found, Batches):
            add_poll(self._history, self.name, self._topic, 0, partition, found.records, began, offset)
