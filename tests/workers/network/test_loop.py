"""The network worker's cycle over real sockets, with rings and a clock that the test holds."""

import contextlib
import errno
import os
import socket

import pytest

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
from headrace.workers.network.loop import CONNECTIONS_CHECK_INTERVAL_MS, SLOW_READER_DEADLINE_MS, NetworkLoop
from tests.support.answered_replicas import AnsweredReplicas
from tests.support.fake_seat import view_of
from tests.workers.network.network_rig import (
    CONTROLLER,
    PARTITION_WORKER,
    answer_controller,
    create_frame,
    fetch_frame,
    lead,
    produce_frame,
    receive_answers,
    reset,
)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.ENOMEM])
def test_a_connection_that_the_system_can_not_watch_is_refused_and_costs_no_other(rig, caplog, monkeypatch, code):
    rig.connect()
    rig.turn_until(lambda: rig.connections)
    register = Poller.register

    def refuse(*_watched):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Poller, "register", refuse)
    refused = rig.connect()
    rig.turn_until(lambda: "connection refused" in caplog.text)
    assert refused.recv(1) == b""
    waiting = rig.connect()
    for _ in range(5):
        rig.turn()
    assert caplog.text.count("connection refused") == 1
    assert len(rig.connections) == rig.seat.counters.get(CONNECTIONS_OPEN) == 1
    monkeypatch.setattr(Poller, "register", register)
    rig.clock.ms += CONNECTIONS_CHECK_INTERVAL_MS
    rig.turn_until(lambda: len(rig.connections) == 2)
    assert rig.connections[1].peer.endswith(f":{waiting.getsockname()[1]}")


def test_connections_beyond_the_nodes_bound_are_refused_whichever_worker_has_the_others(rig, caplog):
    others = Counters(memoryview(bytearray(8 * 48)).cast("Q"), 0)
    rig.loop._open_counts.append(others)
    others.add(CONNECTIONS_OPEN, rig.seat.wiring.settings["max.connections"] - 1)
    rig.connect()
    rig.turn_until(lambda: rig.connections)
    refused = [rig.connect() for _ in range(3)]
    rig.turn_until(lambda: rig.loop._refused == 3)
    assert [client.recv(1) for client in refused] == [b""] * 3
    rig.clock.ms += CONNECTIONS_CHECK_INTERVAL_MS
    rig.turn()
    assert [record.getMessage().split(" ")[:2] for record in caplog.records if "refused" in record.getMessage()] == [
        ["connection", "refused"],
        ["connections", "refused"],
    ]
    others.add(CONNECTIONS_OPEN, -1)
    rig.connect()
    rig.turn_until(lambda: len(rig.connections) == 2)
    assert rig.seat.counters.get(CONNECTIONS_OPEN) == 2
    successor = NetworkLoop(rig.seat, rig.context, socket.create_server(("127.0.0.1", 0)), rig.poller)
    successor.drain()
    successor.close()
    assert rig.seat.counters.get(CONNECTIONS_OPEN) == 0, "a successor has none"


@pytest.mark.parametrize("is_given", [False, True])
def test_of_many_connections_each_has_less_to_send_from_unless_its_size_is_given(rig, monkeypatch, is_given):
    monkeypatch.setattr(loop_module, "SEND_BUFFERS_BYTES", 600 << 10)
    rig.loop._send_buffer_bytes = 192 << 10
    rig.loop._shares_send_buffers = not is_given
    clients = [rig.connect() for _ in range(8)]
    rig.turn_until(lambda: len(rig.connections) == len(clients))
    sizes = [one.sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2 for one in rig.connections]  # Linux doubles
    assert [size >> 10 for size in sizes] == ([192] * 8 if is_given else [192, 192, 192, 150, 120, 100, 100, 100])


@pytest.mark.parametrize("acks", [-1, 0])
@pytest.mark.parametrize("room", [0, 1])
def test_what_a_closed_connection_had_stalled_is_owed_by_nobody(rig, acks, room):
    rig.seat.writers[PARTITION_WORKER].room = room
    client = rig.connect()
    client.sendall(produce_frame(acks))
    rig.turn_until(lambda: rig.context.sender.stalled)
    reset(client)
    rig.turn_until(lambda: not rig.connections)
    assert not rig.context.sender.stalled
    assert len(rig.context.produce) == (1 if room else 0)  # a part is with its owner, who will answer
    assert rig.loop.is_drained() is not bool(room)


