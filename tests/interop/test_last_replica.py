"""The last replica in sync is Headrace's, its machine loses power, and the controller is Apache Kafka's (docs/decisions/013).

Kafka's follower is out of the ISR, and has more than what is left here, or less. Either way the better log leads; nobody has to ask.
"""

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.protocol.record_batch import iterate_batches
from headrace.shm.region import sweep
from tests.chaos.cluster_nodes import ClusterNode, KafkaNode
from tests.chaos.cluster_state import ClusterState
from tests.chaos.lossy_disk import forget_boot
from tests.support.waiting import wait_until

SETTINGS = {
    "min.insync.replicas": "1",
    "unclean.recovery.timeout.ms": "600000",
    "auto.leader.rebalance.enable": "false",
}
CONTROLLER, FOLLOWER, HEADRACE = 1, 2, 3
RECORDS = 300


@pytest.fixture
def cluster(tmp_path):
    zookeeper = EmbeddedZooKeeper(tmp_path / "zookeeper")
    zookeeper.start()
    zookeeper.wait_until_ready(60)
    kinds = {CONTROLLER: KafkaNode, FOLLOWER: KafkaNode, HEADRACE: ClusterNode}
    nodes = {
        number: kind(tmp_path / f"node-{number}", number, zookeeper.connect, settings=SETTINGS)
        for number, kind in kinds.items()
    }
    state = ClusterState(zookeeper.connect)
    for node in nodes.values():  # the first one is elected
        node.launch()
        assert node.wait_ready(120) == "ready"
        wait_until(lambda number=node.number: number in (state.brokers() or ()))
    assert state.controller() == CONTROLLER
    yield nodes, state
    state.close()
    for node in nodes.values():
        if node.is_running:
            node.kill()
        sweep(node.region_prefix)
    zookeeper.stop()


def produce(node, first, count):
    """In batches of 10."""
    producer = Producer(
        {"bootstrap.servers": node.bootstrap, "acks": "all", "enable.idempotence": False, "batch.num.messages": 10}
    )
    for number in range(first, first + count):
        producer.produce("t", f"{number}".encode(), partition=0)
    assert producer.flush(60) == 0


def end_offset(node):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "end"})
    try:
        return consumer.get_watermark_offsets(TopicPartition("t", 0), timeout=20)[1]
    finally:
        consumer.close()


@pytest.mark.interop
@pytest.mark.parametrize("kept", [50, 250], ids=["the follower has more", "the follower has less"])
def test_the_better_log_leads_under_a_controller_of_apache_kafkas(cluster, kept):
    nodes, state = cluster
    headrace, follower = nodes[HEADRACE], nodes[FOLLOWER]
    admin = AdminClient({"bootstrap.servers": nodes[CONTROLLER].bootstrap})
    admin.create_topics([NewTopic("t", 1, replica_assignment=[[HEADRACE, FOLLOWER]])])["t"].result(60)
    wait_until(lambda: state.partition("t", 0) is not None and len(state.partition("t", 0).isr) == 2)
    produce(headrace, 0, 100)
    follower.ask_to_stop()
    follower.process.wait(60)
    wait_until(lambda: state.partition("t", 0).isr == (HEADRACE,) and state.brokers() == {CONTROLLER, HEADRACE})
    produce(headrace, 100, RECORDS - 100)
    headrace.kill()
    cut(headrace, kept)
    forget_boot(headrace.log_dirs)
    follower.launch()
    assert follower.wait_ready(120) == "ready"
    wait_until(lambda: state.brokers() == {CONTROLLER, FOLLOWER})
    headrace.launch()
    best = FOLLOWER if kept < 100 else HEADRACE
    wait_until(lambda: state.partition("t", 0).leader == best, lambda: what_is_there(nodes, state))
    wait_until(lambda: len(state.partition("t", 0).isr) == 2, lambda: what_is_there(nodes, state))
    assert (
        f"acknowledged records may be lost partition=t-0 first_offset={max(kept, 100)} "
        in headrace.log.path.read_text()
    )
    assert end_offset(nodes[best]) == max(kept, 100)
    produce(nodes[best], RECORDS, 10)


def what_is_there(nodes, state):
    """Instead of what was waited for: the partition, and the last lines of each log that name it."""
    told = [f"t-0 {state.partition('t', 0)}, brokers {state.brokers()}, controller {state.controller()}"]
    for number, node in nodes.items():
        lines = node.log.path.read_text("utf-8", "replace").splitlines()
        told += [f"{node.kind} {number}:", *[line for line in lines if "t-0" in line][-30:], *lines[-10:]]
    return "\n".join(told)


def cut(node, records):
    """The machine kept so much of the log."""
    [path] = [path for log_dir in node.log_dirs for path in log_dir.glob("t-0/*.log")]
    data = path.read_bytes()
    end = 0
    for position, header, batch in iterate_batches(data):
        if header.last_offset < records:
            end = position + len(batch)
    path.write_bytes(data[:end])
    (node.log_dirs[0] / "recovery-point-offset-checkpoint").unlink(missing_ok=True)
