"""An engine without sockets: the links of a client, and brokers of a model at their other ends.

    network = Network(cluster, seed); engine = network.client()
    network.run_until(lambda: task.is_done)       time passes from one event to the next; no clock is asked
    network.delay_s, lost_requests, lost_answers  what the network does, by chance from the seed

A link is one connection: its broker takes one request after the other, and responses come in that order. Requests of different links
overtake each other as their delays say.
"""

from __future__ import annotations

import heapq
import itertools
import random
import struct
from collections import deque
from typing import Any

from headrace.client.engine.engine import Engine
from headrace.client.engine.link import LinkState, closed_by_broker
from headrace.client.failures import ConnectionFailed, NotSent
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import decode_request, encode_response
from headrace.protocol.frames import parse_request_header

STEPS_MAX = 200_000  # of one run: a test that needs more hangs


class Connection:
    """A link's other end: bytes in, one request after the other, bytes out."""

    def __init__(self, network, engine, link, broker):
        self.network, self.engine, self.link, self.broker = network, engine, link, broker
        self.data = bytearray()
        self.requests = deque()
        self.is_busy = False
        self.is_open = True
        self.session = None

    def take(self, data):
        self.data += data
        while len(self.data) >= 4:
            (size,) = struct.unpack_from(">i", self.data)
            if len(self.data) < 4 + size:
                break
            self.requests.append(bytes(self.data[4 : 4 + size]))
            del self.data[: 4 + size]
        self.next()

    def next(self):
        """Handle the next request, after a delay, once the one before has its response."""
        if self.is_busy or not self.requests or not self.is_open:
            return
        self.is_busy = True
        frame = self.requests.popleft()
        self.network.after(self.network.delay(), lambda: self.handle(frame))

    def handle(self, frame):
        network = self.network
        if not self.is_open:
            return
        if network.chance(network.lost_requests) or not self.broker.is_up:
            self.close()
            return
        header = parse_request_header(memoryview(frame))
        request = decode_request(header.api_key, header.api_version, memoryview(frame)[header.body_position :])
        self.broker.asked.append((ApiKey(header.api_key), header.api_version, request))

        def respond(body):
            if not self.is_open:
                return
            if body is None:  # acks=0
                self.is_busy = False
                self.next()
                return
            if network.chance(network.lost_answers):
                self.close()
                return
            tags = b"\0" if response_header_version(header.api_key, header.api_version) else b""
            data = body if isinstance(body, bytes) else encode_response(header.api_key, header.api_version, body)
            payload = struct.pack(">i", header.correlation_id) + tags + data
            network.after(network.delay(), lambda: self.send(struct.pack(">i", len(payload)) + payload))
            self.is_busy = False
            self.next()

        self.broker.handle(ApiKey(header.api_key), header.api_version, request, respond, self)

    def send(self, data):
        """Bytes to the client, in pieces."""
        at = 0
        while at < len(data) and self.is_open and self.link.state is not LinkState.CLOSED:
            room = self.link.room()
            count = min(len(room), len(data) - at, self.network.random.choice((1, 7, 1 << 20)))
            room[:count] = data[at : at + count]
            at += count
            self.network.touch(self.engine)
            self.engine.requests.has_received(self.link, count, self.network.now_s)

    def close(self):
        """The broker hangs up."""
        if self.is_open:
            self.is_open = False
            self.network.touch(self.engine)
            self.engine.requests.drop(self.link, closed_by_broker(self.link), self.network.now_s)