def test_a_forwarded_request_that_stalled_is_forgotten_with_its_connection(rig):
    rig.seat.writers[CONTROLLER].room = 0
    client = rig.connect()
    client.sendall(create_frame())
    rig.turn_until(lambda: rig.context.sender.stalled)
    assert len(rig.context.mailbox) == 1
    reset(client)
    rig.turn_until(lambda: not rig.connections)
    assert len(rig.context.mailbox) == 0


def test_a_partition_worker_that_may_sleep_on_a_full_answer_ring_is_woken(rig):
    reader = rig.seat.readers[PARTITION_WORKER]
    reader.messages = [(REPLY, memoryview(REPLY_HEADER.pack(77, ReplyStatus.ANSWERED, 0)))]
    rig.loop.take_answers()
    assert rig.seat.rung == []
    reader.messages = [(REPLY, memoryview(REPLY_HEADER.pack(78, ReplyStatus.ANSWERED, 0)))]
    reader.is_crowded = True
    rig.loop.take_answers()
    assert rig.seat.rung == [PARTITION_WORKER]


def test_answers_behind_one_that_waits_are_bounded(rig):
    rig.seat.view.view = view_of(*((f"{number:0200}", 5) for number in range(200)))._replace(version=2)
    client = rig.connect()
    metadata = messages.MetadataRequest(topics=None)
    count = PIPELINED_REQUESTS_MAX - 1
    client.sendall(create_frame())
    client.sendall(b"".join(build_request(ApiKey.METADATA, 7, number, "bench", metadata) for number in range(count)))
    rig.turn_until(lambda: rig.connections and not rig.connections[0].registered_events)
    (connection,) = rig.connections
    answer_bytes = max((exchange.parts and sum(map(len, exchange.parts))) or 0 for exchange in connection.exchanges)
    assert answer_bytes * count > 2 * OUTBOX_BYTES_MAX, "the answers are too small to tell"
    assert OUTBOX_BYTES_MAX <= connection.unsent_bytes <= OUTBOX_BYTES_MAX + answer_bytes
    answer_controller(rig)
    assert receive_answers(rig, client, count + 1) == [8, *range(count)]


def test_fetches_that_come_due_behind_an_answer_that_waits_are_bounded(rig):
    replicas = AnsweredReplicas(rig.seat, 0, rig.clock)
    replicas.follow(rig.seat.view.view)
    client = rig.connect()
    request = messages.FetchRequest
    wanted = [request.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1 << 20) for n in (0, 1)]
    topic = request.FetchTopic(topic="t", partitions=wanted)
    fetch = request(replica_id=-1, max_wait_ms=60_000, min_bytes=1, max_bytes=1 << 20, topics=[topic])
    count = PIPELINED_REQUESTS_MAX - 1
    client.sendall(create_frame())
    client.sendall(b"".join(build_request(ApiKey.FETCH, 4, number, "bench", fetch) for number in range(count)))
    rig.turn_until(lambda: len(rig.context.fetches) == count)
    size = 15_000
    for replica in replicas.by_slot.values():
        data = memoryview(bytearray(build_batch([(None, bytes(size))], timestamp_ms=rig.clock.ms)))
        replica.log.append_as_leader([data], 0, rig.clock.ms)
        replica.advance_high_watermark()
        replica.publish()
    rig.seat.readers[PARTITION_WORKER].messages = [(ADVANCED, memoryview(SLOT_ENTRY.pack(0) + SLOT_ENTRY.pack(1)))]
    rig.turn_until(lambda: not len(rig.context.fetches))
    (connection,) = rig.connections
    assert 2 * size * count > OUTBOX_BYTES_MAX
    heads = 200 * count
    assert connection.unsent_bytes <= OUTBOX_BYTES_MAX + heads
    answer_controller(rig)
    assert receive_answers(rig, client, count + 1) == [8, *range(count)]


