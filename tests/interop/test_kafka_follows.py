"""Apache Kafka 3.9 follows a Headrace leader, as each inter-broker protocol has it: byte by byte, in sync, and out of it again."""

import os
import signal

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.mixed_cluster import MixedCluster
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop

LEADER, FOLLOWER = 1, 2
LAG_MS = 3_000
COUNT = 500


class Pair:
    """A Headrace node that leads, a Kafka broker that follows it."""

    def __init__(self, directory, ibp):
        settings = {
            "default.replication.factor": "2",
            "min.insync.replicas": "1",
            "replica.lag.time.max.ms": str(LAG_MS),
        }
        settings |= {"offsets.topic.replication.factor": "2", "log.segment.bytes": "20000"}
        settings["zookeeper.session.timeout.ms"] = "40000"  # who stops for seconds is late, and no more
        self.cluster = MixedCluster(directory, ["headrace", "kafka"], ibp, settings)
        self.cluster.start(controller=LEADER)
        self.leader, self.follower = self.cluster.members[LEADER], self.cluster.members[FOLLOWER]
        self.admin = AdminClient({"bootstrap.servers": self.leader.bootstrap})

    def create(self, topic, partitions=1, **configs):
        config = {key.replace("_", "."): str(value) for key, value in configs.items()}
        new = NewTopic(topic, partitions, replica_assignment=[[LEADER, FOLLOWER]] * partitions, config=config)
        self.admin.create_topics([new])[topic].result()

    def write(self, topic, count=COUNT, partitions=1, **options):
        """Returns once all are acknowledged by both."""
        failures, done = [], []
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap, "acks": "all", "linger.ms": 1, **options})
        for number in range(count):
            producer.produce(
                topic, b"value %06d" % number, b"key %d" % (number % 7), partition=number % partitions,
                on_delivery=lambda error, message: (failures if error else done).append(error or message.offset()),
            )  # fmt: skip
            producer.poll(0)
        assert producer.flush(60) == 0
        assert not failures
        return done

    def isr(self, topic, index=0):
        state = self.cluster.read(f"/brokers/topics/{topic}/partitions/{index}/state")
        return None if state is None else (state["leader"], sorted(state["isr"]))

    def logs(self, topic, index=0):
        """The bytes of both replicas."""
        return [
            b"".join(path.read_bytes() for path in sorted((one.log_dir / f"{topic}-{index}").glob("*.log")))
            for one in (self.leader, self.follower)
        ]

    def are_equal(self, topic, index=0):
        first, second = self.logs(topic, index)
        return bool(first) and first == second

    def close(self):
        self.cluster.close()


@pytest.fixture(params=["2.6", "2.8", "3.9"])
def pair(request, tmp_path):
    pair = Pair(tmp_path, request.param)
    yield pair
    pair.close()


def test_it_has_the_leaders_log_and_acks_all_waits_for_it(pair):
    pair.create("t", 3)
    wait_until(lambda: pair.isr("t") == (LEADER, [LEADER, FOLLOWER]), lambda: pair.isr("t"))
    pair.write("t", partitions=3)
    for index in range(3):
        wait_until(lambda index=index: pair.are_equal("t", index))
    os.kill(pair.follower.process.pid, signal.SIGSTOP)
    try:
        producer = Producer({"bootstrap.servers": pair.leader.bootstrap, "acks": "all", "message.timeout.ms": 60_000})
        delivered = []
        producer.produce("t", b"late", partition=0, on_delivery=lambda error, _message: delivered.append(error))
        assert producer.flush(1) == 1, "it is not committed before it leaves the ISR"
        wait_until(lambda: pair.isr("t") == (LEADER, [LEADER]), lambda: pair.isr("t"))
        assert producer.flush(10) == 0
        assert delivered == [None]
    finally:
        os.kill(pair.follower.process.pid, signal.SIGCONT)
    wait_until(lambda: pair.isr("t") == (LEADER, [LEADER, FOLLOWER]), lambda: pair.isr("t"))
    wait_until(lambda: pair.are_equal("t", 0))
    log = pair.follower.log_file.read_text()
    assert " ERROR " not in log, [line for line in log.splitlines() if " ERROR " in line][:5]