class Network:
    """Time, clients, and what happens between them and brokers."""

    def __init__(self, cluster, seed=0):
        self.cluster = cluster
        cluster.network = self
        self.random = random.Random(seed)
        self.now_s = 1_000.0
        self.delay_s = (0.0005, 0.002)
        self.lost_requests = 0.0
        self.lost_answers = 0.0
        self.connections = {}  # by link
        self.engines = []
        self._events = []
        self._serial = itertools.count()

    def client(self, bootstrap=None, **options):
        """An engine of a new client."""
        addresses = bootstrap or [(broker.host, broker.port) for broker in self.cluster.brokers.values()]
        engine = Engine(addresses, "model", None, self.random.random, **options)
        engine.tasks.now_s = self.now_s
        engine.clock_s = lambda: self.now_s
        self.engines.append(engine)
        return engine

    def chance(self, share):
        return share > 0 and self.random.random() < share

    def delay(self):
        return self.random.uniform(*self.delay_s)

    def after(self, seconds, action):
        heapq.heappush(self._events, (self.now_s + seconds, next(self._serial), action))

    def touch(self, engine):
        engine.tasks.now_s = self.now_s

    def serve(self, engine):
        """What a driver does after a turn."""
        requests = engine.requests
        while requests.wanted or requests.closed or requests.unsent:
            closed, requests.closed = requests.closed, []
            for link in closed:
                connection = self.connections.pop(link, None)
                if connection is not None:
                    connection.is_open = False
            wanted, requests.wanted = requests.wanted, []
            for link in wanted:
                if link.state is LinkState.WANTED:
                    link.opening()
                    self.after(self.delay(), lambda link=link: self._connect(engine, link))
            unsent, requests.unsent = requests.unsent, {}
            for link in unsent:
                connection = self.connections.get(link)
                if connection is not None:
                    self._send(link, connection)

    def _send(self, link, connection):
        while link.out.unsent_bytes:
            data = b"".join(bytes(part) for part in link.out.gather())
            link.out.sent(len(data))
            self.after(0, lambda data=data: connection.take(data))

    def _connect(self, engine, link):
        if link.state is not LinkState.CONNECTING:
            return
        self.touch(engine)
        broker = self.cluster.at(link.host, link.port)
        if broker is None or not broker.is_up or self.chance(self.lost_requests):
            engine.requests.drop(link, NotSent(f"{link.address}: connection refused"), self.now_s)
            return
        self.connections[link] = Connection(self, engine, link, broker)
        engine.requests.is_connected(link, self.now_s)

    def hang_up(self, broker):
        """Every connection of a broker ends."""
        for connection in list(self.connections.values()):
            if connection.broker is broker:
                connection.close()

    def run_until(self, is_so, seconds=600.0, what="it"):
        """Let time pass until it is so. Fails where that takes longer."""
        end_s = self.now_s + seconds
        for _ in range(STEPS_MAX):
            for engine in self.engines:
                engine.turn(self.now_s)
                self.serve(engine)
            if is_so():
                return
            times = [engine.next_s(self.now_s) for engine in self.engines]
            if self._events:
                times.append(self._events[0][0])
            next_s = max(min(times), self.now_s)
            if next_s == self.now_s and not (self._events and self._events[0][0] <= self.now_s):
                next_s += 0.0001
            assert next_s <= end_s, f"{what} did not happen: {self.describe()}"
            self.now_s = next_s
            while self._events and self._events[0][0] <= self.now_s:
                _at_s, _serial, action = heapq.heappop(self._events)
                action()
        raise AssertionError(f"{what} took {STEPS_MAX} steps: {self.describe()}")

    def run(self, seconds):
        """Let so much time pass."""
        end_s = self.now_s + seconds
        is_over = []
        self.after(seconds, lambda: is_over.append(True))
        self.run_until(lambda: bool(is_over), seconds + 1)
        self.now_s = max(self.now_s, end_s)

    def result(self, task, seconds=600.0) -> Any:
        """What a task has come to."""
        self.run_until(lambda: task.is_done, seconds, task.what)
        return task.value()

    def describe(self):
        return "; ".join(text for engine in self.engines for text in engine.waits_for()) or "nothing is waited for"

    def close(self):
        for engine in self.engines:
            engine.close(ConnectionFailed("the test is over"))