def big_answer(rig, client, size):
    """Have an answer of `size` bytes sent to a client that doesn't read."""
    client.sendall(create_frame())
    rig.turn_until(lambda: rig.seat.writers[CONTROLLER].written)
    header = rig.seat.writers[CONTROLLER].written[-1][1]
    body = memoryview(header[:8] + bytes(8 + size))
    rig.seat.readers[CONTROLLER].messages = [(REPLY, body)]
    rig.turn_until(lambda: rig.connections[0].sending_since_ms)


def test_a_reader_that_is_slow_but_reads_keeps_its_connection(rig):
    client = rig.connect()
    size = 4 << 20
    big_answer(rig, client, size)
    left = 4 + 4 + size
    began_ms = rig.clock.ms
    while left:
        piece = client.recv(256 * 1024)
        assert piece, "the node closed the connection"
        left -= len(piece)
        rig.clock.ms += SLOW_READER_DEADLINE_MS // 100
        rig.turn(1)
        rig.turn(1)
    assert rig.clock.ms - began_ms > SLOW_READER_DEADLINE_MS, "it was too fast to tell"
    assert len(rig.connections) == 1


def test_a_reader_that_takes_nothing_is_closed(rig):
    client = rig.connect()
    big_answer(rig, client, 8 << 20)

    def is_closed_in_the_end():
        rig.clock.ms += SLOW_READER_DEADLINE_MS + 1  # again and again: the kernel may still move some bytes
        return not rig.connections

    rig.turn_until(is_closed_in_the_end)


def test_a_frame_that_the_node_itself_does_not_read_is_no_trickle(rig):
    """The end of a frame can't come while too many requests are open."""
    client = rig.connect()
    frame = create_frame()
    client.sendall(frame[:-1])
    rig.turn_until(lambda: rig.connections and rig.connections[0].frame_since_ms)
    (connection,) = rig.connections
    open_exchanges, connection.exchanges = connection.exchanges, [object()] * PIPELINED_REQUESTS_MAX
    for _ in range(3):
        rig.clock.ms += TRICKLE_DEADLINE_MS
        rig.turn()
    connection.exchanges = open_exchanges
    connection.mark_dirty()
    client.sendall(frame[-1:])
    rig.turn_until(lambda: rig.seat.writers[CONTROLLER].written)


def test_frames_that_were_put_off_are_handled_before_more_is_received(rig, monkeypatch):
    """Several connections, each with more whole frames than its buffer holds, and one heavy request a cycle."""
    frame = (4_000).to_bytes(4, "big") + bytes(4_000)
    handled = dict.fromkeys(range(3), 0)

    def heavy(context, connection, _frame):
        context.heavy_requests += 1
        handled[rig.connections.index(connection)] += 1

    monkeypatch.setattr(loop_module, "route", heavy)
    for _ in handled:
        client = rig.connect()
        client.setblocking(False)
        rig.turn_until(lambda: len(rig.connections) == len(rig.clients))
    left = {client: memoryview(frame * 10) for client in rig.clients}

    def are_handled():
        for client in left:
            with contextlib.suppress(BlockingIOError):
                left[client] = left[client][client.send(left[client]) :]
        return not any(left.values()) and set(handled.values()) == {10}

    rig.turn_until(are_handled)
    assert len(rig.connections) == 3


def test_the_files_of_a_deleted_topic_are_let_go(rig, tmp_path):
    for index in range(2):
        (tmp_path / f"t-{index}").mkdir()
        (tmp_path / f"t-{index}" / f"{0:020}.log").touch()
    rig.context.follow_view()
    row = PartitionRow(RowState.LEADER, 0, 1, 0, *(0,) * 15)
    for partition in rig.context.view.topics["t"].partitions:
        rig.seat.partitions.publish(partition.slot, row._replace(key=partition.key))
    segments = [rig.context.files.reader(rig.context.routes.partition("t", n), row).segment(0) for n in range(2)]
    descriptors = [segment.fd for segment in segments]
    del segments
    rig.seat.view.view = view_of(("t", 1))._replace(version=2)
    rig.turn()
    os.fstat(descriptors[0])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptors[1])


