"""A follower of an Apache Kafka 3.9 leader has its log, byte by byte, whatever the inter-broker protocol.

The follower's part runs in this process: replicas, fetchers and sockets of one partition worker, without a node around them.
"""

import pytest

from headrace.controller.zookeeper.znodes import (
    TopicAssignment,
    decode_state,
    decode_topic,
    encode_config,
    encode_topic,
    new_uuid,
    state_path,
    topic_config_path,
    topic_path,
)
from headrace.log.reading.aborted_transactions import read_aborted
from tests.interop import kafka_log
from tests.support.log_fixtures import all_bytes
from tests.support.waiting import wait_until
from tests.support.zookeeper_client import ZooKeeperClient
from tests.workers.partition.replication.follower_rig import FollowerRig

pytestmark = pytest.mark.interop

LEADER = 1
TOPICS = {
    "codecs": {"segment.bytes": "20000"},
    "transactions": {"segment.bytes": "6000"},
    "trimmed": {"segment.bytes": "6000"},
    "format-v0": {"message.format.version": "0.9.0", "segment.bytes": "20000"},
    "format-v1": {"message.format.version": "0.10.2", "segment.bytes": "20000"},
}


class Cluster:
    """A Kafka broker, 1, and topics that 0 has a replica of, which never was there."""

    def __init__(self, directory, ibp):
        self.ibp = ibp
        settings = {**kafka_log.SETTINGS, "broker.id": str(LEADER), "inter.broker.protocol.version": ibp}
        settings |= {"auto.create.topics.enable": "false", "min.insync.replicas": "1"}
        self.kafka = kafka_log.start("kafka", directory / "kafka", settings)
        self.bootstrap = self.kafka.bootstrap
        self.logs = directory / "kafka" / "logs"
        self.zookeeper = ZooKeeperClient(self.kafka.zookeeper, 10_000)
        self.zookeeper.start(30)

    def create(self, name, partitions=1, configs=None):
        """As a controller would: the znodes of the topic's settings and assignment."""
        topic_id = new_uuid() if self.ibp != "2.6" else ""
        self.zookeeper.ensure(topic_config_path(name), encode_config(configs or {}))
        assignment = TopicAssignment(topic_id, ((LEADER, 0),) * partitions)
        self.zookeeper.create(topic_path(name), encode_topic(assignment))
        states = [state_path(name, index) for index in range(partitions)]
        wait_until(lambda: all(self.zookeeper.get_many(states)))

    def state(self, name, index=0):
        node = self.zookeeper.get(state_path(name, index))
        return decode_state(name, node.data, node.version)

    def topic_id(self, name):
        return decode_topic(name, self.zookeeper.get(topic_path(name)).data).topic_id

    def stop(self):
        self.zookeeper.stop()
        self.kafka.stop()


@pytest.fixture(params=["2.6", "2.8", "3.9"])
def cluster(request, tmp_path):
    cluster = Cluster(tmp_path, request.param)
    yield cluster
    cluster.stop()


@pytest.fixture
def rig(cluster, tmp_path):
    rig = FollowerRig(tmp_path / "follower", {"inter.broker.protocol.version": cluster.ibp})
    rig.place(LEADER, int(cluster.bootstrap.rpartition(":")[2]))
    yield rig
    rig.close()


def follow(rig, cluster, name, **how):
    return rig.follow(LEADER, cluster.state(name).leader_epoch, name=name, topic_id=cluster.topic_id(name), **how)


def turn_until(rig, is_so, complaint="not in time"):
    """The rig's clock goes on with the turns: back-offs end."""

    def turn():
        rig.clock.ms += 5
        return rig.turn() and is_so()

    wait_until(lambda: (turn() and False) or is_so(), complaint)


def files(directory, suffix):
    return {path.name: path.read_bytes() for path in sorted(directory.glob(f"*{suffix}")) if path.stat().st_size}


def test_it_has_the_leaders_segments(cluster, rig, records):
    names = [name for name in TOPICS if cluster.ibp != "3.9" or not name.startswith("format")]
    for name in names:
        cluster.create(name, configs=TOPICS[name])
    replicas = {name: follow(rig, cluster, name, configs=TOPICS[name]) for name in names}
    plain = [(b"key %d" % n, b"value %d" % n * 9, []) for n in range(150)]
    for codec in kafka_log.CODECS:
        kafka_log.write(cluster.bootstrap, "codecs", [*plain, *records], codec)
        if codec != "zstd":
            for name in names:
                if name.startswith("format"):
                    kafka_log.write(cluster.bootstrap, name, [(k, v, []) for k, v, _headers in plain], codec)
    kafka_log.write_transactions(cluster.bootstrap, "transactions")
    kafka_log.write(cluster.bootstrap, "trimmed", plain * 2)
    for name, replica in replicas.items():
        path = cluster.logs / f"{name}-0"
        size = sum(len(data) for data in files(path, ".log").values())
        turn_until(rig, lambda replica=replica, size=size: replica.log.size_bytes >= size, name)
        turn_until(rig, lambda replica=replica: replica.high_watermark == replica.log.log_end_offset, name)
        assert all_bytes(replica.log) == b"".join(files(path, ".log").values())
        assert files(replica.log.directory, ".log").keys() == files(path, ".log").keys(), (
            "segments roll at the same offsets"
        )
    # What an append derives of batches is there too
    path = cluster.logs / "transactions-0"
    aborted = [one for file in sorted(path.glob("*.txnindex")) for one in read_aborted(file)]
    own = replicas["transactions"].log
    assert [one for file in sorted(own.directory.glob("*.txnindex")) for one in read_aborted(file)] == aborted
    assert aborted
    # DeleteRecords at the leader moves the log start here
    kafka_log.delete_records(cluster.bootstrap, "trimmed", 123)
    turn_until(rig, lambda: rig.node.row(replicas["trimmed"].slot).log_start_offset == 123)
    # and one who comes late begins there, within a batch
    assert "ERROR" not in (cluster.kafka.directory / "broker.log").read_text()
