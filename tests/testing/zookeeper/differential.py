"""The same random operations, from several kazoo sessions, against two servers: what each said, made comparable.

Zxids are ranks among those that the run has seen: a session that begins twice, or expires, takes one that no znode has. Sessions are
numbered, times are left out, names of children are sorted.
"""

from __future__ import annotations

import random
import threading
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import Callback, ZnodeStat
from kazoo.security import make_acl, make_digest_acl

from tests.support.waiting import DEADLINE_S

SESSION_S = 30.0
NAMES = ("a", "b", "c")
ACLS = (
    None,
    [make_acl("world", "anyone", read=True)],
    [make_acl("auth", "", all=True)],
    [make_digest_acl("ann", "secret", all=True)],
    [make_acl("ip", "127.0.0.1", read=True, write=True, create=True, delete=True)],
    [make_acl("world", "nobody", all=True)],
    [make_acl("unheard", "of", all=True)],
    [],
)
BAD_PATHS = ("/a/\x01b", "/\x80", "/a\x00", "/\ue000b")  # others are refused by kazoo


@dataclass(slots=True)
class Party:
    """One session, and the events that it got."""

    client: KazooClient
    events: list[tuple[str, str | None]] = field(default_factory=list)

    def watch(self, event: Any) -> None:
        self.events.append((event.type, event.path))


class Run:
    """One server's side. `names` tells the sessions of a run apart: they have other ids elsewhere."""

    def __init__(self, connect: str, count: int) -> None:
        self._connect = connect
        self.parties = [self._new_party() for _ in range(count)]
        self._owners: dict[int, int] = {}
        self._zxids: list[int] = []  # that were seen, in order

    def _new_party(self) -> Party:
        client = KazooClient(hosts=self._connect, timeout=SESSION_S)
        client.start(timeout=DEADLINE_S)
        client.exists("/")  # so that it knows a zxid
        return Party(client)

    def replace(self, index: int) -> None:
        """End a session, whose ephemeral nodes go, and begin another in its place."""
        self._stop(self.parties[index])
        self.parties[index] = self._new_party()

    def perform(self, index: int, act: Callable[[Party], Any]) -> tuple[Any, list[list[tuple[str, str | None]]]]:
        """What it brought, and the events of all parties."""
        party = self.parties[index]
        try:
            result = self.comparable(act(party))
        except KazooException as failure:
            result = type(failure).__name__
        return result, [self._events_of(one) for one in self.parties]

    def comparable(self, value: Any) -> Any:
        if isinstance(value, ZnodeStat):
            owner = value.ephemeralOwner and self._number_of(value.ephemeralOwner)
            ranks = {name: self._rank_of(getattr(value, name)) for name in ("czxid", "mzxid", "pzxid")}
            return value._replace(**ranks, ctime=0, mtime=0, ephemeralOwner=owner)
        if isinstance(value, Exception):
            return type(value).__name__
        if isinstance(value, (list, tuple)):
            return [self.comparable(one) for one in value]
        return value

    def _rank_of(self, zxid: int) -> int:
        place = bisect_left(self._zxids, zxid)
        if self._zxids[place : place + 1] != [zxid]:
            self._zxids.insert(place, zxid)
        return place

    def _number_of(self, session_id: int) -> int:
        ids = [party.client.client_id[0] for party in self.parties]
        return 1 + ids.index(session_id)

    def _events_of(self, party: Party) -> list[tuple[str, str | None]]:
        """After a round trip, and after kazoo's thread has called everything that it has."""
        party.client.exists("/")
        is_called = threading.Event()
        party.client.handler.dispatch_callback(Callback("watch", lambda _: is_called.set(), (None,)))
        assert is_called.wait(DEADLINE_S)
        events, party.events = party.events, []
        return events

    def _stop(self, party: Party) -> None:
        party.client.stop()
        party.client.close()

    def close(self) -> None:
        for party in self.parties:
            self._stop(party)


def draw(lots: random.Random, root: str) -> tuple[str, Callable[[Party], Any]]:
    """One operation, and a description of it; what it is depends on the lots alone, so that both runs do the same."""
    path = _path(lots, root)
    data = lots.randbytes(lots.randrange(20)) if lots.random() < 0.9 else b""
    version = lots.choice((-1, -1, 0, 1, 2))
    is_watched = lots.random() < 0.5
    kinds: list[Callable[[], Callable[[Party], Any]]] = [
        lambda: _create(path, data, lots.choice(ACLS[:2] + ACLS), lots.random() < 0.3, lots.random() < 0.3),
        lambda: _create(path, data, None, lots.random() < 0.3, lots.random() < 0.3),
        lambda: _create(path, data, None, False, False),
        lambda: lambda party: party.client.delete(path, version),
        lambda: lambda party: party.client.set(path, data, version),
        lambda: lambda party: party.client.exists(path, watch=party.watch if is_watched else None),
        lambda: lambda party: party.client.get(path, watch=party.watch if is_watched else None),
        lambda: _children(path, is_watched),
        lambda: lambda party: party.client.get_acls(path),
        lambda: _set_acls(path, lots.choice(ACLS), version),
        lambda: _transaction(lots, root),
        lambda: _transaction(lots, root),
        lambda: lambda party: party.client.sync(path),
        lambda: lambda party: party.client.add_auth("digest", "ann:secret"),
    ]
    weights = (3, 4, 6, 4, 5, 5, 5, 5, 2, 2, 4, 4, 1, 0.3)
    number = lots.choices(range(len(kinds)), weights)[0]
    return f"kind {number} path={path} version={version} data={data!r}", kinds[number]()


def _path(lots: random.Random, root: str) -> str:
    if lots.random() < 0.02:
        return root + lots.choice(BAD_PATHS)
    return root + "".join(f"/{lots.choice(NAMES)}" for _ in range(lots.choice((1, 1, 2, 2, 3))))


def _create(path: str, data: bytes, acl: Any, is_ephemeral: bool, is_sequential: bool) -> Callable[[Party], Any]:
    def act(party: Party) -> Any:
        return party.client.create(
            path, data, acl=acl, ephemeral=is_ephemeral, sequence=is_sequential, include_data=len(data) % 2 == 0
        )

    return act


def _children(path: str, is_watched: bool) -> Callable[[Party], Any]:
    def act(party: Party) -> Any:
        names, stat = party.client.get_children(path, watch=party.watch if is_watched else None, include_data=True)
        return sorted(names), stat

    return act


def _set_acls(path: str, acl: Any, version: int) -> Callable[[Party], Any]:
    return lambda party: party.client.set_acls(path, acl or [], version)


def _transaction(lots: random.Random, root: str) -> Callable[[Party], Any]:
    steps = []
    for _ in range(lots.randrange(1, 5)):
        path, version = _path(lots, root), lots.choice((-1, -1, -1, 0, 1))
        steps.append(
            (lots.choice(("create", "create", "delete", "set_data", "check")), path, version, lots.random() < 0.3)
        )

    def act(party: Party) -> Any:
        request = party.client.transaction()
        for kind, path, version, flag in steps:
            if kind == "create":
                request.create(path, b"t", ephemeral=flag, sequence=version == 1)
            elif kind == "set_data":
                request.set_data(path, b"s", version)
            else:
                getattr(request, kind)(path, version)
        return request.commit()

    return act
