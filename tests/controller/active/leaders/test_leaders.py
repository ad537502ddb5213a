"""Brokers that go and come, directories that fail: who leads then, what is written, and what brokers are told."""

import pytest

from headrace.controller.active.effects import NOBODY
from headrace.controller.active.leaders import leaders, state_changes
from headrace.controller.active.leaders.isr_alterations import WantedIsr, alter
from headrace.controller.active.leaders.isr_notifications import read_states
from headrace.controller.active.leaders.leaders import Leaders
from headrace.controller.active.leaders.replica_states import ReplicaStatus
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkLost
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.ids import NO_LEADER
from headrace.leader_eras import ERA
from tests.controller.fake_zk import Killed
from tests.controller.gate import Gate

EPOCH = 1  # of the first controller


def register(ensemble, *brokers):
    for broker in brokers:
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("127.0.0.1", 9092, None, 0))


def remove(ensemble, *brokers):
    for broker in brokers:
        ensemble.remove(znodes.broker_path(broker))


def state_of(ensemble, name, index):
    path = znodes.state_path(name, index)
    node = ensemble.nodes[path]
    return znodes.decode_state(path, node.data, node.version)


def put_state(ensemble, name, index, **changes):
    """A leader of another kind writes a state."""
    ensemble.put(
        znodes.state_path(name, index), znodes.encode_state(state_of(ensemble, name, index)._replace(**changes))
    )


def part_of(node, kind):
    [part] = [part for part in node.active.term.parts() if isinstance(part, kind)]
    return part


@pytest.fixture
def node(new_node, ensemble):
    """Active, beside three other brokers."""
    register(ensemble, 1, 2, 3)
    node = new_node(0)
    node.turn()
    return node


def create(node, *replicas, name="t", configs=None):
    node.create(name, tuple(replicas), configs)
    node.turn()
    node.channels.told.clear()


def test_the_partitions_of_a_broker_that_went_get_leaders_and_the_others_a_smaller_isr(node, ensemble):
    create(node, (1, 2, 3), (2, 1, 3), (2, 3))
    writes = ensemble.writes
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0) == PartitionState(2, 1, (2, 3), EPOCH, 1)
    assert state_of(ensemble, "t", 1) == PartitionState(2, 1, (2, 3), EPOCH, 1)
    assert state_of(ensemble, "t", 2) == PartitionState(2, 0, (2, 3), EPOCH, 0)
    assert ensemble.writes == writes + 2  # the elections in one transaction, the ISRs in another
    assert node.channels.of("leaders") == [("t", [0], None, False), ("t", [1], (2, 3), False)]
    assert not node.channels.of("stop")  # nobody is there to take it
    assert ("t", None, None) in node.channels.of("metadata")


def test_where_nobody_in_sync_lives_the_last_members_stay_in_the_isr(node, ensemble):
    create(node, (1, 2), (1,))
    put_state(ensemble, "t", 0, isr=(1,))
    node.react(znodes.topic_path("t"))
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (NO_LEADER, 1, (1,))
    assert state_of(ensemble, "t", 1)[:3] == (NO_LEADER, 1, (1,))
    writes = ensemble.writes
    node.active.take(events.TopicsRead(("t",)))
    node.turn()
    assert ensemble.writes == writes  # it says so already
    register(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (1, 2, (1,))
    assert state_of(ensemble, "t", 1)[:3] == (1, 2, (1,))


def test_a_replica_that_is_released_by_a_state_that_the_controller_has_not_read_yet_is_online(node, ensemble):
    """Its broker wrote it (decision 015), and answers the request of the state before: the note of it comes later."""
    create(node, (1, 2))
    part = part_of(node, Leaders)
    for broker in (1, 2):
        part.leaders_answered(broker, {("t", 0): ErrorCode.KAFKA_STORAGE_ERROR})
    node.turn()
    assert state_of(ensemble, "t", 0).leader == NO_LEADER
    part.leaders_answered(2, {("t", 0): ErrorCode.STALE_CONTROLLER_EPOCH})
    put_state(ensemble, "t", 0, leader=NO_LEADER, leader_epoch=ERA, isr=(2,))
    node.run(read_states(node.active.term, [("t", 0)]))
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, ERA + 1, (2,))


