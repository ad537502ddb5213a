"""The network worker's cycle over real sockets, with rings and a clock that the test holds."""

import contextlib
import os
import socket
import struct

import pytest
from fake_seat import FakeSeat, Followed, view_of

from headrace.errors import ErrorCode
from headrace.limits import OUTBOX_BYTES_MAX, PIPELINED_REQUESTS_MAX, TRICKLE_DEADLINE_MS
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_response
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import build_batch
from headrace.runtime.poller import Poller
from headrace.shm.counters import CONNECTIONS_OPEN, Counters
from headrace.shm.messages import ADVANCED, REPLY, REPLY_HEADER, SLOT_ENTRY, ReplyStatus
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.workers.network import loop as loop_module
from headrace.workers.network.context import Context
from headrace.workers.network.loop import LOOK_AT_CONNECTIONS_INTERVAL_MS, SLOW_READER_DEADLINE_MS, NetworkLoop
from headrace.workers.partition.replicas import Replicas

PARTITION_WORKER = 1
CONTROLLER = 2
CYCLES_MAX = 1_000
DESCRIPTORS = 20_000
RESET = struct.pack("ii", 1, 0)


class FakeClock:
    def __init__(self):
        self.ms = 1_000_000

    def now_ms(self):
        return self.ms

    def monotonic_ns(self):
        return self.ms * 1_000_000


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
        self.written.append((kind, header))
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


class NetworkSeat(FakeSeat):
    """The network worker (process 0) of the same node."""

    process_id = 0

    def __init__(self, log_dir, settings):
        super().__init__([log_dir], settings)
        self.view = FakeView(view_of(("t", 2)))
        self.doorbell = FakeDoorbell()
        self.writers = {PARTITION_WORKER: FakeWriter(), CONTROLLER: FakeWriter()}
        self.readers = {PARTITION_WORKER: FakeReader(), CONTROLLER: FakeReader()}
        self.rung = []

    def ring(self, process_id):
        self.rung.append(process_id)

    def changed(self):
        return frozenset()


class Bench:
    """A loop and its parts."""

    def __init__(self, log_dir, settings=None):
        self.seat = NetworkSeat(log_dir, {"socket.send.buffer.bytes": "8192", **(settings or {})})
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


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    for client in bench.clients:
        client.close()
    bench.loop.drain()
    bench.loop.close()
    bench.poller.close()
    os.close(bench.seat.doorbell.fd)


def produce_frame(acks=-1, partitions=(0, 1)):
    request = messages.ProduceRequest
    batch = build_batch([(None, b"value")], timestamp_ms=1_795_000_000_000)
    data = [request.PartitionProduceData(partition, batch) for partition in partitions]
    body = request(acks=acks, timeout_ms=1000, topic_data=[request.TopicProduceData("t", data)])
    return build_request(ApiKey.PRODUCE, 8, 7, "bench", body)


def create_frame():
    topic = messages.CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    request = messages.CreateTopicsRequest(topics=[topic], timeout_ms=1000)
    return build_request(ApiKey.CREATE_TOPICS, 4, 8, "bench", request)


def test_connections_beyond_the_nodes_bound_are_refused_whichever_worker_has_the_others(bench, caplog):
    others = Counters(memoryview(bytearray(8 * 48)).cast("Q"), 0)
    bench.loop._open_counts.append(others)
    others.add(CONNECTIONS_OPEN, bench.seat.wiring.settings["max.connections"] - 1)
    bench.connect()
    bench.turn_until(lambda: bench.connections)
    refused = [bench.connect() for _ in range(3)]
    bench.turn_until(lambda: bench.loop._refused == 3)
    assert [client.recv(1) for client in refused] == [b""] * 3
    bench.clock.ms += LOOK_AT_CONNECTIONS_INTERVAL_MS
    bench.turn()
    assert [record.getMessage().split(" ")[:2] for record in caplog.records if "refused" in record.getMessage()] == [
        ["connection", "refused"],
        ["connections", "refused"],
    ]
    others.add(CONNECTIONS_OPEN, -1)
    bench.connect()
    bench.turn_until(lambda: len(bench.connections) == 2)
    assert bench.seat.counters.get(CONNECTIONS_OPEN) == 2
    successor = NetworkLoop(bench.seat, bench.context, socket.create_server(("127.0.0.1", 0)), bench.poller)
    successor.drain()
    successor.close()
    assert bench.seat.counters.get(CONNECTIONS_OPEN) == 0, "a successor has none"


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    client.close()


