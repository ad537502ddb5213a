"""Questions about transactions to three nodes: coordinators and leaders are on different ones, and one of them may be gone."""

import json

import pytest

from headrace.client.admin import TransactionAdmin
from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.client.open_transactions import Unanswered, judge, open_ones
from headrace.errors import ErrorCode as E
from headrace.ids import TRANSACTIONS_TOPIC, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.testing.cluster import NODE, KafkaCluster
from tests.cli.program import Program
from tests.support.raw_producer import RawProducer, offsets
from tests.support.waiting import wait_until

SETTINGS = {
    "transaction.state.log.num.partitions": "6",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.partition.verification.enable": "false",
}
TOPIC = "t"


@pytest.fixture
def three_nodes():
    with KafkaCluster(3, SETTINGS) as cluster:
        cluster.create_topic(TOPIC, partitions=3, replication_factor=1)
        yield cluster


@pytest.fixture
def connections(three_nodes):
    """By node id."""
    with Cluster(three_nodes.bootstrap_servers) as cluster:
        cluster.refresh([TOPIC])
        found = {node: Connection(broker.host, broker.port) for node, broker in cluster.brokers.items()}
    yield found
    for one in found.values():
        one.close()


def coordinator_of(connections, name):
    request = messages.FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
    found = []

    def is_there():
        found[:] = next(iter(connections.values())).request(ApiKey.FIND_COORDINATOR, 4, request).coordinators
        return not found[0].error_code

    wait_until(is_there)
    return found[0].node_id


def leaders(three_nodes, topic=TOPIC):
    with Cluster(three_nodes.bootstrap_servers) as cluster:
        cluster.refresh([topic])
        return {name.partition: row.leader for name, row in cluster.partitions.items() if name.topic == topic}


def test_coordinators_of_all_nodes_are_asked_and_leaders_of_all_nodes(three_nodes, connections):
    program = Program(three_nodes.bootstrap_servers)
    homes = {f"id-{number}": coordinator_of(connections, f"id-{number}") for number in range(12)}
    assert len(set(homes.values())) > 1
    producers = {name: RawProducer(name, connections[node]) for name, node in homes.items()}
    rows = [json.loads(line) for line in program("transactions", "list", "--json").splitlines()]
    assert {row["transactional_id"]: row["coordinator"] for row in rows} == homes

    led = leaders(three_nodes)
    name, index = next((name, index) for name in homes for index in led if led[index] != homes[name])
    producer = producers[name]
    producer.leader = connections[led[index]]
    producer.add(TOPIC, *led)
    assert producer.produce(TOPIC, index) == [E.NONE]
    said = program("transactions", "why", f"{TOPIC}-{index}").decode()
    assert (
        f"transactional id {name} (producer {producer.producer_id} epoch 0): state Ongoing at broker {homes[name]}"
        in said
    )
    assert f"aborted {name} in t-0, t-1, t-2" in program("transactions", "abort", name).decode()
    wait_until(lambda: offsets(producer.leader, TOPIC, index) == (2, 2))

    other = next(one for one in producers if homes[one] != led[index] and one != name)
    producers[other].leader = connections[led[index]]
    assert producers[other].produce(TOPIC, index) == [E.NONE]
    place = ("--topic", TOPIC, "--partition", str(index), "--start-offset", "2")
    assert "hanging transaction" in program("transactions", "abort", *place, "--force").decode()
    wait_until(lambda: offsets(producer.leader, TOPIC, index) == (4, 4))


def test_while_a_coordinator_is_gone_nothing_is_said_to_hang(three_nodes, connections):
    program = Program(three_nodes.bootstrap_servers)
    homes = {f"id-{number}": coordinator_of(connections, f"id-{number}") for number in range(12)}
    led = leaders(three_nodes)
    name, index = next((name, index) for name in homes for index in led if led[index] != homes[name])
    producer = RawProducer(name, connections[homes[name]], connections[led[index]])
    producer.add(TOPIC, index)
    assert producer.produce(TOPIC, index) == [E.NONE]
    three_nodes.kill(NODE, sorted(connections).index(homes[name]))

    def is_gone():
        return -1 in leaders(three_nodes, TRANSACTIONS_TOPIC).values()

    wait_until(is_gone)
    where = TopicPartition(TOPIC, index)
    with Cluster(three_nodes.bootstrap_servers) as cluster:
        admin = TransactionAdmin(cluster)
        with pytest.raises(Unanswered, match=TRANSACTIONS_TOPIC):
            judge(admin, open_ones(admin.producers([where])))
    place = ("--topic", TOPIC, "--partition", str(index), "--start-offset", "0")
    assert TRANSACTIONS_TOPIC in program.fails("transactions", "abort", *place, "--force")
    assert TRANSACTIONS_TOPIC in program.fails("transactions", "why", f"{TOPIC}-{index}")
    listed = program.run("transactions", "list")
    assert listed.returncode == 0
    assert "can't be asked: ids in it are missing" in listed.stderr.decode()
    assert offsets(producer.leader, TOPIC, index) == (0, 1), "nothing was written"
