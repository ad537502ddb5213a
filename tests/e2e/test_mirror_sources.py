"""A mirror of two sources, of which one is away: the other one is copied all the same, and the first one when it is back."""

import signal

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from tests.conftest import start_node
from tests.support.mirror_process import SETTINGS, MirrorProcess, partition, records_of, started_nodes
from tests.support.waiting import wait_until

TOPIC = "joined"
pytestmark = pytest.mark.timeout(280)


def create(bootstrap):
    with Cluster(bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(TOPIC, 1)]) == {TOPIC: None}


def produce(bootstrap, *values):
    with Kafka(bootstrap) as kafka, kafka.producer() as producer:
        for value in values:
            producer.send(TOPIC, value)


def copied(bootstrap):
    return [record.value for record in records_of(bootstrap, TOPIC)[0]]


def test_a_source_that_is_away_hinders_no_other_one(tmp_path):
    with started_nodes(tmp_path, "near", "target") as (near, target):
        far = start_node(tmp_path / "far", *SETTINGS)
        mirrored = MirrorProcess(
            tmp_path / "mirror", [far.bootstrap, near.bootstrap], target.bootstrap, mirror_topics_whitelist=TOPIC
        )
        try:
            for node in (far, near):
                create(node.bootstrap)
            produce(far.bootstrap, b"far 1")
            produce(near.bootstrap, b"near 1")
            assert mirrored.finish() == 0, mirrored.log()
            mirrored.start()
            wait_until(lambda: mirrored.log().count("partition located") == 4, mirrored.log)

            far.stop()
            wait_until(lambda: "source does not respond" in mirrored.log(), mirrored.log)
            produce(near.bootstrap, b"near 2")
            wait_until(lambda: b"near 2" in copied(target.bootstrap), mirrored.log)

            mirrored.signal(signal.SIGTERM)
            assert mirrored.wait() == 0, mirrored.log()
            mirrored.start()
            produce(near.bootstrap, b"near 3")
            with Cluster(near.bootstrap) as cluster:
                Admin(cluster).alter_group_offsets("of near", {partition(TOPIC): 2})
            wait_until(lambda: b"near 3" in copied(target.bootstrap), mirrored.log)
            with Cluster(target.bootstrap) as cluster:
                wait_until(lambda: Admin(cluster).group_offsets("of near"), mirrored.log)

            far = start_node(tmp_path / "far", *SETTINGS, port=far.address[1])
            produce(far.bootstrap, b"far 2")
            wait_until(lambda: b"far 2" in copied(target.bootstrap), mirrored.log)
            assert mirrored.stop() == 0, mirrored.log()
            assert sorted(copied(target.bootstrap)) == [b"far 1", b"far 2", b"near 1", b"near 2", b"near 3"]
        finally:
            mirrored.kill()
            far.stop()


def test_a_copy_up_to_the_ends_needs_all_sources(tmp_path):
    with started_nodes(tmp_path, "near", "target") as (near, target):
        create(near.bootstrap)
        away = start_node(tmp_path / "away", *SETTINGS)
        away.stop()
        mirrored = MirrorProcess(
            tmp_path / "mirror", [away.bootstrap, near.bootstrap], target.bootstrap, mirror_topics_whitelist=TOPIC
        )
        assert mirrored.finish(120) == 1
        assert away.bootstrap in mirrored.log()
