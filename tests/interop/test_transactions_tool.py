"""kafka-transactions against a node, and what `headrace transactions` says of the same transactions."""

import json

import pytest

from headrace.client.connection import Connection
from headrace.errors import ErrorCode as E
from tests.cli.program import Program
from tests.conftest import start_node
from tests.support.raw_producer import RawProducer, offsets
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


@pytest.fixture(scope="module")
def lax_node(tmp_path_factory):
    """A node whose leaders ask no coordinator: a transaction can be left hanging there."""
    running = start_node(
        tmp_path_factory.mktemp("lax"),
        "transaction.state.log.num.partitions=4",
        "transaction.partition.verification.enable=false",
    )
    yield running
    running.stop()


@pytest.fixture
def program(lax_node, topic):
    program = Program(lax_node.bootstrap)
    program("topics", "create", topic, "--partitions", "2")
    yield program
    program.close()


@pytest.fixture
def producer(program, lax_node, topic):
    connection = Connection(*lax_node.address)
    yield RawProducer(topic, connection)
    connection.close()


@pytest.fixture
def tool(tools, lax_node):
    """Rows of kafka-transactions, by its column heads."""

    def run(*arguments):
        said = tools.run(TRANSACTIONS, "--bootstrap-server", lax_node.bootstrap, *arguments).decode()
        heads, *rows = [line.split() for line in said.splitlines()] or [[]]
        return [dict(zip(heads, row, strict=False)) for row in rows]

    return run


def test_an_open_transaction_is_listed_described_and_not_hanging(tool, producer, program, topic):
    producer.add(topic, 1)
    assert producer.produce(topic, 1) == [E.NONE]
    [row] = [one for one in tool("list") if one["TransactionalId"] == topic]
    assert row == {
        "TransactionalId": topic,
        "Coordinator": "0",
        "ProducerId": str(producer.producer_id),
        "TransactionState": "Ongoing",
    }
    assert topic not in str(tool("list", "--duration-filter", "3600000"))
    wait_until(lambda: topic in str(tool("list", "--duration-filter", "1")))
    [row] = tool("describe", "--transactional-id", topic)
    assert (row["TransactionState"], row["ProducerEpoch"], row["TransactionTimeoutMs"]) == ("Ongoing", "0", "60000")
    assert row["TopicPartitions"] == f"{topic}-1"
    [row] = tool("describe-producers", "--topic", topic, "--partition", "1")
    assert (row["ProducerId"], row["CurrentTransactionStartOffset"]) == (str(producer.producer_id), "0")
    assert tool("find-hanging", "--topic", topic, "--max-transaction-timeout", "0") == []
    assert f"aborted {topic}" in program("transactions", "abort", topic).decode()
    [row] = tool("describe", "--transactional-id", topic)
    assert row["TransactionState"] in ("CompleteAbort", "Empty")


def test_a_hanging_transaction_is_found_and_aborted(tool, producer, program, topic):
    assert producer.produce(topic, 0) == [E.NONE]
    find = ("find-hanging", "--broker-id", "0", "--topic", topic, "--max-transaction-timeout", "0")
    [row] = tool(*find)
    ours = json.loads(
        program("transactions", "find-hanging", "--topic", topic, "--older-than", "1ms", "--json").decode()
    )
    columns = {
        "Topic": "topic",
        "Partition": "partition",
        "ProducerId": "producer",
        "ProducerEpoch": "epoch",
        "StartOffset": "start_offset",
        "LastTimestamp": "last_written_ms",
    }
    assert {head: row[head] for head in columns} == {head: str(ours[key]) for head, key in columns.items()}
    tool("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    wait_until(lambda: offsets(producer.leader, topic, 0) == (2, 2))
    assert tool(*find) == []
    assert "no transaction is open there" in program("transactions", "why", f"{topic}-0").decode()