def test_brokers_that_go_at_once_all_stay_in_an_isr_of_theirs(node, ensemble):
    create(node, (1, 2), (1, 2, 3))
    remove(ensemble, 1, 2)
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (NO_LEADER, 1, (1, 2))
    assert state_of(ensemble, "t", 1)[:3] == (3, 1, (3,))
    register(ensemble, 2)
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, 2, (2,))


def test_a_broker_that_was_restarted_between_two_reads_leads_no_more_and_is_out_of_sync(node, ensemble):
    """What it had not synced may be gone: in the same leader epoch followers would not notice, and it would count as in sync."""
    create(node, (1, 2, 3), (2, 1), (1,), (2, 3))
    remove(ensemble, 1)
    register(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, 1, (2, 3))
    assert state_of(ensemble, "t", 1)[:3] == (2, 1, (2,))
    assert state_of(ensemble, "t", 2)[:3] == (1, 2, (1,))  # nobody else has it
    assert state_of(ensemble, "t", 3)[:3] == (2, 0, (2, 3))
    told = node.channels.told
    went, came = told.index(("changed", [1], [])), told.index(("changed", [], [1]))
    elected = told.index(("leaders", "t", [0], None, False))
    assert went < elected < came, "it is told who leads by then"
    assert not node.active.term.liveness.returning


def test_a_broker_that_is_restarted_again_and_one_that_goes_for_good_meanwhile(node, ensemble):
    create(node, (1, 2), (3, 2))
    for broker in (1, 3):
        remove(ensemble, broker)
        register(ensemble, broker)
    gate = Gate(node)
    node.agent.note([znodes.BROKER_IDS])
    node.agent.follow()
    node.tasks.run(1_000)
    while not node.active.term.liveness.returning:
        gate.answer()
    release = gate.hold()
    remove(ensemble, 1, 3)
    register(ensemble, 1)
    node.agent.note([znodes.BROKER_IDS])
    node.agent.follow()
    node.tasks.run(1_000)
    release()
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, 1, (2,))
    assert state_of(ensemble, "t", 1)[:3] == (2, 1, (2,))
    assert not node.active.term.liveness.returning
    came = [come for _gone, come in node.channels.of("changed") if come]
    assert came == [[1]]


def test_what_was_told_of_topics_that_are_gone_is_forgotten(node, monkeypatch):
    monkeypatch.setattr(leaders, "TOPICS_PER_STEP", 4)
    create(node, (1, 2))
    part = part_of(node, Leaders)
    for number in range(100):
        part._told_of(Topic(f"gone-{number}", znodes.new_uuid(), ((1,),), {}, [None]))
    assert len(part._told) <= 8
    assert part._told_of(node.known.topics["t"]) == {0}


@pytest.mark.parametrize("where", ["topic", "cluster", "node"])
def test_an_unclean_election_where_it_is_allowed(new_node, ensemble, where):
    register(ensemble, 1, 2)
    if where == "cluster":
        told = znodes.encode_config({"unclean.leader.election.enable": "true"})
        ensemble.put(znodes.broker_config_path(znodes.ALL_BROKERS), told)
    changes = {"unclean_leader_election_enable": "true"} if where == "node" else {}
    node = new_node(0, **changes)
    create(node, (1, 2), configs={"unclean.leader.election.enable": "true"} if where == "topic" else {})
    if where == "cluster":
        node.known.set_settings({"unclean.leader.election.enable": "true"}, {})
    put_state(ensemble, "t", 0, isr=(1,))
    node.react(znodes.topic_path("t"))
    remove(ensemble, 1)
    node.turn()
    state = state_of(ensemble, "t", 0)
    assert (state.leader, state.isr, state.recovery) == (2, (2,), 1)


