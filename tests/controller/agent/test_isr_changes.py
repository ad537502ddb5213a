"""ISR changes of leaders here: what is asked of whom, what is known and shown before the answer."""

import pytest

from headrace.controller.agent.isr_changes import IsrChanges
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH
from headrace.limits import ISR_ANSWER_MS_MAX
from headrace.runtime.tasks import Future
from headrace.shm.messages import ALTER_ISR_HEADER, ALTER_ISR_KNOWN, ALTER_ISR_RESULT, ALTER_ISR_WANTED
from tests.controller.admin.told import Controller

NONE = ErrorCode.NONE


class Active:
    """The active controller of another node, as `Alter`: answers when the test says so."""

    def __init__(self):
        self.asked = []
        self.answers = []

    async def alter(self, changes):
        future = Future()
        self.asked.append(list(changes))
        self.answers.append(future)
        return await future


@pytest.fixture
def controller(ensemble):
    return Controller(ensemble)


@pytest.fixture
def node(new_node, controller):
    """It leads two partitions, with 7 as a follower."""
    node = new_node()
    states = {index: controller.state(0, 4, (0, 7)) for index in (0, 1)}
    node.topic_id = controller.put_topic("t", ((0, 7), (0, 7)), states)
    node.turn()
    node.active = Active()
    node.isr_changes = IsrChanges(
        node.known, node.zk, node.tasks, lambda: node.now_ms, node.active.alter, node.active.alter
    )
    return node


def entry(node, index=0, known=(0, 7), wanted=(0,), leader_epoch=4, epochs=None, **changes):
    row = node.view.topics["t"].partitions[index]
    slot, key = changes.get("slot", row.slot), changes.get("key", row.key)
    header = ALTER_ISR_HEADER.pack(slot, key, leader_epoch, len(known), len(wanted))
    members = (ALTER_ISR_WANTED.pack(broker, (epochs or {}).get(broker, 100 + broker)) for broker in wanted)
    return b"".join((header, *map(ALTER_ISR_KNOWN.pack, known), *members))


def ask(node, *entries):
    pending = node.isr_changes.take(memoryview(b"".join(entries)))
    node.tasks.run(1_000)
    return pending


def said(node, pending):
    """The errors, None: there is no answer yet."""
    body = pending.poll(node.now_ms)
    return None if body is None else [ErrorCode(error) for (error,) in ALTER_ISR_RESULT.iter_unpack(body)]


def answer(node, *outcomes):
    node.active.answers.pop(0).complete(outcomes)
    node.tasks.run(1_000)


