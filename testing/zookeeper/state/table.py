"""A ZooKeeper server without sockets: connections and sessions, commands in, effects out.

    connect, request, drop, tick  ->  Table  ->  [Send(link, frame) | HangUp(link)]

A link is a connection's number, given by the caller. Each command is carried out to its end, so answers and events leave in the order
of the zxids: a watch that fires for a change is sent before any answer that shows the change. Clocks and randomness come in as
functions. What was committed is kept in `committed` until a journal takes it; without one the caller clears it.

    session   opened -> connected <-> without a connection -> closed, or expired after its timeout

A session that expires, or is closed, loses its ephemeral nodes under one zxid.

Source: ZooKeeper `ZooKeeperServer.processConnectRequest`, `SessionTrackerImpl`, `FinalRequestProcessor`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from headrace.limits import (
    TESTING_SESSION_TICKS_MAX,
    TESTING_SESSION_TICKS_MIN,
    TESTING_SESSIONS_MAX,
    TESTING_WATCHES_MAX,
)
from headrace.testing.zookeeper.state.codes import (
    EVENT_XID,
    SYNC_CONNECTED,
    Code,
    EventType,
    Operation,
    Perms,
    ZooKeeperRefusal,
)
from headrace.testing.zookeeper.state.identity import Identity, is_allowed
from headrace.testing.zookeeper.state.jute import (
    BadJute,
    Reader,
    frame,
    pack_bool,
    pack_buffer,
    pack_int,
    pack_long,
    pack_string,
)
from headrace.testing.zookeeper.state.transaction import Change, Deleted, Transaction
from headrace.testing.zookeeper.state.tree import Tree
from headrace.testing.zookeeper.state.watches import Watches

PASSWORD_BYTES: Final = 16
NO_SESSION: Final = 0


class Send(NamedTuple):
    """A frame for a connection."""

    link: int
    frame: bytes


class HangUp(NamedTuple):
    """A connection ends, after what was sent before."""

    link: int


Effect = Send | HangUp


@dataclass(slots=True)
class Session:
    """One session over all its connections."""

    session_id: int
    password: bytes
    timeout_ms: int
    deadline_ms: int  # of the monotonic clock
    link: int | None = None


@dataclass(slots=True)
class Link:
    """One connection; without a session until its first frame."""

    identity: Identity
    session_id: int = NO_SESSION


class Committed(NamedTuple):
    """One zxid, for a journal: what changed in the tree, and the session that it opened or closed."""

    zxid: int
    now_ms: int
    changes: tuple[Change, ...] = ()
    opened: tuple[int, bytes, int] | None = None  # id, password, timeout
    closed: int = NO_SESSION


@dataclass(slots=True)
class Table:
    """The state of one server.

    wall_ms        the time of nodes
    monotonic_ms   the time of sessions
    draw           random bytes, of the number asked for
    handlers       what each operation does (`requests.py`)
    tick_ms        sessions have between 2 and `ticks_max` of them
    """

    wall_ms: Callable[[], int]
    monotonic_ms: Callable[[], int]
    draw: Callable[[int], bytes]
    handlers: Mapping[int, Handler]
    tick_ms: int
    ticks_max: int = TESTING_SESSION_TICKS_MAX
    tree: Tree = field(default_factory=Tree)
    watches: Watches = field(default_factory=lambda: Watches(TESTING_WATCHES_MAX))
    sessions: dict[int, Session] = field(default_factory=dict)
    links: dict[int, Link] = field(default_factory=dict)
    committed: list[Committed] = field(default_factory=list)
    _effects: list[Effect] = field(default_factory=list)

    # Commands

    def connect(self, link: int, address: str) -> None:
        """A connection is there; its first frame asks for a session."""
        self.links[link] = Link((("ip", address),))

    def request(self, link: int, data: bytes) -> list[Effect]:
        """A frame has come, without its length."""
        known = self.links.get(link)
        if known is None:
            return []
        try:
            if known.session_id == NO_SESSION:
                self._open(link, known, Reader(data))
            else:
                self._answer(link, known, data)
        except BadJute:  # not even a header
            self.hang_up(link)
        return self._take_effects()

    def drop(self, link: int) -> None:
        """A connection was lost; its session lives on until it expires."""
        known = self.links.pop(link, None)
        if known is None:
            return
        self.watches.forget(link)
        session = self.sessions.get(known.session_id)
        if session is not None and session.link == link:
            session.link = None

    def tick(self) -> list[Effect]:
        """Let sessions expire."""
        now_ms = self.monotonic_ms()
        for session in [one for one in self.sessions.values() if one.deadline_ms <= now_ms]:
            self.close_session(session)
            if session.link is not None:
                self.hang_up(session.link)
        return self._take_effects()

    def next_ms(self) -> int | None:
        """When `tick` has something to do, by the monotonic clock."""
        return min((session.deadline_ms for session in self.sessions.values()), default=None)

    # Sessions

    def restore_session(self, session_id: int, password: bytes, timeout_ms: int) -> None:
        """A session of a journal: its client has a whole timeout to come back."""
        self.sessions[session_id] = Session(session_id, password, timeout_ms, self.monotonic_ms() + timeout_ms)

    def close_session(self, session: Session) -> None:
        """Remove a session and its ephemeral nodes."""
        del self.sessions[session.session_id]
        transaction = self.begin()
        for path in list(self.tree.ephemerals.get(session.session_id, ())):
            transaction.apply(Deleted(path))
        self.tree.ephemerals.pop(session.session_id, None)
        self.commit(transaction, closed=session.session_id)

    def _open(self, link: int, known: Link, reader: Reader) -> None:
        """The handshake: a new session, or one that is resumed. A client that has seen more than this server is refused."""
        reader.integer()  # the protocol's version
        last_zxid, timeout_ms, session_id = reader.long(), reader.integer(), reader.long()
        password = reader.buffer() or b""
        has_read_only = not reader.is_done
        if last_zxid > self.tree.zxid:
            self.hang_up(link)
            return
        if session_id == NO_SESSION:
            session = self._new_session(timeout_ms)
        else:
            session = self._resumed(session_id, password, timeout_ms)
        if session is None:
            self._connected(link, 0, NO_SESSION, bytes(PASSWORD_BYTES), has_read_only)
            self.hang_up(link)
            return
        session.link, known.session_id = link, session.session_id
        self._touch(session)
        self._connected(link, session.timeout_ms, session.session_id, session.password, has_read_only)

    def _new_session(self, timeout_ms: int) -> Session | None:
        if len(self.sessions) >= TESTING_SESSIONS_MAX:
            return None
        session_id = (self.wall_ms() << 16) & ((1 << 56) - 1)
        while session_id in self.sessions or session_id == NO_SESSION:
            session_id += 1
        session = Session(session_id, self.draw(PASSWORD_BYTES), self._granted(timeout_ms), 0)
        self.sessions[session_id] = session
        self.commit(self.begin(), opened=(session_id, session.password, session.timeout_ms))
        return session

    def _resumed(self, session_id: int, password: bytes, timeout_ms: int) -> Session | None:
        """None, where there is no such session, or another password; a connection that it has ends."""
        session = self.sessions.get(session_id)
        if session is not None and session.link is not None:
            self.hang_up(session.link)
        if session is None or session.password != password:
            return None
        session.timeout_ms = self._granted(timeout_ms)
        return session

    def _granted(self, timeout_ms: int) -> int:
        return min(max(timeout_ms, TESTING_SESSION_TICKS_MIN * self.tick_ms), self.ticks_max * self.tick_ms)

    def _connected(self, link: int, timeout_ms: int, session_id: int, password: bytes, has_read_only: bool) -> None:
        read_only = pack_bool(False) if has_read_only else b""
        parts = (pack_int(0), pack_int(timeout_ms), pack_long(session_id), pack_buffer(password), read_only)
        self._effects.append(Send(link, frame(*parts)))

    def _touch(self, session: Session) -> None:
        session.deadline_ms = self.monotonic_ms() + session.timeout_ms

    # Requests

    def _answer(self, link: int, known: Link, data: bytes) -> None:
        reader = Reader(data)
        xid, kind = reader.integer(), reader.integer()
        session = self.sessions.get(known.session_id)
        if session is None:
            self.hang_up(link)
            return
        self._touch(session)
        code, body, is_last = Code.OK, b"", False
        try:
            handler = self.handlers.get(kind)
            if handler is None:
                raise ZooKeeperRefusal(Code.UNIMPLEMENTED)
            body = handler(Call(self, link, known, session, reader))
            is_last = kind == Operation.CLOSE_SESSION
        except ZooKeeperRefusal as refusal:
            code, is_last = refusal.code, refusal.code is Code.AUTH_FAILED
        except BadJute:
            code = Code.MARSHALLING_ERROR
        self._effects.append(Send(link, frame(pack_int(xid), pack_long(self.tree.zxid), pack_int(code), body)))
        if is_last:
            self.hang_up(link)

    def begin(self) -> Transaction:
        return self.tree.begin(self.wall_ms())

    def commit(
        self, transaction: Transaction, opened: tuple[int, bytes, int] | None = None, closed: int = NO_SESSION
    ) -> None:
        """Keep what changed for a journal, and let watches fire."""
        changes = tuple(transaction.changes)
        self.committed.append(Committed(self.tree.zxid, self.wall_ms(), changes, opened, closed))
        for event, path, acl in transaction.events:
            for link in self.watches.fire(event, path):
                if is_allowed(acl, Perms.READ, self.links[link].identity):
                    self.notify(link, event, path)

    def notify(self, link: int, event: EventType, path: str) -> None:
        header = pack_int(EVENT_XID) + pack_long(self.tree.zxid) + pack_int(Code.OK)
        body = pack_int(event) + pack_int(SYNC_CONNECTED) + pack_string(path)
        self._effects.append(Send(link, frame(header, body)))

    def hang_up(self, link: int) -> None:
        self._effects.append(HangUp(link))
        self.drop(link)

    def _take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects


class Call(NamedTuple):
    """One request, for its handler."""

    table: Table
    link: int
    known: Link
    session: Session
    reader: Reader


Handler = Callable[[Call], bytes]
