"""Reassignments over a fake ZooKeeper: node 0 is the active controller, brokers 1 to 6 are znodes, and what they do the tests write."""

import json

import pytest

from headrace.controller.active.broker_requests import leaders_request, metadata_request
from headrace.controller.active.reassignment import reassignments
from headrace.controller.admin import a04_leader_and_isr
from headrace.controller.cluster import events
from headrace.controller.cluster.unwanted_replicas import unwanted_of
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.admin_znodes import encode_reassignment
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkLost
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_LEADER
from headrace.limits import REASSIGNMENT_STOP_WAIT_MS
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from tests.controller.fake_zk import Killed

OTHERS = range(1, 7)


@pytest.fixture
def brokers(ensemble):
    """Six brokers that are alive."""
    for broker in OTHERS:
        start(ensemble, broker)


def start(ensemble, broker):
    ensemble.put(znodes.broker_path(broker), znodes.encode_broker("h", 9000 + broker, None, 0))


@pytest.fixture
def node(new_node, brokers):
    node = new_node()
    node.create("t", ((1, 2, 3),) * 3)
    node.turn()
    node.channels.told.clear()
    return node


def alter(node, targets, name="t"):
    """{partition: error code name, None: written}"""
    errors = node.run(node.active.reassignments().alter(name, targets))
    node.settle()
    return {index: error and error.code for index, error in errors.items()}


def assignment(ensemble, name="t"):
    return znodes.decode_topic(name, ensemble.data(znodes.topic_path(name)))


def state(ensemble, index=0, name="t"):
    path = znodes.state_path(name, index)
    node = ensemble.nodes[path]
    return znodes.decode_state(path, node.data, node.version)


def write_isr(ensemble, index, isr, name="t", **others):
    """A leader changes its ISR, and says so."""
    ensemble.put(
        znodes.state_path(name, index), znodes.encode_state(state(ensemble, index, name)._replace(isr=isr, **others))
    )
    data = znodes.encode_isr_change([(name, index)])
    ensemble.put(f"{znodes.ISR_CHANGES}/isr_change_{ensemble.writes:010d}", data)


def catch_up(ensemble, index=0, name="t"):
    """All replicas are in sync."""
    replicas = assignment(ensemble, name).replicas[index]
    write_isr(ensemble, index, tuple(dict.fromkeys((*state(ensemble, index, name).isr, *replicas))), name)


def listed(node):
    return node.active.reassignments().listed(None)


def stops(node):
    return [
        (broker, index, epoch)
        for broker, _topic, index, epoch, is_deleted, _call in node.channels.of("stop")
        if is_deleted
    ]


def answered_turn(node, brokers):
    """Brokers answer what they are asked, until nothing is asked any more."""
    for _ in range(5):
        node.agent.note(node.zk.take_changes())
        node.agent.follow()
        while node.tasks.run(1000):
            node.channels.answer_stops(brokers)
        node.channels.answer_stops(brokers)
    node.turn()


def wish(ensemble, targets, name="t"):
    data = encode_reassignment({(name, index): target for index, target in targets.items()})
    ensemble.put(znodes.REASSIGN_PARTITIONS, data)


def test_a_request_is_written_and_told(node, ensemble):
    before = state(ensemble)
    assert alter(node, {0: (4, 5, 6)}) == {0: None}
    assert assignment(ensemble)[1:4] == (
        ((4, 5, 6, 1, 2, 3), (1, 2, 3), (1, 2, 3)), {0: (4, 5, 6)}, {0: (1, 2, 3)}
    )  # fmt: skip
    assert state(ensemble) == before._replace(leader_epoch=before.leader_epoch + 1, version=before.version + 1)
    assert node.channels.of("leaders") == [("t", [0], (1, 2, 3), False), ("t", [0], (4, 5, 6), True)]
    assert node.known.topics["t"].assignment == assignment(ensemble)
    assert listed(node)["t"][0] == ((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))


def test_the_request_and_the_epoch_are_one_transaction(node, ensemble):
    writes = ensemble.writes
    alter(node, {0: (4, 5, 6), 2: (3, 2, 4)})
    assert ensemble.writes == writes + 1