def test_what_came_of_a_change_is_shown_before_it_is_answered(node, controller):
    pending = ask(node, entry(node, 0), entry(node, 1))
    [changes] = node.active.asked
    assert [(one.topic, one.topic_id, one.index) for one in changes] == [
        ("t", node.topic_id, 0),
        ("t", node.topic_id, 1),
    ]
    assert changes[0].state == controller.state(0, 4, (0,))
    assert changes[0].epochs == (100,)
    assert said(node, pending) is None
    answer(node, controller.state(0, 4, (0,), 1), ErrorCode.INELIGIBLE_REPLICA)
    assert said(node, pending) is None, "the view does not have it"
    node.publish()
    assert [row.isr for row in node.view.topics["t"].partitions] == [(0,), (0, 7)]
    assert said(node, pending) == [NONE, ErrorCode.INELIGIBLE_REPLICA]
    assert node.known.topics["t"].states[0].version == 1


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"slot": 9}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"key": 9}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"known": (0,)}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"wanted": (7,)}, ErrorCode.INVALID_REQUEST),
        ({"wanted": (0, 8)}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_what_is_not_as_the_leader_thinks_is_not_asked(node, change, error):
    assert said(node, ask(node, entry(node, **change))) == [error]
    assert not node.active.asked


def test_a_replica_that_does_not_lead_asks_nothing(node, controller):
    controller.lead(node, "t", node.topic_id, {0: controller.state(7, 5, (7, 0), 1)}, (0, 7))
    assert said(node, ask(node, entry(node, leader_epoch=5))) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert not node.active.asked


def test_a_follower_that_the_assignment_does_not_have_may_only_go(node, controller):
    """In a reassignment an ISR may have more than the replicas (KAFKA-9672)."""
    controller.update(node, "t", node.topic_id, {0: controller.state(0, 4, (0, 7, 3), 1)}, (0, 7))
    assert said(node, ask(node, entry(node, known=(0, 3, 7), wanted=(0, 3)))) == [ErrorCode.INELIGIBLE_REPLICA]
    ask(node, entry(node, known=(0, 3, 7), wanted=(0, 7)))
    assert [one.state.isr for one in node.active.asked[0]] == [(0, 7)]


def test_a_state_that_names_such_a_follower_is_fenced_as_it_is(node, controller):
    """Else what a process before this one asked for could be carried out after the leader counts it as refused."""
    controller.update(node, "t", node.topic_id, {0: controller.state(0, 4, (0, 7, 3), 1)}, (0, 7))
    ask(node, entry(node, known=(0, 3, 7), wanted=(0, 7, 3)))
    assert [one.state.isr for one in node.active.asked[0]] == [(0, 7, 3)]


def test_one_batch_is_on_its_way_and_the_second_change_of_a_partition_waits(node, controller):
    first = ask(node, entry(node))
    second = ask(node, entry(node))
    third = ask(node, entry(node, 1))
    assert len(node.active.asked) == 1
    answer(node, controller.state(0, 4, (0,), 1))
    assert [[one.index for one in changes] for changes in node.active.asked] == [[0], [1]]
    node.publish()
    assert said(node, first) == [NONE]
    assert said(node, second) == [ErrorCode.INVALID_UPDATE_VERSION], (
        "the first one was done, it acts on what was before"
    )
    answer(node, controller.state(0, 4, (0,), 1))
    node.publish()
    assert said(node, third) == [NONE]


@pytest.mark.parametrize("error", [ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FENCED_LEADER_EPOCH])
def test_a_partition_epoch_that_is_stale_is_read_again(node, controller, error):
    """KAFKA-2729: it was never, and no ISR changed any more."""
    controller.put_state("t", 0, controller.state(0, 4, (0, 7)))
    pending = ask(node, entry(node))
    answer(node, error)
    assert said(node, pending) == [error]
    ask(node, entry(node))
    assert node.active.asked[1][0].state.version == 1


def test_an_answer_that_is_older_than_what_is_known_changes_nothing(node, controller):
    pending = ask(node, entry(node))
    node.known.set_states(node.known.topics["t"], {0: controller.state(0, 4, (0, 7), 5)})  # told meanwhile
    answer(node, controller.state(0, 4, (0,), 1))
    node.publish()
    assert said(node, pending) == [NONE]
    assert node.view.topics["t"].partitions[0].isr == (0, 7)


def test_a_session_that_ends_leaves_the_outcome_unknown_and_the_next_change_is_asked(node, controller):
    pending = ask(node, entry(node, 0))
    waits = ask(node, entry(node, 0))
    node.tasks.cancel(ZkLost("the session has ended"))
    node.tasks.run(1_000)
    assert said(node, pending) == [ErrorCode.REQUEST_TIMED_OUT]
    assert len(node.active.asked) == 2
    node.active.answers.pop(0)
    answer(node, controller.state(0, 4, (0,), 1))
    node.publish()
    assert said(node, waits) == [NONE]


def test_what_the_view_does_not_have_at_the_deadline_is_unknown_to_the_leader(node, controller):
    """It would acknowledge by the ISR of before, while the controller's has one more."""
    pending = ask(node, entry(node, 0))
    answer(node, controller.state(0, 4, (0,), 1))
    assert node.known.topics["t"].states[0].isr == (0,)
    node.now_ms += ISR_ANSWER_MS_MAX
    assert said(node, pending) == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_controller_that_does_not_answer_is_not_waited_for_forever(node):
    pending = ask(node, entry(node))
    node.now_ms += ISR_ANSWER_MS_MAX
    assert said(node, pending) == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_broker_that_has_started_again_since_it_caught_up_does_not_join(node, controller, ensemble):
    """The change waited while this process was stopped; before AlterPartition v3 nobody else asks for its epoch."""
    controller.lead(node, "t", node.topic_id, {0: controller.state(0, 5, (0,), 1)}, (0, 7))
    controller.broker(7)
    epoch = node.run(node.zk.get(znodes.broker_path(7))).created_zxid
    wanted = {"known": (0,), "wanted": (0, 7), "leader_epoch": 5}
    for told in (epoch - 1, epoch + 1):
        assert said(node, ask(node, entry(node, **wanted, epochs={7: told}))) == [ErrorCode.INELIGIBLE_REPLICA]
    assert not node.active.asked
    for told in (epoch, NO_EPOCH):
        ask(node, entry(node, **wanted, epochs={7: told}))
        assert [one.state.isr for one in node.active.asked.pop()] == [(0, 7)]
        answer(node, ErrorCode.REQUEST_TIMED_OUT)
    ensemble.remove(znodes.broker_path(7))
    assert said(node, ask(node, entry(node, **wanted, epochs={7: epoch}))) == [ErrorCode.INELIGIBLE_REPLICA]


def test_a_partition_that_the_topic_has_not_any_more_has_no_isr(node, controller):
    """ZooKeeper was put back while changes waited, and while one was on its way."""
    first, second = ask(node, entry(node, 1)), ask(node, entry(node, 1))
    now = node.known.topics["t"]
    fewer = Topic("t", now.topic_id, now.replicas[:1], {}, now.states[:1])
    node.known.add(fewer)
    answer(node, controller.state(0, 4, (0,), 1))
    node.publish()
    assert said(node, first) == [NONE]
    assert said(node, second) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert len(fewer.states) == 1
