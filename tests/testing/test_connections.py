"""Connections that are cut from outside of their client."""

import os
import socket

import pytest

from headrace.testing.connections import cut_connections


def test_connections_to_other_ports_stay():
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        cut = socket.create_connection(one.getsockname())
        kept = socket.create_connection(other.getsockname())
        assert cut_connections({one.getsockname()[1]}, os.getpid()) == 1
        assert cut.recv(1) == b""
        kept.sendall(b"x")
        accepted, _ = other.accept()
        assert accepted.recv(1) == b"x"
        for connection in (cut, kept, accepted):
            connection.close()


def test_a_server_s_own_end_is_not_a_client():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        assert cut_connections({client.getsockname()[1]}, os.getpid()) == 1
        assert accepted.recv(1) == b""
        client.close()
        accepted.close()


def test_a_process_that_is_gone_is_an_error():
    with pytest.raises(FileNotFoundError):
        cut_connections({1}, 2**22 + 1)