@pytest.mark.parametrize("acks", [-1, 0])
@pytest.mark.parametrize("room", [0, 1])
def test_what_a_closed_connection_had_stalled_is_owed_by_nobody(bench, acks, room):
    bench.seat.writers[PARTITION_WORKER].room = room
    client = bench.connect()
    client.sendall(produce_frame(acks))
    bench.turn_until(lambda: bench.context.sender.stalled)
    reset(client)
    bench.turn_until(lambda: not bench.connections)
    assert not bench.context.sender.stalled
    assert len(bench.context.produce) == (1 if room and acks else 0)  # a part is with its owner, who will answer
    assert bench.loop.is_drained() is not bool(room and acks)


def test_a_forwarded_request_that_stalled_is_forgotten_with_its_connection(bench):
    bench.seat.writers[CONTROLLER].room = 0
    client = bench.connect()
    client.sendall(create_frame())
    bench.turn_until(lambda: bench.context.sender.stalled)
    assert len(bench.context.mailbox) == 1
    reset(client)
    bench.turn_until(lambda: not bench.connections)
    assert len(bench.context.mailbox) == 0


def test_a_partition_worker_that_may_sleep_on_a_full_answer_ring_is_woken(bench):
    reader = bench.seat.readers[PARTITION_WORKER]
    reader.messages = [(REPLY, memoryview(REPLY_HEADER.pack(77, ReplyStatus.ANSWERED, 0)))]
    bench.loop.take_answers()
    assert bench.seat.rung == []
    reader.messages = [(REPLY, memoryview(REPLY_HEADER.pack(78, ReplyStatus.ANSWERED, 0)))]
    reader.is_crowded = True
    bench.loop.take_answers()
    assert bench.seat.rung == [PARTITION_WORKER]


def answer_controller(bench):
    """Answer the last request that the controller was asked."""
    header = bench.seat.writers[CONTROLLER].written[-1][1]
    bench.seat.readers[CONTROLLER].messages = [(REPLY, memoryview(header[:8] + bytes(8) + b"done"))]


def receive_answers(bench, client, count):
    """Correlation ids of so many answers."""
    ids, data = [], b""
    client.setblocking(False)
    for _ in range(100 * CYCLES_MAX):
        while len(data) >= 4 and len(data) - 4 >= (size := int.from_bytes(data[:4], "big")):
            ids.append(int.from_bytes(data[4:8], "big"))
            data = data[4 + size :]
        if len(ids) == count:
            return ids
        bench.turn()
        try:
            data += client.recv(1 << 20)
        except BlockingIOError:
            continue
    raise AssertionError(f"{len(ids)} answers of {count}")


def test_answers_behind_one_that_waits_are_bounded(bench):
    bench.seat.view.view = view_of(*((f"{number:0200}", 5) for number in range(200)))._replace(version=2)
    client = bench.connect()
    metadata = messages.MetadataRequest(topics=None)
    count = PIPELINED_REQUESTS_MAX - 1
    client.sendall(create_frame())
    client.sendall(b"".join(build_request(ApiKey.METADATA, 7, number, "bench", metadata) for number in range(count)))
    bench.turn_until(lambda: bench.connections and not bench.connections[0].registered_events)
    (connection,) = bench.connections
    answer_bytes = max((exchange.parts and sum(map(len, exchange.parts))) or 0 for exchange in connection.exchanges)
    assert answer_bytes * count > 2 * OUTBOX_BYTES_MAX, "the answers are too small to tell"
    assert OUTBOX_BYTES_MAX <= connection.unsent_bytes <= OUTBOX_BYTES_MAX + answer_bytes
    answer_controller(bench)
    assert receive_answers(bench, client, count + 1) == [8, *range(count)]


def test_fetches_that_come_due_behind_an_answer_that_waits_are_bounded(bench):
    replicas = Replicas(bench.seat, 0, bench.clock)
    replicas.follow(bench.seat.view.view)
    client = bench.connect()
    request = messages.FetchRequest
    wanted = [request.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1 << 20) for n in (0, 1)]
    topic = request.FetchTopic(topic="t", partitions=wanted)
    fetch = request(replica_id=-1, max_wait_ms=60_000, min_bytes=1, max_bytes=1 << 20, topics=[topic])
    count = PIPELINED_REQUESTS_MAX - 1
    client.sendall(create_frame())
    client.sendall(b"".join(build_request(ApiKey.FETCH, 4, number, "bench", fetch) for number in range(count)))
    bench.turn_until(lambda: len(bench.context.fetches) == count)
    size = 15_000
    for replica in replicas.by_slot.values():
        data = memoryview(bytearray(build_batch([(None, bytes(size))], timestamp_ms=bench.clock.ms)))
        replica.log.append_as_leader([data], 0, bench.clock.ms)
        replica.advance_high_watermark()
        replica.publish()
    bench.seat.readers[PARTITION_WORKER].messages = [(ADVANCED, memoryview(SLOT_ENTRY.pack(0) + SLOT_ENTRY.pack(1)))]
    bench.turn_until(lambda: not len(bench.context.fetches))
    (connection,) = bench.connections
    assert 2 * size * count > OUTBOX_BYTES_MAX
    heads = 200 * count
    assert connection.unsent_bytes <= OUTBOX_BYTES_MAX + heads
    answer_controller(bench)
    assert receive_answers(bench, client, count + 1) == [8, *range(count)]


