import pytest

from headrace.controller.admin import a22_init_producer_id
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request


def ask(node, transactional_id=None, version=4):
    request = messages.InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    body = encode_request(ApiKey.INIT_PRODUCER_ID, version, request)
    response = node.handle(a22_init_producer_id.handle, version, memoryview(bytes(body))).poll(0)
    assert response is not None
    return decode_response(ApiKey.INIT_PRODUCER_ID, version, memoryview(response))


@pytest.mark.parametrize("version", range(5))
def test_every_version_gets_an_id_of_its_own_with_epoch_0(new_node, version):
    node = new_node()
    first, second = ask(node, version=version), ask(node, version=version)
    assert (first.error_code, first.producer_epoch) == (0, 0)
    assert second.producer_id == first.producer_id + 1


def test_any_node_gives_ids_and_none_twice(new_node):
    nodes = [new_node(0), new_node(1)]
    given = [ask(node).producer_id for node in nodes for _ in range(3)]
    assert len(set(given)) == 6


def test_a_restarted_process_begins_a_new_block(new_node):
    node = new_node()
    first = ask(node).producer_id
    assert ask(node.restarted()).producer_id == first + 1000


def test_without_zookeeper_a_retriable_error(new_node):
    node = new_node()
    node.zk.is_connected = False
    response = ask(node)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (14, -1, -1)
