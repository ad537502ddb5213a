"""Kafka's `replication_replica_failure_test` and `replica_verification_test`: a follower is cut off, the ISR shrinks and grows again."""

import re
import subprocess
import time

import pytest

from bench.peers import jars
from tests.interop.tool_runner import VERIFICATION
from tests.scenarios.topics import create
from tests.scenarios.traffic import Traffic
from tests.support import children

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(600)]

TOPIC = "cut"
LAG_MS = 5_000
REPORTS = 3


def test_the_isr_is_without_a_follower_that_is_cut_off_and_whole_after(make_cluster, make_networks, allowed):
    networks = make_networks(3)
    cluster = make_cluster(settings={"replica.lag.time.max.ms": str(LAG_MS)}, networks=networks)
    # the leader on the controller's broker: the follower that is cut off has neither role
    first = cluster.controller()
    assignment = [first, *(one for one in cluster.members if one != first)]
    create(cluster, TOPIC, config={"min.insync.replicas": "2"}, assignment=[assignment])
    rooms = dict(zip(cluster.members, networks.rooms, strict=True))
    victim = assignment[-1]
    with Traffic(cluster, TOPIC, 1) as traffic:
        others = [room.address for broker_id, room in rooms.items() if broker_id != victim]
        rules = [rule for peer in others for rule in (rooms[victim].deaf(peer), rooms[victim].mute(peer))]
        cluster.wait_until(lambda: set(cluster.state(TOPIC, 0)["isr"]) == set(assignment) - {victim}, "not shrunk")
        assert cluster.state(TOPIC, 0)["leader"] == first
        assert cluster.is_registered(victim)
        traffic.wait_acked(300)
        for rule in rules:
            rooms[victim].mend(rule)
        cluster.wait_until(lambda: set(cluster.state(TOPIC, 0)["isr"]) == set(assignment), "not whole again")
        traffic.finish()
    cluster.wait_until_whole()
    assert not (differing := traffic.differences()), differing
    verify_replicas(cluster, TOPIC)


def verify_replicas(cluster, topic):
    """ReplicaVerificationTool finds no lag and no record that differs. raises AssertionError"""
    command = [
        "java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars("kafka"))), VERIFICATION,
        "--broker-list", cluster.bootstrap, "--topics-include", topic, "--report-interval-ms", "500", "--time", "-2",
    ]  # fmt: skip
    process = children.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, lags = [], []
    deadline = time.monotonic() + 90
    try:
        for line in process.stdout:
            said.append(line)
            lags += [int(lag) for lag in re.findall(r"max lag is (-?\d+) for", line)]
            if lags[-REPORTS:] == [0] * REPORTS:
                break
            assert time.monotonic() < deadline, said[-10:]
        else:
            raise AssertionError("".join(said)[-2000:])
    finally:
        process.stdout.close()
        children.end(process)
    assert not [line for line in said if "doesn't match" in line], said
