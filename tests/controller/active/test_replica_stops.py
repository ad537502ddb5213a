"""Replicas that are to be deleted, and who has the records: a controller that dies or is overtaken half-way, a ZooKeeper of the past."""

import pytest

from headrace.controller.active.leaders.leaders import Leaders
from headrace.controller.active.reassignment import reassignments
from headrace.controller.cluster.unwanted_replicas import unwanted_of, with_unwanted
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.errors import ErrorCode
from tests.controller.active.reassignment.test_reassignments import (
    OTHERS,
    alter,
    answered_turn,
    assignment,
    start,
    state,
    stops,
    write_isr,
)
from tests.controller.fake_zk import Killed

AGAIN = (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.INVALID_REPLICA_ASSIGNMENT)  # done before, or not to be done


@pytest.fixture
def node(new_node, ensemble):
    return moved_node(new_node(), ensemble)


def moved_node(node, ensemble):
    """Two partitions on their way from (1, 2, 3) to (4, 5, 3). 4 has caught up, and leads the second one."""
    for broker in OTHERS:
        start(ensemble, broker)
    node.turn()
    node.create("t", ((1, 2, 3),) * 2)
    node.turn()
    assert alter(node, {0: (4, 5, 3), 1: (4, 5, 3)}) == {0: None, 1: None}
    write_isr(ensemble, 0, (1, 2, 3, 4))
    write_isr(ensemble, 1, (4, 2), leader=4)
    node.follow()
    node.channels.told.clear()
    return node


def stops_of_needed(node, ensemble):
    """Replicas that brokers are asked to delete though the state of the partition has them in sync."""
    return [
        (broker, index)
        for broker, index, _epoch in stops(node)
        if broker in {state(ensemble, index).leader, *state(ensemble, index).isr}
    ]


@pytest.mark.parametrize("target", [None, (6, 2, 3)], ids=["cancelled", "replaced"])
def test_an_isr_that_changes_between_two_transactions_has_its_partition_planned_anew(
    node, ensemble, monkeypatch, target
):
    """The topic's node was without broker 4 by then, which led, and was left alone in the ISR: it was asked to delete its log."""
    monkeypatch.setattr(reassignments, "CHANGES_PER_COMMIT", 1)
    first = ensemble.writes

    def shrink(ordinal):
        if ordinal == first + 1:
            ensemble.on_write = lambda _ordinal: None
            write_isr(ensemble, 1, (4,))

    ensemble.on_write = shrink
    answers = alter(node, {0: target, 1: target})
    assert answers[0] is None, "it was written, though the next one had to be tried again"
    answered_turn(node, set())
    assert stops_of_needed(node, ensemble) == []
    assert state(ensemble, 1).leader == 4
    assert 4 in assignment(ensemble).replicas[1]


@pytest.mark.parametrize("is_done", [False, True], ids=["before the write", "after it"])
@pytest.mark.parametrize("target", [None, (6, 2, 3)], ids=["cancelled", "replaced"])
@pytest.mark.parametrize("is_shrunk", [False, True])
def test_a_controller_that_dies_at_any_write_deletes_nothing_in_sync(
    new_node, ensemble, monkeypatch, target, is_done, is_shrunk
):
    monkeypatch.setattr(reassignments, "CHANGES_PER_COMMIT", 1)
    ordinal = deaths = 0
    while deaths == ordinal:
        for path in [path for path in ensemble.nodes if path.startswith("/brokers/topics/")]:
            if path in ensemble.nodes:
                ensemble.remove(path)
        node = moved_node(new_node(broker_id=100 + ordinal), ensemble)
        deaths += dies_at(node, ensemble, target, ordinal, is_done, is_shrunk)
        ordinal += 1
    assert ordinal > 3