def test_it_ends_when_the_target_is_in_sync(node, ensemble):
    alter(node, {0: (4, 5, 6)})
    node.channels.told.clear()
    write_isr(ensemble, 0, (1, 2, 3, 4))
    node.follow()
    assert node.channels.of("leaders") == []
    catch_up(ensemble)
    node.follow()
    done = state(ensemble)
    assert (done.leader, set(done.isr)) == (4, {4, 5, 6})
    assert node.channels.of("leaders") == [("t", [0], (4, 5, 6), False)]
    assert stops(node) == [(broker, 0, done.leader_epoch) for broker in (1, 2, 3)]
    assert assignment(ensemble)[1:4] == (((4, 5, 6), (1, 2, 3), (1, 2, 3)), {}, {})
    assert listed(node) == {}
    assert node.channels.told[-1] == ("metadata", "t", [0], None)


def hold(ensemble, broker, held):
    ensemble.put(held_znodes.held_path(broker, "t"), held_znodes.encode_held({0: held}))


HOLDS = {
    "of the target": (4, HeldReplica("", end_offset=9, end_epoch=0)),
    "parted within an epoch, and to be removed": (
        2,
        HeldReplica("", end_offset=9, end_epoch=0, parted_at=3, parted_from=1, parted_in=0, is_conflict=True),
    ),
    "disputing": (2, HeldReplica("", end_offset=9, end_epoch=5, parted_at=3, parted_from=1, parted_in=0)),
}


@pytest.mark.parametrize(("broker", "held"), HOLDS.values(), ids=HOLDS)
def test_one_that_is_almost_over_waits_until_nobody_holds_it(node, ensemble, broker, held, caplog):
    """It would delete what the held one may have lost."""
    alter(node, {0: (4, 5, 6)})
    node.channels.told.clear()
    hold(ensemble, broker, held)
    catch_up(ensemble)
    before = state(ensemble)
    node.follow()
    assert not stops(node)
    assert (
        f"reassignment is waiting: brokers hold their replicas, and the authoritative log is not known yet partition=t-0 brokers=[{broker}]"
        in caplog.text
    )
    assert state(ensemble) == before
    assert assignment(ensemble).removing == {0: (1, 2, 3)}
    ensemble.remove(held_znodes.held_path(broker, "t"))
    node.now_ms += reassignments.RECHECK_MS
    node.tasks.run(1000)
    node.turn()
    assert (state(ensemble).leader, set(state(ensemble).isr)) == (4, {4, 5, 6})


@pytest.mark.parametrize(("broker", "held"), HOLDS.values(), ids=HOLDS)
def test_one_that_is_held_is_not_begun(node, ensemble, broker, held):
    before = state(ensemble)
    hold(ensemble, broker, held)
    assert alter(node, {0: (4, 5, 6), 1: (4, 5, 6)}) == {0: ErrorCode.LEADER_NOT_AVAILABLE, 1: None}
    assert state(ensemble) == before


CONFLICT = HeldReplica("", end_offset=100, end_epoch=5, parted_at=80, parted_from=1, parted_in=6, is_conflict=True)


def almost_over(node, ensemble, held, accepted=None):
    """Its target (4, 5, 6) is in sync, and broker 2, which holds its replica, is away. Returns the replicas after that."""
    assert alter(node, {0: (4, 5, 6)}) == {0: None}
    if held is not None:
        hold(ensemble, 2, held)
    if accepted is not None:
        ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({2: accepted}))
    ensemble.remove(znodes.broker_path(2))
    node.turn()
    write_isr(ensemble, 0, (4, 5, 6, 1, 3))
    for _ in range(2):
        answered_turn(node, (1, 3))
        node.now_ms += reassignments.RECHECK_MS
        node.tasks.run(1000)
    answered_turn(node, (1, 3))
    return assignment(ensemble).replicas[0]


MOVING = (4, 5, 6, 1, 2, 3)


