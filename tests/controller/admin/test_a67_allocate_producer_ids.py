"""Blocks of producer ids for other brokers, from the active controller alone."""

import pytest

from headrace.controller.admin import a22_init_producer_id, a67_allocate_producer_ids
from headrace.controller.zookeeper.znodes import Registration
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from tests.support.recorded_frames import recorded

EPOCH = 77


@pytest.fixture
def node(new_node):
    found = new_node()
    found.turn()
    found.known.brokers[2] = Registration(2, "b", 1, None, EPOCH)
    return found


def ask(node, broker_id=2, broker_epoch=EPOCH):
    request = messages.AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    body = encode_request(ApiKey.ALLOCATE_PRODUCER_IDS, 0, request)
    response = node.handle(a67_allocate_producer_ids.handle, 0, memoryview(bytes(body))).poll(0)
    return decode_response(ApiKey.ALLOCATE_PRODUCER_IDS, 0, memoryview(response))


def test_each_block_is_given_once_to_brokers_and_to_ourselves(node):
    first = ask(node)
    ours = node.handle(
        a22_init_producer_id.handle,
        4,
        memoryview(encode_request(ApiKey.INIT_PRODUCER_ID, 4, messages.InitProducerIdRequest(transactional_id=None))),
    ).poll(0)
    own_id = decode_response(ApiKey.INIT_PRODUCER_ID, 4, memoryview(ours)).producer_id
    second = ask(node)
    assert (first.error_code, first.producer_id_len) == (0, 1000)
    assert own_id == first.producer_id_start + 1000
    assert second.producer_id_start == first.producer_id_start + 2000


def test_the_answer_reads_as_apache_kafkas(node):
    [one] = recorded("3.9", ApiKey.ALLOCATE_PRODUCER_IDS)
    found = ask(node)
    assert (one.response.error_code, one.response.producer_id_len) == (found.error_code, found.producer_id_len)


@pytest.mark.parametrize(
    ("broker_id", "epoch", "error"),
    [(2, EPOCH - 1, ErrorCode.STALE_BROKER_EPOCH), (9, EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)],
)
def test_a_broker_that_is_not_there_now_gets_none(node, broker_id, epoch, error):
    before = ask(node).producer_id_start
    assert ask(node, broker_id, epoch).error_code == error
    assert ask(node).producer_id_start == before + 1000


def test_another_node_than_the_active_one_sends_the_broker_away(node, new_node):
    other = new_node(1)
    other.turn()
    assert ask(other).error_code == ErrorCode.NOT_CONTROLLER
