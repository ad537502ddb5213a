"""Frames out of bytes as they come, and responses in the order of the requests."""

import gc
import random
import socket
import struct

import pytest

from headrace.errors import BadFrame
from headrace.limits import OUTBOX_BYTES_MAX, RECEIVE_BYTES_BUSY, RECEIVE_BYTES_FIRST
from headrace.protocol.apis import ApiKey
from headrace.workers.network.connections.connection import LARGE_ANSWERS, Connection
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.connections.outbox import FilePart


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    connection = Connection(ours, "peer", 1, 1 << 20, set(), 0)
    yield connection, theirs
    ours.close()
    theirs.close()


class Witness:
    """Tells when it is freed."""

    def __init__(self, told):
        self._told = told

    def __del__(self):
        self._told.append(True)


def frame(size):
    body = random.Random(size).randbytes(size)
    return struct.pack(">i", size) + body


def receive_all(connection, now_ms=5):
    frames = []
    while True:
        try:
            connection.receive()
        except BlockingIOError:
            return frames
        while (one := connection.next_frame(now_ms)) is not None:
            frames.append(bytes(one))


def test_frames_come_whole_however_the_bytes_are_cut(pair):
    connection, peer = pair
    chance = random.Random(3)
    sizes = [8, 100, 16_380, 16_384, 40_000, 9, 70_000, 8]
    stream = b"".join(map(frame, sizes))
    found = []
    position = 0
    while position < len(stream):
        step = chance.choice((1, 3, 700, 5_000))
        peer.sendall(stream[position : position + step])
        position += step
        found += receive_all(connection)
    assert found == [frame(size)[4:] for size in sizes]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack(">i", -1), "frame size -1"),
        (struct.pack(">i", 7), "frame size 7"),
        (struct.pack(">i", (1 << 20) + 1), "frame size 1048577"),
        (b"\x16\x03\x01\x02\x00\x01", "TLS hello"),
        (b"GET / HTTP/1.1\r\n", "HTTP request"),
    ],
)
def test_a_size_that_cannot_be_is_refused_before_anything_is_allocated(pair, data, reason):
    connection, peer = pair
    peer.sendall(data)
    connection.receive()
    with pytest.raises(BadFrame, match=reason):
        connection.next_frame(5)
    assert len(connection._buffer) <= 16 * 1024


def test_the_buffer_grows_with_what_arrives_not_with_what_is_announced(pair):
    connection, peer = pair
    peer.sendall(struct.pack(">i", 1 << 20) + b"x" * 100)
    connection.receive()
    assert connection.next_frame(77) is None
    assert connection.frame_since_ms == 77
    assert len(connection._buffer) == 16 * 1024


def test_responses_leave_in_the_order_of_the_requests(pair):
    connection, peer = pair
    exchanges = [Exchange(connection, 3, 1, number, False) for number in range(3)]
    connection.exchanges.extend(exchanges)
    exchanges[2].answer_bytes(b"c")
    connection.queue_ready_responses()
    assert not len(connection.outbox)
    exchanges[0].answer_bytes(b"a")
    exchanges[1].answer_nothing()
    connection.queue_ready_responses()
    assert connection.outbox.send(connection.sock)
    assert peer.recv(100) == struct.pack(">ii", 5, 0) + b"a" + struct.pack(">ii", 5, 2) + b"c"


def test_answers_that_wait_for_their_turn_count_as_unsent(pair):
    connection, _peer = pair
    exchanges = [Exchange(connection, ApiKey.METADATA, 1, number, False) for number in range(3)]
    connection.exchanges.extend(exchanges)
    exchanges[1].answer_bytes(bytes(OUTBOX_BYTES_MAX - 9))
    assert connection.can_take_requests
    exchanges[2].answer([b"x", FilePart(-1, 0, 1 << 30, None)])
    assert connection.unsent_bytes == OUTBOX_BYTES_MAX - 9 + 8 + 8 + 1
    assert not connection.can_take_requests
    exchanges[0].answer_nothing()
    connection.queue_ready_responses()
    assert connection.held_bytes == 0
    assert connection.unsent_bytes == connection.outbox.memory_bytes == OUTBOX_BYTES_MAX - 9 + 8 + 8 + 1


@pytest.mark.parametrize(
    "key",
    [ApiKey.OFFSET_FETCH, ApiKey.DESCRIBE_GROUPS, ApiKey.LIST_GROUPS, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP],
)
def test_nothing_is_read_behind_a_request_whose_answer_may_be_large(pair, key):
    connection, _peer = pair
    exchange = Exchange(connection, key, 1, 0, False)
    connection.expect(exchange)
    assert not connection.can_take_requests
    exchange.answer_bytes(b"")
    assert connection.can_take_requests
    connection.queue_ready_responses()
    assert connection._large is None, "a sent answer would be held until the next one"


def test_a_closed_connection_is_not_left_to_the_collector():
    ours, theirs = socket.socketpair()
    connection = Connection(ours, "peer", 1, 1 << 20, set(), 0)
    freed = []
    connection.client_id = Witness(freed)
    connection.expect(Exchange(connection, min(LARGE_ANSWERS), 1, 0, False))
    gc.disable()
    try:
        connection.close()
        del connection
        assert freed
    finally:
        gc.enable()
        theirs.close()


def test_a_buffer_that_was_filled_grows_so_that_one_receive_takes_several_frames(pair):
    connection, peer = pair
    frames = [frame(16_000)] * 5
    for _ in range(4):
        peer.sendall(b"".join(frames))
        assert receive_all(connection) == [one[4:] for one in frames]
    assert 5 * 16_004 < len(connection._buffer) <= RECEIVE_BYTES_BUSY
    peer.sendall(b"".join(frames))
    assert connection.receive() == 5 * 16_004


def test_an_idle_connection_gives_its_buffer_back(pair):
    connection, peer = pair
    peer.sendall(frame(100_000))
    assert len(receive_all(connection)) == 1
    connection.shrink()
    assert len(connection._buffer) == RECEIVE_BYTES_FIRST


def test_a_closed_connection_holds_no_bytes_while_an_answer_is_on_its_way():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    connection = Connection(ours, "peer", 1, 1 << 30, set(), 0)
    waits = Exchange(connection, ApiKey.JOIN_GROUP, 1, 0, False)  # in the ledger until the group has joined
    connection.expect(waits)
    connection.outbox.put(bytes(1 << 20))
    peer_bytes = struct.pack(">i", 1 << 29) + bytes(60_000)
    for _ in range(4):
        theirs.sendall(peer_bytes)
        receive_all(connection)
    freed = []
    connection.outbox.put(FilePart(-1, 0, 10, Witness(freed)))
    connection.is_closed = True
    connection.close()
    assert freed
    assert len(connection._buffer) == 0
    assert connection.unsent_bytes == 0
    assert not connection.has_bytes
    waits.answer_bytes(b"at last")
    theirs.close()