def big_answer(bench, client, size):
    """Have an answer of `size` bytes sent to a client that doesn't read."""
    client.sendall(create_frame())
    bench.turn_until(lambda: bench.seat.writers[CONTROLLER].written)
    header = bench.seat.writers[CONTROLLER].written[-1][1]
    body = memoryview(header[:8] + bytes(8 + size))
    bench.seat.readers[CONTROLLER].messages = [(REPLY, body)]
    bench.turn_until(lambda: bench.connections[0].sending_since_ms)


def test_a_reader_that_is_slow_but_reads_keeps_its_connection(bench):
    client = bench.connect()
    size = 4 << 20
    big_answer(bench, client, size)
    left = 4 + 4 + size
    began_ms = bench.clock.ms
    while left:
        piece = client.recv(256 * 1024)
        assert piece, "the node closed the connection"
        left -= len(piece)
        bench.clock.ms += SLOW_READER_DEADLINE_MS // 100
        bench.turn(1)
        bench.turn(1)
    assert bench.clock.ms - began_ms > SLOW_READER_DEADLINE_MS, "it was too fast to tell"
    assert len(bench.connections) == 1


def test_a_reader_that_takes_nothing_is_closed(bench):
    client = bench.connect()
    big_answer(bench, client, 8 << 20)

    def is_closed_in_the_end():
        bench.clock.ms += SLOW_READER_DEADLINE_MS + 1  # again and again: the kernel may still move some bytes
        return not bench.connections

    bench.turn_until(is_closed_in_the_end)


def test_a_frame_that_the_node_itself_does_not_read_is_no_trickle(bench):
    """The end of a frame can't come while too many requests are open."""
    client = bench.connect()
    frame = create_frame()
    client.sendall(frame[:-1])
    bench.turn_until(lambda: bench.connections and bench.connections[0].frame_since_ms)
    (connection,) = bench.connections
    open_exchanges, connection.exchanges = connection.exchanges, [object()] * PIPELINED_REQUESTS_MAX
    for _ in range(3):
        bench.clock.ms += TRICKLE_DEADLINE_MS
        bench.turn()
    connection.exchanges = open_exchanges
    connection.mark_dirty()
    client.sendall(frame[-1:])
    bench.turn_until(lambda: bench.seat.writers[CONTROLLER].written)


def test_frames_that_were_put_off_are_handled_before_more_is_received(bench, monkeypatch):
    """Several connections, each with more whole frames than its buffer holds, and one heavy request a cycle."""
    frame = (4_000).to_bytes(4, "big") + bytes(4_000)
    handled = dict.fromkeys(range(3), 0)

    def heavy(context, connection, _frame):
        context.heavy_requests += 1
        handled[bench.connections.index(connection)] += 1

    monkeypatch.setattr(loop_module, "route", heavy)
    for _ in handled:
        client = bench.connect()
        client.setblocking(False)
        bench.turn_until(lambda: len(bench.connections) == len(bench.clients))
    left = {client: memoryview(frame * 10) for client in bench.clients}

    def are_handled():
        for client in left:
            with contextlib.suppress(BlockingIOError):
                left[client] = left[client][client.send(left[client]) :]
        return not any(left.values()) and set(handled.values()) == {10}

    bench.turn_until(are_handled)
    assert len(bench.connections) == 3


def test_the_files_of_a_deleted_topic_are_let_go(bench, tmp_path):
    for index in range(2):
        (tmp_path / f"t-{index}").mkdir()
        (tmp_path / f"t-{index}" / f"{0:020}.log").touch()
    bench.context.follow_view()
    row = PartitionRow(RowState.LEADER, 0, 1, 0, *(0,) * 15)
    for partition in bench.context.view.topics["t"].partitions:
        bench.seat.partitions.publish(partition.slot, row._replace(key=partition.key))
    segments = [bench.context.files.reader(bench.context.routes.partition("t", n), row).segment(0) for n in range(2)]
    descriptors = [segment.fd for segment in segments]
    del segments
    bench.seat.view.view = view_of(("t", 1))._replace(version=2)
    bench.turn()
    os.fstat(descriptors[0])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptors[1])


