"""Requests to brokers by their ids: which link they take, when it is opened again, what waits too long.

    ask -> the link of (node, lane): made where there is none -> `wanted`: a driver opens it
        -> bytes in `link.out`: the link is in `unsent`, a driver sends
        -> on_answer(Answer), exactly once, whatever happens

Node ids below 0 are the bootstrap servers: `bootstrap_id(i)`. Where a node could not be reached, the next link to it waits
(`reconnect.backoff.ms`, doubled to `reconnect.backoff.max.ms`, with jitter); requests for it wait as long, or fail at their deadline.

A response later than its deadline closes the link: it would be taken for that of the next request. A driver that
turns later than `next_s` said, as a program without threads does that computes for long, finds responses in its sockets: no deadline
counts before these were read for GRACE_S.

Source: Kafka `NetworkClient`, `ClusterConnectionStates`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from headrace.backoff import jittered, pause_after
from headrace.client.engine.link import (
    NO_VERSION,
    Answer,
    Lane,
    Link,
    LinkState,
    Message,
    OnAnswer,
    Pending,
    Security,
    Versions,
    bad_response,
)
from headrace.client.failures import ConnectionFailed, NotSent
from headrace.errors import HeadraceError

RECONNECT_FIRST_S: Final = 0.05
RECONNECT_MAX_S: Final = 1.0
JITTER: Final = 0.2
CONNECT_TIMEOUT_S: Final = 10.0  # socket.connection.setup.timeout.ms
LATE_S: Final = 0.05  # of a turn: more than a wait is inexact by
GRACE_S: Final = 5.0
IDLE_MAX_S: Final = 540.0  # connections.max.idle.ms; below the brokers' 10 minutes

Address = tuple[str, int]


def bootstrap_id(index: int) -> int:
    """The node id that stands for a bootstrap server."""
    return -1 - index


class _Pause:
    """How long a node that can't be reached is left alone."""

    __slots__ = ("failed", "until_s")

    def __init__(self) -> None:
        self.failed = 0
        self.until_s = 0.0


