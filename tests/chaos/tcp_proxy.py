"""A TCP proxy whose connections can be cut: all at once, after so many bytes, or refused for a while.

Used by: the campaign, between a node and its ZooKeeper. Threads of its own; `close` ends them.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

CHUNK_BYTES = 16 * 1024


class TcpProxy:
    """Listens on a port of its own and forwards to wherever `target` says at the time."""

    def __init__(self, target: Callable[[], tuple[str, int]]) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._cuts: list[int] = []  # of the next connections: bytes of answers until they are cut
        self.is_refusing = False
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def cuts_left(self) -> int:
        return len(self._cuts)

    def cut(self) -> int:
        """Close every connection; returns how many there were."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            _hang_up(pair)
        return len(pairs)

    def cut_next(self, after_bytes: list[int]) -> None:
        """Each of the next connections is cut after so many bytes from the server."""
        with self._lock:
            self._cuts = list(after_bytes)

    def close(self) -> None:
        self.is_refusing = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.is_refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(self._target(), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
                left = self._cuts.pop(0) if self._cuts else None
            threading.Thread(target=self._pump, args=(pair, client, server, None), daemon=True).start()
            threading.Thread(target=self._pump, args=(pair, server, client, left), daemon=True).start()

    def _pump(
        self, pair: tuple[socket.socket, socket.socket], source: socket.socket, target: socket.socket, left: int | None
    ) -> None:
        try:
            while data := source.recv(CHUNK_BYTES):
                if left is not None and len(data) >= left:
                    target.sendall(data[:left])
                    return
                target.sendall(data)
                left = left - len(data) if left is not None else None
        except OSError:
            pass
        finally:
            with self._lock:
                self._pairs.discard(pair)
            _hang_up(pair)


def _hang_up(pair: tuple[socket.socket, socket.socket]) -> None:
    for one in pair:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
