"""Kafka's `round_trip_fault_test`: Trogdor's round trip, while a broker is cut off or paused, its client is cut off, or every link is late.

A round trip sends numbered records, consumes them, and ends once each has come back.
"""

import os
import signal
import threading
import time

import pytest

from tests.foreign.trogdor import execute, round_trip
from tests.scenarios.topics import leader
from tests.support.waiting import stop_whole

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(900)]

TOPIC = "round-trip"
BROKERS = 4
MESSAGES, A_SECOND = 30_000, 2_000
LATE_MESSAGES = 3_000
LATENCY_MS, RATE_KBIT = 100, 3_000
CUT_S = 20
DEADLINE_S = 400


class RoundTrip:
    """An agent that executes one, in a thread."""

    def __init__(self, cluster, messages=MESSAGES):
        self._cluster = cluster
        spec = round_trip(cluster.bootstrap, {TOPIC: {"partitionAssignments": {"0": [1, 2, 3]}}}, messages, A_SECOND)
        self._wanted = messages
        output = cluster.directory / "round-trip.out"
        self._came = None
        self._thread = threading.Thread(target=lambda: self._run(spec, output), daemon=True)
        self._thread.start()

    def _run(self, spec, output):
        self._came = execute(spec, output, DEADLINE_S)

    def wait_begun(self):
        """Return when records are on their way."""
        self._cluster.wait_until(lambda: self._cluster.state(TOPIC, 0) is not None, "no topic")
        log = self._cluster.members[leader(self._cluster, TOPIC)].log_dir / f"{TOPIC}-0"
        self._cluster.wait_until(lambda: sum(path.stat().st_size for path in log.glob("*.log")) > 10_000, "no records")
        assert self._thread.is_alive()

    def finish(self):
        """Until each record came back. raises AssertionError"""
        self._thread.join()
        code, numbers, said = self._came
        assert code == 0, said[-1500:]
        assert numbers.get("totalUniqueSent") == self._wanted, said[-1500:]
        assert numbers.get("totalReceived") == self._wanted, said[-1500:]


def test_nothing_happens(make_cluster):
    RoundTrip(make_cluster(BROKERS)).finish()


def test_a_broker_is_paused(make_cluster):
    cluster = make_cluster(BROKERS)
    trip = RoundTrip(cluster)
    trip.wait_begun()
    pids = cluster.members[1].pids()
    for pid in pids:
        stop_whole(pid)
    try:
        trip.finish()
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    cluster.members[1].end(signal.SIGKILL)


def test_a_broker_is_cut_off(make_cluster, make_networks):
    networks = make_networks(BROKERS)
    cluster = make_cluster(BROKERS, networks=networks)
    trip = RoundTrip(cluster)
    trip.wait_begun()
    cut, *others = networks.rooms
    for peer in (*(room.address for room in others), networks.clients, networks.zookeeper):
        cut.deaf(peer)
        cut.mute(peer)
    trip.finish()


def test_the_client_is_cut_off_for_a_while(make_cluster, make_networks):
    networks = make_networks(BROKERS)
    cluster = make_cluster(BROKERS, networks=networks)
    trip = RoundTrip(cluster)
    trip.wait_begun()
    rules = [
        (room, rule) for room in networks.rooms for rule in (room.deaf(networks.clients), room.mute(networks.clients))
    ]
    time.sleep(CUT_S)
    for room, rule in rules:
        room.mend(rule)
    trip.finish()


def test_every_link_is_late_and_slow(make_cluster, make_networks):
    networks = make_networks(BROKERS)
    cluster = make_cluster(BROKERS, networks=networks)
    trip = RoundTrip(cluster, LATE_MESSAGES)
    trip.wait_begun()
    for room in networks.rooms:
        room.slow(RATE_KBIT)
        room.hold_back(LATENCY_MS, LATENCY_MS, 0)
    trip.finish()
