import copy

import pytest

from headrace.controller.active.reservations import Future
from headrace.controller.admin import a20_delete_topics
from headrace.controller.zookeeper import znodes
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request

VERSION = 5


def make(node, name):
    node.create(name, ((0,),), {})
    node.publish()
    node.owner.follow()


def ask(node, *names, version=VERSION, timeout_ms=1000):
    request = messages.DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)
    body = encode_request(ApiKey.DELETE_TOPICS, version, request)
    return node.handle(a20_delete_topics.handle, version, memoryview(bytes(body)))


def codes(waiting, now_ms=0, version=VERSION):
    body = waiting.poll(now_ms)
    assert body is not None
    response = decode_response(ApiKey.DELETE_TOPICS, version, memoryview(body))
    return {row.name: ErrorCode(row.error_code) for row in response.responses}


@pytest.mark.parametrize("version", range(6))
def test_the_answer_comes_once_files_and_znodes_are_gone(new_node, ensemble, version):
    node = new_node()
    make(node, "t")
    waiting = ask(node, "t", version=version)
    assert waiting.poll(0) is None
    node.turn()
    assert codes(waiting, version=version) == {"t": ErrorCode.NONE}
    assert znodes.topic_path("t") not in ensemble.nodes


def test_the_mark_comes_before_everything_else(new_node, ensemble):
    node = new_node()
    make(node, "t")
    writes = []
    ensemble.after_write = lambda _ordinal: writes.append(znodes.delete_topic_path("t") in ensemble.nodes)
    ask(node, "t")
    assert writes == [True]


def test_at_the_deadline_the_deletion_goes_on_without_the_client(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.owner.is_deaf = True
    assert codes(ask(node, "t", timeout_ms=5), 5) == {"t": ErrorCode.REQUEST_TIMED_OUT}
    node.owner.is_deaf = False
    node.turn()
    assert znodes.topic_path("t") not in ensemble.nodes


def test_an_unknown_topic_fails_by_itself(new_node):
    node = new_node()
    make(node, "t")
    waiting = ask(node, "t", "ghost", "t")
    node.turn()
    assert codes(waiting) == {"t": ErrorCode.NONE, "ghost": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_topic_created_again_while_its_name_is_waited_for_is_not_deleted_by_the_old_id(new_node, monkeypatch):
    node = new_node()
    make(node, "t")
    context_active = node.context.active
    old = node.context.known.topics["t"]

    async def made_again(name):
        again = node.context.known.topics[name] = copy.copy(old)
        again.topic_id = "cd" * 16

    monkeypatch.setattr(context_active, "wait_free", made_again)
    state = messages.DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=bytes.fromhex(old.topic_id))
    request = messages.DeleteTopicsRequest(topics=[state], timeout_ms=1000)
    waiting = node.handle(
        a20_delete_topics.handle, 6, memoryview(bytes(encode_request(ApiKey.DELETE_TOPICS, 6, request)))
    )
    assert list(codes(waiting, version=6).values()) == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_deletion_can_be_switched_off(new_node):
    node = new_node(delete_topic_enable="false")
    make(node, "t")
    assert codes(ask(node, "t")) == {"t": ErrorCode.TOPIC_DELETION_DISABLED}


def test_a_follower_says_not_controller(new_node):
    new_node(0)
    assert codes(ask(new_node(1), "t")) == {"t": ErrorCode.NOT_CONTROLLER}


def test_a_zombie_says_not_controller_and_keeps_the_files(new_node, ensemble):
    node = new_node()
    make(node, "t")
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    assert codes(ask(node, "t")) == {"t": ErrorCode.NOT_CONTROLLER}
    assert node.view.doomed == ()


def test_an_office_lost_in_the_middle_leaves_the_rest_to_the_next_controller(new_node, ensemble):
    node = new_node()
    make(node, "t")
    waiting = ask(node, "t", timeout_ms=100)
    node.leave()
    node.run(node.agent.load())
    assert waiting.poll(0) is None
    node.turn()
    assert codes(waiting) == {"t": ErrorCode.NONE}


def drive(node):
    """Have everything run that waits for nothing else."""
    for _ in range(100):
        node.agent.note(node.zk.take_changes())
        node.now_ms = max(node.now_ms, node.agent.next_ms(True) or 0) + 10
        node.agent.follow()
        node.tasks.run(1_000)
        node.publish()
        node.owner.follow()
        node.agent.settle()


@pytest.mark.parametrize("version", [5, 6])
def test_a_topic_that_is_created_again_meanwhile_is_another_one(new_node, ensemble, monkeypatch, version):
    node = new_node()
    make(node, "a")
    make(node, "b")
    ids = {name: topic.topic_id for name, topic in node.known.topics.items()}
    gate, mark = Future(), node.active.mark

    async def mark_late(name):
        if name == "b":
            await gate
        await mark(name)

    monkeypatch.setattr(node.active, "mark", mark_late)
    kind = messages.DeleteTopicsRequest.DeleteTopicState
    request = messages.DeleteTopicsRequest(
        topics=[kind(name=None, topic_id=bytes.fromhex(ids[name])) for name in "ab"],
        topic_names=list("ab"),
        timeout_ms=1 << 30,
    )
    body = memoryview(bytes(encode_request(ApiKey.DELETE_TOPICS, version, request)))
    task = node.tasks.start(a20_delete_topics.handle(node.context, version, body), lambda _task: None)
    drive(node)
    assert znodes.topic_path("a") not in ensemble.nodes
    again = node.tasks.start(node.active.create("a", ((0,),), {}), lambda _task: None)
    drive(node)
    gate.complete(None)
    drive(node)
    assert codes(task.result(), version=version) == {"a": ErrorCode.NONE, "b": ErrorCode.NONE}
    assert node.known.topics["a"].topic_id == again.result()
    assert list(node.known.topics) == ["a"]
    assert znodes.topic_path("a") in ensemble.nodes


def test_a_mark_that_returns_after_its_name_is_another_s_begins_nothing(new_node):
    node = new_node()
    make(node, "t")
    node.active.begin_deletion("t", "cd" * 16)
    assert not node.active.is_deleting("t")