def test_a_topic_that_forbids_what_the_node_allows(new_node, ensemble):
    register(ensemble, 1, 2)
    node = new_node(0, unclean_leader_election_enable="true")
    create(node, (1, 2), configs={"unclean.leader.election.enable": "false"})
    put_state(ensemble, "t", 0, isr=(1,))
    node.react(znodes.topic_path("t"))
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0).leader == NO_LEADER


def test_an_override_that_allows_an_unclean_election_has_it_held(node, ensemble):
    create(node, (1, 2))
    put_state(ensemble, "t", 0, isr=(1,))
    node.react(znodes.topic_path("t"))
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0).leader == NO_LEADER
    path = znodes.topic_config_path("t")
    ensemble.put(path, znodes.encode_config({"unclean.leader.election.enable": "true"}))
    ensemble.put(f"{znodes.CONFIG_CHANGE_PREFIX}0000000000", znodes.encode_config_change(path))
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, ERA, (2,))


@pytest.mark.parametrize("value", ["true", "false"])
def test_so_it_does_where_it_is_allowed_for_all_brokers_while_they_run(node, ensemble, value):
    create(node, (1, 2))
    put_state(ensemble, "t", 0, isr=(1,))
    node.react(znodes.topic_path("t"))
    remove(ensemble, 1)
    node.turn()
    path = znodes.broker_config_path(znodes.ALL_BROKERS)
    ensemble.put(path, znodes.encode_config({"unclean.leader.election.enable": value}))
    ensemble.put(f"{znodes.CONFIG_CHANGE_PREFIX}0000000000", znodes.encode_config_change(path))
    node.turn()
    assert state_of(ensemble, "t", 0).leader == (2 if value == "true" else NO_LEADER)


def test_replicas_whose_directory_failed_go_offline_and_come_back_with_their_broker(node, ensemble):
    create(node, (1, 2), (2, 1), (1,))
    part = part_of(node, Leaders)
    part.leaders_answered(1, {("t", 0): ErrorCode.KAFKA_STORAGE_ERROR, ("t", 1): ErrorCode.NONE})
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, 1, (2,))
    assert state_of(ensemble, "t", 1)[:3] == (2, 0, (2, 1))
    assert state_of(ensemble, "t", 2)[:3] == (1, 0, (1,))
    assert ("t", None, None) in node.channels.of("metadata")
    part.leaders_answered(1, {("t", 1): ErrorCode.KAFKA_STORAGE_ERROR, ("t", 2): ErrorCode.KAFKA_STORAGE_ERROR})
    node.turn()
    assert state_of(ensemble, "t", 1)[:3] == (2, 1, (2,))
    assert state_of(ensemble, "t", 2)[:3] == (NO_LEADER, 1, (1,))
    assert node.active.term.failed == {1: {("t", 0), ("t", 1), ("t", 2)}}
    stops = node.channels.of("stop")
    assert [(broker, index, gone) for broker, _topic, index, _epoch, gone, _done in stops] == [
        (1, 1, False),
        (1, 2, False),
    ]
    part.leaders_answered(1, {("t", 2): ErrorCode.NONE})  # its directory was deleted or re-created
    node.turn()
    assert state_of(ensemble, "t", 2)[:3] == (1, 2, (1,))
    remove(ensemble, 1)
    node.turn()
    assert node.active.term.failed == {}


def test_a_partition_that_was_handed_over_to_a_better_replica_is_led_by_it(node, ensemble):
    create(node, (1, 2))
    part_of(node, Leaders).leaders_answered(2, {("t", 0): ErrorCode.KAFKA_STORAGE_ERROR})  # it is held there
    node.turn()
    put_state(ensemble, "t", 0, isr=(2,), leader=NO_LEADER, leader_epoch=5)
    node.react(znodes.topic_path("t"))
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (NO_LEADER, 5, (2,))
    put_state(ensemble, "t", 0, isr=(1,), leader=NO_LEADER, leader_epoch=5)
    ensemble.put(f"{znodes.ISR_CHANGE_PREFIX}0000000000", znodes.encode_isr_change([("t", 0)]))
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (1, 6, (1,))


