"""Transactions aren't served yet: a producer that asks for them is told at once, with the reason, by an error that it takes for final."""

import asyncio
import uuid

import aiokafka
import pytest
from aiokafka.errors import KafkaError as AiokafkaError
from confluent_kafka import KafkaError, KafkaException, Producer
from kafka import KafkaProducer
from kafka.errors import KafkaError as KafkaPythonError
from kafka.errors import KafkaTimeoutError

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ADVERTISED, ApiKey
from tests.support.waiting import DEADLINE_S

NOT_SERVED = "does not serve transactions"


def test_librdkafka_ends_with_the_reason(node):
    client_id = f"tx-{uuid.uuid4().hex[:8]}"
    for _ in range(3):
        producer = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": "t", "client.id": client_id})
        with pytest.raises(KafkaException, match=NOT_SERVED) as raised:
            producer.init_transactions(DEADLINE_S)
        error = raised.value.args[0]
        assert error.code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED
        assert error.fatal()
    lines = (node.directory / "node.log").read_text().splitlines()
    named = [line for line in lines if client_id in line]
    assert 1 <= len(named) <= 2, "once by each network worker at most"
    assert all("WARNING" in line and "transactions are not served yet" in line for line in named)


def test_kafka_python_ends(node):
    producer = KafkaProducer(
        bootstrap_servers=node.bootstrap, transactional_id="t", max_block_ms=int(DEADLINE_S * 1000)
    )
    with pytest.raises(KafkaPythonError, match="ClusterAuthorizationFailed") as raised:
        producer.init_transactions()
    assert not isinstance(raised.value, KafkaTimeoutError)
    producer.close(timeout=0)


def test_aiokafka_ends(node):
    async def start():
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=node.bootstrap, transactional_id="t")
        try:
            await asyncio.wait_for(producer.start(), DEADLINE_S)
        finally:
            await producer.stop()

    with pytest.raises(AiokafkaError, match="ClusterAuthorizationFailed"):
        asyncio.run(start())


@pytest.mark.parametrize("version", range(1, ADVERTISED[ApiKey.FIND_COORDINATOR][1] + 1))
def test_every_version_of_find_coordinator_says_so(node, version):
    connection = Connection(*node.address)
    request = messages.FindCoordinatorRequest(key="t", key_type=1, coordinator_keys=["t"])
    answer = connection.request(ApiKey.FIND_COORDINATOR, version, request)
    row = answer.coordinators[0] if version >= 4 else answer
    assert (row.error_code, row.node_id) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, -1)
    assert NOT_SERVED in row.error_message
    connection.close()


def test_a_producer_that_asks_for_its_id_without_a_coordinator_is_told_the_same(node):
    connection = Connection(*node.address)
    request = messages.InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
    answer = connection.request(ApiKey.INIT_PRODUCER_ID, 4, request)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    connection.close()
