"""A proxy whose connections can be cut."""

import socket
import threading

import pytest

from tests.chaos.tcp_proxy import TcpProxy
from tests.support.waiting import DEADLINE_S, wait_until


@pytest.fixture
def echo():
    """host, port of a server that says everything again."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _address = listener.accept()
            except OSError:
                return
            threading.Thread(target=say_again, args=(connection,), daemon=True).start()

    def say_again(connection):
        with connection:
            while data := connection.recv(1000):
                connection.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.fixture
def proxy(echo):
    one = TcpProxy(lambda: echo)
    yield one
    one.close()


def connect(proxy):
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=DEADLINE_S)


def everything(connection):
    found = b""
    try:
        while data := connection.recv(1000):
            found += data
    except ConnectionResetError:
        pass
    return found


def test_what_is_said_goes_through(proxy):
    with connect(proxy) as connection:
        connection.sendall(b"hello")
        assert connection.recv(5, socket.MSG_WAITALL) == b"hello"


def test_a_cut_closes_what_is_connected_and_lets_the_next_one_in(proxy):
    with connect(proxy) as connection:
        connection.sendall(b"hello")
        assert connection.recv(5, socket.MSG_WAITALL) == b"hello"
        assert proxy.cut() == 1
        assert everything(connection) == b""
    test_what_is_said_goes_through(proxy)


def test_the_next_connections_are_cut_after_so_many_bytes(proxy):
    proxy.cut_next([3, 7])
    for count in (3, 7):
        with connect(proxy) as connection:
            connection.sendall(b"a longer word")
            assert everything(connection) == b"a longer word"[:count]
    assert proxy.cuts_left == 0
    test_what_is_said_goes_through(proxy)


def test_while_it_refuses_nobody_gets_through(proxy):
    proxy.is_refusing = True
    with connect(proxy) as connection:
        assert everything(connection) == b""
    proxy.is_refusing = False
    wait_until(lambda: test_what_is_said_goes_through(proxy) is None)
