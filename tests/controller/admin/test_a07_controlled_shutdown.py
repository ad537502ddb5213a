"""A broker asks to go: who leads then, what it is told, what is left."""

import pytest

from headrace.controller.active.leaders.controlled_shutdown import HEARD_POLL_MS, shut_down
from headrace.controller.admin import a07_controlled_shutdown
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.limits import LEADERS_TOLD_MS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request

EPOCH = 1  # of the first controller


def register(ensemble, *brokers):
    for broker in brokers:
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("127.0.0.1", 9092, None, 0))


def state_of(ensemble, name, index):
    path = znodes.state_path(name, index)
    node = ensemble.nodes[path]
    return znodes.decode_state(path, node.data, node.version)


def ask(node, broker, epoch=-1, version=3):
    request = messages.ControlledShutdownRequest(broker_id=broker, broker_epoch=epoch)
    body = bytes(encode_request(ApiKey.CONTROLLED_SHUTDOWN, version, request))
    pending = node.handle(a07_controlled_shutdown.handle, version, memoryview(body))
    answer = decode_response(ApiKey.CONTROLLED_SHUTDOWN, version, memoryview(node.answer(pending)))
    left = sorted((row.topic_name, row.partition_index) for row in answer.remaining_partitions)
    return ErrorCode(answer.error_code), left


@pytest.fixture
def node(new_node, ensemble):
    """Active, beside three other brokers."""
    register(ensemble, 1, 2, 3)
    node = new_node(0)
    node.turn()
    return node


def create(node, *replicas, name="t"):
    node.create(name, tuple(replicas))
    node.turn()
    node.channels.told.clear()


@pytest.mark.parametrize("version", range(4))
def test_others_lead_and_the_isr_is_without_the_broker_that_goes(node, ensemble, version):
    create(node, (1, 2, 3), (2, 1, 3), (2, 3), (1,))
    assert ask(node, 1, version=version) == (ErrorCode.NONE, [])
    assert state_of(ensemble, "t", 0) == PartitionState(2, 1, (2, 3), EPOCH, 1)
    assert state_of(ensemble, "t", 1) == PartitionState(2, 1, (2, 3), EPOCH, 1)
    assert state_of(ensemble, "t", 2) == PartitionState(2, 0, (2, 3), EPOCH, 0)
    assert state_of(ensemble, "t", 3) == PartitionState(1, 0, (1,), EPOCH, 0)  # it has nowhere to go
    assert node.channels.of("leaders") == [("t", [0], None, False), ("t", [1], (2, 3), False)]
    assert [stop[:5] for stop in node.channels.of("stop")] == [(1, "t", 1, 0, False)]  # its files stay


def test_what_nobody_else_is_in_sync_for_is_left_and_told_again(node, ensemble):
    create(node, (1, 2), (1, 2))
    path = znodes.state_path("t", 0)
    ensemble.put(path, znodes.encode_state(state_of(ensemble, "t", 0)._replace(isr=(1,))))
    node.react(znodes.topic_path("t"))
    assert ask(node, 1) == (ErrorCode.NONE, [("t", 0)])
    assert state_of(ensemble, "t", 0)[:3] == (1, 0, (1,))
    writes = ensemble.writes
    assert ask(node, 1) == (ErrorCode.NONE, [("t", 0)])
    assert ensemble.writes == writes
    ensemble.put(path, znodes.encode_state(state_of(ensemble, "t", 0)._replace(isr=(1, 2))))
    node.react(znodes.topic_path("t"))
    assert ask(node, 1) == (ErrorCode.NONE, [])
    assert state_of(ensemble, "t", 0)[:3] == (2, 1, (2,))


def test_brokers_that_go_leave_nothing_to_one_another(node, ensemble):
    create(node, (1, 2, 3))
    assert ask(node, 1) == (ErrorCode.NONE, [])
    assert ask(node, 2) == (ErrorCode.NONE, [])
    assert state_of(ensemble, "t", 0)[:3] == (3, 2, (3,))