def test_nobody_is_elected_over_a_broker_whose_log_is_ahead_of_the_state(node, ensemble):
    create(node, (1, 2, 3), (1, 2, 3))
    held = HeldReplica("", end_offset=9, end_epoch=5, parted_at=3, parted_from=1, parted_in=0)
    ensemble.put(held_znodes.held_path(2, "t"), held_znodes.encode_held({0: held}))
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (NO_LEADER, 1, (3,)), "it can't serve, and says itself who is to lead"
    assert state_of(ensemble, "t", 1)[:3] == (2, 1, (2, 3))
    put_state(ensemble, "t", 0, leader=NO_LEADER, leader_epoch=ERA, isr=(2,))  # it has compared the logs
    node.run(read_states(node.active.term, [("t", 0)]))
    part_of(node, Leaders).leaders_answered(2, {("t", 0): ErrorCode.NONE})
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, ERA + 1, (2,))


ELECTIONS = {
    "offline": lambda states, topic: states.elect_offline([(topic, 0)], is_unclean=True),
    "preferred": lambda states, topic: states.elect_preferred([(topic, 0)]),
    "reassigned": lambda states, topic: states.elect_reassigned({(topic, 0): (3, 1)}),
    "shutdown": lambda states, topic: states.elect_for_shutdown([(topic, 0)]),
}


@pytest.mark.parametrize("call", ELECTIONS.values(), ids=ELECTIONS)
def test_no_election_takes_place_while_a_live_broker_disputes_the_state(node, ensemble, call):
    create(node, (1, 2, 3))
    put_state(ensemble, "t", 0, leader=2, leader_epoch=3)
    node.react(znodes.topic_path("t"))
    if call is ELECTIONS["shutdown"]:
        node.active.term.liveness.shutting_down.add(2)
    before = state_of(ensemble, "t", 0)
    held = HeldReplica("", end_offset=9, end_epoch=9, parted_at=3, parted_from=2, parted_in=3)
    ensemble.put(held_znodes.held_path(3, "t"), held_znodes.encode_held({0: held}))
    states = node.active.term.states
    assert node.run(call(states, node.known.topics["t"])).refused == {("t", 0): NOBODY}
    assert state_of(ensemble, "t", 0) == before
    ensemble.remove(held_znodes.held_path(3, "t"))
    assert node.run(call(states, node.known.topics["t"])).written
    assert state_of(ensemble, "t", 0).leader_epoch == 10  # that one was heard of


def test_who_is_elected_is_so_above_every_leader_epoch_that_was_heard_of(node, ensemble):
    create(node, (1, 2, 3))
    node.active.term.heard.note(("t", 0), 7)
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, 8, (2, 3))


def test_what_another_wrote_meanwhile_is_left_out_and_the_rest_is_written(node, ensemble):
    create(node, (1, 2), (1, 3), (1, 2, 3))
    put_state(ensemble, "t", 1, isr=(1,), leader_epoch=7)  # the node has not read it
    writes = ensemble.writes
    remove(ensemble, 1)
    node.agent.note([znodes.BROKER_IDS])
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (2, 1, (2,))
    assert state_of(ensemble, "t", 1)[:3] == (NO_LEADER, 8, (1,))
    assert state_of(ensemble, "t", 2)[:3] == (2, 1, (2, 3))
    assert ensemble.writes == writes + 4  # refused, the others; refused again, until it was read


def test_a_state_of_a_later_controller_is_left_alone(node, ensemble):
    create(node, (1, 2))
    put_state(ensemble, "t", 0, controller_epoch=EPOCH + 1)
    node.react(znodes.topic_path("t"))
    before = state_of(ensemble, "t", 0)
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0) == before


def test_many_partitions_take_several_transactions_which_do_not_wait_for_one_another(node, ensemble, monkeypatch):
    monkeypatch.setattr(state_changes, "CHANGES_PER_COMMIT", 4)
    create(node, *[(1, 2)] * 10, *[(2, 1)] * 5)
    writes = ensemble.writes
    remove(ensemble, 1)
    node.turn()
    assert all(state_of(ensemble, "t", index)[:3] == (2, 1, (2,)) for index in range(15))
    assert ensemble.writes == writes + 3 + 2


