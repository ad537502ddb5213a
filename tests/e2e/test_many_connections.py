"""Thousands of connections to one node: all are served, what they took is given back, one too many is told so."""

import os
import re
import resource
import selectors
import socket
import struct
from pathlib import Path

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from tests.support.waiting import DEADLINE_S, wait_until

CONNECTIONS = 5_000
WORKERS = 2
SPARE_DESCRIPTORS = 500
BYTES_PER_CONNECTION_MAX = 32 * 1024  # of a worker: the first receive buffer, the objects around it
BYTES_KEPT_MAX = 12 << 20  # of a worker, of the 45 MB they took: arenas with something alive, the last 100 connections


@pytest.fixture
def _descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < CONNECTIONS + SPARE_DESCRIPTORS:
        pytest.skip(f"RLIMIT_NOFILE is {hard} at most, {CONNECTIONS + SPARE_DESCRIPTORS} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CONNECTIONS + SPARE_DESCRIPTORS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def workers_of(node):
    return [node.pid(f"hr-network-{index}") for index in range(WORKERS)]


def resident_bytes(pid):
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def sockets_of(pid):
    found = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
        except FileNotFoundError:
            continue
    return found


def connect(address):
    sock = socket.create_connection(address, DEADLINE_S)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return sock


def ask_all(sockets):
    """Each asks and is answered; those that are not are returned."""
    hello = build_request(ApiKey.API_VERSIONS, 0, 9, "many", messages.ApiVersionsRequest())
    waiting = selectors.EpollSelector()
    for sock in sockets:
        sock.sendall(hello)
        waiting.register(sock, selectors.EVENT_READ)
    left = set(sockets)
    while left and (ready := waiting.select(DEADLINE_S)):
        for key, _events in ready:
            data = key.fileobj.recv(65_536)
            waiting.unregister(key.fileobj)
            if data:
                assert struct.unpack_from(">i", data)[0] == len(data) - 4
                left.discard(key.fileobj)
    waiting.close()
    return left


@pytest.mark.usefixtures("_descriptors")
def test_thousands_of_connections_are_served_and_leave_nothing_behind(node_factory):
    node = node_factory(
        "many",
        f"headrace.network.workers={WORKERS}",
        f"max.connections={CONNECTIONS}",
        f"socket.listen.backlog.size={CONNECTIONS}",  # a full one costs who connects a second, for TCP to ask again
    )
    pids = workers_of(node)
    idle = [sockets_of(pid) for pid in pids]
    before = [resident_bytes(pid) for pid in pids]
    for _ in range(2):
        crowd = [connect(node.address) for _ in range(CONNECTIONS)]
        assert not ask_all(crowd)
        assert not ask_all(crowd)
        counts = [sockets_of(pid) - count for pid, count in zip(pids, idle, strict=True)]
        assert sum(counts) == CONNECTIONS
        for pid, count, least in zip(pids, counts, before, strict=True):
            assert resident_bytes(pid) - least < count * BYTES_PER_CONNECTION_MAX
        with connect(node.address) as one_too_many:
            assert one_too_many.recv(1) == b"", "it is closed in order, nothing was sent"
        assert not ask_all(crowd[:10])
        for sock in crowd:
            sock.close()
        wait_until(lambda: [sockets_of(pid) for pid in pids] == idle)
        for pid, least in zip(pids, before, strict=True):
            wait_until(
                lambda pid=pid, least=least: resident_bytes(pid) - least < BYTES_KEPT_MAX, "memory is not given back"
            )
    assert workers_of(node) == pids
    assert "connection refused" in (node.directory / "node.log").read_text()
    assert node.stop() == 0