class Requests:
    """All links of one client.

    wanted    links that a driver has to open
    unsent    links with bytes to send
    closed    links whose sockets a driver has to close
    """

    def __init__(
        self,
        bootstrap: list[Address],
        client_id: str,
        security: Security | None,
        chance: Callable[[], float],
    ) -> None:
        assert bootstrap
        self.bootstrap: dict[int, Address] = {bootstrap_id(index): at for index, at in enumerate(bootstrap)}
        self.brokers: Mapping[int, Address] = {}
        self.others: dict[int, Address] = {}  # that responses named before metadata did: coordinators
        self.wanted: list[Link] = []
        self.unsent: dict[Link, None] = {}
        self.closed: list[Link] = []
        self._client_id = client_id
        self._security = security
        self.chance = chance
        self._links: dict[tuple[int, Lane], Link] = {}
        self._delayed: dict[tuple[int, Lane], list[Pending]] = {}  # for links that are not to be opened yet
        self._pauses: dict[int, _Pause] = {}
        self._turn = 0
        self._turned_s = float("-inf")
        self._expected_s = float("inf")  # the next turn
        self._grace_until_s = float("-inf")
        self.is_closed = False

    # Asking

    def ask(
        self,
        node: int,
        api_key: int,
        versions: Versions,
        message: Message,
        on_answer: OnAnswer,
        now_s: float,
        timeout_s: float,
        lane: Lane = Lane.GENERAL,
        is_answered: bool = True,
    ) -> None:
        """Send a request; `on_answer` is called once, maybe at once.

        message   of the schema, or a function of the version that makes it
        """
        pending = Pending(api_key, versions, message, on_answer, now_s + timeout_s, is_answered)
        if self.is_closed:
            on_answer(Answer(NO_VERSION, None, NotSent("the client is closed")))
            return
        self._expected_s = min(self._expected_s, pending.deadline_s)
        key = (node, lane)
        link = self._links.get(key)
        if link is None:
            if key in self._delayed:  # after those that wait already: requests of a link keep their order
                self._delayed[key].append(pending)
                return
            if self.address_of(node) is None:
                on_answer(Answer(NO_VERSION, None, NotSent(f"broker {node} is not known")))
                return
            pause = self._pauses.get(node)
            if pause is not None and pause.until_s > now_s:
                self._delayed.setdefault(key, []).append(pending)
                return
            link = self._open(key)
        link.ask(pending, now_s)
        if link.out.unsent_bytes:
            self.unsent[link] = None

    def address_of(self, node: int) -> Address | None:
        if node < 0:
            return self.bootstrap.get(node)
        return self.brokers.get(node) or self.others.get(node)

    def any_node(self, now_s: float) -> int:
        """A node to ask what any can answer: one that is connected before others, the least busy first; else each in turn."""
        ready = [link for link in self._links.values() if link.state is LinkState.READY and link.key[1] is Lane.GENERAL]
        ready = [link for link in ready if self.address_of(link.key[0]) == (link.host, link.port)]
        if ready:
            return min(ready, key=len).key[0]
        nodes = [*self.brokers, *self.bootstrap]
        self._turn += 1
        turned = nodes[self._turn % len(nodes) :] + nodes[: self._turn % len(nodes)]
        due = [node for node in turned if node not in self._pauses or self._pauses[node].until_s <= now_s]
        return due[0] if due else min(turned, key=lambda node: self._pauses[node].until_s)

    def link(self, node: int, lane: Lane = Lane.GENERAL) -> Link | None:
        return self._links.get((node, lane))

    @property
    def has_unsent(self) -> bool:
        """Whether bytes wait for a socket."""
        return any(link.out.unsent_bytes for link in self._links.values())

    def describe(self) -> str:
        """What every request waits for."""
        busy = [repr(link) for link in list(self._links.values()) if len(link)]  # another thread may ask
        busy += [f"broker {node} can't be reached, retrying soon" for (node, _lane) in list(self._delayed)]
        return "; ".join(busy) or "nothing"

    # What happens to links

    def is_connected(self, link: Link, now_s: float) -> None:
        link.connected(now_s)
        if link.out.unsent_bytes:
            self.unsent[link] = None

    def has_received(self, link: Link, count: int, now_s: float) -> bool:
        """Bytes arrived. An invalid response, or a refused handshake, closes the link. Returns whether there may be something to do."""
        try:
            if not link.received(count, now_s):
                return False
        except HeadraceError as failure:
            self.drop(link, bad_response(link, failure), now_s)
            return True
        if link.state is LinkState.READY:
            self._pauses.pop(link.key[0], None)
        if link.out.unsent_bytes:
            self.unsent[link] = None
        return True

    def drop(self, link: Link, failure: HeadraceError, now_s: float) -> None:
        """A link broke, or could not be opened: its requests fail, the node is left alone for a while."""
        if link.state is LinkState.CLOSED:
            return
        was_ready = link.state is LinkState.READY
        if self._links.get(link.key) is link:
            del self._links[link.key]
        self.unsent.pop(link, None)
        self.closed.append(link)
        pause = self._pauses.setdefault(link.key[0], _Pause())
        if not was_ready or pause.failed:
            pause.failed += 1
        wait_s = pause_after(pause.failed + 1, RECONNECT_FIRST_S, RECONNECT_MAX_S)
        pause.until_s = now_s + jittered(wait_s, JITTER, self.chance)
        link.close(failure)

    def turn(self, now_s: float) -> None:
        """Open what may be opened again; give up what waited too long; close what is idle or has another address by now."""
        if now_s - self._expected_s > LATE_S:
            self._grace_until_s = now_s + GRACE_S
        self._turned_s, self._expected_s = now_s, float("inf")
        for key in [key for key in self._delayed if self._may_open(key[0], now_s)]:
            self._open_delayed(key, now_s)
        for link in list(self._links.values()):
            if link.has_sent:
                link.confirm()
            if link.oldest_deadline_s() <= now_s and now_s >= self._grace_until_s:
                self.drop(link, ConnectionFailed(f"{link.address}: no response in time"), now_s)
            elif self._is_idle(link, now_s):
                self._forget(link)
        for key, delayed in list(self._delayed.items()):
            late = [pending for pending in delayed if pending.deadline_s <= now_s]
            if late:
                self._delayed[key] = [pending for pending in delayed if pending.deadline_s > now_s]
                for pending in late:
                    pending.on_answer(Answer(NO_VERSION, None, NotSent(f"broker {key[0]} can't be reached")))
                if not self._delayed.get(key):
                    self._delayed.pop(key, None)

    def next_s(self) -> float:
        """When `turn` has something to do at the latest."""
        links = self._links.values()
        times = [0.0 if link.has_sent else max(link.oldest_deadline_s(), self._grace_until_s) for link in links]
        for (node, _lane), delayed in self._delayed.items():
            pause = self._pauses.get(node)
            times.append(0.0 if pause is None else pause.until_s)
            times += [pending.deadline_s for pending in delayed]
        self._expected_s = max(self._turned_s, min(times, default=float("inf")))
        return self._expected_s

    def close(self) -> None:
        """Every request without a response fails."""
        self.is_closed = True
        failure = ConnectionFailed("the client was closed")
        for link in list(self._links.values()):
            self._forget(link)
            link.close(failure)
        delayed, self._delayed = self._delayed, {}
        for pendings in delayed.values():
            for pending in pendings:
                pending.on_answer(Answer(NO_VERSION, None, NotSent("the client was closed")))

    def _forget(self, link: Link) -> None:
        self._links.pop(link.key, None)
        self.unsent.pop(link, None)
        self.closed.append(link)
        if not len(link):
            link.close(ConnectionFailed(f"{link.address}: closed"))

    def _is_idle(self, link: Link, now_s: float) -> bool:
        """Whether it is of no use: it was not used for long, or its broker has another address by now."""
        if len(link) or link.state is not LinkState.READY or link.out.unsent_bytes:
            return False
        return now_s - link.used_s >= IDLE_MAX_S or self.address_of(link.key[0]) != (link.host, link.port)

    def _may_open(self, node: int, now_s: float) -> bool:
        pause = self._pauses.get(node)
        return pause is None or pause.until_s <= now_s

    def _open(self, key: tuple[int, Lane]) -> Link:
        address = self.address_of(key[0])
        assert address is not None
        link = self._links[key] = Link(key, *address, self._client_id, self._security)
        self.wanted.append(link)
        return link

    def _open_delayed(self, key: tuple[int, Lane], now_s: float) -> None:
        delayed = self._delayed.pop(key)
        if self.address_of(key[0]) is None:
            for pending in delayed:
                pending.on_answer(Answer(NO_VERSION, None, NotSent(f"broker {key[0]} is no longer known")))
            return
        link = self._links.get(key) or self._open(key)
        for pending in delayed:
            link.ask(pending, now_s)
