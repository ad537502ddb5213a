"""Another node, played by the test in its own thread: it hears what comes when it is pumped, and says what it is told to."""

import contextlib
import socket
import struct

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_response
from headrace.protocol.frames import parse_request_header
from headrace.protocol.stream import FrameReader, SendQueue
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peers import Peers
from headrace.runtime.poller import Poller
from tests.support.fake_clock import FakeClock
from tests.support.waiting import wait_until

HEARTBEAT = ApiKey.HEARTBEAT  # v0: a response without tags


def response(correlation_id, body=b""):
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


class Session:
    """One connection that the node accepted.

    requests   (header, body) of what came
    reads      whether it reads at all
    """

    def __init__(self, sock, transform=None, reads=True):
        self.sock = sock
        self.requests = []
        self.reads = reads
        self.is_over = False
        self._reader = FrameReader()
        self._transform = transform
        sock.setblocking(False)

    @property
    def ids(self):
        return [header.correlation_id for header, _body in self.requests]

    def pump(self):
        if not self.reads or self.is_over:
            return
        with contextlib.suppress(BlockingIOError):
            while True:
                room = self._reader.room() if self._transform is None else memoryview(bytearray(1000))
                try:
                    count = self.sock.recv_into(room)
                except ConnectionError:
                    count = 0
                if not count:
                    self.is_over = True
                    return
                if self._transform is None:
                    self._take(count)
                else:
                    self._transform.feed(room[:count])
                    while count := self._transform.read_into(self._reader.room()):
                        self._take(count)
                    self._flush()

    def _take(self, count):
        self._reader.received(count)
        while (frame := self._reader.next_frame()) is not None:
            header = parse_request_header(frame)
            self.requests.append((header, bytes(frame[header.body_position :])))

    def say(self, data):
        if self._transform is None:
            self.sock.setblocking(True)
            self.sock.sendall(data)
            self.sock.setblocking(False)
            return
        queue = SendQueue()
        queue.put(data)
        while parts := queue.gather():
            queue.sent(self._transform.write(parts[0]))
        self._flush()

    def answer(self, index=0, body=b""):
        self.say(response(self.ids[index], body))

    def answer_versions(self, index=0, error_code=0, **served):
        kind = messages.ApiVersionsResponse
        rows = [kind.ApiVersion(ApiKey[name], low, high) for name, (low, high) in served.items()]
        body = encode_response(ApiKey.API_VERSIONS, 0, kind(error_code=error_code, api_keys=rows))
        self.answer(index, body)

    def close(self):
        self.sock.close()
        self.is_over = True

    def reset(self):
        """RST, as a kernel does for a process that left bytes unread."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def _flush(self):
        outgoing = self._transform.outgoing
        self.sock.setblocking(True)
        while parts := outgoing.gather():
            outgoing.sent(self.sock.sendmsg(parts))
        self.sock.setblocking(False)


class FakeNode:
    """Listens on a port of its own."""

    def __init__(self, transform=None, receive_buffer_bytes=0):
        self.sessions = []
        self._transform = transform
        self._receive_buffer_bytes = receive_buffer_bytes
        self.port = 0
        self.accepts = True
        self.reads = True
        self.listen()

    def listen(self):
        """Again, on the same port as before."""
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self._receive_buffer_bytes:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes)
        self._listener.bind(("127.0.0.1", self.port))
        self._listener.listen()
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]

    @property
    def session(self):
        return self.sessions[-1]

    @property
    def requests(self):
        return self.session.requests if self.sessions else []

    def pump(self):
        with contextlib.suppress(BlockingIOError, OSError):
            while self.accepts:
                sock, _address = self._listener.accept()
                self.sessions.append(Session(sock, self._transform() if self._transform else None, self.reads))
        for session in self.sessions:
            session.pump()

    def hang_up(self):
        """No longer listen, and leave those unaccepted to the kernel."""
        self._listener.close()

    def close(self):
        self.hang_up()
        for session in self.sessions:
            session.close()


class Desk:
    """A process with peers that is turned by hand, and what it was told.

    told   (what, outcome, body) in the order in which they were told
    """

    def __init__(self, seat, **bounds):
        self.poller = Poller(seat.doorbell)
        self.clock = FakeClock()
        self.peers = Peers(self.poller, self.clock, seat.doorbell.force, chance=lambda: 0.5, **bounds)
        self.told = []
        self.nodes = []

    def node(self, **options):
        node = FakeNode(**options)
        self.nodes.append(node)
        return node

    def open(self, node, **options):
        return self.peers.open("127.0.0.1", node.port, PeerOptions(**options))

    def ask(self, peer, what, timeout_ms=10_000, message=None, on_reply=None, version=0, key=HEARTBEAT, **more):
        def hear(outcome, body):
            self.told.append((what, outcome, bytes(body)))
            if on_reply is not None:
                on_reply(outcome, body)

        message = messages.HeartbeatRequest(group_id="g", member_id="m") if message is None else message
        return peer.ask(key, version, message, hear, timeout_ms, **more)

    @property
    def outcomes(self):
        return [outcome.name for _what, outcome, _body in self.told]

    def turn(self):
        self.poller.wait(2)
        done = self.poller.dispatch() + self.peers.turn()
        for node in self.nodes:
            node.pump()
        return done

    def turn_until(self, is_so, complaint="not in time"):
        wait_until(lambda: (self.turn() and False) or is_so(), complaint)

    def pass_ms(self, duration_ms):
        self.clock.ms += duration_ms
        self.turn()

    def close(self):
        self.peers.close_all()
        for node in self.nodes:
            node.close()
        self.poller.close()