@pytest.mark.filterwarnings("ignore:coroutine")  # of a killed process
@pytest.mark.parametrize("fault", ["on_write", "after_write"])
@pytest.mark.parametrize("failure", [Killed, ZkLost])
def test_a_controller_killed_at_any_write_of_its_elections_is_followed_by_one_that_completes_them(
    new_node, ensemble, monkeypatch, fault, failure
):
    monkeypatch.setattr(state_changes, "CHANGES_PER_COMMIT", 2)
    register(ensemble, 1, 2)
    node = new_node(0)
    ordinal = 0
    while True:
        register(ensemble, 1)
        name = f"t{ordinal}"
        node.turn()
        create(node, (1, 2), (2, 1), (1, 2), (1, 0), (0, 1, 2), name=name)
        ensemble.writes = 0

        def strike(number, at=ordinal):
            if number == at:
                raise failure("here")

        setattr(ensemble, fault, strike)
        try:
            remove(ensemble, 1)
            node.turn()
        except failure:
            pass
        setattr(ensemble, fault, lambda _ordinal: None)
        if ensemble.writes <= ordinal:
            break
        if failure is Killed:
            node = node.restarted()
        node.turn()
        states = [state_of(ensemble, name, index)[:3] for index in range(5)]
        assert states == [(2, 1, (2,)), (2, 1, (2,)), (2, 1, (2,)), (0, 1, (0,)), (0, 1, (0, 2))], ordinal
        assert [state.version for state in node.known.topics[name].states] == [1] * 5, ordinal
        told = [set(indexes) for topic, indexes, *_ in node.channels.of("leaders") if topic == name]
        assert set().union(*told) == set(range(5)), ordinal  # where the reply was lost, too
        ordinal += 1
    assert ordinal > 2


def test_a_zombie_elects_nobody_and_tells_nobody(node, ensemble):
    create(node, (1, 2), (2, 1))
    before = [state_of(ensemble, "t", index) for index in range(2)]
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    ensemble.remove(znodes.CONTROLLER)
    ensemble.put(znodes.CONTROLLER, znodes.encode_controller(3, 0))
    node.zk.take_changes()  # it has not heard of that
    channels = node.channels
    remove(ensemble, 1)
    node.agent.note([znodes.BROKER_IDS])
    node.turn()
    assert [state_of(ensemble, "t", index) for index in range(2)] == before
    assert not channels.of("leaders")
    assert node.active.term is None


ZOMBIES = {
    "elect_offline": lambda states, topic: states.elect_offline([(topic, 0)]),
    "elect_preferred": lambda states, topic: states.elect_preferred([(topic, 0)]),
    "elect_reassigned": lambda states, topic: states.elect_reassigned({(topic, 0): (2,)}),
    "elect_for_shutdown": lambda states, topic: states.elect_for_shutdown([(topic, 0)]),
    "move_replicas": lambda states, topic: states.move_replicas([(topic, 0, 2)], ReplicaStatus.OFFLINE),
    "shrink": lambda states, topic: states.shrink([(topic, 0)]),
}


@pytest.mark.parametrize("call", ZOMBIES.values(), ids=ZOMBIES)
def test_no_write_of_an_old_epoch_counts(node, ensemble, call):
    create(node, (1, 2))
    put_state(ensemble, "t", 0, leader=2)
    node.react(znodes.topic_path("t"))
    node.active.term.failed[3 if call is ZOMBIES["elect_preferred"] else 2] = {("t", 0)}
    if call in (ZOMBIES["elect_reassigned"], ZOMBIES["elect_for_shutdown"], ZOMBIES["move_replicas"]):
        node.active.term.failed.clear()
        node.active.term.liveness.shutting_down.add(1)
    before = state_of(ensemble, "t", 0)
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    states = node.active.term.states
    channels = node.channels
    with pytest.raises(ControllerMoved):
        node.run(call(states, node.known.topics["t"]))
    assert state_of(ensemble, "t", 0) == before
    assert not channels.told


