"""ISRs that leaders changed themselves, and what was told to the controller before."""

import pytest

from headrace.controller.active.term import Part
from headrace.controller.zookeeper import notifications, znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkLost
from tests.controller.gate import Gate


class Listener(Part):
    def __init__(self):
        self.heard = []

    def isrs_changed(self, name, indexes):
        self.heard.append((name, sorted(indexes)))


@pytest.fixture
def node(new_node, ensemble):
    """The active one of two brokers, with topic t of three partitions."""
    session = ensemble.session()
    data = znodes.encode_broker("b", 1, None, 0)
    ensemble.run(session.create(znodes.broker_path(1), data, is_ephemeral=True))
    node = new_node()
    node.turn()
    node.create("t", ((0, 1),) * 3, {})
    node.turn()
    node.other = session
    listen(node)
    return node


def listen(node):
    node.channels.told.clear()
    node.listener = Listener()
    node.active.term._parts.append(node.listener)
    node.active.term._begun += 1


def shrink(ensemble, index, name="t"):
    """As a leader writes it itself."""
    path = znodes.state_path(name, index)
    state = znodes.decode_state(path, ensemble.data(path), 0)
    ensemble.put(path, znodes.encode_state(state._replace(isr=(0,))))


def notify(ensemble, number, *partitions, data=None):
    path = f"{znodes.ISR_CHANGES}/isr_change_{number:010d}"
    ensemble.put(path, znodes.encode_isr_change(partitions) if data is None else data)


def left(ensemble, parent=znodes.ISR_CHANGES):
    return [path for path in ensemble.nodes if path.startswith(f"{parent}/")]


def test_a_change_is_read_told_and_its_note_removed(node, ensemble):
    for index in (0, 2):
        shrink(ensemble, index)
    notify(ensemble, 0, ("t", 0), ("t", 2))
    node.turn()
    assert [state.isr for state in node.known.topics["t"].states] == [(0,), (0, 1), (0,)]
    assert node.view.topics["t"].partitions[2].isr == (0,)
    assert node.channels.told == [("metadata", "t", [0, 2], None)]
    assert node.listener.heard == [("t", [0, 2])]
    assert left(ensemble) == []


def test_changes_are_followed_again_and_again(node, ensemble):
    for index in range(3):
        shrink(ensemble, index)
        notify(ensemble, index, ("t", index))
        node.turn()
    assert node.listener.heard == [("t", [0]), ("t", [1]), ("t", [2])]


def test_only_the_states_that_are_named_are_read(node, ensemble):
    shrink(ensemble, 0)
    shrink(ensemble, 1)
    notify(ensemble, 0, ("t", 0))
    node.turn()
    assert [state.isr for state in node.known.topics["t"].states] == [(0,), (0, 1), (0, 1)]


@pytest.mark.parametrize("data", [b"", b"{}", b'{"version":1,"partitions":[{"topic":"gone","partition":0}]}'])
def test_a_note_of_nothing_that_is_known_is_removed(node, ensemble, data):
    shrink(ensemble, 1)
    notify(ensemble, 0, data=data)
    notify(ensemble, 1, ("t", 1), ("t", 99))
    node.turn()
    assert left(ensemble) == []
    assert node.listener.heard == [("t", [1])]


def test_what_is_known_already_is_told_all_the_same(node, ensemble):
    """A leader of this node wrote it: the agent knows, other brokers do not."""
    shrink(ensemble, 1)
    node.agent.note([znodes.topic_path("t")])
    node.turn()
    assert node.known.topics["t"].states[1].isr == (0,)
    node.channels.told.clear()
    notify(ensemble, 0, ("t", 1))
    node.turn()
    assert node.channels.told == [("metadata", "t", [1], None)]
    assert node.listener.heard == [("t", [1])]
    assert left(ensemble) == []


def test_a_lost_reply_has_it_followed_again(node, ensemble):
    shrink(ensemble, 0)
    notify(ensemble, 0, ("t", 0))

    def strike(_ordinal):
        ensemble.after_write = lambda _ordinal: None
        raise ZkLost("here")

    ensemble.after_write = strike
    node.turn()
    assert left(ensemble) == []
    assert node.known.topics["t"].states[0].isr == (0,)


def test_what_comes_while_notes_are_removed_is_followed(node, ensemble):
    shrink(ensemble, 0)
    notify(ensemble, 0, ("t", 0))

    def more(_ordinal):
        ensemble.on_write = lambda _ordinal: None
        shrink(ensemble, 1)
        notify(ensemble, 1, ("t", 1))

    ensemble.on_write = more
    node.turn()
    assert node.listener.heard == [("t", [0]), ("t", [1])]
    assert left(ensemble) == []


def test_notes_of_before_are_gone_when_a_term_begins_and_what_they_said_is_known(new_node, ensemble):
    first, second = new_node(0), new_node(1)
    first.turn()
    first.create("t", ((0, 1),), {})
    first.turn()
    second.turn()
    shrink(ensemble, 0)
    first.zk.expire()  # before it read the note
    notify(ensemble, 0, ("t", 0))
    ensemble.put(f"{znodes.LOG_DIR_EVENTS}/log_dir_event_0000000000", b"{}")
    second.turn()
    assert second.agent.election.is_active
    assert left(ensemble) == left(ensemble, znodes.LOG_DIR_EVENTS) == []
    assert second.known.topics["t"].states[0].isr == (0,)


def test_notes_are_removed_before_everything_is_read(new_node, ensemble):
    """A state that is written after it was read has a note that stays: it is followed."""
    node = new_node(join=False)
    gone = []
    ensemble.put(znodes.ISR_CHANGES)
    notify(ensemble, 0, ("t", 0))
    node.zk.on_read = lambda: gone.append((not left(ensemble), znodes.TOPICS in node.zk.watched))
    node.join()
    is_gone_at_first_read = next(is_gone for is_gone, is_reading in gone if is_reading)
    assert is_gone_at_first_read


def test_a_zombie_removes_nothing(node, ensemble):
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    notify(ensemble, 0, ("t", 0))
    with pytest.raises(ControllerMoved):
        node.run(notifications.remove(node.active.term.guard, left(ensemble)))
    assert len(left(ensemble)) == 1


def test_notes_that_somebody_else_removed_hold_up_nothing(node, ensemble):
    gate = Gate(node)
    for number in range(3):
        notify(ensemble, number, ("t", number))
    paths = left(ensemble)
    task = node.tasks.start(notifications.remove(node.active.term.guard, paths), lambda _task: None)
    ensemble.remove(paths[1])
    gate.open()
    node.settle(task)
    assert task.failure is None
    assert left(ensemble) == []


def test_a_broker_that_went_is_taken_out_of_an_isr_that_its_leader_wrote_as_it_went(node, ensemble):
    """Below IBP 2.7: the leader's write came after ours. Nothing is appended, so it sees no lag, and the broker waits at its start."""
    node.other.expire()
    node.turn()
    path = znodes.state_path("t", 0)
    state = znodes.decode_state(path, ensemble.data(path), 0)
    assert state.isr == (0,)
    ensemble.put(path, znodes.encode_state(state._replace(isr=(0, 1))))
    notify(ensemble, 0, ("t", 0))
    node.turn()
    assert znodes.decode_state(path, ensemble.data(path), 0).isr == (0,)
    assert node.known.topics["t"].states[0].isr == (0,)
