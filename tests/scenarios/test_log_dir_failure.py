"""Kafka's `log_dir_failure_test`: one of two log directories fails; the broker stays, and serves by the other one.

The tests run as root, whom no permission stops: a file takes the directory's place, so that no segment can be made in it.
"""

import pytest

from tests.interop.acked_load import NativeLoad, judge, read_all
from tests.scenarios.topics import create, followers, leader
from tests.scenarios.traffic import Traffic

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(600)]

FIRST, SECOND = "kept", "lost"
SETTINGS = {
    "min.insync.replicas": "1",
    "offsets.topic.num.partitions": "1",
    "log.flush.interval.messages": "5",
    "log.roll.ms": "3000",
}
OF_THE_DIRECTORY = {
    r"log directory|log dir|logs?-2|logs/|offline|KafkaStorageException|Shutdown broker because": "its directory has failed",
    r"leader refuses partition=\S+ .*error=KAFKA_STORAGE_ERROR": "a follower asked its leader, whose directory it was",
    r"ReplicaFetcher|Error processing (append|fetch)|Error while": "what was in it",
}


@pytest.mark.parametrize("role", ["leader", "follower"])
@pytest.mark.parametrize("bounce", [False, True], ids=["stays", "bounced"])
def test_the_broker_serves_by_its_other_directory(make_cluster, allowed, role, bounce):
    allowed.update(OF_THE_DIRECTORY)
    cluster = make_cluster(settings=SETTINGS, log_dirs=2)
    create(cluster, FIRST, 1, 3, {"min.insync.replicas": "1"})
    create(cluster, SECOND, 1, 3, {"min.insync.replicas": "2"})
    with Traffic(cluster, SECOND, 1) as traffic:
        victim = leader(cluster, SECOND) if role == "leader" else followers(cluster, SECOND)[0]
        member = cluster.members[victim]
        [lost] = [path.parent for path in member.directory.glob(f"logs*/{SECOND}-0")]
        assert not (lost / f"{FIRST}-0").exists()
        lost.rename(member.directory / "taken-away")
        lost.write_text("no directory any more")
        if bounce:
            cluster.stop_one(victim)
            cluster.start_one(victim)
        cluster.wait_until(lambda: victim not in cluster.state(SECOND, 0)["isr"], "still in the ISR")
        assert leader(cluster, SECOND) not in (victim, -1)
        assert member.is_up
        assert cluster.is_registered(victim)
        traffic.finish()
    for other in cluster.members:
        if other != victim:
            cluster.stop_one(other)
    cluster.wait_until(lambda: cluster.state(FIRST, 0)["isr"] == [victim], "others are in the ISR")
    cluster.wait_until(lambda: leader(cluster, FIRST) == victim, "it does not lead")
    load = NativeLoad(member.bootstrap, FIRST, 1).start()
    try:
        cluster.wait_until(lambda: len(load.acked) > 300, "nothing is acknowledged")
        load.stop()
    finally:
        load.end()
    wrong = judge([load], read_all(member.bootstrap, FIRST, 1))
    assert not wrong, wrong