@pytest.mark.parametrize(
    ("held", "accepted", "replicas"),
    [
        (None, None, (4, 5, 6)),
        (CONFLICT, None, MOVING),
        (CONFLICT, 99, MOVING),  # of another hold
        (CONFLICT, 100, (4, 5, 6)),
        (HeldReplica("", end_offset=9, end_epoch=0), None, (4, 5, 6)),  # it may have lost something, and serves nothing
    ],
)
def test_a_log_that_waits_for_an_operator_holds_it_up_without_its_broker(node, ensemble, held, accepted, replicas):
    assert almost_over(node, ensemble, held, accepted) == replicas


@pytest.mark.parametrize("znode", ["t:0:1", "t:0:2"])
def test_holds_that_were_stored_beside_an_unreadable_znode_hold_it_up(node, ensemble, znode):
    """Also once that one was removed, as its message advises: the holder moves them when its next session begins."""
    ensemble.put(f"{held_znodes.held_by_path(2)}/{znode}", held_znodes.encode_held({0: CONFLICT}))
    ensemble.put(f"{held_znodes.held_by_path(2)}/tt", held_znodes.encode_held({1: CONFLICT}))  # of another topic
    assert alter(node, {0: (4, 5, 6), 1: (4, 5, 6)}) == {0: ErrorCode.LEADER_NOT_AVAILABLE, 1: None}


def test_one_that_can_not_be_read_holds_up_what_it_may_be_about(node, ensemble, monkeypatch):
    monkeypatch.setattr(held_znodes, "HELD_PER_ZNODE", 1)
    ensemble.put(f"{held_znodes.held_by_path(2)}/t:1:1", b"{")
    assert alter(node, {0: (4, 5, 6), 1: (4, 5, 6)}) == {0: None, 1: ErrorCode.LEADER_NOT_AVAILABLE}


def test_holds_that_can_not_be_read_hold_it_up(node, ensemble):
    ensemble.put(held_znodes.held_path(2, "t"), b"{")
    assert alter(node, {0: (4, 5, 6)}) == {0: ErrorCode.LEADER_NOT_AVAILABLE}


def test_a_hold_of_an_earlier_topic_of_the_name_holds_nothing_up(node, ensemble):
    hold(ensemble, 4, HeldReplica("0f" * 16, end_offset=9, end_epoch=0))
    assert alter(node, {0: (4, 5, 6)}) == {0: None}


def test_an_isr_that_nobody_told_of_is_found_by_time(node, ensemble):
    """The note of a leader, or the event of it, was lost: nothing stands still for ever."""
    alter(node, {0: (4, 5, 6)})
    node.follow()
    replicas = assignment(ensemble).replicas[0]
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(state(ensemble)._replace(isr=replicas)))
    node.follow()
    assert listed(node)["t"]
    node.now_ms += reassignments.RECHECK_MS
    node.tasks.run(1000)
    node.turn()
    assert set(state(ensemble).isr) == {4, 5, 6}
    assert listed(node) == {}


def test_one_that_waits_for_brokers_holds_up_no_other(node, ensemble):
    """Its task is busy: the next topic gets one of its own."""
    node.create("u", ((1, 2, 3),))
    alter(node, {0: (4, 5, 6)})
    alter(node, {0: (4, 5, 6)}, name="u")
    catch_up(ensemble)
    node.agent.note(node.zk.take_changes())
    node.agent.follow()
    while node.tasks.run(1000):
        pass
    assert stops(node)  # "t" waits until brokers have deleted their replicas
    catch_up(ensemble, name="u")
    node.agent.note(node.zk.take_changes())
    node.agent.follow()
    while node.tasks.run(1000):
        pass
    assert set(state(ensemble, 0, "u").isr) == {4, 5, 6}


def test_the_node_is_written_when_the_removed_ones_have_said_so(node, ensemble):
    """Else a successor would not know what is to be deleted."""
    alter(node, {0: (4, 2, 3)})
    catch_up(ensemble)
    node.agent.note(node.zk.take_changes())
    node.agent.follow()
    while not node.channels.of("stop"):
        assert node.tasks.run(1000)
    while node.tasks.run(1000):
        pass
    assert assignment(ensemble).removing == {0: (1,)}
    row = leaders_request(node.active.term, 7, {"t": {0: False}}).topic_states[0].partition_states[0]
    assert (row.replicas, row.adding_replicas, row.removing_replicas) == ((4, 2, 3), (), ())
    row = metadata_request(node.active.term, 7, {"t": {0}}).topic_states[0].partition_states[0]
    assert row.replicas == (4, 2, 3)
    [(broker, topic, index, _epoch, _is_deleted, on_stopped)] = node.channels.of("stop")
    on_stopped(broker, topic, index, ErrorCode.NONE)
    since_ms = node.now_ms
    node.settle()
    assert assignment(ensemble).removing == {}
    assert node.now_ms < since_ms + REASSIGNMENT_STOP_WAIT_MS


