"""Kafka's `client_compatibility_features_test` and `client_compatibility_produce_consume_test`, over protocol versions between brokers."""

import subprocess

import pytest

from bench.peers import jars
from tests.scenarios.topics import create
from tests.scenarios.traffic import Traffic

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]

PROGRAM = "org.apache.kafka.tools.ClientCompatibilityTest"
FEATURES = (
    "offsets-for-times", "cluster-id", "create-topics", "describe-acls", "describe-configs", "idempotent-producer"
)  # fmt: skip
TOPIC = "compatible"


@pytest.fixture(params=["2.6", "2.8", "3.9"])
def cluster(request, make_cluster):
    return make_cluster(settings={"inter.broker.protocol.version": request.param})


def test_the_features_of_a_broker_are_there(cluster):
    create(cluster, TOPIC, 1, 3)
    command = ["java", "-Xmx256m", "-cp", ":".join(map(str, jars("foreign"))), PROGRAM, "--topic", TOPIC]
    command += ["--bootstrap-server", cluster.bootstrap, "--num-cluster-nodes", str(len(cluster.members))]
    command += ["--expect-record-too-large-exception", "False"]
    for feature in FEATURES:
        command += [f"--{feature}-supported", "True"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


@pytest.mark.parametrize("kind", ["java", "native"])
def test_two_producers_and_a_consumer(cluster, kind):
    create(cluster, TOPIC, 10, 2, {"min.insync.replicas": "1"})
    with Traffic(cluster, TOPIC, 10, kind, producers=2) as traffic:
        traffic.finish(2_000)
    cluster.wait_until_whole()
    assert not (differing := traffic.differences()), differing
