"""The sockets of the ZooKeeper in Python: one thread, one selector, frames in and out.

    readable -> frames -> Table -> journal -> frames queued -> sent as far as the socket takes them

It runs where it is called: in a process of its own (`__main__.py`, `child.py`) or in a thread of a test (`thread.py`). `stop` may be
called by another thread, or by a handler of a signal. A connection may ask in words instead, before it has a session:

    ruok    imok                    srvr, mntr    what this server is, and a few numbers
                                    envi          the version whose protocol it speaks, for clients that choose by it

Source: ZooKeeper `NIOServerCnxn`, `FourLetterCommands`.
"""

from __future__ import annotations

import logging
import os
import secrets
import selectors
import socket
import time
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Final

from headrace.limits import (
    TESTING_CONNECTIONS_MAX,
    TESTING_FRAME_BYTES_MAX,
    TESTING_SESSION_TICKS_MAX,
    TESTING_UNSENT_BYTES_MAX,
)
from headrace.testing.zookeeper.journal import Journal, open_journal
from headrace.testing.zookeeper.state.requests import HANDLERS
from headrace.testing.zookeeper.state.table import Effect, Send, Table
from headrace.testing_marker import TESTING_MARKER_TEXT

VERSION: Final = f"3.9.3-{TESTING_MARKER_TEXT}"  # of ZooKeeper, then what this is
TICK_MS: Final = 1_000
RECEIVE_BYTES: Final = 256 << 10
BACKLOG: Final = 128
WAIT_MS: Final = 1_000  # of the selector, at most
_LENGTH: Final = Struct(">i")

_log = logging.getLogger(__name__)


class Connection:
    """One client's socket, and what waits on it."""

    __slots__ = ("is_ending", "link", "received", "sock", "unsent")

    def __init__(self, link: int, sock: socket.socket) -> None:
        self.link = link
        self.sock = sock
        self.received = bytearray()
        self.unsent = bytearray()
        self.is_ending = False  # closed once everything is sent


