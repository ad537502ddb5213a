"""`headrace transactions` against a node, and against Apache Kafka: an open transaction, one that is over, and one that nobody will end."""

import json
import uuid

import pytest

from headrace.client.admin import TransactionAdmin
from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.errors import ErrorCode as E
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.cli.program import Program
from tests.support.raw_producer import RawProducer, offsets
from tests.support.waiting import wait_until

pytestmark = pytest.mark.process


SETTINGS = {"transaction.state.log.num.partitions": "4", "transaction.partition.verification.enable": "false"}


@pytest.fixture(scope="module", params=["headrace", pytest.param("kafka", marks=pytest.mark.interop)])
def lax_node(request, tmp_path_factory):
    """host:port of a broker whose leaders ask no coordinator, as Kafka's before 3.6: a transaction can be left hanging there."""
    directory = tmp_path_factory.mktemp("lax")
    if request.param == "headrace":
        from tests.conftest import start_node

        workers = ("headrace.network.workers=1", "headrace.partition.workers=1")
        running = start_node(directory, *workers, *[f"{key}={value}" for key, value in SETTINGS.items()])
        yield running.bootstrap
        running.stop()
        return
    from bench.nodes import Kafka

    server = Kafka(directory / "kafka", SETTINGS)
    try:
        server.start()
        yield server.bootstrap
    finally:
        server.stop()


@pytest.fixture
def program(lax_node):
    program = Program(lax_node)
    yield program
    program.close()


@pytest.fixture
def connection(lax_node):
    host, _, port = lax_node.rpartition(":")
    connection = Connection(host, int(port))
    yield connection
    connection.close()


@pytest.fixture
def producer(topic, connection):
    request = messages.FindCoordinatorRequest(key_type=1, coordinator_keys=[topic])
    wait_until(lambda: not connection.request(ApiKey.FIND_COORDINATOR, 4, request).coordinators[0].error_code)
    return RawProducer(topic, connection)


@pytest.fixture
def open_one(producer, topic):
    """One record in partition 1, in a transaction that is open."""
    producer.add(topic, 1)
    assert producer.produce(topic, 1) == [E.NONE]
    return producer


@pytest.fixture
def hanging(producer, topic, connection):
    """One in partition 2 whose coordinator has never heard of it; a record without a transaction is behind it."""
    assert producer.produce(topic, 2) == [E.NONE]
    return producer


def why(program, topic, partition):
    [found] = program("transactions", "why", f"{topic}-{partition}", "--json").splitlines()
    return json.loads(found)


def test_nothing_is_held_where_no_transaction_is_open(program, topic):
    program("produce", topic, "-p", "0", stdin=b"1\n2\n")
    said = program("transactions", "why", f"{topic}-0").decode()
    assert said == f"{topic}-0: last stable offset 2 is the high watermark: no transaction is open there\n"
    assert why(program, topic, 0)["held_by"] is None


def test_an_open_transaction_is_listed_described_and_named_as_what_holds_readers_up(program, topic, open_one):
    program("produce", topic, "-p", "1", stdin=b"1\n2\n")
    rows = [json.loads(line) for line in program("transactions", "list", "--state", "ongoing", "--json").splitlines()]
    assert [row for row in rows if row["transactional_id"] == topic] == [
        {"transactional_id": topic, "coordinator": 0, "producer": open_one.producer_id, "state": "Ongoing"}
    ]
    told = program("transactions", "list", "--producer", str(open_one.producer_id)).decode().splitlines()
    assert [line.split() for line in told[1:]] == [[topic, "0", str(open_one.producer_id), "Ongoing"]]
    assert program("transactions", "list", "--open-for", "1h", "--json") == b""
    described = program("transactions", "describe", topic).decode()
    assert f"transactional id {topic}  coordinator 0  producer {open_one.producer_id}  epoch 0" in described
    assert "state Ongoing  timeout 1 min  started 20" in described
    assert f"partitions {topic}-1" in described
    first, second, third = program("transactions", "why", f"{topic}-1").decode().splitlines()
    assert first.startswith(f"{topic}-1: last stable offset 0 is 3 behind the high watermark 3 since ")
    assert f"transactional id {topic} (producer {open_one.producer_id} epoch 0): state Ongoing at broker 0" in second
    assert "times out in " in second
    assert third == f"to abort it: headrace transactions abort {topic}"
    found = why(program, topic, 1)
    assert (found["behind"], found["held_by"]["hanging"], found["held_by"]["transactional_id"]) == (3, False, topic)


