"""ISRs written by their leader: lost replies, conflicts, when the controller hears of it."""

import json

import pytest

from headrace.controller.agent import isr_writer
from headrace.controller.agent.isr_changes import IsrChange
from headrace.controller.agent.isr_writer import LINGER_MS, IsrWriter
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import ErrorCode
from headrace.limits import ISR_NOTICE_MS_MAX, ISR_NOTICE_PARTITIONS_MAX
from tests.controller.admin.told import Controller


@pytest.fixture
def controller(ensemble):
    return Controller(ensemble)


@pytest.fixture
def node(new_node, controller):
    node = new_node()
    node.topic_id = controller.put_topic("t", ((0, 7),) * 2, {i: controller.state(0, 4, (0, 7)) for i in (0, 1)})
    node.turn()
    node.writer = IsrWriter(node.zk, node.tasks, lambda: node.now_ms)
    return node


def change(node, controller, index=0, isr=(0,), version=0):
    return IsrChange("t", node.topic_id, index, controller.state(0, 4, isr, version), (-1,) * len(isr))


def stored(ensemble, index=0):
    path = znodes.state_path("t", index)
    node = ensemble.nodes[path]
    return znodes.decode_state(path, node.data, node.version)


def notifications(ensemble):
    paths = sorted(path for path in ensemble.nodes if path.startswith(f"{znodes.ISR_CHANGES}/"))
    return [json.loads(ensemble.data(path)) for path in paths]


def test_a_leader_writes_the_isr_and_leaves_everything_else_as_it_is(node, controller, ensemble):
    controller.epoch = 99
    outcomes = node.run(node.writer.alter([change(node, controller), change(node, controller, 1)]))
    assert outcomes == [controller.state(0, 4, (0,), 1)] * 2
    assert stored(ensemble) == controller.state(0, 4, (0,), 1)


def test_what_somebody_else_wrote_is_not_overwritten(node, controller, ensemble):
    controller.put_state("t", 0, controller.state(7, 5, (7,)))
    outcomes = node.run(node.writer.alter([change(node, controller), change(node, controller, 1)]))
    assert outcomes == [ErrorCode.INVALID_UPDATE_VERSION, controller.state(0, 4, (0,), 1)]
    assert stored(ensemble).leader == 7


def test_a_write_whose_reply_was_lost_is_found_done(node, controller, ensemble):
    def lose(_ordinal):
        raise ZkLost("no reply")

    ensemble.after_write = lose
    assert node.run(node.writer.alter([change(node, controller)])) == [ErrorCode.REQUEST_TIMED_OUT]
    ensemble.after_write = lambda _ordinal: None
    assert stored(ensemble).version == 1
    assert node.run(node.writer.alter([change(node, controller)])) == [controller.state(0, 4, (0,), 1)]
    assert stored(ensemble).version == 1


def test_what_a_process_that_was_killed_has_not_told_the_next_one_tells(node, controller, ensemble):
    """Seen once in 1,000 faults: an ISR was whole again, its leader's controller process killed, and Metadata missed a member for ever."""
    topic_id = controller.put_topic(
        "other", ((0, 7), (7, 0)), {0: controller.state(0, 4, (0,)), 1: controller.state(7, 4, (7,))}
    )
    node.turn()
    assert node.run(node.writer.alter([change(node, controller)]))
    node.turn()
    writer = IsrWriter(node.zk, node.tasks, lambda: node.now_ms)
    writer.owe(node.known)
    node.now_ms += LINGER_MS
    assert writer.tell()
    node.turn()
    (note,) = notifications(ensemble)
    told = [(row["topic"], row["partition"]) for row in note["partitions"]]
    assert told == [("other", 0), ("t", 0), ("t", 1)]
    assert topic_id


def test_a_note_of_many_partitions_fits_a_node(node, controller, ensemble, monkeypatch):
    monkeypatch.setattr(isr_writer, "ISR_NOTICE_PARTITIONS_MAX", 1)
    node.run(node.writer.alter([change(node, controller), change(node, controller, 1)]))
    node.now_ms += LINGER_MS
    assert node.writer.tell()
    node.turn()
    assert [note["partitions"] for note in notifications(ensemble)] == [
        [{"topic": "t", "partition": 0}],
        [{"topic": "t", "partition": 1}],
    ]
    longest = [("x" * 249, index) for index in range(ISR_NOTICE_PARTITIONS_MAX)]
    assert len(znodes.encode_isr_change(longest)) < 1 << 20


