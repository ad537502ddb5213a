"""A network worker's loop over real sockets, with rings and a clock that the test holds."""

import os
import socket
import struct

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import build_batch
from headrace.runtime.poller import Poller
from headrace.shm.messages import REPLY
from headrace.workers.network.context import Context
from headrace.workers.network.loop import NetworkLoop
from tests.support.answered_replicas import AnsweredReplicas
from tests.support.fake_clock import FakeClock
from tests.support.fake_seat import FakeSeat, Followed, view_of

PARTITION_WORKER = 1
CONTROLLER = 2
CYCLES_MAX = 1_000
DESCRIPTORS = 20_000
RESET = struct.pack("ii", 1, 0)


class FakeWriter:
    """A ring that has room for `room` messages."""

    message_bytes_max = 4 << 20

    def __init__(self):
        self.room = 1_000_000
        self.written = []

    def write(self, kind, header, payload=None):
        if not self.room:
            return False
        self.room -= 1
        self.written.append((kind, bytes(header)))
        return True

    def commit(self):
        pass


class FakeReader:
    """A ring that was more than half full, if `is_crowded`."""

    def __init__(self):
        self.messages = []
        self.is_crowded = False

    def poll(self, _count):
        taken, self.messages = self.messages, []
        return taken

    def release(self):
        return self.is_crowded


class FakeView(Followed):
    def __init__(self, view):
        self.view = view

    def version(self):
        return self.view.version

    def read(self):
        return self.view


class FakeDoorbell:
    def __init__(self):
        self.fd = os.eventfd(0)

    def force(self):
        os.eventfd_write(self.fd, 1)


class NetworkSeat(FakeSeat):
    """The network worker (process 0) of the same node."""

    process_id = 0

    def __init__(self, log_dirs, settings):
        super().__init__(log_dirs, settings)
        self.view = FakeView(view_of(("t", 2)))
        self.doorbell = FakeDoorbell()
        self.writers = {PARTITION_WORKER: FakeWriter(), CONTROLLER: FakeWriter()}
        self.readers = {PARTITION_WORKER: FakeReader(), CONTROLLER: FakeReader()}
        self.rung = []

    def ring(self, process_id):
        self.rung.append(process_id)

    def changed(self):
        return frozenset()


class Rig:
    """A loop and its parts."""

    def __init__(self, log_dir, settings=None, arenas=None, log_dirs=None):
        self.seat = NetworkSeat(log_dirs or [log_dir], {"socket.send.buffer.bytes": "8192", **(settings or {})})
        self.seat.arenas = arenas or {}
        self.clock = FakeClock()
        self.context = Context(self.seat, self.clock, DESCRIPTORS)
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        self.poller = Poller(self.seat.doorbell)
        self.loop = NetworkLoop(self.seat, self.context, listener, self.poller)
        self.clients = []

    def connect(self):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        client.settimeout(10)
        client.connect(self.address)
        self.clients.append(client)
        return client

    def turn(self, wait_ms=0):
        """A cycle as the process has it."""
        self.poller.wait(wait_ms)
        self.loop.do_work()

    def turn_until(self, is_so):
        for _ in range(CYCLES_MAX):
            if is_so():
                return
            self.turn(10)
        raise AssertionError("it never came")

    @property
    def connections(self):
        return list(self.loop._connections.values())

    def close(self):
        for client in self.clients:
            client.close()
        self.loop.drain()
        self.loop.close()
        self.poller.close()
        os.close(self.seat.doorbell.fd)


def produce_frame(acks=-1, partitions=(0, 1), base_sequence=-1):
    request = messages.ProduceRequest
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": base_sequence} if base_sequence >= 0 else {}
    batch = build_batch([(None, b"value")], timestamp_ms=1_795_000_000_000, **producer)
    data = [request.PartitionProduceData(partition, batch) for partition in partitions]
    body = request(acks=acks, timeout_ms=1000, topic_data=[request.TopicProduceData("t", data)])
    return build_request(ApiKey.PRODUCE, 8, 7, "bench", body)


def create_frame():
    topic = messages.CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    request = messages.CreateTopicsRequest(topics=[topic], timeout_ms=1000)
    return build_request(ApiKey.CREATE_TOPICS, 4, 8, "bench", request)


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    client.close()


def answer_controller(rig):
    """Answer the last request that the controller was asked."""
    header = rig.seat.writers[CONTROLLER].written[-1][1]
    rig.seat.readers[CONTROLLER].messages = [(REPLY, memoryview(header[:8] + bytes(8) + b"done"))]


def receive_answers(rig, client, count):
    """Correlation ids of so many answers."""
    ids, data = [], b""
    client.setblocking(False)
    for _ in range(100 * CYCLES_MAX):
        while len(data) >= 4 and len(data) - 4 >= (size := int.from_bytes(data[:4], "big")):
            ids.append(int.from_bytes(data[4:8], "big"))
            data = data[4 + size :]
        if len(ids) == count:
            return ids
        rig.turn()
        try:
            data += client.recv(1 << 20)
        except BlockingIOError:
            continue
    raise AssertionError(f"{len(ids)} answers of {count}")


def fetch_frame(number, partitions=(0,), min_bytes=1, max_bytes=1 << 20):
    request = messages.FetchRequest
    wanted = [request.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1 << 20) for n in partitions]
    topic = request.FetchTopic(topic="t", partitions=wanted)
    fetch = request(replica_id=-1, max_wait_ms=1 << 30, min_bytes=min_bytes, max_bytes=max_bytes, topics=[topic])
    return build_request(ApiKey.FETCH, 4, number, "bench", fetch)


def lead(rig):
    replicas = AnsweredReplicas(rig.seat, 0, rig.clock)
    replicas.follow(rig.seat.view.view)
    return replicas