def dies_at(node, ensemble, target, ordinal, is_done, is_shrunk):
    """Whether there was such a write."""
    first = ensemble.writes
    lives = [node]

    def kill(number):
        if number >= first + ordinal:
            ensemble.on_write = ensemble.after_write = lambda _number: None
            if is_shrunk:
                write_isr(ensemble, 1, (state(ensemble, 1).leader,))
            raise Killed

    setattr(ensemble, "after_write" if is_done else "on_write", kill)
    try:
        alter(node, {0: target, 1: target})
        drive(node, ensemble)
    except Killed:
        lives.append(node.restarted())
        for index in (0, 1):
            [code] = alter(lives[-1], {index: target}).values()  # the client heard nothing, and asks again
            assert code in (None, *AGAIN)
        drive(lives[-1], ensemble)
    ensemble.on_write = ensemble.after_write = lambda _number: None
    last = assignment(ensemble)
    assert not unwanted_of(last), ordinal
    for index in (0, 1):
        assert state(ensemble, index).leader in last.replicas[index], ordinal
        assert set(state(ensemble, index).isr) == set(last.replicas[index]), ordinal
    for task in node.tasks._open:
        task._coroutine.close()  # what the process that is gone had begun
    lives[-1].zk.expire()
    return len(lives) > 1


def drive(node, ensemble):
    """Until nothing is on its way any more. Brokers answer, and whoever is assigned catches up with the leader."""
    for _ in range(20):
        node.turn(1)
        assert stops_of_needed(node, ensemble) == []
        node.channels.answer_stops(set(OTHERS))
        found = assignment(ensemble)
        for index, replicas in enumerate(found.replicas):
            now = state(ensemble, index)
            if now.leader in replicas and set(now.isr) != set(replicas):
                write_isr(ensemble, index, tuple(dict.fromkeys((*now.isr, *replicas))))
        if not (found.adding or found.removing or unwanted_of(found)):
            node.turn()
            return
        node.now_ms += reassignments.RECHECK_MS
    raise AssertionError("it never ends")


def name_unwanted(ensemble, unwanted, others):
    """As a controller left it that died, or one of Kafka's kind: these are not assigned, and lead or follow."""
    data = znodes.encode_topic(with_unwanted(assignment(ensemble)._replace(adding={}, removing={}, **others), unwanted))
    ensemble.put(znodes.topic_path("t"), data)


def test_a_leader_that_no_assignment_names_is_replaced_and_deleted_after_that(node, ensemble):
    name_unwanted(ensemble, {1: (4, 5)}, {"replicas": ((1, 2, 3), (1, 2, 3))})
    node.turn()
    assert (state(ensemble, 1).leader, state(ensemble, 1).isr) == (2, (2,))
    node.channels.answer_stops(set(OTHERS))
    node.now_ms += reassignments.RECHECK_MS
    answered_turn(node, set(OTHERS))
    assert not unwanted_of(assignment(ensemble))


def test_the_only_one_in_sync_is_kept_and_leads_again_once_it_is_assigned(node, ensemble, caplog):
    write_isr(ensemble, 1, (4,))
    name_unwanted(ensemble, {1: (4, 5)}, {"replicas": ((1, 2, 3), (1, 2, 3))})
    for _ in range(3):
        answered_turn(node, set(OTHERS))
        node.now_ms += reassignments.RECHECK_MS
    assert unwanted_of(assignment(ensemble)) == {1: (4,)}
    assert state(ensemble, 1).isr == (4,)
    assert caplog.text.count("replica not deleted yet topic=t partition=1 broker=4") <= 2
    assert alter(node, {1: (4, 2)}) == {1: None}
    assert state(ensemble, 1).leader == 4


def test_an_unassigned_member_of_an_isr_leaves_it_though_its_broker_lives(node, ensemble):
    """KAFKA-9672."""
    write_isr(ensemble, 1, (1, 4), leader=1)
    name_unwanted(ensemble, {}, {"replicas": ((1, 2, 3), (1, 2, 3))})
    node.turn()
    assert (state(ensemble, 1).leader, state(ensemble, 1).isr) == (1, (1,))


@pytest.mark.parametrize("error", [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.FENCED_LEADER_EPOCH])
def test_a_broker_that_refused_is_asked_again(node, ensemble, error):
    """Its owner needed longer, or its server of ZooKeeper was late: the field would stay for ever."""
    assert alter(node, {0: None, 1: None}) == {0: None, 1: None}
    node.channels.answer_stops(set(OTHERS), error)
    answered_turn(node, set())
    assert unwanted_of(assignment(ensemble))
    node.now_ms += reassignments.RECHECK_MS
    answered_turn(node, set(OTHERS))
    assert not unwanted_of(assignment(ensemble))