def test_the_controller_hears_of_many_changes_at_once_when_they_have_ceased(node, controller, ensemble):
    node.run(node.writer.alter([change(node, controller)]))
    node.now_ms += LINGER_MS - 1
    node.run(node.writer.alter([change(node, controller, 1)]))
    assert not node.writer.tell()
    node.now_ms += LINGER_MS - 1
    assert not node.writer.tell()
    node.now_ms += 1
    assert node.writer.next_ms == node.now_ms
    assert node.writer.tell()
    node.settle()
    rows = [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
    assert notifications(ensemble) == [{"version": 1, "partitions": rows}]
    assert node.writer.next_ms is None


def test_changes_that_never_cease_are_told_after_a_minute(node, controller, ensemble):
    begun_ms = node.now_ms
    version = 0
    while not node.writer.tell():
        assert node.now_ms <= begun_ms + ISR_NOTICE_MS_MAX
        isr = (0,) if version % 2 == 0 else (0, 7)
        node.run(node.writer.alter([change(node, controller, 0, isr, version)]))
        version += 1
        node.now_ms += LINGER_MS // 2
    assert node.now_ms >= begun_ms + ISR_NOTICE_MS_MAX


def test_what_could_not_be_told_is_told_later(node, controller, ensemble):
    node.run(node.writer.alter([change(node, controller)]))
    node.now_ms += LINGER_MS
    node.zk.is_connected = False
    assert node.writer.tell()
    node.settle()
    assert not notifications(ensemble)
    node.zk.is_connected = True
    node.now_ms += LINGER_MS
    assert node.writer.tell()
    node.settle()
    assert len(notifications(ensemble)) == 1


def test_a_fence_moves_the_version_and_the_controller_hears_of_it_in_the_same_write(node, controller, ensemble):
    """A process that is killed right after it has left the note as well."""
    before, data = stored(ensemble), ensemble.data(znodes.state_path("t", 0))
    writes = ensemble.writes
    [outcome] = node.run(node.writer.fence([change(node, controller, isr=before.isr, version=before.version)]))
    assert ensemble.writes == writes + 1
    assert outcome.version == before.version + 1
    assert stored(ensemble).version == before.version + 1
    assert ensemble.data(znodes.state_path("t", 0)) == data
    [note] = notifications(ensemble)
    assert note["partitions"] == [{"topic": "t", "partition": 0}]
    assert node.writer.next_ms is None


def test_fences_share_a_note_and_one_that_conflicts_keeps_no_other_back(node, controller, ensemble):
    isr = (0, 7)
    controller.put_state("t", 0, controller.state(7, 5, (7,)))
    both = [change(node, controller, index, isr) for index in (0, 1)]
    outcomes = node.run(node.writer.fence(both))
    assert outcomes == [ErrorCode.INVALID_UPDATE_VERSION, controller.state(0, 4, isr, 1)]
    assert [note["partitions"] for note in notifications(ensemble)] == [[{"topic": "t", "partition": 1}]]
    again = [change(node, controller, 1, isr, 1), change(node, controller, 0, isr)._replace(state=stored(ensemble))]
    assert [outcome.version for outcome in node.run(node.writer.fence(again))] == [2, 2]
    assert len(notifications(ensemble)) == 2


def test_a_fence_whose_reply_was_lost_is_found_done(node, controller, ensemble):
    def lose(_ordinal):
        raise ZkLost("no reply")

    fence = [change(node, controller, isr=(0, 7))]
    ensemble.after_write = lose
    assert node.run(node.writer.fence(fence)) == [ErrorCode.REQUEST_TIMED_OUT]
    ensemble.after_write = lambda _ordinal: None
    assert node.run(node.writer.fence(fence)) == [controller.state(0, 4, (0, 7), 1)]
    assert stored(ensemble).version == 1
    assert len(notifications(ensemble)) == 1


def test_a_state_that_is_gone_is_not_fenced(node, controller, ensemble):
    fence = [change(node, controller, isr=(0, 7))]
    ensemble.remove(znodes.state_path("t", 0))
    assert node.run(node.writer.fence(fence)) == [ErrorCode.INVALID_UPDATE_VERSION]