def test_an_abort_by_the_id_ends_all_partitions_and_fences_the_producer(program, topic, open_one, connection):
    open_one.add(topic, 0)
    assert open_one.produce(topic, 0) == [E.NONE]
    said = program("transactions", "abort", topic).decode()
    assert said.startswith(
        f"aborted {topic} in {topic}-0, {topic}-1: producer {open_one.producer_id} epoch 0 is fenced"
    )
    for partition in (0, 1):
        wait_until(lambda partition=partition: offsets(connection, topic, partition) == (2, 2))
    assert open_one.produce(topic, 1, sequence=1) == [E.INVALID_PRODUCER_EPOCH]
    again = program("transactions", "abort", topic).decode()
    assert again.startswith(f"unchanged {topic}: no transaction is open")


def test_an_id_that_does_not_exist_is_refused_and_not_created(program):
    name = f"unknown-{uuid.uuid4().hex[:8]}"
    for command in ("abort", "describe"):
        assert "TRANSACTIONAL_ID_NOT_FOUND" in program.fails("transactions", command, name)
    assert name not in program("transactions", "list").decode()


def test_a_hanging_transaction_is_found_and_ended_by_a_lone_marker(program, topic, hanging, connection):
    program("produce", topic, "-p", "2", stdin=b"1\n2\n")
    place = ("--topic", topic, "--partition", "2", "--start-offset", "0")
    find = ("transactions", "find-hanging", "--topic", topic, "--json")
    assert program(*find) == b"", "it is younger than any transaction may be"
    wait_until(lambda: program(*find, "--older-than", "1ms"))
    [row] = [json.loads(line) for line in program(*find, "--older-than", "1ms").splitlines()]
    assert (row["partition"], row["producer"], row["start_offset"]) == (2, hanging.producer_id, 0)
    said = program("transactions", "why", f"{topic}:2").decode()
    assert f"transactional id {topic} (producer {hanging.producer_id} epoch 0) is Empty at broker 0" in said
    assert "hanging transaction" in said
    assert f"headrace transactions abort {' '.join(place)} --force" in said
    assert "dry run" in program("transactions", "abort", *place).decode()
    assert offsets(connection, topic, 2) == (0, 3)
    assert f"aborted {topic}-2 from offset 0 on" in program("transactions", "abort", *place, "--force").decode()
    wait_until(lambda: offsets(connection, topic, 2) == (4, 4))
    assert program(*find, "--older-than", "1ms") == b""
    assert "INVALID_TXN_STATE" in program.fails("transactions", "abort", *place, "--force")


def test_a_lone_marker_is_refused_where_a_coordinator_knows_the_transaction(program, topic, open_one, connection):
    place = ("--topic", topic, "--partition", "1", "--start-offset", "0")
    said = program.fails("transactions", "abort", *place, "--force")
    assert "state Ongoing" in said
    assert f"use headrace transactions abort {topic}" in said
    assert offsets(connection, topic, 1) == (0, 1)
    assert program("transactions", "find-hanging", "--topic", f"{topic}:1", "--older-than", "1ms", "--json") == b""


def test_a_transaction_that_is_over_holds_nothing_and_hangs_nowhere(program, topic, open_one, connection):
    open_one.end(is_commit=True)
    wait_until(lambda: offsets(connection, topic, 1) == (2, 2))
    assert "no transaction is open there" in program("transactions", "why", f"{topic}-1").decode()
    assert program("transactions", "find-hanging", "--topic", topic, "--older-than", "1ms", "--json") == b""
    wait_until(lambda: "state CompleteCommit" in program("transactions", "describe", topic).decode())


def test_partitions_of_a_broker_are_searched_and_what_is_unknown_is_named(program, topic, hanging):
    search = ("transactions", "find-hanging", "--older-than", "1ms")
    wait_until(lambda: topic in program(*search, "--broker", "0").decode())
    assert "is not a broker" in program.fails(*search, "--broker", "7", exit_code=2)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in program.fails(*search, "--topic", f"{topic}:9")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in program.fails("transactions", "why", f"{topic}-9")
    program("transactions", "abort", "--topic", topic, "--partition", "2", "--start-offset", "0", "--force")


@pytest.mark.parametrize(
    "arguments",
    [
        ("why", "t"),
        ("why", "t-x"),
        ("abort",),
        ("abort", "id", "--force"),
        ("abort", "id", "--topic", "t"),
        ("abort", "--topic", "t", "--partition", "0", "--force"),
        ("abort", ""),
        ("list", "--state", "Lost"),
        ("list", "--open-for", "soon"),
    ],
)
def test_wrong_arguments_are_refused(program, arguments):
    assert program.fails("transactions", *arguments, exit_code=2)


def test_leaders_say_of_each_producer_what_it_has_open(lax_node, topic, open_one):
    names = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    with Cluster(lax_node) as cluster:
        found = TransactionAdmin(cluster).producers(names)
    assert found[names[0]] == ()
    [row] = found[names[1]]
    assert (row.producer_id, row.epoch, row.first_offset) == (open_one.producer_id, 0, 0)
