"""Kafka's own tools, unmodified: against three nodes, a mixed cluster, and three Kafka brokers, which have to pass as well."""

import json
import re
import signal
import subprocess
import time

import pytest
from confluent_kafka import Producer

from bench.peers import jars
from tests.interop.broker_logs import (
    OF_A_STOPPED_CONTROLLER,
    OF_KAFKA_ALONE,
    OF_OFFLINE_PARTITIONS,
    OF_REASSIGNMENTS,
    severe_lines,
)
from tests.interop.mixed_cluster import MixedCluster
from tests.interop.tool_runner import CONFIGS, ELECT, LOG_DIRS, REASSIGN, TOPICS, VERIFICATION, ToolRunner
from tests.support import children

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

CLUSTERS = {
    "kafka": ["kafka"] * 3,
    "headrace": ["headrace"] * 3,
    "mixed": ["headrace", "kafka", "headrace"],
}
RECORDS = 400
ALLOWED = {**OF_OFFLINE_PARTITIONS, **OF_REASSIGNMENTS, **OF_A_STOPPED_CONTROLLER}  # tests stop members
THROTTLED = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


@pytest.fixture(scope="module")
def runner():
    running = ToolRunner()
    yield running
    running.close()


@pytest.fixture(scope="module", params=CLUSTERS)
def cluster(request, tmp_path_factory):
    running = MixedCluster(tmp_path_factory.mktemp(request.param), CLUSTERS[request.param])
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture
def call(runner, cluster):
    """A tool, told where the cluster is."""

    def run(program, *arguments, code=0):
        return runner.run(program, "--bootstrap-server", cluster.bootstrap, *arguments, code=code)

    return run


@pytest.fixture
def made(call, cluster, request):
    """A topic: partition 0 on 1, 2 and partition 1 on 2, 3, with records in both."""
    topic = re.sub(r"[\W_]+", "-", request.node.name)[-60:].strip("-")
    call(TOPICS, "--create", "--topic", topic, "--replica-assignment", "1:2,2:3")
    cluster.wait_until_whole()
    fill(cluster, topic)
    yield topic
    call(TOPICS, "--delete", "--topic", topic)
    cluster.wait_until(lambda: topic not in cluster.topics(), "not deleted")


@pytest.fixture(autouse=True)
def _no_errors_in_the_logs(cluster):
    members = list(cluster.members.values())
    before = [member.log_file.stat().st_size for member in members]
    yield
    is_kafka_alone = all(member.kind == "kafka" for member in members)
    allowed = {**ALLOWED, **(OF_KAFKA_ALONE if is_kafka_alone else {})}
    wrong = [
        f"{member.broker_id}: {line}"
        for member, position in zip(members, before, strict=True)
        for line in severe_lines(member.log_file, position, allowed)
    ]
    assert not wrong, "\n".join(wrong)


def fill(cluster, topic, size=1_000):
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 5, "log_level": 2})
    failures = []
    for number in range(RECORDS):
        producer.produce(
            topic, b"x" * size, partition=number % 2, on_delivery=lambda error, _m: error and failures.append(error)
        )
    assert producer.flush(60) == 0
    assert not failures, failures[0]