def test_unknown_topics_by_the_thousand_are_made_some_at_a_time(bench):
    asked = []
    bench.context.forwarder.ask = lambda _exchange, _key, version, *rest: asked.append((version, *rest))
    request = messages.MetadataRequest
    names = [f"new{index}" for index in range(700)]
    body = request(topics=[request.MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=True)
    client = bench.connect()
    client.sendall(build_request(ApiKey.METADATA, 5, 7, "bench", body))
    bench.turn_until(lambda: asked)
    [(version, creation, on_result)] = asked
    made = [topic.name for topic in decode_request(ApiKey.CREATE_TOPICS, version, memoryview(creation)).topics]
    assert made == names[: len(made)]
    assert len(made) < len(names)
    result = messages.CreateTopicsResponse.CreatableTopicResult
    late = [result(name=name, error_code=int(ErrorCode.REQUEST_TIMED_OUT), error_message=None) for name in made]
    answer = encode_response(ApiKey.CREATE_TOPICS, version, messages.CreateTopicsResponse(topics=late))
    [exchange] = bench.connections[0].exchanges
    on_result(memoryview(answer))
    told = decode_response(ApiKey.METADATA, 5, memoryview(exchange.parts[0])[8:])
    assert {topic.error_code for topic in told.topics} == {ErrorCode.LEADER_NOT_AVAILABLE}  # ask again, all of them
    assert len(told.topics) == len(names)


def fetch_frame(number, partitions=(0,), min_bytes=1, max_bytes=1 << 20):
    request = messages.FetchRequest
    wanted = [request.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1 << 20) for n in partitions]
    topic = request.FetchTopic(topic="t", partitions=wanted)
    fetch = request(replica_id=-1, max_wait_ms=1 << 30, min_bytes=min_bytes, max_bytes=max_bytes, topics=[topic])
    return build_request(ApiKey.FETCH, 4, number, "bench", fetch)


def lead(bench):
    replicas = Replicas(bench.seat, 0, bench.clock)
    replicas.follow(bench.seat.view.view)
    return replicas


def test_a_peer_that_left_while_nothing_is_received_is_noticed(bench):
    lead(bench)
    client = bench.connect()
    client.sendall(b"".join(map(fetch_frame, range(PIPELINED_REQUESTS_MAX))))
    bench.turn_until(lambda: len(bench.context.fetches) == PIPELINED_REQUESTS_MAX)
    for _ in range(3):
        bench.clock.ms += 2 * LOOK_AT_CONNECTIONS_INTERVAL_MS
        bench.turn()
    assert bench.connections  # it waits, and is there
    client.close()

    def is_gone():
        bench.clock.ms += 2 * LOOK_AT_CONNECTIONS_INTERVAL_MS
        return not bench.connections

    bench.turn_until(is_gone)
    assert not len(bench.context.fetches)


def test_the_partitions_that_a_connection_waits_for_are_bounded(bench, monkeypatch):
    monkeypatch.setattr("headrace.workers.network.connection.PARKED_PARTITIONS_MAX", 6)
    lead(bench)
    client = bench.connect()
    client.sendall(b"".join(fetch_frame(number, (0, 1)) for number in range(10)))
    bench.turn_until(lambda: len(bench.context.fetches) == 3)
    for _ in range(5):
        bench.turn()
    assert len(bench.context.fetches) == 3
    bench.clock.ms += 1 << 30
    assert receive_answers(bench, client, 3) == [0, 1, 2]


def test_a_fetch_waits_for_no_more_than_it_may_get(bench):
    replicas = lead(bench)
    for replica in replicas.by_slot.values():
        data = memoryview(bytearray(build_batch([(None, bytes(5_000))], timestamp_ms=bench.clock.ms)))
        replica.log.append_as_leader([data], 0, bench.clock.ms)
        replica.advance_high_watermark()
        replica.publish()
    client = bench.connect()
    client.sendall(fetch_frame(3, (0, 1), min_bytes=1 << 30, max_bytes=5_000))
    assert receive_answers(bench, client, 1) == [3]


def test_a_fetch_that_waits_keeps_only_what_it_waits_for(bench):
    lead(bench)
    request = messages.FetchRequest
    topics = [request.FetchTopic(topic="nothing", partitions=[])] * 1_000
    real = request.FetchTopic(topic="t", partitions=[request.FetchPartition(partition=0, partition_max_bytes=1)])
    forgotten = [request.ForgottenTopic(topic="t", partitions=[1])] * 1_000
    wait = request(
        replica_id=-1, max_wait_ms=1 << 30, min_bytes=1, topics=[*topics, real], forgotten_topics_data=forgotten
    )
    client = bench.connect()
    client.sendall(build_request(ApiKey.FETCH, 11, 1, "bench", wait))
    bench.turn_until(lambda: len(bench.context.fetches))
    [fetch] = bench.context.fetches._by_slot[0]
    kept = fetch.attempt.__self__.request
    assert (len(kept.topics), len(kept.forgotten_topics_data)) == (1, 0)
    nothing = wait._replace(topics=topics)
    bench.connect().sendall(build_request(ApiKey.FETCH, 11, 2, "bench", nothing))
    assert receive_answers(bench, bench.clients[1], 1) == [2]  # at once
