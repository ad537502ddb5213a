import pytest

from headrace.controller.admin import a37_create_partitions
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request

Request = messages.CreatePartitionsRequest


def wish(name, count, assignments=None):
    rows = None
    if assignments is not None:
        rows = [Request.CreatePartitionsAssignment(broker_ids=list(row)) for row in assignments]
    return Request.CreatePartitionsTopic(name=name, count=count, assignments=rows)


def ask(node, *topics, version=3, validate_only=False, timeout_ms=1000):
    request = Request(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)
    body = encode_request(ApiKey.CREATE_PARTITIONS, version, request)
    return node.handle(a37_create_partitions.handle, version, memoryview(bytes(body)))


def codes(node, *topics, version=3, **options):
    waiting = ask(node, *topics, version=version, **options)
    node.owner.follow()
    body = waiting.poll(0)
    assert body is not None
    response = decode_response(ApiKey.CREATE_PARTITIONS, version, memoryview(body))
    return {row.name: ErrorCode(row.error_code) for row in response.results}


def make(node, name, partitions=1):
    node.create(name, ((node.known.node_id,),) * partitions, {})
    node.publish()
    node.owner.follow()


@pytest.mark.parametrize("version", range(4))
def test_every_version_is_answered_once_the_partitions_are_served(new_node, version):
    node = new_node()
    make(node, "t")
    waiting = ask(node, wish("t", 3), version=version)
    assert waiting.poll(0) is None
    node.owner.follow()
    body = waiting.poll(0)
    [row] = decode_response(ApiKey.CREATE_PARTITIONS, version, memoryview(body)).results
    assert (row.name, row.error_code) == ("t", 0)
    assert sorted(node.owner.directories) == ["t-0", "t-1", "t-2"]


def test_topics_of_a_request_fail_by_themselves(new_node):
    node = new_node()
    for name in ("good", "small", "twice", "manual", "wrong"):
        make(node, name, 2)
    assert codes(
        node,
        wish("good", 3),
        wish("small", 2),
        wish("absent", 3),
        wish("twice", 3),
        wish("twice", 4),
        wish("manual", 3, [[0]]),
        wish("wrong", 3, [[7]]),
    ) == {
        "good": ErrorCode.NONE,
        "small": ErrorCode.INVALID_PARTITIONS,
        "absent": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "twice": ErrorCode.INVALID_REQUEST,
        "manual": ErrorCode.NONE,
        "wrong": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    }
    assert {name: len(topic.partitions) for name, topic in node.view.topics.items()} == {
        "good": 3,
        "small": 2,
        "twice": 2,
        "manual": 3,
        "wrong": 2,
    }


def test_validate_only_adds_nothing(new_node, ensemble):
    node = new_node()
    make(node, "t")
    writes = ensemble.writes
    assert codes(node, wish("t", 2), validate_only=True) == {"t": ErrorCode.NONE}
    assert ensemble.writes == writes


def test_a_topic_on_its_way_out_does_not_grow(new_node):
    node = new_node()
    make(node, "t")
    node.run(node.active.mark("t"))
    node.active.begin_deletion("t", "")
    assert codes(node, wish("t", 2)) == {"t": ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_the_deadline_says_timed_out(new_node):
    node = new_node()
    make(node, "t")
    waiting = ask(node, wish("t", 2), timeout_ms=10)
    response = decode_response(ApiKey.CREATE_PARTITIONS, 3, memoryview(waiting.poll(10)))
    assert response.results[0].error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_follower_and_a_zombie_say_not_controller(new_node, ensemble):
    node = new_node(0)
    make(node, "t")
    assert codes(new_node(1), wish("t", 2)) == {"t": ErrorCode.NOT_CONTROLLER}
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    assert codes(node, wish("t", 2)) == {"t": ErrorCode.NOT_CONTROLLER}


def test_a_growth_whose_reply_was_lost_is_served_all_the_same(new_node, ensemble):
    node = new_node()
    make(node, "t")

    def lose(_ordinal):
        raise ZkLost("no reply")

    ensemble.after_write = lose
    assert codes(node, wish("t", 2)) == {"t": ErrorCode.REQUEST_TIMED_OUT}
    ensemble.after_write = lambda _ordinal: None
    node.run(node.agent.load())  # a lost connection ends in this
    node.turn()
    assert len(node.view.topics["t"].partitions) == 2


def test_the_partitions_of_a_request_are_bounded_in_all(new_node):
    node = new_node()
    for name in "abc":
        make(node, name)
    wishes = [wish(name, 60_000) for name in "abc"]
    assert list(codes(node, *wishes, validate_only=True).values()) == [
        ErrorCode.NONE,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.POLICY_VIOLATION,
    ]
