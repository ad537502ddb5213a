"""What leaves of an outbox, and in how many segments."""

import contextlib
import os
import socket
import struct
import tempfile

import pytest

from headrace.limits import OUTBOX_CORKED_BYTES_MAX
from headrace.workers.network.connections.outbox import FilePart, Outbox
from tests.support.waiting import wait_until

_DATA_SEGMENTS_OUT = 156  # in Linux's struct tcp_info
SIZE = 20_000  # fits a segment of the loopback interface with what is round it


@pytest.fixture
def pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _address = listener.accept()
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ours.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.fixture
def segment():
    with tempfile.TemporaryFile() as file:
        file.write(os.urandom(SIZE))
        file.flush()
        yield file


def segments_sent(sock):
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("I", info, _DATA_SEGMENTS_OUT)[0]


def receive(sock, size):
    received = b""
    while len(received) < size:
        received += sock.recv(1 << 20)
    return received


def test_head_records_and_end_of_a_response_leave_in_one_segment(pair, segment):
    ours, theirs = pair
    records = os.pread(segment.fileno(), SIZE, 0)
    for number in range(3):
        outbox = Outbox()
        outbox.put(b"head")
        outbox.put(FilePart(segment.fileno(), 0, SIZE, segment))
        outbox.put(b"end")
        assert outbox.send(ours)
        assert receive(theirs, SIZE + 7) == b"head" + records + b"end"
        assert segments_sent(ours) == number + 1


def test_what_the_socket_did_not_take_is_not_held_back_when_it_takes_more(pair, segment):
    ours, theirs = pair
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
    outbox = Outbox()
    parts = 100
    for _ in range(parts):
        outbox.put(b"head")
        outbox.put(FilePart(segment.fileno(), 0, SIZE, segment))
        outbox.put(b"end")
    theirs.setblocking(False)
    received = 0

    def has_all():
        nonlocal received
        outbox.send(ours)
        with contextlib.suppress(BlockingIOError):
            received += len(theirs.recv(1 << 16))
        return received == parts * (SIZE + 7)

    wait_until(has_all, "the end of a response stays behind")
    assert not len(outbox)
    assert outbox.memory_bytes == 0


class NotingSocket:
    """Takes all, and notes how it is told."""

    def __init__(self, sock):
        self._sock = sock
        self.options = []

    def setsockopt(self, _level, option, value):
        self.options.append((option, value))

    def fileno(self):
        return self._sock.fileno()

    def send(self, data, _flags):
        return self._sock.send(data)


@pytest.mark.parametrize(
    ("size", "ends", "is_corked"),
    [
        (OUTBOX_CORKED_BYTES_MAX, [b"end"], True),
        (OUTBOX_CORKED_BYTES_MAX, [], False),
        (OUTBOX_CORKED_BYTES_MAX + 1, [b"end"], False),
    ],
)
def test_a_long_range_is_not_corked_nor_one_that_nothing_follows(pair, size, ends, is_corked):
    """Kept from a paced socket: fetches of 1 MiB took 1.5 x the CPU when each of their calls ended with a short segment."""
    ours, _theirs = pair
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        outbox = Outbox()
        for part in (b"head", FilePart(file.fileno(), 0, size, file), *ends):
            outbox.put(part)
        noting = NotingSocket(ours)
        outbox.send(noting)
    assert noting.options == ([(socket.TCP_CORK, 1), (socket.TCP_CORK, 0)] if is_corked else [])