def test_a_broker_that_is_away_is_not_waited_for(node, ensemble):
    alter(node, {0: (4, 2, 3)})
    catch_up(ensemble)
    ensemble.remove(znodes.broker_path(1))
    since_ms = node.now_ms
    node.follow()
    assert assignment(ensemble).removing == {}
    assert node.now_ms - since_ms < REASSIGNMENT_STOP_WAIT_MS


def test_a_broker_that_was_away_deletes_its_replica_when_it_is_back(node, ensemble):
    """ZooKeeper does not say any more that it is to: nobody else would."""
    alter(node, {0: (4, 2, 3)})
    catch_up(ensemble)
    ensemble.remove(znodes.broker_path(1))
    node.follow()
    node.channels.told.clear()
    start(ensemble, 1)
    node.follow()
    assert stops(node) == [(1, 0, state(ensemble).leader_epoch)]
    node.channels.answer_stops((1,))
    ensemble.remove(znodes.broker_path(1))
    node.follow()
    start(ensemble, 1)
    node.follow()
    assert stops(node) == [], "it said that it is gone"


def test_a_replica_that_came_back_to_the_broker_meanwhile_is_not_deleted(node, ensemble):
    alter(node, {0: (4, 2, 3)})
    catch_up(ensemble)
    ensemble.remove(znodes.broker_path(1))
    node.follow()
    wish(ensemble, {0: (1, 2, 3)})
    node.follow()
    node.channels.told.clear()
    start(ensemble, 1)
    node.follow()
    assert stops(node) == []


def test_the_same_request_again_is_fine(node, ensemble):
    """RP-8697."""
    alter(node, {0: (4, 5, 6)})
    writes, told = ensemble.writes, list(node.channels.told)
    assert alter(node, {0: (4, 5, 6)}) == {0: None}
    assert (ensemble.writes, node.channels.told) == (writes, told)


def test_a_request_in_the_place_of_another_one(node, ensemble):
    alter(node, {0: (4, 5, 6)})
    write_isr(ensemble, 0, (1, 2, 3, 5))
    node.follow()
    assert alter(node, {0: (4, 1)}) == {0: None}
    assert assignment(ensemble)[1:4] == (((4, 1, 2, 3), (1, 2, 3), (1, 2, 3)), {0: (4,)}, {0: (2, 3)})
    assert state(ensemble).isr == (1, 2, 3)
    assert [broker for broker, _index, _epoch in stops(node)] == [5, 6]


def test_a_cancelled_one(node, ensemble):
    alter(node, {0: (4, 2, 3), 1: (5, 2, 3)})
    write_isr(ensemble, 0, (1, 2, 4))
    assert alter(node, {0: None, 2: None, 9: None}) == {
        0: None,
        2: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        9: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    }
    assert assignment(ensemble)[2:4] == ({1: (5,)}, {1: (1,)})
    assert set(assignment(ensemble).replicas[0]) == {1, 2, 3}
    assert state(ensemble).isr == (1, 2)
    assert stops(node) == [(4, 0, state(ensemble).leader_epoch)]
    assert listed(node)["t"].keys() == {1}


def test_the_replicas_of_a_cancelled_one_are_named_until_they_are_deleted(node, ensemble):
    """KAFKA-13972: else a controller that dies before it told them leaves them for ever."""
    alter(node, {0: (4, 2, 3)})
    node.tasks.start(node.active.reassignments().alter("t", {0: None}), lambda _task: None)
    while not node.channels.of("stop"):
        assert node.tasks.run(1000)
    assert unwanted_of(assignment(ensemble)) == {0: (4,)}
    assert not assignment(ensemble).adding
    epoch = state(ensemble).leader_epoch
    node = node.restarted()
    node.settle()
    assert stops(node)[:1] == [(4, 0, epoch)]
    node.channels.answer_stops({4})
    node.settle()
    assert assignment(ensemble).others == {}
    assert set(assignment(ensemble).replicas[0]) == {1, 2, 3}
    node.channels.told.clear()
    write_isr(ensemble, 0, (1, 2))
    node.turn()
    assert stops(node) == []