HOLDS = {
    "held since a restore": HeldReplica("", is_proven=True, parted_at=0, parted_in=9),
    "ahead of the state": HeldReplica("", end_offset=9, end_epoch=50, parted_at=3, parted_from=1, parted_in=0),
}


@pytest.mark.parametrize("held", HOLDS.values(), ids=HOLDS)
def test_a_replica_is_not_deleted_while_a_log_is_ahead_of_the_state(node, ensemble, held):
    """ZooKeeper was put back to a backup that calls it unwanted: it may have been moved back since, and have all records."""
    write_isr(ensemble, 1, (1, 2, 3), leader=1)
    held_path = held_znodes.held_path(2, "t")
    ensemble.put(held_path, held_znodes.encode_held({1: held}))
    name_unwanted(ensemble, {1: (4,)}, {"replicas": ((1, 2, 3), (1, 2, 3))})
    for _ in range(2):
        answered_turn(node, set(OTHERS))
        node.now_ms += reassignments.RECHECK_MS
    assert unwanted_of(assignment(ensemble)) == {1: (4,)}
    ensemble.remove(held_path)
    node.now_ms += reassignments.RECHECK_MS
    answered_turn(node, set(OTHERS))
    assert not unwanted_of(assignment(ensemble))


def test_a_topic_that_waits_for_absent_brokers_alone_is_not_read_for_ever(node, ensemble):
    """After a decommission these are thousands, each under its reservation every 15 s."""
    write_isr(ensemble, 1, (1, 2, 3), leader=1)
    ensemble.remove(znodes.broker_path(4))
    node.turn()
    name_unwanted(ensemble, {0: (4,), 1: (4,)}, {"replicas": ((1, 2, 3), (1, 2, 3))})
    node.turn()
    read = []
    node.zk.on_read = lambda: read.append(node.now_ms)
    for _ in range(3):
        node.now_ms += reassignments.RECHECK_MS
        node.tasks.run(1_000)
        node.settle()
    assert read == []
    start(ensemble, 4)
    answered_turn(node, set(OTHERS))
    assert not unwanted_of(assignment(ensemble))


@pytest.mark.parametrize("is_slow", [False, True], ids=["as it comes", "ZooKeeper answers the elections late"])
def test_a_broker_that_was_restarted_between_two_looks_deletes_its_replica(node, ensemble, is_slow):
    """It has no channel until others lead in its place. What it is asked then nobody tells it."""
    assert alter(node, {0: None, 1: None}) == {0: None, 1: None}
    write_isr(ensemble, 1, (1, 2, 3), leader=1)
    answered_turn(node, set())
    assert 5 in unwanted_of(assignment(ensemble))[0]
    ensemble.remove(znodes.broker_path(5))
    start(ensemble, 5)
    if is_slow:
        [part] = [one for one in node.active.term.parts() if isinstance(one, Leaders)]
        settle = part.settle

        async def settle_late():
            await settle()
            await node.tasks.sleep(500)

        part.settle = settle_late
    node.turn()
    for _ in range(4):
        node.now_ms += reassignments.RECHECK_MS
        answered_turn(node, set(OTHERS))
    assert not unwanted_of(assignment(ensemble))


def test_what_a_broker_deleted_late_is_deleted_again_where_it_was_assigned_since(node, ensemble):
    assert alter(node, {0: None}) == {0: None}
    answered_turn(node, set())
    late = [notice for notice in node.channels.told if notice[0] == "stop" and notice[1] == 5]
    assert alter(node, {0: (4, 5, 3)}) == {0: None}
    for _kind, *place, _epoch, _is_deleted, on_stopped in late:
        on_stopped(*place, ErrorCode.NONE)
    node.turn()
    ensemble.remove(znodes.broker_path(5))
    node.turn()
    node.channels.told.clear()
    assert alter(node, {0: None}) == {0: None}
    answered_turn(node, {4})
    assert unwanted_of(assignment(ensemble)).get(0) == (5,)
    start(ensemble, 5)
    answered_turn(node, set(OTHERS))
    assert not unwanted_of(assignment(ensemble)).get(0)
