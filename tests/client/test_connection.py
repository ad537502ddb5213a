"""One connection: versions are agreed on, and whatever breaks is named."""

import contextlib
import socket
import threading
import time

import pytest

from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import BadFrame, ErrorCode, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.support.waiting import DEADLINE_S


def test_the_highest_version_of_both_is_taken(broker):
    connection = Connection("127.0.0.1", broker.port)
    assert connection.version(ApiKey.FETCH, 4, 99) == 12
    assert connection.version(ApiKey.FETCH, 4, 7) == 7
    connection.close()


def test_an_api_that_is_not_served_is_refused(broker):
    connection = Connection("127.0.0.1", broker.port)
    for api_key, low, high in ((ApiKey.FETCH, 13, 15), (ApiKey.END_TXN, 0, 3)):
        with pytest.raises(KafkaError, match="is required") as failure:
            connection.version(api_key, low, high)
        assert failure.value.code is ErrorCode.UNSUPPORTED_VERSION
    connection.close()


@pytest.mark.parametrize("version", range(10))
def test_metadata_of_every_version_is_read(log, broker, version):
    log.create("clicks")
    connection = Connection("127.0.0.1", broker.port)
    topic = messages.MetadataRequest.MetadataRequestTopic(name="clicks")
    answer = connection.request(ApiKey.METADATA, version, messages.MetadataRequest(topics=[topic]))
    assert [topic.name for topic in answer.topics] == ["clicks"]
    connection.close()


def test_a_connection_that_the_broker_closes_is_a_failure_not_a_hang(broker):
    connection = Connection("127.0.0.1", broker.port)
    broker.drop_connections = 1
    with pytest.raises(ConnectionFailed, match=rf"^127\.0\.0\.1:{broker.port}: closed by the broker"):
        connection.request(ApiKey.METADATA, 9, messages.MetadataRequest(topics=[]))
    connection.close()


def test_nobody_listens():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1"):
            Connection("127.0.0.1", bound.getsockname()[1], timeout_s=DEADLINE_S)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", r"127\.0\.0\.1:\d+ answered with an HTTP response"),
        (b"\x15\x03\x03\0\x02\x02\x46", "answered with a TLS alert"),
        (b"\x7f\xff\xff\xff", r"invalid response size 2147483647 bytes from 127\.0\.0\.1:\d+$"),
        (b"\0\0\0\x04\0\0\0\x63", r"correlation id 99 from 127\.0\.0\.1:\d+, expected 1"),
    ],
)
def test_a_peer_that_speaks_something_else_is_refused_by_its_name(answer, complaint):
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.recv(1024)
                peer.sendall(answer)
                gone.wait(DEADLINE_S)

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(BadFrame, match=complaint):
            Connection("127.0.0.1", listener.getsockname()[1], timeout_s=DEADLINE_S)
        gone.set()


def test_a_silent_peer_ends_at_the_deadline_and_is_told_from_one_that_is_not_there():
    said = r"timed out: connected, but no complete response within 0\.1 s"
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(ConnectionFailed, match=said):
        Connection("127.0.0.1", listener.getsockname()[1], timeout_s=0.1)


def test_a_peer_that_trickles_ends_at_the_deadline_too():
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                peer.sendall((1000).to_bytes(4, "big") + (1).to_bytes(4, "big"))
                while not gone.wait(0.02):
                    peer.sendall(b"\0")

        threading.Thread(target=serve, daemon=True).start()
        begun = time.monotonic()
        with pytest.raises(ConnectionFailed, match="timed out"):
            Connection("127.0.0.1", listener.getsockname()[1], timeout_s=0.2)
        assert time.monotonic() - begun < DEADLINE_S
        gone.set()


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(broker, monkeypatch):
    timed_out = threading.Event()
    answer = broker._metadata

    def late(request, error):
        timed_out.wait(DEADLINE_S)
        return answer(request, error)

    monkeypatch.setattr(broker, "_metadata", late)
    connection = Connection("127.0.0.1", broker.port)
    ask = messages.MetadataRequest(topics=[])
    with pytest.raises(ConnectionFailed, match="timed out"):
        connection.request(ApiKey.METADATA, 9, ask, timeout_s=0.1)
    timed_out.set()
    with pytest.raises(ConnectionFailed):
        connection.request(ApiKey.METADATA, 9, ask)
