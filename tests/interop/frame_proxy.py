"""A proxy before a broker that keeps each request and its answer, frame by frame: what brokers say to each other.

A broker behind it advertises the proxy's port, so that the others and the controller, its own too, come this way. Threads of
its own, two for each connection; `close` ends them.
"""

import contextlib
import socket
import struct
import threading
from collections import deque
from typing import NamedTuple

from headrace.protocol.frames import parse_request_header

FRAME_BYTES_MAX = 100 << 20


class Exchange(NamedTuple):
    """One request and its answer, each a frame without its size."""

    client_id: str
    api_key: int
    version: int
    request: bytes
    response: bytes


class FrameProxy:
    """Listens on a port of its own, and forwards to wherever `target` says at the time.

    on_exchange   called with each Exchange, from several threads
    """

    def __init__(self, target, on_exchange):
        self._target = target
        self._on_exchange = on_exchange
        self._open = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            left = list(self._open)
        for one in left:
            _hang_up(one)

    def _accept(self):
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target())
            except OSError:
                client.close()
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            asked = deque()  # requests whose answers are due, in their order
            for pump in (self._requests, self._responses):
                threading.Thread(target=pump, args=(client, server, asked), daemon=True).start()

    def _requests(self, client, server, asked):
        with self._until_it_ends(client, server):
            for frame in frames(client):
                asked.append(frame)
                server.sendall(struct.pack(">i", len(frame)) + frame)

    def _responses(self, client, server, asked):
        with self._until_it_ends(client, server):
            for frame in frames(server):
                correlation_id = frame[:4]
                request = asked.popleft()
                while request[4:8] != correlation_id:  # a produce with acks=0 is not answered
                    request = asked.popleft()
                header = parse_request_header(memoryview(request))
                exchange = Exchange(header.client_id or "", header.api_key, header.api_version, request, frame)
                self._on_exchange(exchange)
                client.sendall(struct.pack(">i", len(frame)) + frame)

    @contextlib.contextmanager
    def _until_it_ends(self, *pair):
        try:
            with contextlib.suppress(OSError, EOFError):
                yield
        finally:
            for one in pair:
                _hang_up(one)
            with self._lock:
                self._open -= set(pair)


def frames(sock):
    """Each whole frame that comes, without its size. raises EOFError, where one is cut short"""
    stream = sock.makefile("rb")
    while size := stream.read(4):
        length = int.from_bytes(size, "big")
        if length > FRAME_BYTES_MAX:
            raise EOFError
        frame = stream.read(length)
        if len(frame) < length:
            raise EOFError
        yield frame


def _hang_up(sock):
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
