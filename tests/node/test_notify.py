"""The notification protocol against real datagram sockets."""

import os
import socket
import uuid

import pytest

from headrace.node.notify import Notifier
from tests.support.waiting import DEADLINE_S


@pytest.fixture
def manager(tmp_path):
    """A service manager's socket in the file system: (socket, address for the environment)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(DEADLINE_S)
        yield sock, str(tmp_path / "notify")


def test_states_arrive_as_lines_of_one_datagram(manager):
    sock, address = manager
    notifier = Notifier({"NOTIFY_SOCKET": address})
    notifier.ready("serving on h:1")
    assert sock.recv(1024) == b"READY=1\nSTATUS=serving on h:1"
    notifier.status("starting: 1 of 4 processes")
    assert sock.recv(1024) == b"STATUS=starting: 1 of 4 processes"
    notifier.extend(30_000)
    assert sock.recv(1024) == b"EXTEND_TIMEOUT_USEC=30000000"
    notifier.reloading(5_000_000)
    assert sock.recv(1024) == b"RELOADING=1\nMONOTONIC_USEC=5000000", "in one datagram"
    notifier.watchdog()
    assert sock.recv(1024) == b"WATCHDOG=1"
    notifier.status("all well")
    assert sock.recv(1024) == b"STATUS=all well"
    notifier.stopping("stopping: SIGTERM")
    assert sock.recv(1024) == b"STOPPING=1\nSTATUS=stopping: SIGTERM"


def test_an_abstract_socket_is_an_address_with_an_at_sign():
    name = f"headrace-test-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0{name}")
        sock.settimeout(DEADLINE_S)
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).watchdog()
        assert sock.recv(1024) == b"WATCHDOG=1"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "@nobody-listens-here"])
def test_without_a_manager_nothing_happens(address):
    Notifier({"NOTIFY_SOCKET": address} if address else {}).ready("serving")


def test_a_manager_that_does_not_read_does_not_block_us(manager):
    _sock, address = manager
    notifier = Notifier({"NOTIFY_SOCKET": address})
    for _ in range(5_000):
        notifier.watchdog()


@pytest.mark.parametrize(
    ("environment", "interval_ms"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "20000000"}, 10_000),
        ({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(os.getpid())}, 10_000),
        ({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "1"}, None),  # meant for another process
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "100"}, 1),
    ],
)
def test_the_watchdog_is_due_at_half_of_its_time(environment, interval_ms):
    assert Notifier(environment).watchdog_interval_ms == interval_ms
