"""The handshake over a bare socket: what a server may answer."""

import socket
import struct
import threading

import pytest

from headrace.controller.zookeeper.handshake import is_behind, opens_sessions
from tests.support.waiting import DEADLINE_S


class Answering:
    """Answers one connection with given bytes, and keeps what it was sent."""

    def __init__(self, answer: bytes | None):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.received = b""
        self._answer = answer
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        connection, _ = self._listener.accept()
        with connection:
            self.received += connection.recv(49, socket.MSG_WAITALL)
            if self._answer is not None:
                connection.sendall(self._answer)
                self.received += connection.recv(12, socket.MSG_WAITALL)
            else:
                connection.recv(1)

    def close(self):
        self._thread.join(DEADLINE_S)
        self._listener.close()


@pytest.fixture
def new_answering():
    made = []

    def make(answer):
        made.append(Answering(answer))
        return made[-1]

    yield make
    for server in made:
        server.close()


CONNECTED = struct.pack(">iiiqi16s?", 37, 0, 2000, 0x1234, 16, b"p" * 16, False)
EXPIRED = struct.pack(">iiiqi16s?", 37, 0, 0, 0, 16, bytes(16), False)


def test_a_session_is_opened_and_closed_again(new_answering):
    server = new_answering(CONNECTED)
    assert opens_sessions("127.0.0.1", server.port, DEADLINE_S)
    server.close()
    length, protocol, zxid, timeout_ms, session_id = struct.unpack_from(">iiqiq", server.received)
    assert (length, protocol, zxid, timeout_ms, session_id) == (45, 0, 0, 2000, 0)
    assert server.received[49:] == struct.pack(">iii", 8, 1, -11)


def test_a_server_that_says_nothing_does_not_open_sessions(new_answering):
    assert not opens_sessions("127.0.0.1", new_answering(None).port, 0.05)


@pytest.mark.parametrize("answer", [b"", CONNECTED[:10], EXPIRED], ids=["closed", "cut", "expired"])
def test_other_answers_are_no_session(new_answering, answer):
    assert not opens_sessions("127.0.0.1", new_answering(answer).port, 0.2)


def test_where_nobody_listens_there_is_no_session():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert not opens_sessions("127.0.0.1", unused.getsockname()[1], 0.2)


@pytest.mark.process
def test_a_server_that_opens_sessions_but_for_who_has_seen_more_is_behind(zookeeper):
    host, port = zookeeper.connect.split(":")
    assert is_behind(host, int(port), DEADLINE_S, 2**62)
    assert not is_behind(host, int(port), DEADLINE_S, 1)


def test_a_server_that_is_away_is_not_behind():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert not is_behind("127.0.0.1", unused.getsockname()[1], 0.2, 5)
