"""Listening sockets: one a network worker, one port for all."""

import socket

import pytest

from headrace.errors import ConfigError, NotAvailable
from headrace.node.listeners import open_listeners
from headrace.settings import Settings
from tests.support.waiting import DEADLINE_S


def settings(listeners="PLAINTEXT://127.0.0.1:0", **more):
    return Settings({"listeners": listeners, "headrace.network.workers": "3", **more})


@pytest.fixture
def opened():
    """open_listeners, with the sockets closed after the test."""
    found = []

    def run(given):
        found.append(open_listeners(given))
        return found[-1].sockets, found[-1].host, found[-1].port

    yield run
    for listeners in found:
        listeners.close()


def test_port_zero_is_picked_once_and_shared_by_all(opened):
    sockets, host, port = opened(settings())
    assert len(sockets) == 3
    assert {sock.getsockname() for sock in sockets} == {("127.0.0.1", port)}
    assert (host, port > 0) == ("127.0.0.1", True)


def test_connections_queue_before_any_worker_runs(opened):
    _sockets, host, port = opened(settings())
    with socket.create_connection((host, port), timeout=DEADLINE_S):
        pass


def test_an_advertised_listener_is_what_clients_are_told(opened):
    _sockets, host, port = opened(settings(**{"advertised.listeners": "PLAINTEXT://log.example:19092"}))
    assert (host, port) == ("log.example", 19092)


def test_an_advertised_port_zero_is_the_port_picked(opened):
    sockets, host, port = opened(settings(**{"advertised.listeners": "PLAINTEXT://log.example:0"}))
    assert (host, port) == ("log.example", sockets[0].getsockname()[1])


def test_every_interface_is_told_as_the_host_name(opened):
    _sockets, host, _port = opened(settings("PLAINTEXT://:0"))
    assert host == socket.gethostname()


def test_a_port_of_another_node_of_the_same_user_is_refused_though_it_could_be_shared(opened):
    _sockets, host, port = opened(settings())
    with pytest.raises(NotAvailable, match=r"listeners: can't listen on PLAINTEXT://.*: Address already in use"):
        open_listeners(settings(f"PLAINTEXT://{host}:{port}"))


def test_a_host_that_is_not_ours_is_refused():
    with pytest.raises(NotAvailable, match=r"can't listen on .*: Cannot assign requested address"):
        open_listeners(settings("PLAINTEXT://192.0.2.1:0"))


def test_what_is_listened_on_is_known_beside_what_clients_are_told():
    listeners = open_listeners(settings(**{"advertised.listeners": "PLAINTEXT://log.example:9"}))
    try:
        assert listeners.bootstrap == "log.example:9"
        assert listeners.bound == f"127.0.0.1:{listeners.sockets[0].getsockname()[1]}"
    finally:
        listeners.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "[0:0:0:0:0:0:0:0]"])
def test_an_address_that_means_all_interfaces_is_not_told_to_clients(host):
    """As Kafka does."""
    with pytest.raises(ConfigError, match=r"for listeners: .* set advertised.listeners=PLAINTEXT://HOST:PORT"):
        settings(f"PLAINTEXT://{host}:0")
    with pytest.raises(ConfigError, match=r"for advertised.listeners: clients would be given"):
        settings("PLAINTEXT://:0", **{"advertised.listeners": f"PLAINTEXT://{host}:1"})
    settings(f"PLAINTEXT://{host}:0", **{"advertised.listeners": "PLAINTEXT://log.example:1"})
