"""Orders of calls and replies that are rare by lot: what moved over an await, and who notices."""

import pytest

from headrace.controller.active.topics import reconciliation
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from tests.controller.gate import Gate


def begin(node, procedure):
    """Start a procedure, up to its first call."""
    task = node.tasks.start(procedure, lambda _task: None)
    node.tasks.run(1_000)
    return task


def follow(node, path):
    node.agent.note([path])
    node.agent.follow()
    node.tasks.run(1_000)


def put_topic(ensemble, name, replicas=((0,),)):
    ensemble.put(znodes.topic_path(name), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), replicas)))


def state_of(ensemble, name, index=0):
    path = znodes.state_path(name, index)
    return znodes.decode_state(path, ensemble.data(path), ensemble.nodes[path].version)


def test_a_topic_that_is_made_while_an_older_list_of_names_is_followed_is_not_missing(new_node, ensemble):
    node = new_node()
    put_topic(ensemble, "by-hand")
    gate = Gate(node)
    follow(node, znodes.TOPICS)
    gate.answer(2)  # marks, names
    created = begin(node, node.active.create("t", ((0,),), {}))
    while not created.is_done:
        gate.answer()
    gate.open()
    assert node.known.releases == 0
    node.turn()
    assert sorted(node.view.topics) == ["by-hand", "t"]
    assert node.known.releases == 0


def test_a_mark_that_was_read_before_its_topic_went_does_not_delete_the_next_one_of_that_name(new_node, ensemble):
    node = new_node()
    node.create("t")
    node.turn()
    put_topic(ensemble, "by-hand")
    node.run(node.active.mark("t"))
    node.zk.take_changes()
    gate = Gate(node)
    follow(node, znodes.TOPICS)
    gate.answer(2)  # marks, names
    late = gate.hold()
    node.active.begin_deletion("t", "")
    for _ in range(5):
        node.publish()
        node.owner.follow()
        node.agent.settle()
        node.tasks.run(1_000)
    assert znodes.delete_topic_path("t") not in ensemble.nodes
    new = node.run(node.active.create("t", ((0,),), {}))
    late()
    node.settle()
    node.turn()
    assert node.view.topics["t"].topic_id == new
    assert znodes.topic_path("t") in ensemble.nodes
    assert "by-hand" in node.view.topics


def test_a_topic_that_is_being_made_is_not_taken_from_a_list_of_names(new_node, ensemble, monkeypatch):
    """It stands in ZooKeeper, but not yet all of its states."""
    monkeypatch.setattr(reconciliation, "PARTITIONS_PER_COMMIT", 1)
    node = new_node()
    gate = Gate(node)
    created = begin(node, node.active.create("t", ((0,),) * 3, {}))
    gate.answer(2)  # overrides, the first of three transactions
    assert znodes.topic_path("t") in ensemble.nodes
    follow(node, znodes.TOPICS)
    gate.open()
    assert created.result() == node.known.topics["t"].topic_id
    assert not node.known.missing


def test_a_state_that_we_wrote_while_older_ones_were_read_stands(new_node, ensemble):
    node = new_node()
    other = ensemble.session()
    ensemble.run(other.create(znodes.broker_path(1), znodes.encode_broker("b", 1, None, 0), is_ephemeral=True))
    node.turn()
    node.create("t", ((1, 0),))
    topic = node.known.topics["t"]
    node.settle()
    gate = Gate(node)
    begin(node, node.agent._reader.load_states([topic]))
    [late] = gate.carry_out()  # what was read is on its way
    other.expire()
    follow(node, znodes.BROKER_IDS)
    while state_of(ensemble, "t").leader != 0 or topic.states[0].leader != 0:
        gate.answer()
    late()
    gate.open()
    assert topic.states[0] == state_of(ensemble, "t")
    assert (topic.states[0].leader, topic.states[0].leader_epoch) == (0, 1)


def test_a_deletion_of_a_topic_that_is_growing_begins_when_it_has_grown(new_node, ensemble, monkeypatch):
    monkeypatch.setattr(reconciliation, "PARTITIONS_PER_COMMIT", 1)
    node = new_node()
    node.create("t")
    node.turn()
    gate = Gate(node)
    grown = begin(node, node.active.grow(node.known.topics["t"], ((0,),) * 9))
    gate.answer(2)  # its node, the first of eight transactions
    ensemble.put(znodes.delete_topic_path("t"))
    node.zk.take_changes()
    follow(node, znodes.DELETE_TOPICS)
    gate.answer(6)  # of both in turn
    assert node.agent._departures.marked == {"t"}
    assert not grown.is_done
    assert "t" in node.known.topics
    gate.open()
    assert grown.result() is None
    node.turn()
    assert znodes.topic_path("t") not in ensemble.nodes
    assert not node.owner.directories
    assert node.view.topics == {}


