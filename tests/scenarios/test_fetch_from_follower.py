"""Kafka's `fetch_from_follower_test` (KIP-392): a consumer reads from the replica in its rack, and loses nothing where that goes."""

import signal

import pytest

from tests.scenarios.topics import create, followers, leader
from tests.scenarios.traffic import Traffic

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]

TOPIC = "racks"
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RACKS = {number: {"broker.rack": f"rack-{number}"} for number in (1, 2, 3)}


@pytest.fixture
def cluster(make_cluster):
    running = make_cluster(settings={"replica.selector.class": SELECTOR}, by_broker=RACKS)
    create(running, TOPIC, 1, 3, {"min.insync.replicas": "1"})
    return running


def test_a_consumer_reads_from_the_follower_in_its_rack(cluster):
    wanted = followers(cluster, TOPIC)[0]
    with Traffic(cluster, TOPIC, 1, "native", settings={"client.rack": f"rack-{wanted}"}) as traffic:
        cluster.wait_until(lambda: traffic.consumer.brokers == {wanted}, lambda: f"from {traffic.consumer.brokers}")
        traffic.wait_acked(600)
        assert traffic.consumer.brokers == {wanted}
        traffic.finish()


def test_a_rack_without_a_replica_reads_from_the_leader(cluster):
    with Traffic(cluster, TOPIC, 1, "native", settings={"client.rack": "rack-4"}) as traffic:
        cluster.wait_until(lambda: traffic.consumer.brokers == {leader(cluster, TOPIC)}, "not from the leader")
        traffic.finish()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["clean", "hard"])
def test_the_follower_that_is_read_from_goes_and_comes_back(cluster, number):
    wanted = followers(cluster, TOPIC)[0]
    with Traffic(cluster, TOPIC, 1, "native", settings={"client.rack": f"rack-{wanted}"}) as traffic:
        cluster.wait_until(lambda: traffic.consumer.brokers == {wanted}, lambda: f"from {traffic.consumer.brokers}")
        cluster.stop_one(wanted, number)
        traffic.wait_acked(300)
        count = len(traffic.consumer.records)
        cluster.wait_until(lambda: len(traffic.consumer.records) > count + 100, "it reads no more")
        cluster.start_one(wanted)
        cluster.wait_until_whole()
        cluster.wait_until(lambda: traffic.consumer.brokers == {wanted}, lambda: f"from {traffic.consumer.brokers}")
        traffic.finish()


def test_the_leader_goes_and_a_java_consumer_in_a_rack_reads_on(cluster):
    first = leader(cluster, TOPIC)
    with Traffic(
        cluster, TOPIC, 1, "java", settings={"client.rack": f"rack-{followers(cluster, TOPIC)[0]}"}
    ) as traffic:
        traffic.wait_acked(300)
        cluster.stop_one(first)
        traffic.finish()
