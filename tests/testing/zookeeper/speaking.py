"""A client of the table without a socket: frames in, what came back taken apart. Its clocks stand still until a test moves them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from headrace.testing.zookeeper.state.codes import Code, EventType, Operation
from headrace.testing.zookeeper.state.jute import (
    Acl,
    Reader,
    pack_acls,
    pack_bool,
    pack_buffer,
    pack_int,
    pack_long,
    pack_string,
)
from headrace.testing.zookeeper.state.requests import HANDLERS
from headrace.testing.zookeeper.state.table import Effect, HangUp, Send, Table

TICK_MS = 1000
OPEN = (Acl(31, "world", "anyone"),)
PATH_AND_WATCH = (Operation.EXISTS, Operation.GET_DATA, Operation.GET_CHILDREN, Operation.GET_CHILDREN_2)


@dataclass
class Stage:
    """A table, its clocks and what it sent to each link."""

    now_ms: int = 1_000
    drawn: int = 0
    links: int = 0
    inboxes: dict[int, list[bytes]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)

    def __post_init__(self):
        self.table = Table(lambda: self.now_ms, lambda: self.now_ms, self.draw, HANDLERS, TICK_MS)

    def draw(self, count):
        self.drawn += 1
        return bytes([self.drawn]) * count

    def perform(self, effects: list[Effect]):
        for effect in effects:
            assert effect.link not in self.closed, "something follows the end"
            if isinstance(effect, HangUp):
                self.closed.add(effect.link)
            else:
                assert isinstance(effect, Send)
                (length,) = struct.unpack_from(">i", effect.frame)
                assert length == len(effect.frame) - 4
                self.inboxes.setdefault(effect.link, []).append(effect.frame[4:])

    def tick(self, ms=0):
        self.now_ms += ms
        self.perform(self.table.tick())

    def client(self, **options):
        self.links += 1
        return Speaking(self, self.links, **options)


class Speaking:
    """One connection; `session` is (id, password) of the one that it opened or resumed."""

    def __init__(self, stage, link, timeout_ms=10_000, session=(0, bytes(16)), last_zxid=0):
        self.stage, self.link, self.events, self.xid = stage, link, [], 0
        stage.table.connect(link, "127.0.0.1")
        body = struct.pack(">iqiq", 0, last_zxid, timeout_ms, session[0]) + pack_buffer(session[1]) + pack_bool(False)
        stage.perform(stage.table.request(link, body))
        self.timeout_ms, self.session = 0, (0, b"")
        if stage.inboxes.get(link):
            reader = Reader(stage.inboxes[link].pop(0))
            reader.integer()
            self.timeout_ms, self.session = reader.integer(), (reader.long(), reader.buffer())

    @property
    def is_closed(self):
        return self.link in self.stage.closed

    def ask(self, kind, *parts, xid=None):
        """(code, reader of the body); events that came before it are in `events`."""
        self.xid += 1
        xid = self.xid if xid is None else xid
        self.stage.perform(self.stage.table.request(self.link, pack_int(xid) + pack_int(kind) + b"".join(parts)))
        answers = self.take()
        [(answered, code, reader)] = answers
        assert answered == xid
        return Code(code), reader

    def take(self):
        """Answers that have come; events go where they belong."""
        answers = []
        for frame in self.stage.inboxes.pop(self.link, []):
            reader = Reader(frame)
            xid, _zxid, code = reader.integer(), reader.long(), reader.integer()
            if xid == -1:
                kind, _state, path = EventType(reader.integer()), reader.integer(), reader.string()
                self.events.append((kind, path))
            else:
                answers.append((xid, code, reader))
        return answers

    def take_events(self):
        self.take()
        events, self.events = self.events, []
        return events

    def create(self, path, data=b"", flags=0, acl=OPEN):
        return self.ask(Operation.CREATE, create_record(path, data, flags, acl))[0]

    def delete(self, path, version=-1):
        return self.ask(Operation.DELETE, pack_string(path), pack_int(version))[0]

    def set(self, path, data=b"", version=-1):
        return self.ask(Operation.SET_DATA, pack_string(path), pack_buffer(data), pack_int(version))[0]

    def get(self, path, watch=False, kind=Operation.GET_DATA):
        assert kind in PATH_AND_WATCH
        return self.ask(kind, pack_string(path), pack_bool(watch))

    def data(self, path):
        code, reader = self.get(path)
        return reader.buffer() if code is Code.OK else code

    def children(self, path, watch=False):
        code, reader = self.get(path, watch, Operation.GET_CHILDREN)
        return reader.strings() if code is Code.OK else code

    def multi(self, *operations):
        """Each (kind, record); the codes of the results."""
        body = b"".join(header(kind) + record for kind, record in operations) + header(-1, True)
        code, reader = self.ask(Operation.MULTI, body)
        return code if code is not Code.OK else list(results_of(reader))

    def close(self):
        return self.ask(Operation.CLOSE_SESSION)[0]

    def lose(self):
        """The connection ends, without a word of the client's."""
        self.stage.table.drop(self.link)


def create_record(path, data=b"", flags=0, acl=OPEN):
    return pack_string(path) + pack_buffer(data) + pack_acls(acl) + pack_int(flags)


def header(kind, is_done=False):
    return pack_int(kind) + pack_bool(is_done) + pack_int(-1)


def results_of(reader):
    while True:
        kind, is_done, _error = reader.integer(), reader.flag(), reader.integer()
        if is_done:
            return
        if kind == -1:
            yield Code(reader.integer())
            continue
        if kind == Operation.CREATE:
            reader.string()
        if kind == Operation.SET_DATA:
            for _ in range(4):
                reader.long()
            for _ in range(3):
                reader.integer()
            reader.long(), reader.integer(), reader.integer(), reader.long()
        yield Code.OK


def strings(*values):
    return pack_int(len(values)) + b"".join(map(pack_string, values))


def watches(zxid, data=(), absent=(), child=()):
    return pack_long(zxid) + strings(*data) + strings(*absent) + strings(*child)