def test_those_whose_broker_is_away_are_deleted_when_it_is_back(node, ensemble):
    alter(node, {0: (4, 2, 3)})
    ensemble.remove(znodes.broker_path(4))
    node.turn()
    assert alter(node, {0: None}) == {0: None}
    assert unwanted_of(assignment(ensemble)) == {0: (4,)}
    node.channels.told.clear()
    start(ensemble, 4)
    answered_turn(node, {4})
    assert assignment(ensemble).others == {}


def test_one_that_answers_late_is_not_named_any_more(node, ensemble):
    alter(node, {0: (4, 2, 3)})
    assert alter(node, {0: None}) == {0: None}  # nobody answered within REASSIGNMENT_STOP_WAIT_MS
    assert unwanted_of(assignment(ensemble)) == {0: (4,)}
    answered_turn(node, {4})
    assert assignment(ensemble).others == {}


def test_one_that_is_wanted_again_is_not_deleted(node, ensemble):
    alter(node, {0: (4, 2, 3)})
    alter(node, {0: None})
    assert alter(node, {0: (4, 2, 3)}) == {0: None}
    assert assignment(ensemble).others == {}
    before = assignment(ensemble)
    answered_turn(node, {4})  # the stop of before
    assert assignment(ensemble) == before
    assert stops(node) == []


def test_a_broker_takes_a_partition_back_that_was_moved_away(node, ensemble):
    """Its replica was offline when it was taken away, and nobody says of one that is none any more that it serves again."""
    node.active.term.liveness.note_failed(1, [("t", 0), ("t", 1)], ())
    assert alter(node, {0: (4, 2, 3)}) == {0: None}
    catch_up(ensemble)
    answered_turn(node, {1})
    assert assignment(ensemble).replicas[0] == (4, 2, 3)
    assert node.active.term.failed == {1: {("t", 1)}}
    assert alter(node, {0: (1, 2, 3)}) == {0: None}