def test_a_replica_that_its_leader_takes_in_again_is_not_offline_any_more(node, ensemble):
    """It answered that its log is out of service. The leader asks for it since it has fetched everything: it stays in the ISR."""
    create(node, (1, 2))
    part = part_of(node, Leaders)
    term = node.active.term
    part.leaders_answered(2, {("t", 0): ErrorCode.KAFKA_STORAGE_ERROR})
    node.turn()
    state = state_of(ensemble, "t", 0)
    assert (state.leader, state.isr) == (1, (1,))
    epochs = {one: term.known.brokers[one].epoch for one in (1, 2)}
    wanted = WantedIsr(1, state.leader_epoch, (1, 2), epochs, 0, state.version)
    node.run(alter(term, {("t", 0): wanted}))
    node.turn()
    assert not term.liveness.failed
    assert state_of(ensemble, "t", 0)[:3] == (1, state.leader_epoch, (1, 2))


def test_all_that_hold_their_replicas_are_offline_at_once(node, ensemble):
    """Both machines lost power. Else the first that answers leaves the other alone in the ISR, and that may be the one without a log."""
    create(node, (1, 2))
    topic_id = node.known.topics["t"].topic_id
    whole = HeldReplica(topic_id, end_offset=100, end_epoch=0)
    missing = HeldReplica(topic_id, is_proven=True, end_offset=0, is_missing=True)
    for broker, held in ((1, whole), (2, missing)):
        ensemble.put(held_znodes.held_path(broker, "t"), held_znodes.encode_held({0: held}))
    part = part_of(node, Leaders)
    part.leaders_answered(1, {("t", 0): ErrorCode.KAFKA_STORAGE_ERROR})
    node.turn()
    state = state_of(ensemble, "t", 0)
    assert (state.leader, state.isr) == (NO_LEADER, (1, 2))
    ensemble.remove(held_znodes.held_path(1, "t"))  # 1 has compared, and says that it serves
    part.leaders_answered(1, {("t", 0): ErrorCode.NONE})
    node.turn()
    state = state_of(ensemble, "t", 0)
    assert (state.leader, state.isr) == (1, (1,))


@pytest.mark.parametrize("is_again", [False, True])
def test_a_hold_that_ends_while_holds_are_read_keeps_its_replica_from_nothing(node, ensemble, is_again):
    """Its broker has answered that it serves, and will not answer again: there would be no leader until it registers again."""
    create(node, (1, 2))
    term, part = node.active.term, part_of(node, Leaders)
    held = HeldReplica(node.known.topics["t"].topic_id, end_offset=100, end_epoch=0)
    path = held_znodes.held_path(2, "t")
    ensemble.put(path, held_znodes.encode_held({0: held}))
    zk = term.heard._zk
    real = zk.get_many

    async def get_many(paths, **more):
        found = await real(paths, **more)
        if path in paths:
            ensemble.remove(path)
            part.leaders_answered(2, {("t", 0): ErrorCode.NONE})
            if is_again:
                part.leaders_answered(2, {("t", 0): ErrorCode.KAFKA_STORAGE_ERROR})
        return found

    zk.get_many = get_many
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0).leader == (NO_LEADER if is_again else 2)
    assert bool(term.liveness.failed) is is_again


def test_what_a_broker_answered_before_it_went_does_not_count_for_its_next_life(node):
    liveness = node.active.term.liveness
    with liveness.well_since() as well:
        liveness.note_well(2, [("t", 0)])
        liveness.note_well(3, [("t", 1)])
        liveness.forget([2])
    assert well == {3: {("t", 1)}}
    liveness.note_well(3, [("t", 2)])
    assert well == {3: {("t", 1)}}, "that is over"


def test_holds_of_another_topic_or_out_of_the_isr_say_nothing(node, ensemble):
    create(node, (1, 2), (1, 2))
    topic_id = node.known.topics["t"].topic_id
    put_state(ensemble, "t", 1, isr=(1,))
    node.react(znodes.topic_path("t"))
    other = {0: HeldReplica("f" * 32, end_offset=1, end_epoch=0), 1: HeldReplica(topic_id, end_offset=1, end_epoch=0)}
    ensemble.put(held_znodes.held_path(2, "t"), held_znodes.encode_held(other))
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0).leader == 2
    assert not node.active.term.liveness.failed