class Server:
    """One server on a socket that listens.

    listener    bound and listening; closed with the server
    journal     a file for what is to outlive the server; None: everything is in memory
    tick_ms     sessions last for 2 to `ticks_max` of them
    """

    def __init__(
        self,
        listener: socket.socket,
        journal: Path | None = None,
        tick_ms: int = TICK_MS,
        ticks_max: int = TESTING_SESSION_TICKS_MAX,
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self.table = Table(_wall_ms, _monotonic_ms, secrets.token_bytes, HANDLERS, tick_ms, ticks_max)
        self._journal: Journal | None = open_journal(journal, self.table) if journal is not None else None
        self._connections: dict[int, Connection] = {}
        self._next_link = 1
        self._selector = selectors.DefaultSelector()
        self._waking, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._is_stopping = False
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._waking, selectors.EVENT_READ, None)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def run(self) -> None:
        """Serve until `stop`."""
        try:
            while not self._is_stopping:
                self._turn()
        finally:
            self._close()

    def stop(self) -> None:
        self._is_stopping = True
        os.write(self._wake, b"\0")

    def _turn(self) -> None:
        next_ms = self.table.next_ms()
        wait_ms = WAIT_MS if next_ms is None else min(WAIT_MS, max(0, next_ms - _monotonic_ms()) + 1)
        for key, events in self._selector.select(wait_ms / 1000):
            data = key.data
            if isinstance(data, Connection):
                if data.link not in self._connections:
                    continue  # it ended in this turn
                if events & selectors.EVENT_WRITE:
                    self._send(data)
                if events & selectors.EVENT_READ and not data.is_ending:
                    self._receive(data)
            elif data is not None:
                data()
        if next_ms is not None and next_ms <= _monotonic_ms():
            self._perform(self.table.tick())

    def _accept(self) -> None:
        try:
            sock, (address, *_) = self._listener.accept()
        except OSError:  # it is gone again, or there are no descriptors: the next turn accepts
            return
        if len(self._connections) >= TESTING_CONNECTIONS_MAX:
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self._next_link, sock)
        self._next_link += 1
        self._connections[connection.link] = connection
        self._selector.register(sock, selectors.EVENT_READ, connection)
        self.table.connect(connection.link, address)

    def _receive(self, connection: Connection) -> None:
        try:
            data = connection.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(connection)
            return
        received = connection.received
        received += data
        position = 0
        while len(received) - position >= _LENGTH.size and not connection.is_ending:
            if self._answer_word(connection):
                return
            (length,) = _LENGTH.unpack_from(received, position)
            if not 0 <= length <= TESTING_FRAME_BYTES_MAX:
                _log.warning(
                    "connection closed, frame of %d bytes is too large bytes_max=%d", length, TESTING_FRAME_BYTES_MAX
                )
                self._drop(connection)
                return
            end = position + _LENGTH.size + length
            if end > len(received):
                break
            self._perform(self.table.request(connection.link, bytes(received[position + _LENGTH.size : end])))
            position = end
        del received[:position]

    def _perform(self, effects: list[Effect]) -> None:
        """Write the journal, then send: what was acknowledged is kept."""
        if self._journal is not None:
            self._journal.append()
        else:
            self.table.committed.clear()
        touched = {}
        for effect in effects:
            connection = self._connections.get(effect.link)
            if connection is None:
                continue
            touched[connection.link] = connection
            if isinstance(effect, Send):
                connection.unsent += effect.frame
            else:
                connection.is_ending = True
        for connection in touched.values():
            self._send(connection)

    def _send(self, connection: Connection) -> None:
        unsent = connection.unsent
        try:
            while unsent:
                del unsent[: connection.sock.send(unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)
            return
        if len(unsent) > TESTING_UNSENT_BYTES_MAX:
            _log.warning("connection closed, its client does not read unsent_bytes=%d", len(unsent))
            self._drop(connection)
        elif not unsent and connection.is_ending:
            self._drop(connection)
        else:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if unsent else 0)
            self._selector.modify(connection.sock, events, connection)

    def _drop(self, connection: Connection) -> None:
        if self._connections.pop(connection.link, None) is None:
            return
        self._selector.unregister(connection.sock)
        connection.sock.close()
        self.table.drop(connection.link)

    def _answer_word(self, connection: Connection) -> bool:
        """Whether the connection asked in a word, which is answered and ends it."""
        answer = self._words().get(bytes(connection.received[:4]))
        known = self.table.links.get(connection.link)
        if answer is None or known is None or known.session_id:
            return False
        connection.unsent += answer().encode()
        connection.is_ending = True
        self._send(connection)
        return True

    def _words(self) -> dict[bytes, Callable[[], str]]:
        return {b"ruok": lambda: "imok", b"srvr": self._describe, b"mntr": self._measure, b"envi": self._environment}

    def _describe(self) -> str:
        table = self.table
        return (
            f"Zookeeper version: {VERSION}\nConnections: {len(self._connections)}\n"
            f"Zxid: 0x{table.tree.zxid:x}\nMode: standalone\nNode count: {len(table.tree.nodes)}\n"
        )

    def _environment(self) -> str:
        return f"Environment:\nzookeeper.version={VERSION}\n"

    def _measure(self) -> str:
        table = self.table
        numbers = {
            "zk_version": VERSION,
            "zk_server_state": "standalone",
            "zk_num_alive_connections": len(self._connections),
            "zk_znode_count": len(table.tree.nodes),
            "zk_watch_count": table.watches.count,
            "zk_ephemerals_count": sum(map(len, table.tree.ephemerals.values())),
            "zk_global_sessions": len(table.sessions),
        }
        return "".join(f"{name}\t{value}\n" for name, value in numbers.items())

    def _close(self) -> None:
        for connection in list(self._connections.values()):
            self._drop(connection)
        if self._journal is not None:
            self._journal.close()
        self._selector.close()
        self._listener.close()
        os.close(self._waking)
        os.close(self._wake)


def listen(host: str, port: int) -> socket.socket:
    """raises   OSError, where the port is taken"""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000
