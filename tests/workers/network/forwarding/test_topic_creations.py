"""A topic that a client's request makes: asked of the active controller, wherever it is, and told whatever becomes of it."""

import pytest

from headrace.errors import ErrorCode
from headrace.limits import PEER_REQUESTS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_response
from headrace.protocol.frames import build_request
from headrace.shm.cluster_view import BrokerView
from headrace.shm.messages import REQUEST
from headrace.workers.network.forwarding.topic_creations import ANSWER_EXTRA_MS, CREATE_TIMEOUT_MS, CREATE_VERSION
from tests.runtime.fake_node import FakeNode
from tests.support.fake_seat import view_of
from tests.support.waiting import wait_until
from tests.workers.network.network_rig import CONTROLLER

OTHER = 7
METADATA_VERSION = 5


@pytest.fixture
def controllers():
    """Two nodes that may be the active controller."""
    nodes = [FakeNode(), FakeNode()]
    yield nodes
    for node in nodes:
        node.close()


def follow(rig, controller_id, *nodes):
    """A view in which these nodes are there, with ids from OTHER, beside this one."""
    brokers = {0: BrokerView(0, "127.0.0.1", 1, None)}
    brokers |= {
        OTHER + index: BrokerView(OTHER + index, "127.0.0.1", node.port, None) for index, node in enumerate(nodes)
    }
    version = rig.seat.view.view.version + 1
    rig.seat.view.view = view_of(("t", 1))._replace(version=version, controller_id=controller_id, brokers=brokers)
    rig.turn()


def ask(rig, name="new"):
    """A client that wants to know of a topic, which may be created."""
    kind = messages.MetadataRequest
    body = kind(topics=[kind.MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
    client = rig.connect()
    client.sendall(build_request(ApiKey.METADATA, METADATA_VERSION, 7, "bench", body))
    return client


def turn_until(rig, nodes, is_so):
    def turned():
        rig.turn(1)
        for node in nodes:
            node.pump()
        return is_so()

    wait_until(turned)


def told(client):
    """The error of the one topic, as the client has it."""
    size = int.from_bytes(client.recv(4), "big")
    data = b""
    while len(data) < size:
        data += client.recv(size - len(data))
    answer = decode_response(ApiKey.METADATA, METADATA_VERSION, memoryview(data)[4:])
    return answer.topics[0].error_code


def asked_here(rig):
    return [header for kind, header in rig.seat.writers[CONTROLLER].written if kind == REQUEST]


def created(error=ErrorCode.NONE, name="new"):
    row = messages.CreateTopicsResponse.CreatableTopicResult(name=name, error_code=int(error), error_message=None)
    return encode_response(ApiKey.CREATE_TOPICS, CREATE_VERSION, messages.CreateTopicsResponse(topics=[row]))


def test_the_node_that_is_the_active_controller_is_asked(rig, controllers):
    follow(rig, OTHER, controllers[0])
    client = ask(rig)
    turn_until(rig, controllers, lambda: controllers[0].requests)
    [(header, body)] = controllers[0].requests
    assert (header.api_key, header.api_version) == (ApiKey.CREATE_TOPICS, CREATE_VERSION)
    assert [topic.name for topic in decode_request(header.api_key, header.api_version, memoryview(body)).topics] == [
        "new"
    ]
    assert asked_here(rig) == []
    controllers[0].session.answer(body=created())
    turn_until(rig, (), lambda: not rig.connections[0].exchanges)
    assert told(client) == ErrorCode.LEADER_NOT_AVAILABLE  # made, but not in this node's view yet


def test_its_refusal_is_told(rig, controllers):
    follow(rig, OTHER, controllers[0])
    client = ask(rig)
    turn_until(rig, controllers, lambda: controllers[0].requests)
    controllers[0].session.answer(body=created(ErrorCode.POLICY_VIOLATION))
    turn_until(rig, (), lambda: not rig.connections[0].exchanges)
    assert told(client) == ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize("controller_id", [0, -1, OTHER + 1])
def test_the_process_of_this_node_is_asked_where_it_is_the_controller_or_nobody_is_known(
    rig, controllers, controller_id
):
    follow(rig, controller_id, controllers[0])
    ask(rig)
    rig.turn_until(lambda: asked_here(rig))
    controllers[0].pump()
    assert not controllers[0].sessions


def test_a_client_is_told_to_ask_again_where_the_controller_dies(rig, controllers):
    follow(rig, OTHER, controllers[0])
    client = ask(rig)
    turn_until(rig, controllers, lambda: controllers[0].requests)
    controllers[0].session.reset()
    turn_until(rig, (), lambda: not rig.connections[0].exchanges)
    assert told(client) == ErrorCode.LEADER_NOT_AVAILABLE


def test_a_client_is_told_to_ask_again_where_the_controller_is_silent(rig, controllers):
    follow(rig, OTHER, controllers[0])
    client = ask(rig)
    turn_until(rig, controllers, lambda: controllers[0].requests)
    rig.clock.ms += CREATE_TIMEOUT_MS + ANSWER_EXTRA_MS + 1
    turn_until(rig, (), lambda: not rig.connections[0].exchanges)
    assert told(client) == ErrorCode.LEADER_NOT_AVAILABLE


def test_the_next_controller_is_asked_once_the_view_names_it(rig, controllers):
    follow(rig, OTHER, *controllers)
    first = ask(rig)
    turn_until(rig, controllers, lambda: controllers[0].requests)
    follow(rig, OTHER + 1, *controllers)
    ask(rig)
    turn_until(rig, controllers, lambda: controllers[1].requests)
    assert told(first) == ErrorCode.LEADER_NOT_AVAILABLE  # of the earlier one nothing is waited for
    turn_until(rig, controllers, lambda: controllers[0].session.is_over)


def test_more_than_may_wait_are_told_at_once(rig, controllers):
    follow(rig, OTHER, controllers[0])
    clients = []
    for index in range(PEER_REQUESTS_MAX + 1):
        clients.append(ask(rig, f"new{index}"))
        rig.turn()
    turn_until(rig, (), lambda: sum(bool(one.exchanges) for one in rig.connections) == PEER_REQUESTS_MAX)
    turn_until(rig, controllers, lambda: len(controllers[0].requests) == PEER_REQUESTS_MAX)
    assert len(clients) == len(rig.connections)


def test_a_worker_that_ends_leaves_no_connection(rig, controllers):
    follow(rig, OTHER, controllers[0])
    ask(rig)
    turn_until(rig, controllers, lambda: controllers[0].requests)
    rig.loop.drain()
    rig.loop.close()

    def is_over():
        controllers[0].pump()
        return controllers[0].session.is_over

    wait_until(is_over)


def test_a_worker_sleeps_no_longer_than_until_the_controller_is_late(rig, controllers):
    follow(rig, OTHER, controllers[0])
    ask(rig)
    turn_until(rig, controllers, lambda: controllers[0].requests)
    rig.clock.ms += CREATE_TIMEOUT_MS + ANSWER_EXTRA_MS - 5
    assert rig.loop.sleep_bound_ms() <= 5
