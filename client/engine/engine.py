"""The engine of one client: links, metadata, and the parts that a producer, a consumer or a member of a group adds.

Pure: a driver says what time it is and what the sockets did, and does what the engine wants of them.

    driver                                         engine
    turn(now)                                      procedures continue, timers fire, parts send
    requests.wanted, unsent, closed                sockets to open, to write to, to close
    requests.is_connected, has_received, drop      what became of them
    next_s(now)                                    when to turn again at the latest

One suite of tests drives it without sockets; `client/driving/` has the drivers.

Model: h11, trio's memory streams. Source: Kafka `NetworkClient`, `ConsumerNetworkClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from headrace.client.engine.link import Security
from headrace.client.engine.metadata import Metadata
from headrace.client.engine.requests import Address, Requests
from headrace.client.engine.tasks import Procedure, T, Task, Tasks
from headrace.errors import HeadraceError


class Part(Protocol):
    """A half of a client: producing, fetching."""

    def turn(self, now_s: float) -> None: ...

    def next_s(self, now_s: float) -> float: ...


class Engine:
    """One client, without its sockets.

    chance    a number from 0 to 1, by which pauses and partitions are chosen
    clock_s   of the driver, which sets it: what is started long after the last turn begins at the time of now
    """

    def __init__(
        self,
        bootstrap: list[Address],
        client_id: str,
        security: Security | None,
        chance: Callable[[], float],
    ) -> None:
        self.clock_s: Callable[[], float] | None = None
        self.requests = Requests(bootstrap, client_id, security, chance)
        self.tasks = Tasks(self.requests)
        self.metadata = Metadata(self.requests, self.tasks)
        self.parts: list[Part] = []
        self._doing: dict[Task[Any], None] = {}

    def start(self, procedure: Procedure[T], what: str) -> Task[T]:
        """Run a procedure; `health` names it while it waits."""
        if self.clock_s is not None:
            self.tasks.now_s = self.clock_s()
        task = self.tasks.start(procedure, what)
        if not task.is_done:
            self._doing[task] = None
            task.on_done(lambda done: self._doing.pop(done, None))
        return task

    def turn(self, now_s: float) -> None:
        """What is due now."""
        self.tasks.fire(now_s)
        self.requests.turn(now_s)
        self.metadata.turn(now_s)
        for part in self.parts:
            part.turn(now_s)

    def next_s(self, now_s: float) -> float:
        """When to turn again at the latest."""
        times = [self.tasks.next_s(), self.requests.next_s(), self.metadata.next_s()]
        return min(times + [part.next_s(now_s) for part in self.parts])

    def close(self, failure: HeadraceError) -> None:
        """Every request and procedure ends with this."""
        self.tasks.close(failure)
        self.requests.close()

    def waits_for(self) -> Iterator[str]:
        """In words: what is not done, and what it waits for."""
        for task in list(self._doing):  # another thread may ask
            yield task.what
        said = self.requests.describe()
        if said != "nothing":
            yield said