@pytest.mark.parametrize("steps", [1000, 2])
def test_a_broker_that_comes_while_elections_are_planned_is_not_elected_before_it_is_heard(
    node, ensemble, monkeypatch, steps
):
    """Its disk was swapped: it holds what is in sync, and then registers. Of 10,000 partitions some are planned after each pause."""
    monkeypatch.setattr(state_changes, "STEPS_PER_FILL", steps)
    create(node, *[(1, 2, 3)] * 6)
    for index in range(6):
        put_state(ensemble, "t", index, isr=(1, 2, 3), leader=1)
    remove(ensemble, 1, 2, 3)
    node.turn()
    assert state_of(ensemble, "t", 5)[2] == (1, 2, 3)
    term = node.active.term
    refresh, pause, done = term.heard.refresh, term.tasks.pause, []

    async def refreshed():
        await refresh()
        done.append("heard")

    async def paused():
        await pause()
        if done == ["heard"]:
            done.append("came")
            held = {index: HeldReplica(node.known.topics["t"].topic_id) for index in range(6)}
            ensemble.put(held_znodes.held_path(3, "t"), held_znodes.encode_held(held))
            register(ensemble, 3)
            node.agent.note([znodes.BROKER_IDS])
            node.agent.follow()
            await term.tasks.sleep(50)

    monkeypatch.setattr(term.heard, "refresh", refreshed)
    monkeypatch.setattr(term.tasks, "pause", paused)
    node.active.take(events.TopicsRead(("t",)))
    node.turn()
    assert done[:2] == ["heard", "came"]
    assert done.count("heard") > 1, "it is heard because it came"
    for index in range(6):
        assert state_of(ensemble, "t", index)[2] == (1, 2, 3)
        assert state_of(ensemble, "t", index).leader == NO_LEADER


@pytest.mark.parametrize("end", [100, -1])
def test_a_log_that_parted_within_an_epoch_disputes_no_election(node, ensemble, end):
    """Open or not: it waits for an operator, and those in sync lead."""
    create(node, (1, 2, 3))
    put_state(ensemble, "t", 0, isr=(1, 2), leader_epoch=6)
    node.react(znodes.topic_path("t"))
    held = HeldReplica(
        node.known.topics["t"].topic_id, is_proven=True, end_offset=end, end_epoch=5, parted_at=80, parted_from=1, parted_in=6,
        is_conflict=True,
    )  # fmt: skip
    ensemble.put(held_znodes.held_path(3, "t"), held_znodes.encode_held({0: held}))
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0).leader == 2


def test_a_broker_whose_holds_can_not_be_read_is_not_elected(node, ensemble):
    """Nobody knows whether its log has what was acknowledged; another one in sync does."""
    create(node, (1, 2, 3))
    ensemble.put(held_znodes.held_path(2, "t"), b"{")
    remove(ensemble, 1)
    node.turn()
    assert state_of(ensemble, "t", 0).leader == 3


def test_a_conflict_of_one_in_sync_is_offline_before_it_has_answered(node, ensemble):
    """A new term knows no earlier answers. Elected, it would be left alone in the ISR, and the leader that served stay out."""
    create(node, (1, 2, 3))
    put_state(ensemble, "t", 0, isr=(1, 3), leader_epoch=6)
    node.react(znodes.topic_path("t"))
    held = HeldReplica(
        node.known.topics["t"].topic_id, is_proven=True, end_offset=100, end_epoch=5, parted_at=80, parted_from=1, parted_in=6,
        is_conflict=True,
    )  # fmt: skip
    ensemble.put(held_znodes.held_path(3, "t"), held_znodes.encode_held({0: held}))
    remove(ensemble, 1)
    node.turn()
    state = state_of(ensemble, "t", 0)
    assert (state.leader, state.isr) == (NO_LEADER, (1, 3))
    register(ensemble, 1)
    node.turn()
    state = state_of(ensemble, "t", 0)
    assert (state.leader, state.isr) == (1, (1,))