def test_a_broker_that_is_about_to_go_leads_nothing_new_until_it_starts_again(node, ensemble):
    create(node, (2, 1))
    assert ask(node, 1) == (ErrorCode.NONE, [])
    path = znodes.state_path("t", 0)
    ensemble.put(
        path, znodes.encode_state(state_of(ensemble, "t", 0)._replace(isr=(1, 2)))
    )  # one that came back too soon
    node.react(znodes.topic_path("t"))
    ensemble.remove(znodes.broker_path(2))
    node.turn()
    assert state_of(ensemble, "t", 0).leader == NO_LEADER
    ensemble.remove(znodes.broker_path(1))
    node.turn()
    register(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (1, 3, (1,))


def test_a_new_topic_has_others_lead_than_a_broker_that_is_about_to_go(node, ensemble):
    assert ask(node, 1) == (ErrorCode.NONE, [])
    create(node, (1, 2), (2, 1), name="new")
    assert state_of(ensemble, "new", 0)[:3] == (2, 0, (2,))
    assert state_of(ensemble, "new", 1)[:3] == (2, 0, (2,))


@pytest.mark.parametrize("is_answered", [True, False])
def test_who_goes_waits_until_the_others_lead(node, is_answered):
    """The active node itself said that its leaders were moved, closed its 10,000 logs, and nobody led for ten seconds."""
    create(node, (1, 2, 3))
    answered = []
    node.channels.unheard = {1: lambda: False, 2: lambda: bool(answered)}  # who goes is not waited for
    task = node.tasks.start(shut_down(node.active.term, 1, NO_EPOCH))
    while node.tasks.run(1_000):
        pass
    assert not task.is_done
    assert node.known.topics["t"].states[0].leader == 2
    if is_answered:
        answered.append(2)
    begun_ms = node.now_ms
    node.settle()
    assert task.result() == []
    assert node.now_ms - begun_ms <= (HEARD_POLL_MS if is_answered else 2 * LEADERS_TOLD_MS_MAX)


def test_who_comes_back_while_the_others_are_waited_for_is_not_stopped(node, ensemble):
    """It was told to stop following, and nobody ever told it to go on: its replicas were in no ISR until it started again."""
    create(node, (1, 2, 3), (2, 1, 3))
    node.channels.unheard = {2: lambda: False}
    task = node.tasks.start(shut_down(node.active.term, 1, NO_EPOCH), lambda _task: None)
    while node.tasks.run(1_000):
        pass
    ensemble.remove(znodes.broker_path(1))
    register(ensemble, 1)
    node.agent.note(node.zk.take_changes())
    node.agent.follow()
    while node.tasks.run(1_000):
        pass
    node.settle()
    assert isinstance(task.failure, KafkaError)
    assert task.failure.code is ErrorCode.STALE_BROKER_EPOCH
    kinds = [notice[0] for notice in node.channels.told]
    came = len(kinds) - kinds[::-1].index("changed")
    assert "stop" not in kinds[came:], "it is told everything when it comes"
    assert node.active.term.liveness.shutting_down == set()


def test_a_broker_epoch_of_before_is_refused(node, ensemble):
    create(node, (1, 2))
    epoch = node.known.brokers[1].epoch
    assert ask(node, 1, epoch - 1) == (ErrorCode.STALE_BROKER_EPOCH, [])
    assert ask(node, 9) == (ErrorCode.BROKER_NOT_AVAILABLE, [])
    assert state_of(ensemble, "t", 0)[:3] == (1, 0, (1, 2))
    assert node.active.term.liveness.shutting_down == set()
    assert ask(node, 1, epoch) == (ErrorCode.NONE, [])


def test_a_topic_that_is_being_deleted_holds_up_nobody(node, ensemble):
    create(node, (1, 2))
    node.run(node.active.mark("t"))
    node.active.begin_deletion("t", "")
    assert ask(node, 1) == (ErrorCode.NONE, [])
    assert state_of(ensemble, "t", 0)[:3] == (1, 0, (1, 2))


def test_who_is_not_the_controller_says_so(node, new_node, ensemble):
    create(node, (1, 2))
    other = new_node(4)
    assert ask(other, 1) == (ErrorCode.NOT_CONTROLLER, [])
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    assert ask(node, 1) == (ErrorCode.NOT_CONTROLLER, [])  # it has not heard of that
    assert state_of(ensemble, "t", 0)[:3] == (1, 0, (1, 2))
