"""kafka-reassign-partitions with a throttle, its --verify and --cancel, and kafka-leader-election, against three nodes."""

import json
import re

import pytest

from headrace.client.admin import ReplicaAdmin
from headrace.client.cluster import Cluster
from headrace.ids import TopicPartition
from tests.e2e.test_reassignments import Running, create, rows, wait_moved
from tests.interop.tool_runner import CONFIGS, ELECT, REASSIGN, ToolRunner
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("reassign-tools"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def runner():
    runner = ToolRunner()
    yield runner
    runner.close()


@pytest.fixture
def cluster(nodes):
    with Cluster(nodes.bootstrap, patience_s=20) as cluster:
        cluster.refresh([])
        yield cluster


def plan_of(path, topic, targets):
    partitions = [{"topic": topic, "partition": index, "replicas": list(row)} for index, row in targets.items()]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def test_a_reassignment_with_a_throttle(nodes, cluster, runner, tmp_path):
    topic = create(cluster, 2)
    targets = {}
    for index, row in rows(cluster, topic).items():
        [other] = {0, 1, 2} - set(row.replicas)
        targets[index] = (other, row.replicas[0])
    path = plan_of(tmp_path / "plan.json", topic, targets)
    where = ("--bootstrap-server", nodes.bootstrap, "--reassignment-json-file", path)
    said = runner.run(REASSIGN, *where, "--execute", "--throttle", "50000000")
    assert "Successfully started partition reassignments" in said
    assert "The inter-broker throttle limit was set to 50000000 B/s" in said
    wait_moved(cluster, topic, targets)
    described = ("--bootstrap-server", nodes.bootstrap, "--describe", "--entity-type")
    assert "follower.replication.throttled.replicas=" in runner.run(
        CONFIGS, *described, "topics", "--entity-name", topic
    )
    wait_until(lambda: "is completed" in runner.run(REASSIGN, *where, "--verify"))
    for broker in "012":
        said = runner.run(CONFIGS, *described, "brokers", "--entity-name", broker)
        assert "throttled.rate" not in said
    assert "throttled.replicas" not in runner.run(CONFIGS, *described, "topics", "--entity-name", topic)


def test_one_that_is_done_is_not_cancelled(nodes, cluster, runner, tmp_path):
    topic = create(cluster, 1)
    before = rows(cluster, topic)[0].replicas
    [other] = {0, 1, 2} - set(before)
    path = plan_of(tmp_path / "plan.json", topic, {0: (other, *before)})
    where = ("--bootstrap-server", nodes.bootstrap, "--reassignment-json-file", path)
    runner.run(REASSIGN, *where, "--execute")
    wait_moved(cluster, topic, {0: (other, *before)})
    said = runner.run(REASSIGN, *where, "--cancel")
    assert "None of the specified partition reassignments are active" in said
    assert "No partition reassignments found" in runner.run(REASSIGN, "--bootstrap-server", nodes.bootstrap, "--list")


def test_preferred_leaders_by_kafkas_tool(nodes, cluster, runner):
    topic = create(cluster, 1)
    first, second = rows(cluster, topic)[0].replicas
    ReplicaAdmin(cluster).reassign({TopicPartition(topic, 0): (second, first)})
    wait_until(lambda: rows(cluster, topic)[0].replicas == (second, first))
    where = ("--bootstrap-server", nodes.bootstrap, "--election-type", "preferred")
    said = runner.run(ELECT, *where, "--topic", topic, "--partition", "0")
    assert re.search(r"Successfully completed leader election \(PREFERRED\)", said)
    wait_until(lambda: rows(cluster, topic)[0].leader == second)