def test_requests_that_can_not_be(node):
    assert alter(node, {0: (), 1: (1, 1), 2: (1, 9), 5: (1, 2)}) == {
        0: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        1: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        2: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    with pytest.raises(KafkaError) as failure:
        alter(node, {0: (1, 2)}, "absent")
    assert failure.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_without_a_state_is_not_moved_yet(node, ensemble):
    ensemble.remove(znodes.state_path("t", 1))
    assert alter(node, {0: (1, 2), 1: (1, 2)}) == {0: None, 1: ErrorCode.LEADER_NOT_AVAILABLE}


def test_an_isr_that_grew_while_the_request_was_written(node, ensemble):
    """Its notice came before we knew that it matters."""

    def grow(_ordinal):
        ensemble.after_write = lambda _ordinal: None
        path = znodes.state_path("t", 0)
        ensemble.put(path, znodes.encode_state(state(ensemble)._replace(isr=(1, 2, 3, 4))))

    ensemble.after_write = grow
    alter(node, {0: (4, 2, 3)})
    assert assignment(ensemble).replicas[0] == (4, 2, 3)


def test_a_topic_does_not_grow_meanwhile(node):
    alter(node, {0: (4, 5, 6)})
    with pytest.raises(KafkaError) as failure:
        node.run(node.active.grow(node.known.topics["t"], ((1, 2, 3),) * 4))
    assert failure.value.code is ErrorCode.REASSIGNMENT_IN_PROGRESS


def test_a_deleted_topic_is_left_alone(node, ensemble):
    wish(ensemble, {0: (4, 5, 6)})
    node.follow()
    assert assignment(ensemble).adding == {0: (4, 5, 6)}
    node.run(node.active.mark("t"))
    node.turn()
    assert znodes.REASSIGN_PARTITIONS not in ensemble.nodes
    assert {broker for broker, index, _epoch in stops(node) if index == 0} == set(OTHERS)
    with pytest.raises(KafkaError) as failure:
        alter(node, {0: (4, 5, 6)})
    assert failure.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_fields_that_we_do_not_know_stay(node, ensemble):
    """KAFKA-12835."""
    path = znodes.topic_path("t")
    fields = {**json.loads(ensemble.data(path)), "of_another_time": [1]}
    ensemble.put(path, json.dumps(fields).encode())
    node.follow()
    alter(node, {0: (4, 5, 6)})
    catch_up(ensemble)
    node.follow()
    stored = json.loads(ensemble.data(path))
    assert (stored["topic_id"], stored["of_another_time"]) == (fields["topic_id"], [1])
    assert stored["partitions"]["0"] == [4, 5, 6]


def test_a_new_replicas_broker_that_comes_back(node, ensemble):
    alter(node, {0: (4, 2, 3)})
    ensemble.remove(znodes.broker_path(4))
    node.follow()
    node.channels.told.clear()
    epoch = state(ensemble).leader_epoch
    start(ensemble, 4)
    node.follow()
    assert state(ensemble).leader_epoch == epoch + 1
    assert ("t", [0], (4,), True) in node.channels.of("leaders")


def test_the_target_waits_for_one_of_it_to_live(node, ensemble):
    alter(node, {0: (4,)})
    ensemble.remove(znodes.broker_path(4))
    write_isr(ensemble, 0, (1, 2, 3, 4))
    node.follow()
    assert assignment(ensemble).adding == {0: (4,)}
    start(ensemble, 4)
    node.follow()
    catch_up(ensemble)
    node.follow()
    assert assignment(ensemble).replicas[0] == (4,)


def test_somebody_else_writes_meanwhile(node, ensemble):
    """The states and the node are read again."""
    failures = iter([True, True, False])

    def conflict(_ordinal):
        if next(failures, False):
            raise ZkConflict(znodes.state_path("t", 0), "BadVersionError")

    ensemble.on_write = conflict
    assert alter(node, {0: (4, 5, 6)}) == {0: None}
    assert assignment(ensemble).adding == {0: (4, 5, 6)}
    ensemble.on_write = lambda _ordinal: None
    catch_up(ensemble)
    failures = iter([True, False, False, True])
    ensemble.on_write = conflict
    node.follow()
    assert assignment(ensemble).replicas[0] == (4, 5, 6)


def lose_a_reply(ensemble):
    """Of the next write: it is done, the session lives on, and so does the term."""

    def lose(_ordinal):
        ensemble.after_write = lambda _ordinal: None
        raise ZkLost("no reply")

    ensemble.after_write = lose


@pytest.mark.parametrize("is_wish", [False, True], ids=["by request", "by wish"])
def test_where_the_reply_of_a_request_is_lost_brokers_are_told_all_the_same(node, ensemble, is_wish):
    """No successor begins it again, for nobody was elected."""
    lose_a_reply(ensemble)
    if is_wish:
        wish(ensemble, {0: (4, 5, 6)})
        node.follow()
    else:
        with pytest.raises(ZkLost):
            alter(node, {0: (4, 5, 6)})
    node.turn()
    assert ("t", [0], (4, 5, 6), True) in node.channels.of("leaders")
    catch_up(ensemble)
    node.follow()
    assert assignment(ensemble)[1:4] == (((4, 5, 6), (1, 2, 3), (1, 2, 3)), {}, {})


def test_where_the_reply_of_a_cancellation_is_lost_the_raised_epoch_is_told(node, ensemble):
    alter(node, {0: (4, 2, 3)})
    node.channels.told.clear()
    lose_a_reply(ensemble)
    with pytest.raises(ZkLost):
        alter(node, {0: None})
    node.turn()
    assert assignment(ensemble).adding == {}
    assert any(index == [0] for _topic, index, _brokers, _is_new in node.channels.of("leaders"))
    assert node.known.topics["t"].states[0] == state(ensemble)


def test_of_many_partitions_those_are_told_whose_transaction_was_not_the_one_that_failed(node, ensemble, monkeypatch):
    monkeypatch.setattr(reassignments, "CHANGES_PER_COMMIT", 1)
    first = ensemble.writes

    def conflict(ordinal):
        if ordinal == first + 1:
            raise ZkConflict(znodes.state_path("t", 1), "BadVersionError")

    ensemble.on_write = conflict
    assert alter(node, dict.fromkeys(range(3), (4, 5, 6))) == dict.fromkeys(range(3))
    node.turn()
    told = node.channels.of("leaders")
    assert {index for _topic, indexes, _brokers, is_new in told if is_new for index in indexes} == {0, 1, 2}
    for index in range(3):
        catch_up(ensemble, index)
    node.follow()
    assert assignment(ensemble).replicas == ((4, 5, 6),) * 3


def test_somebody_else_is_elected(node, ensemble):
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    with pytest.raises(ControllerMoved):
        alter(node, {0: (4, 5, 6)})
    assert assignment(ensemble).adding == {}


# The node of wishes


def test_wishes_in_zookeeper_are_read_into_the_topics_and_go_with_the_last_one(node, ensemble):
    wish(ensemble, {0: (4, 2, 3), 1: (5, 2, 3)})
    node.follow()
    assert assignment(ensemble).adding == {0: (4,), 1: (5,)}
    catch_up(ensemble, 0)
    node.follow()
    assert [row["partition"] for row in json.loads(ensemble.data(znodes.REASSIGN_PARTITIONS))["partitions"]] == [1]
    catch_up(ensemble, 1)
    node.follow()
    assert znodes.REASSIGN_PARTITIONS not in ensemble.nodes
    assert assignment(ensemble).replicas == ((4, 2, 3), (5, 2, 3), (1, 2, 3))
    wish(ensemble, {2: (6, 2, 3)})
    node.follow()
    assert assignment(ensemble).adding == {2: (6,)}, "the node is watched for anew"


def test_the_same_wish_may_come_again(node, ensemble):
    for _ in range(2):
        wish(ensemble, {0: (4, 2, 3)})
        node.follow()
        catch_up(ensemble)
        node.follow()
        assert assignment(ensemble).replicas[0] == (4, 2, 3)
        assert znodes.REASSIGN_PARTITIONS not in ensemble.nodes
        alter(node, {0: (1, 2, 3)})
        catch_up(ensemble)
        node.follow()
        assert assignment(ensemble).replicas[0] == (1, 2, 3)


def test_wishes_that_can_not_be_go(node, ensemble):
    ensemble.put(
        znodes.REASSIGN_PARTITIONS,
        encode_reassignment(
            {("t", 0): (), ("t", 7): (1, 2), ("absent", 0): (1,), ("t", 1): (2, 3, 1), ("t", 2): (1, 2, 3)}
        ),
    )
    node.follow()
    assert znodes.REASSIGN_PARTITIONS not in ensemble.nodes
    assert assignment(ensemble).replicas == ((1, 2, 3), (2, 3, 1), (1, 2, 3))
    assert listed(node) == {}


def test_wishes_that_do_not_parse_stay_and_hold_up_nothing(node, ensemble):
    ensemble.put(znodes.REASSIGN_PARTITIONS, b"{")
    node.follow()
    assert alter(node, {0: (4, 5, 6)}) == {0: None}
    assert ensemble.data(znodes.REASSIGN_PARTITIONS) == b"{"


def test_a_wish_for_a_broker_that_is_away_waits_for_it(node, ensemble):
    """As in Kafka, which checks that of requests alone."""
    wish(ensemble, {0: (9, 2, 3)})
    node.follow()
    assert assignment(ensemble).adding == {0: (9,)}
    assert znodes.REASSIGN_PARTITIONS in ensemble.nodes


def test_a_request_takes_the_place_of_a_wish(node, ensemble):
    wish(ensemble, {0: (4, 2, 3), 1: (5, 2, 3)})
    node.follow()
    assert alter(node, {0: (6, 2, 3)}) == {0: None}
    assert [row["partition"] for row in json.loads(ensemble.data(znodes.REASSIGN_PARTITIONS))["partitions"]] == [1]
    assert assignment(ensemble).adding == {0: (6,), 1: (5,)}


def test_what_a_controller_is_told_by_itself_of_one_that_is_almost_over_does_not_make_it_forget_that(node, ensemble):
    """A successor tells all brokers before it goes on with reassignments, and its own node may be the first to answer."""
    node.create("here", ((0, 1, 2),))
    node.turn()
    alter(node, {0: (0, 1, 2, 3)}, "here")
    path = znodes.state_path("here", 0)
    ensemble.put(path, znodes.encode_state(state(ensemble, 0, "here")._replace(isr=(0, 1, 2, 3))))
    topic = node.known.topics["here"]
    node.known.set_states(topic, {0: state(ensemble, 0, "here")})
    request = leaders_request(node.active.term, node.known.broker_epoch, {"here": {0: False}})
    (row,) = request.topic_states[0].partition_states
    assert (tuple(row.replicas), tuple(row.adding_replicas)) == ((0, 1, 2, 3), ()), "the target alone"
    node.handle(a04_leader_and_isr.handle, 4, memoryview(encode_request(ApiKey.LEADER_AND_ISR, 4, request)))
    assert topic.adding == {0: (3,)}
    node.active.take(events.TopicsRead(("here",)))
    node.turn()
    assert assignment(ensemble, "here").adding == topic.adding == {}


# The controller dies

REPLACED = {0: (4, 5, 6), 1: (1, 2)}


def by_request(node, _ensemble):
    alter(node, REPLACED)


def by_wish(node, ensemble):
    wish(ensemble, REPLACED)
    node.follow()


def drive(node, ensemble):
    """Until nothing is on its way any more."""
    for _ in range(20):
        node.follow()
        moving = {*assignment(ensemble).adding, *assignment(ensemble).removing}
        if not moving and znodes.REASSIGN_PARTITIONS not in ensemble.nodes:
            return
        for index in moving:
            catch_up(ensemble, index)
    raise AssertionError("it never ends")


@pytest.mark.parametrize("is_done", [False, True], ids=["before the write", "after it"])
@pytest.mark.parametrize("ask", [by_request, by_wish])
def test_a_controller_that_dies_at_any_write_is_followed_by_one_that_completes_it(
    new_node, ensemble, brokers, ask, is_done
):
    ordinal = deaths = 0
    while deaths == ordinal:
        node = new_node(broker_id=100 + ordinal)
        for path in [path for path in ensemble.nodes if path.startswith("/brokers/topics/")]:
            if path in ensemble.nodes:
                ensemble.remove(path)
        node.turn()
        node.create("t", ((1, 2, 3),) * 2)
        node.turn()
        deaths += _dies_at(node, ensemble, ask, ordinal, is_done)
        ordinal += 1
    assert ordinal > 3


def _dies_at(node, ensemble, ask, ordinal, is_done):
    """One life until a write, and the next one; returns whether there was such a write."""
    first = ensemble.writes
    is_asked = False

    def kill(number):
        if number >= first + ordinal:
            ensemble.on_write = ensemble.after_write = lambda _number: None
            raise Killed

    setattr(ensemble, "after_write" if is_done else "on_write", kill)
    lives = [node]
    try:
        ask(node, ensemble)
        is_asked = True
        drive(node, ensemble)
    except Killed:
        lives.append(node.restarted())
        if not is_asked and ask is by_request:
            ask(lives[-1], ensemble)  # the client heard nothing, and asks again
        drive(lives[-1], ensemble)
    ensemble.on_write = ensemble.after_write = lambda _number: None
    last = lives[-1]
    assert assignment(ensemble)[1:4] == (((4, 5, 6), (1, 2)), {}, {}), ordinal
    for index, target in REPLACED.items():
        done = state(ensemble, index)
        assert done.leader != NO_LEADER, ordinal
        assert set(done.isr) == set(target), ordinal
    stopped = {(broker, index) for life in lives for broker, index, _epoch in stops(life)}
    assert stopped == {(1, 0), (2, 0), (3, 0), (3, 1)}, ordinal
    assert last.known.topics["t"].assignment == assignment(ensemble), ordinal
    for task in node.tasks._open:
        task._coroutine.close()  # what the process that is gone had begun
    last.zk.expire()
    return len(lives) > 1
