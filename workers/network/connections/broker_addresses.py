"""From where the brokers of the cluster connect: what a request is compared with that only brokers send.

Runs in: a network worker. Until peers are authenticated, the address is all that says who asks:

    the hosts that brokers registered        in figures, or by name: looked up by threads, off the path of requests
    this machine                             where a broker is registered under an address of this machine: a loopback address, or
                                             the address to which the peer has connected

Hosts are looked up when the view has other brokers, and names again while a stranger asks (BROKER_NAMES_AGAIN_MS), since the
broker of a name may have moved, or while nothing was ever found of one. A broker whose network hides its address, or that connects
from another of its addresses than it registers, is a stranger: `headrace.broker.requests.any.address=true` turns the check off
(docs/operations.md).

What is found of a connection is kept with it until the addresses change, so that a follower's fetch costs one comparison.

Source: docs/decisions/011; Apache Kafka asks its authorizer for ClusterAction.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Iterable, Mapping
from typing import Final

from headrace.limits import BROKER_NAMES_AGAIN_MS, RESOLVER_THREADS_MAX
from headrace.log_rate_limit import OncePerInterval
from headrace.runtime.resolver import Resolver
from headrace.shm.cluster_view import BrokerView
from headrace.workers.network.connections.connection import Connection

NO_PORT: Final = 0  # of a look-up that wants the address alone

_log: Final = logging.getLogger(__name__)


def figures_of(address: str) -> str:
    """An address in one spelling: without its scope, that of IPv4 where IPv6 carries it.

    raises   ValueError, where it is none
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def is_of_this_machine(address: str) -> bool:
    """Whether an address in figures is one of this machine: it can be bound to."""
    if ipaddress.ip_address(address).is_loopback:
        return True
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.bind((address, 0))
    except OSError:
        return False
    return True


class BrokerAddresses:
    """Those of one network worker's view.

    is_checked   False: any peer may be a broker
    version      moves with the addresses
    """

    def __init__(self, is_checked: bool) -> None:
        self.is_checked = is_checked
        self.version = 1
        self._resolver: Resolver | None = None
        self._brokers: Mapping[int, BrokerView] = {}
        self._found: dict[str, frozenset[str]] = {}  # by host as it is registered
        self._unresolved: dict[str, None] = {}  # hosts that are looked up
        self._unfound: frozenset[str] = frozenset()  # hosts of which nothing was ever found
        self._all: frozenset[str] = frozenset()
        self._has_neighbour = False  # a broker is registered under an address of this machine
        self._asked_ms = 0  # when names were looked up last
        self._notices = OncePerInterval()  # of names that are not found

    def use(self, resolver: Resolver) -> None:
        """Who looks names up; without one, hosts in figures alone are known."""
        self._resolver = resolver

    def follow(self, brokers: Mapping[int, BrokerView], now_ms: int) -> None:
        """The brokers of a view. Those that have started again are looked up again: theirs may be other addresses."""
        before, self._brokers = self._brokers, brokers
        if not self.is_checked or brokers == before:
            return
        hosts = {broker.host for broker in brokers.values()}
        known = set(before.values())
        stale = {broker.host for broker in brokers.values() if broker not in known}
        for host in self._found.keys() - hosts:
            del self._found[host]
        for host in self._unresolved.keys() - hosts:
            del self._unresolved[host]
            if self._resolver is not None:
                self._resolver.forget(host, NO_PORT)
        self._look_up(stale, now_ms)
        self._gather()

    @property
    def has_unfound(self) -> bool:
        """Whether nothing was ever found of a broker's host: any peer may be that broker."""
        return bool(self._unfound)

    def look_up_unfound(self, now_ms: int) -> None:
        """Now and then: names of which nothing was ever found are looked up again, whether or not a stranger asks."""
        if self._unfound and now_ms - self._asked_ms >= BROKER_NAMES_AGAIN_MS:
            self._look_up(self._unfound, now_ms)

    @property
    def is_waiting(self) -> bool:
        """Whether names are being looked up."""
        return bool(self._unresolved)

    def turn(self, now_ms: int) -> int:
        """Take what was found of names; returns how many."""
        done = 0
        for host in list(self._unresolved)[:RESOLVER_THREADS_MAX]:
            found = self._resolver.lookup(host, NO_PORT) if self._resolver is not None else []
            if found is None:
                continue
            done += 1
            del self._unresolved[host]
            addresses = frozenset(_spelt(str(address[0]) for _family, address in found))
            if addresses:
                self._found[host] = addresses
            elif self._notices.is_due(host, None, now_ms):
                _log.warning("broker host not found, requests of that broker are refused host=%s", host)
        if done:
            self._gather()
        return done

    def admits(self, connection: Connection) -> bool:
        """Whether a connection may be that of a broker."""
        if connection.addresses_version != self.version:
            connection.addresses_version = self.version
            connection.may_be_broker = not self.is_checked or self._has(connection)
        return connection.may_be_broker

    def look_again(self, now_ms: int) -> None:
        """A stranger asks: have names looked up again, unless that was done a moment ago."""
        if now_ms - self._asked_ms >= BROKER_NAMES_AGAIN_MS:
            self._look_up({broker.host for broker in self._brokers.values()}, now_ms)

    def _look_up(self, hosts: Iterable[str], now_ms: int) -> None:
        """Hosts in figures are known at once."""
        for host in hosts:
            try:
                self._found[host] = frozenset((figures_of(host),))
            except ValueError:  # a name; what was found of it counts until there is news
                self._unresolved[host] = None
                self._asked_ms = now_ms

    def _gather(self) -> None:
        found = frozenset(address for addresses in self._found.values() for address in addresses)
        hosts = (broker.host for broker in self._brokers.values())
        self._unfound = frozenset(host for host in hosts if host not in self._found)
        if found != self._all:
            self._all = found
            self._has_neighbour = any(map(is_of_this_machine, found))
            self.version += 1

    def _has(self, connection: Connection) -> bool:
        try:
            peer = figures_of(connection.peer.rpartition(":")[0])
            if peer in self._all:
                return True
            return self._has_neighbour and (ipaddress.ip_address(peer).is_loopback or peer == _own(connection.sock))
        except (ValueError, OSError):  # it is gone
            return False


def _own(sock: socket.socket) -> str:
    """The address to which its peer has connected. raises OSError, ValueError"""
    return figures_of(str(sock.getsockname()[0]))


def _spelt(addresses: Iterable[str]) -> Iterable[str]:
    for address in addresses:
        try:
            yield figures_of(address)
        except ValueError:
            continue