def plan(path, topic, replicas_by_partition):
    """A reassignment file."""
    partitions = [
        {"topic": topic, "partition": index, "replicas": replicas} for index, replicas in replicas_by_partition.items()
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def partitions_of(text):
    """{partition: (leader, replicas, ISR)} of what kafka-topics prints."""
    found = re.findall(r"Partition: (\d+)\s+Leader: (\S+)\s+Replicas: (\S+)\s+Isr: (\S*)", text)
    return {
        int(index): (
            None if leader == "none" else int(leader),
            [int(one) for one in replicas.split(",")],
            {int(one) for one in isr.split(",") if one},
        )
        for index, leader, replicas, isr in found
    }


def test_topics_are_created_described_grown_and_deleted(call, cluster):
    topic = "spread"
    call(TOPICS, "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "3")
    cluster.wait_until_whole()
    found = partitions_of(call(TOPICS, "--describe", "--topic", topic))
    assert {leader for leader, _replicas, _isr in found.values()} == {1, 2, 3}
    assert all(isr == set(replicas) == {1, 2, 3} for _leader, replicas, isr in found.values())
    call(TOPICS, "--alter", "--topic", topic, "--partitions", "6")
    cluster.wait_until_whole()
    assert len(partitions_of(call(TOPICS, "--describe", "--topic", topic))) == 6
    for option in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert partitions_of(call(TOPICS, "--describe", option)) == {}
    call(TOPICS, "--delete", "--topic", topic)
    cluster.wait_until(lambda: topic not in cluster.topics(), "not deleted")
    cluster.wait_until(lambda: topic not in call(TOPICS, "--list"), "still listed")


def wait_until_unthrottled(call, cluster, topic):
    """A node answers from its view: another one hears of a change a moment after it was acknowledged."""

    def is_unthrottled():
        said = call(CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", topic)
        return not any(name in said for name in THROTTLED)

    cluster.wait_until(is_unthrottled, "its throttle stays")


def test_a_partition_moves_and_the_tool_verifies_it(call, cluster, made, tmp_path):
    path = plan(tmp_path / "plan.json", made, {0: [3, 2], 1: [1, 2]})
    said = call(REASSIGN, "--execute", "--reassignment-json-file", path)
    assert "Successfully started partition reassignments" in said
    cluster.wait_until(
        lambda: (
            "is completed" in (said := call(REASSIGN, "--verify", "--reassignment-json-file", path, code=None))
            and "in progress" not in said
        ),
        "not completed",
    )
    assert cluster.assignment(made) == {0: [3, 2], 1: [1, 2]}
    cluster.wait_until_whole()
    assert "No partition reassignments found" in call(REASSIGN, "--list")


def test_a_throttled_move_is_listed_cancelled_and_leaves_no_throttle(call, cluster, made, tmp_path):
    fill(cluster, made, 20_000)  # at 10 kB/s it would take minutes
    path = plan(tmp_path / "plan.json", made, {0: [1, 3], 1: [2, 1]})
    call(REASSIGN, "--execute", "--reassignment-json-file", path, "--throttle", "10000")
    said = call(CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", made)
    assert all(name in said for name in THROTTLED)
    assert "10000" in call(CONFIGS, "--describe", "--entity-type", "brokers", "--entity-name", "1")
    assert re.search(rf"{made}-0: replicas: .*adding: 3.* removing: 2", call(REASSIGN, "--list"))
    assert "is still in progress" in call(
        REASSIGN, "--verify", "--reassignment-json-file", path, "--preserve-throttles"
    )
    said = call(REASSIGN, "--cancel", "--reassignment-json-file", path)
    assert "Successfully cancelled partition reassignments" in said
    cluster.wait_until(lambda: "No partition reassignments found" in call(REASSIGN, "--list"), "not cancelled")
    assert {index: sorted(replicas) for index, replicas in cluster.assignment(made).items()} == {0: [1, 2], 1: [2, 3]}
    wait_until_unthrottled(call, cluster, made)
    cluster.wait_until_whole()
    strays = (cluster.members[3].log_dir / f"{made}-0", cluster.members[1].log_dir / f"{made}-1")
    cluster.wait_until(lambda: not any(stray.exists() for stray in strays), "a cancelled replica is still there")


def test_a_throttled_move_is_let_go_and_verify_takes_the_throttle_away(call, cluster, made, tmp_path):
    fill(cluster, made, 5_000)
    path = plan(tmp_path / "plan.json", made, {0: [3, 1]})
    call(REASSIGN, "--execute", "--reassignment-json-file", path, "--throttle", "50000")
    assert "is still in progress" in call(
        REASSIGN, "--verify", "--reassignment-json-file", path, "--preserve-throttles"
    )
    call(REASSIGN, "--execute", "--additional", "--reassignment-json-file", path, "--throttle", "100000000")
    cluster.wait_until(
        lambda: "is completed" in call(REASSIGN, "--verify", "--reassignment-json-file", path), "not completed"
    )
    assert cluster.assignment(made)[0] == [3, 1]
    wait_until_unthrottled(call, cluster, made)


def test_a_plan_is_generated(call, cluster, made, tmp_path):
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": made}]}))
    said = call(REASSIGN, "--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,3")
    proposed = json.loads(said.rpartition("Proposed partition reassignment configuration")[2])
    assert {one for entry in proposed["partitions"] for one in entry["replicas"]} == {1, 3}


def test_the_preferred_leader_is_elected(call, cluster, made):
    cluster.stop_one(2)
    cluster.wait_until(lambda: cluster.state(made, 1)["leader"] == 3, "no failover")
    cluster.start_one(2)
    cluster.wait_until_whole()
    said = call(ELECT, "--election-type", "preferred", "--topic", made, "--partition", "1")
    assert "Successfully completed leader election (PREFERRED)" in said
    cluster.wait_until(lambda: cluster.state(made, 1)["leader"] == 2, "not elected")
    said = call(ELECT, "--election-type", "preferred", "--topic", made, "--partition", "1")
    assert "Valid replica already elected" in said


def test_an_unclean_leader_is_elected_when_asked_for(call, cluster, made):
    cluster.stop_one(3)
    cluster.wait_until(lambda: cluster.state(made, 1)["isr"] == [2], "the ISR did not shrink")
    cluster.stop_one(2)
    cluster.wait_until(lambda: cluster.state(made, 1)["leader"] == -1, "there is a leader")
    assert cluster.state(made, 1)["isr"] == [2]
    cluster.start_one(3)
    assert cluster.state(made, 1)["leader"] == -1
    described = partitions_of(call(TOPICS, "--describe", "--topic", made, "--unavailable-partitions"))
    assert set(described) == {1}
    said = call(ELECT, "--election-type", "unclean", "--topic", made, "--partition", "1")
    assert "Successfully completed leader election (UNCLEAN)" in said
    cluster.wait_until(lambda: cluster.state(made, 1)["leader"] == 3, "not elected")
    cluster.start_one(2)
    cluster.wait_until_whole()


def test_configs_of_topics_and_brokers_reach_every_member(call, runner, cluster, made):
    topic = ("--entity-type", "topics", "--entity-name", made)
    call(CONFIGS, "--alter", *topic, "--add-config", "retention.ms=86400000")
    for member in cluster.members.values():
        asked = ("--bootstrap-server", member.bootstrap, "--describe", *topic)
        cluster.wait_until(lambda asked=asked: "retention.ms=86400000" in runner.run(CONFIGS, *asked), "not everywhere")
    call(CONFIGS, "--alter", *topic, "--delete-config", "retention.ms")
    for broker_id in cluster.members:
        broker = ("--entity-type", "brokers", "--entity-name", str(broker_id))
        call(CONFIGS, "--alter", *broker, "--add-config", "log.retention.ms=864000000")
        cluster.wait_until(
            lambda broker=broker: "log.retention.ms=864000000" in call(CONFIGS, "--describe", *broker), "not taken"
        )
        call(CONFIGS, "--alter", *broker, "--delete-config", "log.retention.ms")


def test_log_dirs_of_every_member_are_described(call, cluster, made):
    said = call(LOG_DIRS, "--describe", "--topic-list", made)
    report = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    found = {
        (broker["broker"], partition["partition"])
        for broker in report["brokers"]
        for log_dir in broker["logDirs"]
        for partition in log_dir["partitions"]
        if log_dir["error"] is None and partition["size"] > 0 and partition["offsetLag"] == 0
    }
    assert found == {(1, f"{made}-0"), (2, f"{made}-0"), (2, f"{made}-1"), (3, f"{made}-1")}


def test_replica_verification_finds_no_lag(cluster, made):
    command = [
        "java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars("kafka"))), VERIFICATION,
        "--broker-list", cluster.bootstrap, "--topics-include", made, "--report-interval-ms", "1000",
    ]  # fmt: skip
    process = children.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = []
    deadline = time.monotonic() + 60
    try:
        for line in process.stdout:
            said.append(line)
            if "max lag is 0" in line:
                break
            assert time.monotonic() < deadline, said
        else:
            raise AssertionError("".join(said)[-2000:])
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        children.end(process)
    assert not [line for line in said if "doesn't match" in line or "ERROR" in line]
