"""A model cluster with faults by chance: what an idempotent producer leaves, what a consumer reads, and that nothing hangs.

The seed is in the test's name.
"""

import pytest

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from tests.support.model_clients import ModelConsumer, ModelProducer
from tests.support.model_cluster import ModelCluster
from tests.support.model_network import Network

pytestmark = pytest.mark.slow

NAMES = [TopicPartition("t", index) for index in range(3)]
RETRIABLE = [
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
]


class Storm:
    """Faults, one after the other, until it is over."""

    def __init__(self, seed):
        self.cluster = ModelCluster(3, {"t": len(NAMES)})
        self.network = Network(self.cluster, seed)
        self.random = self.network.random
        self.is_over = False
        self.cluster.takes_unknown_producers = self.random.random() < 0.7
        self.network.delay_s = (0.0001, self.random.choice((0.002, 0.05, 0.4)))

    def begin(self):
        self.network.lost_requests = self.random.choice((0, 0.01, 0.05))
        self.network.lost_answers = self.random.choice((0, 0.01, 0.1))
        self.network.after(0.1, self.fault)

    def fault(self):
        if self.is_over:
            return
        cluster, chance = self.cluster, self.random
        kind = chance.choice(("move", "move", "stop", "tell", "refuse", "late", "session", "hang up", "metadata"))
        if kind == "move":
            cluster.move(chance.choice(NAMES))
        elif kind == "stop":
            up = [one.node_id for one in cluster.brokers.values() if one.is_up]
            if len(up) > 1:
                node_id = chance.choice(up)
                cluster.stop(node_id)
                for name, log in cluster.logs.items():
                    if log.leader == node_id and chance.random() < 0.8:
                        cluster.move(name)
                self.network.after(chance.uniform(0.05, 3), lambda: cluster.start(node_id))
        elif kind == "tell":
            cluster.tell(chance.choice(list(cluster.brokers)))
        elif kind == "refuse":
            cluster.partition_failures[chance.choice(NAMES)].append(chance.choice(RETRIABLE))
        elif kind == "late":
            cluster.late_failures.append(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        elif kind == "session":
            for broker in cluster.brokers.values():
                broker.sessions.clear()
        elif kind == "hang up":
            self.network.hang_up(chance.choice(list(cluster.brokers.values())))
        else:
            cluster.failures[ApiKey.METADATA].append(ErrorCode.LEADER_NOT_AVAILABLE)
        self.network.after(chance.uniform(0.02, 1), self.fault)

    def end(self):
        """No faults any more; every broker knows how things are."""
        self.is_over = True
        self.network.lost_requests = self.network.lost_answers = 0
        for node_id in self.cluster.brokers:
            self.cluster.start(node_id)
        self.cluster.tell()


@pytest.mark.parametrize("seed", range(40))
def test_every_record_is_stored_once_and_in_order_and_read_once(seed):
    storm = Storm(seed)
    network, cluster, chance = storm.network, storm.cluster, storm.random
    producer = ModelProducer(network, linger_ms=chance.choice((0, 5, 50)), delivery_timeout_ms=10_000_000)
    consumer = ModelConsumer(network, NAMES, max_partition_fetch_bytes=chance.choice((1, 1000, 1 << 20)))
    if chance.random() < 0.3:
        cluster.batch_bytes_max = 300
    serial = 0
    producer.send(NAMES[0], b"first")
    storm.begin()
    for _ in range(40):
        for _ in range(chance.randrange(30)):
            serial += 1
            producer.send(chance.choice(NAMES), b"%d" % serial)
        network.run(chance.choice((0.001, 0.1, 1.0)))
        if chance.random() < 0.8:
            consumer.take()
        if chance.random() < 0.1:
            name = chance.choice(NAMES)
            consumer.fetching.pause(name)
            network.run(0.01)
            consumer.fetching.resume(name)
    storm.end()
    producer.flush()
    assert {name: cluster.logs[name].values() for name in producer.sent} == producer.sent
    assert producer.producing.buffered_bytes == 0
    assert producer.producing.take_unseen() is None
    consumer.read_until(lambda: all(consumer.has(name, len(sent)) for name, sent in producer.sent.items()))
    assert consumer.got == producer.sent
    assert consumer.failures == []
    network.close()


@pytest.mark.parametrize("seed", range(40))
def test_without_idempotence_no_record_is_lost_and_none_fails_in_silence(seed):
    storm = Storm(seed)
    network, cluster, chance = storm.network, storm.cluster, storm.random
    producer = ModelProducer(network, acks=1, delivery_timeout_ms=chance.choice((300, 5_000)))
    batches = []
    producer.send(NAMES[0], b"first")
    storm.begin()
    for serial in range(600):
        batches.append((producer.send(chance.choice(NAMES), b"%d" % serial), b"%d" % serial))
        if chance.random() < 0.1:
            network.run(0.1)
    storm.end()
    producer.flush()
    stored = {value for log in cluster.logs.values() for value in log.values()}
    assert all(value in stored for batch, value in batches if batch.failure is None)
    failed = sum(batch.failure is not None for batch, _value in batches)
    unseen = producer.producing.take_unseen()
    assert (0 if unseen is None else unseen[1]) - failed in (0, 1)  # the first one is not in the list
    assert producer.producing.buffered_bytes == 0
    network.close()