def test_unknown_topics_by_the_thousand_are_made_some_at_a_time(rig):
    asked = []
    rig.context.forwarder.ask = lambda _exchange, _key, version, *rest: asked.append((version, *rest))
    request = messages.MetadataRequest
    names = [f"new{index}" for index in range(700)]
    body = request(topics=[request.MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=True)
    client = rig.connect()
    client.sendall(build_request(ApiKey.METADATA, 5, 7, "bench", body))
    rig.turn_until(lambda: asked)
    [(version, creation, on_result)] = asked
    made = [topic.name for topic in decode_request(ApiKey.CREATE_TOPICS, version, memoryview(creation)).topics]
    assert made == names[: len(made)]
    assert len(made) < len(names)
    result = messages.CreateTopicsResponse.CreatableTopicResult
    late = [result(name=name, error_code=int(ErrorCode.REQUEST_TIMED_OUT), error_message=None) for name in made]
    answer = encode_response(ApiKey.CREATE_TOPICS, version, messages.CreateTopicsResponse(topics=late))
    [exchange] = rig.connections[0].exchanges
    on_result(memoryview(answer))
    told = decode_response(ApiKey.METADATA, 5, memoryview(exchange.parts[0])[8:])
    assert {topic.error_code for topic in told.topics} == {ErrorCode.LEADER_NOT_AVAILABLE}  # ask again, all of them
    assert len(told.topics) == len(names)


def test_a_peer_that_left_while_nothing_is_received_is_noticed(rig):
    lead(rig)
    client = rig.connect()
    client.sendall(b"".join(map(fetch_frame, range(PIPELINED_REQUESTS_MAX))))
    rig.turn_until(lambda: len(rig.context.fetches) == PIPELINED_REQUESTS_MAX)
    for _ in range(3):
        rig.clock.ms += 2 * CONNECTIONS_CHECK_INTERVAL_MS
        rig.turn()
    assert rig.connections  # it waits, and is there
    client.close()

    def is_gone():
        rig.clock.ms += 2 * CONNECTIONS_CHECK_INTERVAL_MS
        return not rig.connections

    rig.turn_until(is_gone)
    assert not len(rig.context.fetches)


def test_the_partitions_that_a_connection_waits_for_are_bounded(rig, monkeypatch):
    monkeypatch.setattr("headrace.workers.network.connections.connection.PARKED_PARTITIONS_MAX", 6)
    lead(rig)
    client = rig.connect()
    client.sendall(b"".join(fetch_frame(number, (0, 1)) for number in range(10)))
    rig.turn_until(lambda: len(rig.context.fetches) == 3)
    for _ in range(5):
        rig.turn()
    assert len(rig.context.fetches) == 3
    rig.clock.ms += 1 << 30
    assert receive_answers(rig, client, 3) == [0, 1, 2]


def test_a_fetch_waits_for_no_more_than_it_may_get(rig):
    replicas = lead(rig)
    for replica in replicas.by_slot.values():
        data = memoryview(bytearray(build_batch([(None, bytes(5_000))], timestamp_ms=rig.clock.ms)))
        replica.log.append_as_leader([data], 0, rig.clock.ms)
        replica.advance_high_watermark()
        replica.publish()
    client = rig.connect()
    client.sendall(fetch_frame(3, (0, 1), min_bytes=1 << 30, max_bytes=5_000))
    assert receive_answers(rig, client, 1) == [3]


def test_a_fetch_that_waits_keeps_only_what_it_waits_for(rig):
    lead(rig)
    request = messages.FetchRequest
    topics = [request.FetchTopic(topic="nothing", partitions=[])] * 1_000
    real = request.FetchTopic(topic="t", partitions=[request.FetchPartition(partition=0, partition_max_bytes=1)])
    forgotten = [request.ForgottenTopic(topic="t", partitions=[1])] * 1_000
    wait = request(
        replica_id=-1, max_wait_ms=1 << 30, min_bytes=1, topics=[*topics, real], forgotten_topics_data=forgotten
    )
    client = rig.connect()
    client.sendall(build_request(ApiKey.FETCH, 11, 1, "bench", wait))
    rig.turn_until(lambda: len(rig.context.fetches))
    [fetch] = rig.context.fetches._by_slot[0]
    kept = fetch.attempt.__self__.request
    assert (len(kept.topics), len(kept.forgotten_topics_data)) == (1, 0)
    nothing = wait._replace(topics=topics)
    rig.connect().sendall(build_request(ApiKey.FETCH, 11, 2, "bench", nothing))
    assert receive_answers(rig, rig.clients[1], 1) == [2]  # at once
