"""Kafka's `throttling_test`: a throttled reassignment takes as long as its rate says, while clients are not held back."""

import json
import math
import time

import pytest
from confluent_kafka import Producer

from tests.interop.tool_runner import CONFIGS, REASSIGN
from tests.scenarios.test_reassign_partitions import wait_moved
from tests.scenarios.topics import create
from tests.scenarios.traffic import Traffic

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(600)]

TOPIC = "throttled"
ASSIGNMENT = [[1, 2], [3, 4]]
RECORDS, RECORD_BYTES = 200, 100_000  # a partition
THROTTLE = 1_000_000
MOVES = 2  # replicas that one leader sends: both of its partition's new ones
LEAST, MOST = 0.9, 2.0  # of what the rate says, as Kafka's test has it


@pytest.mark.parametrize("bounce", [True, False], ids=["bounce", "calm"])
def test_a_throttled_move_takes_its_time(make_cluster, runner, tmp_path, bounce):
    cluster = make_cluster(4, {"message.max.bytes": "2000000"})
    create(cluster, TOPIC, assignment=ASSIGNMENT, config={"min.insync.replicas": "1", "segment.bytes": str(64 << 20)})
    fill(cluster)
    with Traffic(cluster, TOPIC, len(ASSIGNMENT), "native") as traffic:
        path = tmp_path / "plan.json"
        rows = [{"topic": TOPIC, "partition": index, "replicas": ASSIGNMENT[1 - index]} for index in (0, 1)]
        path.write_text(json.dumps({"version": 1, "partitions": rows}))
        where = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(path))
        runner.run(REASSIGN, *where, "--execute", "--throttle", str(THROTTLE))
        begun = time.monotonic()
        acked = traffic.acked
        if bounce:
            for broker_id in list(cluster.members)[::2]:
                cluster.stop_one(broker_id)
                cluster.start_one(broker_id)
        expected_s = math.ceil(MOVES * RECORDS * RECORD_BYTES / THROTTLE)
        taken_s = wait_moved(runner, where, MOST * expected_s + 30) - begun
        print(f"taken_s={taken_s:.1f} expected_s={expected_s} acknowledged meanwhile: {traffic.acked - acked}")
        assert LEAST * expected_s <= taken_s
        assert bounce or taken_s <= MOST * expected_s
        assert traffic.acked - acked > 10 * expected_s
        traffic.finish()
    said = runner.run(CONFIGS, *where[:2], "--describe", "--entity-type", "topics", "--entity-name", TOPIC)
    assert "throttled.replicas" not in said
    cluster.wait_until_whole()
    assert not (differing := traffic.differences()), differing


def fill(cluster):
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 2})
    failures = []
    for number in range(RECORDS * len(ASSIGNMENT)):
        producer.produce(
            TOPIC,
            (b"big%d" % number).ljust(RECORD_BYTES - 2, b"x") + b"-0",
            partition=number % len(ASSIGNMENT),
            on_delivery=lambda error, _message: error and failures.append(error),
        )
    assert producer.flush(60) == 0
    assert not failures, failures[0]
