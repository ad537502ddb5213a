"""The server's sockets, with kazoo and bare ones; in a thread, and as a program."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, SessionExpiredError
from kazoo.protocol.states import KazooState

from headrace.controller.zookeeper.handshake import is_behind, opens_sessions
from headrace.limits import TESTING_FRAME_BYTES_MAX
from headrace.testing.zookeeper import __main__ as program
from headrace.testing.zookeeper import server as server_module
from headrace.testing.zookeeper.thread import ServerThread
from tests.support import children
from tests.support.session_thief import end_session
from tests.support.waiting import DEADLINE_S, wait_until


@pytest.fixture
def server():
    with ServerThread() as server:
        yield server


@pytest.fixture
def new_client(server):
    made = []

    def make(**options):
        client = KazooClient(hosts=server.connect, **{"timeout": 10.0, **options})
        client.start(timeout=DEADLINE_S)
        made.append(client)
        return client

    yield make
    for client in made:
        client.stop()
        client.close()


def ask(server, word):
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as connection:
        connection.sendall(word)
        answer = b""
        while data := connection.recv(4096):
            answer += data
    return answer


def test_words_are_answered(server):
    assert ask(server, b"ruok") == b"imok"
    assert b"headrace.testing.zookeeper" in ask(server, b"srvr")
    assert ask(server, b"envi").startswith(b"Environment:\nzookeeper.version=3.9.3-headrace")
    assert b"zk_server_state\tstandalone\n" in ask(server, b"mntr")


def test_the_controllers_handshake_finds_it_and_knows_when_it_is_behind(server):
    assert opens_sessions("127.0.0.1", server.port, DEADLINE_S)
    assert is_behind("127.0.0.1", server.port, DEADLINE_S, 2**62)


def test_a_frame_that_is_too_long_or_negative_ends_the_connection(server):
    for length in (TESTING_FRAME_BYTES_MAX + 1, -1):
        assert ask(server, struct.pack(">i", length)) == b""


def test_a_frame_may_come_in_bytes(server):
    record = struct.pack(">iiqiqi16s?", 45, 0, 0, 4000, 0, 16, bytes(16), False)
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as connection:
        for byte in record:
            connection.sendall(bytes([byte]))
        assert len(connection.recv(41, socket.MSG_WAITALL)) == 41


def test_connections_are_bounded(server, monkeypatch):
    monkeypatch.setattr(server_module, "TESTING_CONNECTIONS_MAX", 0)
    assert not opens_sessions("127.0.0.1", server.port, DEADLINE_S)


def test_a_client_that_does_not_read_loses_its_connection(server, new_client, monkeypatch):
    new_client().create("/big", b"x" * 900_000)
    monkeypatch.setattr(server_module, "TESTING_UNSENT_BYTES_MAX", 1 << 20)
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as deaf:
        deaf.sendall(struct.pack(">iiqiqi16s?", 45, 0, 0, 4000, 0, 16, bytes(16), False))
        request = struct.pack(">iiii4s?", 17, 1, 4, 4, b"/big", False)
        try:
            for _ in range(200):
                deaf.sendall(request)
            wait_until(lambda: not any(one.unsent for one in server._server._connections.values()))
            while deaf.recv(1 << 20):
                pass
        except ConnectionError:
            pass


def test_a_session_and_its_nodes_survive_a_lost_connection(server, new_client):
    client, other = new_client(), new_client()
    client.create("/e", b"", ephemeral=True)
    before = client.client_id
    states = []
    client.add_listener(states.append)
    client._connection._socket.shutdown(socket.SHUT_RDWR)
    wait_until(lambda: states[-1:] == [KazooState.CONNECTED])
    assert client.client_id == before
    assert other.exists("/e").ephemeralOwner == before[0]


def test_a_session_that_expired_is_reported_to_its_client(new_client, server, tmp_path):
    client, other = new_client(), new_client()
    client.create("/e", b"", ephemeral=True)
    is_gone = threading.Event()
    other.exists("/e", watch=lambda _event: is_gone.set())
    lost = threading.Event()
    client.add_listener(lambda state: lost.set() if state == KazooState.LOST else None)
    session_id, password = client.client_id
    (tmp_path / "session").write_text(json.dumps({"id": session_id, "password": password.hex()}))
    end_session(server.connect, tmp_path / "session")
    assert is_gone.wait(DEADLINE_S)
    assert lost.wait(DEADLINE_S)
    for _ in range(100):
        try:
            assert client.exists("/e") is None
            break
        except (ConnectionLoss, ConnectionClosedError, SessionExpiredError):
            continue


def test_without_a_journal_a_stop_forgets_everything(server, new_client):
    client = new_client()
    client.create("/a")
    client.stop()
    server.stop()
    server.start()
    assert new_client().exists("/a") is None


def test_nothing_is_left_of_a_server_that_stopped():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with ServerThread() as server:
            assert ask(server, b"ruok") == b"imok"
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.process
def test_the_program_serves_until_sigterm_and_keeps_its_state(tmp_path):
    port = 0
    for round_ in range(2):
        command = [
            sys.executable,
            "-m",
            "headrace.testing.zookeeper",
            "--port",
            str(port),
            "--dir",
            str(tmp_path / "d"),
        ]
        process = children.start(command, stdout=subprocess.PIPE, text=True)
        try:
            line = process.stdout.readline()
            assert line.startswith("ready zookeeper=127.0.0.1:")
            port = int(line.rpartition(":")[2])
            client = KazooClient(hosts=f"127.0.0.1:{port}")
            client.start(timeout=DEADLINE_S)
            assert (client.exists("/a") is not None) == bool(round_)
            client.ensure_path("/a")
            client.stop()
            client.close()
        finally:
            assert children.end(process) == 0
            process.stdout.close()


def test_the_program_says_that_a_port_is_taken(server, capsys):
    assert program.main(["--port", str(server.port)]) == 1
    assert f"127.0.0.1:{server.port}" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is not None
