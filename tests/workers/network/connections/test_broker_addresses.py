"""Which peers may be brokers: by the hosts that these registered, in figures and by name."""

import logging
import socket
from types import SimpleNamespace

import pytest

from headrace.limits import BROKER_NAMES_AGAIN_MS
from headrace.shm.cluster_view import BrokerView
from headrace.workers.network.connections import broker_addresses
from headrace.workers.network.connections.broker_addresses import BrokerAddresses, figures_of, is_of_this_machine


class FakeResolver:
    """Names that the test holds; None: still looked up."""

    def __init__(self, **names):
        self.names = names
        self.asked = []

    def lookup(self, host, _port):
        self.asked.append(host)
        found = self.names.get(host, ())
        return None if found is None else [(socket.AF_INET, (address, 0)) for address in found]

    def forget(self, host, _port):
        self.asked.append(f"no more {host}")


def brokers(*hosts, epoch=1):
    return {node_id: BrokerView(node_id, host, 9092, None, epoch) for node_id, host in enumerate(hosts)}


def connection(peer, own="198.51.100.1"):
    sock = SimpleNamespace(getsockname=lambda: (own, 9092))
    return SimpleNamespace(peer=f"{peer}:4000", sock=sock, addresses_version=0, may_be_broker=False)


@pytest.fixture
def addresses():
    return BrokerAddresses(True)


def known(addresses, resolver, *hosts, epoch=1, now_ms=0):
    addresses.use(resolver)
    addresses.follow(brokers(*hosts, epoch=epoch), now_ms)
    addresses.turn(now_ms)


def test_a_peer_with_the_address_of_a_broker_may_be_one(addresses):
    known(addresses, FakeResolver(), "192.0.2.1", "2001:db8::1")
    assert addresses.admits(connection("192.0.2.1"))
    assert addresses.admits(connection("2001:db8::1"))
    assert addresses.admits(connection("::ffff:192.0.2.1")), "IPv4 over a socket of IPv6"
    assert not addresses.admits(connection("192.0.2.2"))
    assert not addresses.admits(connection("127.0.0.1")), "none is registered on this machine"


def test_a_name_counts_for_all_of_its_addresses_once_it_is_found(addresses):
    resolver = FakeResolver(north=None)
    known(addresses, resolver, "north")
    peer = connection("192.0.2.8")
    assert addresses.is_waiting
    assert not addresses.admits(peer)
    resolver.names["north"] = ["192.0.2.7", "192.0.2.8"]
    assert addresses.turn(1) == 1
    assert addresses.admits(peer), "what was found of a connection counts until the addresses change"
    assert not addresses.is_waiting


def test_a_name_that_is_not_found_is_a_warning(addresses, caplog):
    with caplog.at_level(logging.WARNING):
        known(addresses, FakeResolver(), "nowhere", "192.0.2.1")
        addresses.follow(brokers("nowhere", "192.0.2.1", epoch=2), 1)
        addresses.turn(1)
    assert addresses.admits(connection("192.0.2.1"))
    assert caplog.text.count("host=nowhere") == 1


def test_a_name_is_looked_up_again_where_its_broker_started_again_or_a_stranger_asks(addresses):
    resolver = FakeResolver(north=["192.0.2.7"])
    known(addresses, resolver, "north", now_ms=100_000)
    resolver.names["north"] = ["192.0.2.9"]
    addresses.look_again(100_000 + BROKER_NAMES_AGAIN_MS - 1)
    assert not addresses.is_waiting, "a moment ago"
    addresses.look_again(100_000 + BROKER_NAMES_AGAIN_MS)
    addresses.turn(120_000)
    assert addresses.admits(connection("192.0.2.9"))
    resolver.names["north"] = ["192.0.2.10"]
    addresses.follow(brokers("north", epoch=2), 120_001)
    addresses.turn(120_001)
    assert addresses.admits(connection("192.0.2.10"))


def test_a_name_of_which_nothing_was_ever_found_is_looked_up_by_time(addresses):
    resolver = FakeResolver()
    known(addresses, resolver, "north", now_ms=100_000)
    assert addresses.has_unfound
    resolver.names["north"] = ["192.0.2.7"]
    addresses.look_up_unfound(100_000 + BROKER_NAMES_AGAIN_MS - 1)
    assert not addresses.is_waiting, "a moment ago"
    addresses.look_up_unfound(100_000 + BROKER_NAMES_AGAIN_MS)
    addresses.turn(110_000)
    assert addresses.admits(connection("192.0.2.7"))
    assert not addresses.has_unfound
    resolver.names.clear()
    addresses.look_again(200_000)
    addresses.turn(200_000)
    assert not addresses.has_unfound, "what was found of it counts"


def test_what_was_found_of_a_name_counts_while_it_is_not_found_any_more(addresses):
    resolver = FakeResolver(north=["192.0.2.7"])
    known(addresses, resolver, "north")
    resolver.names.clear()
    addresses.look_again(BROKER_NAMES_AGAIN_MS)
    addresses.turn(BROKER_NAMES_AGAIN_MS)
    assert addresses.admits(connection("192.0.2.7"))


def test_a_broker_that_left_is_none(addresses):
    resolver = FakeResolver(south=None)
    known(addresses, resolver, "192.0.2.1", "south")
    peer = connection("192.0.2.1")
    assert addresses.admits(peer)
    addresses.follow(brokers("192.0.2.2"), 1)
    assert not addresses.admits(peer)
    assert not addresses.is_waiting
    assert resolver.asked[-1] == "no more south"


def test_peers_of_this_machine_may_be_brokers_where_one_is_registered_under_an_address_of_it(addresses):
    known(addresses, FakeResolver(), "127.0.1.1")
    assert addresses.admits(connection("127.0.0.1"))
    assert addresses.admits(connection("::1"))
    assert addresses.admits(connection("198.51.100.1", own="198.51.100.1")), "from where it has connected to"
    assert not addresses.admits(connection("198.51.100.2", own="198.51.100.1"))


def test_a_connection_is_looked_at_once_until_the_addresses_change(addresses, monkeypatch):
    looked = []
    monkeypatch.setattr(broker_addresses, "figures_of", lambda text: looked.append(text) or figures_of(text))
    known(addresses, FakeResolver(), "192.0.2.1")
    looked.clear()
    peer = connection("192.0.2.1")
    for version in range(3):
        addresses.follow(brokers("192.0.2.1"), version)  # other views with the same brokers
        assert addresses.admits(peer)
    assert looked == ["192.0.2.1"]


def test_without_the_check_whoever_asks_may_be_a_broker():
    addresses = BrokerAddresses(False)
    known(addresses, FakeResolver(), "192.0.2.1")
    assert addresses.admits(connection("192.0.2.2"))


def test_addresses_of_this_machine_are_those_that_can_be_bound_to():
    assert is_of_this_machine("127.0.0.1")
    assert is_of_this_machine("::1")
    assert not is_of_this_machine("192.0.2.1")


def test_an_address_is_compared_without_scope_and_in_one_spelling():
    assert figures_of("fe80::1%eth0") == figures_of("FE80:0::1") == "fe80::1"
    assert figures_of("::ffff:10.0.0.1") == "10.0.0.1"
    with pytest.raises(ValueError, match="north"):
        figures_of("north")