def test_a_broker_that_dies_while_a_topic_is_made_leads_nothing_of_it(new_node, ensemble, monkeypatch):
    monkeypatch.setattr(reconciliation, "PARTITIONS_PER_COMMIT", 1)
    node = new_node()
    other = ensemble.session()
    ensemble.run(other.create(znodes.broker_path(1), znodes.encode_broker("b", 1, None, 0), is_ephemeral=True))
    node.turn()
    gate = Gate(node)
    created = begin(node, node.active.create("t", ((1, 0), (1, 0)), {}))
    gate.answer()  # overrides
    other.expire()
    follow(node, znodes.BROKER_IDS)
    gate.answer(2)  # the first of two transactions, who is alive
    assert node.known.live() == [0]
    assert not created.is_done
    gate.open()
    assert created.is_done
    node.turn()
    assert [state_of(ensemble, "t", index).leader for index in range(2)] == [0, 0]


def test_what_is_read_of_a_topic_that_went_meanwhile_is_nobody_s(new_node, ensemble):
    node = new_node()
    old = node.create("t")
    node.turn()
    topic = node.known.topics["t"]
    gate = Gate(node)
    begin(node, node.agent._reader.load_states([topic]))
    [late] = gate.carry_out()
    node.zk.ensemble.gate = None
    node.run(node.active.mark("t"))
    node.active.begin_deletion("t", "")
    node.publish()
    for _ in range(5):
        node.owner.follow()
        node.agent.settle()
        node.tasks.run(1_000)
        node.publish()
    new = node.run(node.active.create("t", ((0,), (0,)), {}))
    late()
    node.turn()
    assert new != old
    assert len(node.view.topics["t"].partitions) == 2
    assert node.known.topics["t"].states[1] is not None


def test_requests_for_one_name_are_one_after_the_other(new_node, ensemble):
    node = new_node()
    gate = Gate(node)

    async def create():
        await node.active.wait_free("t")
        node.known.names.check("t")
        return await node.active.create("t", ((0,),), {})

    first, second, third = (begin(node, create()) for _ in range(3))
    gate.answer()  # overrides
    gate.lose(is_done=False)
    assert isinstance(first.failure, ZkLost)
    gate.open()
    assert second.result() == node.known.topics["t"].topic_id
    assert "already exists" in str(third.failure)
    assert node.known.reserved == {}


def test_a_topic_whose_reply_was_lost_is_found_though_the_names_were_read_before(new_node, ensemble):
    node = new_node()
    gate = Gate(node)
    created = begin(node, node.active.create("t", ((0,),), {}))
    gate.answer()  # overrides
    [_reply] = gate.carry_out()
    node.zk.take_changes()
    follow(node, znodes.TOPICS)
    gate.answer(2)  # marks, names
    assert not len(node.known.topics)
    created.cancel(ZkLost("no reply"))
    gate.open()
    assert isinstance(created.failure, ZkLost)
    node.turn()
    assert sorted(node.owner.directories) == ["t-0"]


def test_a_session_that_ends_ends_what_was_asked_in_it(new_node, ensemble):
    """What an old session's task read is not taken into the new one."""
    node = new_node()
    node.create("t")
    node.turn()
    gate = Gate(node)
    ensemble.remove(znodes.topic_path("t"))
    follow(node, znodes.TOPICS)
    replies = gate.carry_out()
    node.agent.leave()
    node.tasks.cancel(ZkLost("the session has ended"))
    for reply in replies:
        reply()
    node.tasks.run(1_000)
    assert len(node.tasks) == 0
    assert len(gate) == 0, "it asked no more"
    assert "t" in node.known.topics


@pytest.mark.parametrize("states", [1, 2])
def test_where_the_reply_of_first_states_is_lost_they_are_read_and_not_written_again_and_again(
    new_node, ensemble, states
):
    node = new_node()
    put_topic(ensemble, "t", ((0,),) * states)
    struck = []

    def lose(_ordinal):
        if not struck:
            struck.append(1)
            raise ZkLost("no reply")

    ensemble.after_write = lose
    node.turn()
    writes = ensemble.writes
    node.turn()
    assert ensemble.writes == writes
    assert writes < 60
    assert node.view.topics["t"].partitions[states - 1].leader == 0
    assert state_of(ensemble, "t") == PartitionState(0, 0, (0,), node.agent.election.epoch, 0)
