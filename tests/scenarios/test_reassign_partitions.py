"""Kafka's `reassign_partitions_test`: 20 partitions change places on four brokers under load, with brokers that bounce meanwhile or not.

min.insync.replicas is 3 of 3, so that a reassignment that leaves a replica out would stop the load. From an offset that is not 0: old
records were deleted by then, so new replicas begin where the leader's log starts.
"""

import json
import random
import time

import pytest

from tests.interop.acked_load import JavaLoad
from tests.interop.tool_runner import REASSIGN
from tests.scenarios.topics import create, leader
from tests.scenarios.traffic import Traffic

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(900)]

TOPIC = "moving"
BROKERS, PARTITIONS = 4, 20
SETTINGS = {
    "log.roll.ms": "5000",
    "log.retention.check.interval.ms": "5000",
    "log.initial.task.delay.ms": "5000",
}
MOVED_S = 240
SEED = random.randrange(10**6)


@pytest.mark.parametrize("bounce", [True, False], ids=["bounce", "calm"])
@pytest.mark.parametrize("from_zero", [True, False], ids=["from offset 0", "from a later offset"])
def test_partitions_change_places(peer, make_cluster, runner, tmp_path, bounce, from_zero):
    settings = {key: value for key, value in SETTINGS.items() if peer == "kafka" or not key.startswith("log.initial")}
    cluster = make_cluster(BROKERS, settings)
    create(cluster, TOPIC, PARTITIONS, 3, {"min.insync.replicas": "3"})
    if not from_zero:
        move_start(cluster)
    with Traffic(cluster, TOPIC, PARTITIONS, "native", rate=500) as traffic:
        cluster.wait_until(
            lambda: len({index for index, _ in list(traffic.loads[0].acked)}) == PARTITIONS, "not in all"
        )
        path = plan(cluster, tmp_path / "plan.json")
        where = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(path))
        runner.run(REASSIGN, *where, "--execute")
        if bounce:
            for broker_id in list(cluster.members)[::2]:
                cluster.stop_one(broker_id)
                cluster.start_one(broker_id)
        wait_moved(runner, where)
        traffic.finish()
    cluster.wait_until_whole()
    assert not (differing := traffic.differences()), differing


def plan(cluster, path):
    """Each partition gets the replicas of another one, by lot."""
    replicas = cluster.assignment(TOPIC)
    numbers = list(replicas)
    random.Random(SEED).shuffle(numbers)
    rows = [
        {"topic": TOPIC, "partition": index, "replicas": replicas[other]}
        for index, other in zip(replicas, numbers, strict=True)
    ]
    path.write_text(json.dumps({"version": 1, "partitions": rows}))
    print(f"seed={SEED}")
    return path


def wait_moved(runner, where, seconds=MOVED_S):
    """Until the tool says that everything is completed; returns when."""
    deadline = time.monotonic() + seconds
    while True:
        said = runner.run(REASSIGN, *where, "--verify", code=None)
        if "is completed" in said and "in progress" not in said and "There is no active" not in said:
            return time.monotonic()
        assert time.monotonic() < deadline, said[-2000:]
        time.sleep(0.5)


def move_start(cluster):
    """Write records of a long time ago, and wait until all partitions that have some have lost some."""
    more = ("--message-create-time", "1000", "--repeating-keys", "100")  # or the partitioner leaves some out for long
    load = JavaLoad(cluster.bootstrap, TOPIC, cluster.directory, 1_000, 9, more=more)
    load.start()
    try:
        cluster.wait_until(lambda: len({index for index, _ in list(load.acked)}) == PARTITIONS, "not in all")
        cluster.wait_until(lambda: all(start_of(cluster, index) > 0 for index in range(PARTITIONS)), "nothing deleted")
    finally:
        load.end()


def start_of(cluster, index):
    """The first offset of a partition, as its leader's files are named."""
    log_dir = cluster.members[leader(cluster, TOPIC, index)].log_dir / f"{TOPIC}-{index}"
    return min((int(path.stem) for path in log_dir.glob("*.log")), default=0)
