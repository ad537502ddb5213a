"""Kafka's `replication_test`: the leader or the controller stops or bounces five times, cleanly or by SIGKILL; what was acknowledged stays.

Three brokers, three partitions of three replicas, min.insync.replicas 2, acks=all with and without idempotence.
"""

import signal

import pytest

from tests.scenarios.topics import create, leader
from tests.scenarios.traffic import Traffic

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(600)]

BOUNCES = 5
TOPIC = "replicated"
FAILURES = ("clean stop", "hard stop", "clean bounce", "hard bounce")
SIGNALS = {"clean": signal.SIGTERM, "hard": signal.SIGKILL}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(
    ("role", "kind", "is_idempotent"),
    [
        ("leader", "java", True),
        ("leader", "java", False),
        ("leader", "native", True),
        ("controller", "java", True),
        ("controller", "native", False),
    ],
    ids=lambda value: {True: "idempotent", False: "plain"}.get(value, value),
)
def test_what_was_acknowledged_survives(make_cluster, failure, role, kind, is_idempotent):
    cluster = make_cluster()
    create(cluster, TOPIC, config={"min.insync.replicas": "2"})
    how, what = failure.split()
    with Traffic(cluster, TOPIC, 3, kind, is_idempotent) as traffic:
        for _ in range(BOUNCES if what == "bounce" else 1):
            broker_id = leader(cluster, TOPIC) if role == "leader" else cluster.controller()
            if broker_id is None or broker_id < 0:
                cluster.wait_until(lambda: leader(cluster, TOPIC) > 0 and cluster.controller() is not None, "nobody is")
                broker_id = leader(cluster, TOPIC) if role == "leader" else cluster.controller()
            cluster.stop_one(broker_id, SIGNALS[how])
            if what == "bounce":
                cluster.start_one(broker_id)
        traffic.finish()
        if what == "bounce":
            cluster.wait_until_whole()
            assert not (differing := traffic.differences()), differing
