"""Each cell of the table of partitions: what Kafka allows, and what is done."""

import pytest

from headrace.controller.active.effects import NEVER, NOBODY, Effects, TellLeaders
from headrace.controller.active.leaders.elections import elect_offline
from headrace.controller.active.leaders.partition_states import (
    PARTITION_STEPS,
    PartitionFacts,
    PartitionStatus,
    status_of,
    step_partition,
)
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER

P = PartitionStatus
# Kafka 3.9 `PartitionState.validPreviousStates`
VALID_BEFORE = {
    P.NEW: {P.NON_EXISTENT},
    P.ONLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.OFFLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.NON_EXISTENT: {P.OFFLINE},
}
STATE = PartitionState(leader=1, leader_epoch=4, isr=(1, 2), controller_epoch=9, version=17)
FACTS = PartitionFacts((1, 2, 3), STATE, (2, 3), 10)
ELECTED = Effects(PartitionState(2, 5, (2,), 10, 17), (TellLeaders(),))
FIRST = Effects(PartitionState(2, 0, (2, 3), 10), (TellLeaders(is_new=True),))


def elect(facts):
    return elect_offline(facts.state, facts.replicas, facts.online, facts.epoch)


EFFECTS = {
    (P.NON_EXISTENT, P.NEW): Effects(),
    (P.NEW, P.ONLINE): FIRST,
    (P.ONLINE, P.ONLINE): ELECTED,
    (P.OFFLINE, P.ONLINE): ELECTED,
    (P.NEW, P.OFFLINE): Effects(),
    (P.ONLINE, P.OFFLINE): Effects(),
    (P.OFFLINE, P.OFFLINE): Effects(),
    (P.OFFLINE, P.NON_EXISTENT): Effects(),
}


@pytest.mark.parametrize("wanted", P, ids=lambda status: status.value)
@pytest.mark.parametrize("status", P, ids=lambda status: status.value)
def test_each_cell(status, wanted):
    done = step_partition(status, wanted, FACTS, elect)
    assert (status in VALID_BEFORE[wanted]) == (done is not NEVER)
    assert done == EFFECTS.get((status, wanted), NEVER)


def test_the_table_has_a_cell_for_each_pair():
    assert PARTITION_STEPS.keys() == {(status, wanted) for status in P for wanted in P}


@pytest.mark.parametrize("status", [P.NEW, P.OFFLINE], ids=lambda status: status.value)
def test_nobody_is_online(status):
    assert step_partition(status, P.ONLINE, FACTS._replace(online=()), elect) is NOBODY


def test_another_kind_of_election():
    def elect_third(facts):
        return facts.state._replace(leader=3)

    done = step_partition(P.ONLINE, P.ONLINE, FACTS, elect_third)
    assert done == Effects(STATE._replace(leader=3), (TellLeaders(),))


@pytest.mark.parametrize(
    ("state", "online", "is_deleted", "expected"),
    [
        (STATE, (1,), False, P.ONLINE),
        (STATE, (2,), False, P.OFFLINE),
        (STATE._replace(leader=NO_LEADER), (1, 2), False, P.OFFLINE),
        (None, (1,), False, P.NEW),
        (STATE, (1,), True, P.NON_EXISTENT),
    ],
)
def test_what_a_partition_is(state, online, is_deleted, expected):
    assert status_of(state, online, is_deleted) is expected