@pytest.mark.parametrize("is_over", [True, False])
def test_a_hold_that_is_over_keeps_nobody_from_leading(node, ensemble, is_over):
    """Its log was raised, and is the ISR. Its znode goes a moment later."""
    create(node, (1, 2))
    held = HeldReplica(
        node.known.topics["t"].topic_id,
        is_proven=True,
        end_offset=100,
        end_epoch=5,
        parted_at=80,
        parted_from=1,
        parted_in=6,
    )
    ensemble.put(held_znodes.held_path(2, "t"), held_znodes.encode_held({0: held}))
    put_state(ensemble, "t", 0, isr=(2,), leader=NO_LEADER, leader_epoch=ERA if is_over else 7)
    node.react(znodes.topic_path("t"))
    node.turn()
    assert state_of(ensemble, "t", 0).leader == (2 if is_over else NO_LEADER)


def test_events_of_partitions_that_a_topic_has_not_any_more_change_nothing(node):
    """ZooKeeper was put back to before they were added, and what names them was on its way."""
    create(node, (1, 2), (1, 2), (1, 2))
    topic = node.known.topics["t"]
    late = topic.states[2]._replace(version=9, leader_epoch=9)
    node.active.term.states.doubt("t", {0: 0, 2: 0})
    node.known.add(Topic("t", topic.topic_id, topic.replicas[:1], {}, [topic.states[0]._replace(version=3)]))
    now = node.known.topics["t"]
    for part in node.active.term.parts():
        part.isrs_changed("t", [0, 2])
    assert node.active.term.states.take_doubted(now) == [0]
    node.agent.apply(events.StatesWritten("t", topic.topic_id, {0: late, 2: late}))
    node.agent.apply(events.ReplicasAssigned("t", topic.topic_id, (), {}))
    node.known.note_held("t", 2)
    assert (now.states, now.replicas) == ([late], ((1, 2),))
    node.publish()
    assert len(node.view.topics["t"].partitions) == 1


def test_a_new_term_hears_at_once_that_a_leader_that_lives_holds_its_replica(new_node, ensemble):
    """Its answer to LeaderAndIsr may take 20 s, for that waits for all other roles; it leads nothing meanwhile."""
    for path in znodes.PERSISTENT_PATHS:
        ensemble.put(path)
    register(ensemble, 1, 2)
    held = HeldReplica("1" * 32, end_offset=90, end_epoch=5)
    ensemble.put(held_znodes.held_path(1, "t"), held_znodes.encode_held({0: held}))
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(znodes.TopicAssignment("1" * 32, ((1, 2),))))
    ensemble.put(znodes.topic_config_path("t"), znodes.encode_config({}))
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(PartitionState(1, 5, (1,), 1)))
    node = new_node()
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (NO_LEADER, 6, (1,))


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_new_term_leaves_a_broker_alone_in_an_isr_once_it_answered(new_node, ensemble, is_answered):
    """Its directory failed as the controller before, the other member, went: that one came back with all records, out of sync."""
    for path in znodes.PERSISTENT_PATHS:
        ensemble.put(path)
    register(ensemble, 1)
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(znodes.TopicAssignment("1" * 32, ((1, 2),))))
    ensemble.put(znodes.topic_config_path("t"), znodes.encode_config({}))
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(PartitionState(1, 5, (1, 2), 1)))
    node = new_node(join=False)
    node.is_answering = False
    node.join()
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (1, 5, (1, 2))
    if not is_answered:
        return
    part_of(node, Leaders).leaders_answered(1, {("t", 0): ErrorCode.KAFKA_STORAGE_ERROR})
    node.turn()
    assert state_of(ensemble, "t", 0)[:3] == (NO_LEADER, 6, (1, 2))
    register(ensemble, 2)
    node.turn()
    node.channels.answer_leaders((2,), "t")
    node.turn()
    assert state_of(ensemble, "t", 0).leader == 2
