"""Each cell of the table of replicas: what Kafka allows, and what is done."""

import pytest

from headrace.controller.active.effects import NEVER, Effects, StopReplica, TellLeaders, TellMetadata
from headrace.controller.active.leaders.replica_states import REPLICA_STEPS, ReplicaFacts, ReplicaStatus, step_replica
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER

R = ReplicaStatus
# Kafka 3.9 `ReplicaState.validPreviousStates`
VALID_BEFORE = {
    R.NEW: {R.NON_EXISTENT},
    R.ONLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.OFFLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.DELETION_STARTED: {R.OFFLINE},
    R.DELETION_SUCCESSFUL: {R.DELETION_STARTED},
    R.DELETION_INELIGIBLE: {R.OFFLINE, R.DELETION_STARTED},
    R.NON_EXISTENT: {R.DELETION_SUCCESSFUL},
}
STATE = PartitionState(leader=1, leader_epoch=4, isr=(1, 2), controller_epoch=9, version=17)
FOLLOWER = ReplicaFacts(2, (1, 2, 3), STATE, 10)
SHRUNK = PartitionState(1, 5, (1,), 10, 17)

TOLD = Effects(notices=(TellLeaders((2,)),))
STOPPED = Effects(SHRUNK, (StopReplica(2, 4, False), TellLeaders((1, 3))))
NOTED = Effects()
EFFECTS = {
    (R.NON_EXISTENT, R.NEW): Effects(notices=(TellLeaders((2,), is_new=True),)),
    (R.NEW, R.ONLINE): NOTED,
    (R.ONLINE, R.ONLINE): TOLD,
    (R.OFFLINE, R.ONLINE): TOLD,
    (R.DELETION_INELIGIBLE, R.ONLINE): TOLD,
    (R.NEW, R.OFFLINE): STOPPED,
    (R.ONLINE, R.OFFLINE): STOPPED,
    (R.OFFLINE, R.OFFLINE): STOPPED,
    (R.DELETION_INELIGIBLE, R.OFFLINE): STOPPED,
    (R.OFFLINE, R.DELETION_STARTED): Effects(notices=(StopReplica(2, 4, True),)),
    (R.DELETION_STARTED, R.DELETION_SUCCESSFUL): NOTED,
    (R.DELETION_STARTED, R.DELETION_INELIGIBLE): NOTED,
    (R.OFFLINE, R.DELETION_INELIGIBLE): NOTED,
    (R.DELETION_SUCCESSFUL, R.NON_EXISTENT): NOTED,
}


@pytest.mark.parametrize("wanted", R, ids=lambda status: status.value)
@pytest.mark.parametrize("status", R, ids=lambda status: status.value)
def test_each_cell(status, wanted):
    done = step_replica(status, wanted, FOLLOWER)
    assert (status in VALID_BEFORE[wanted]) == (done is not NEVER)
    assert done == EFFECTS.get((status, wanted), NEVER)


def test_the_table_has_a_cell_for_each_pair():
    assert REPLICA_STEPS.keys() == {(status, wanted) for status in R for wanted in R}


@pytest.mark.parametrize(
    ("facts", "wanted", "expected"),
    [
        (FOLLOWER._replace(broker=1), R.OFFLINE, Effects(
            PartitionState(NO_LEADER, 5, (2,), 10, 17), (StopReplica(1, 4, False), TellLeaders((2, 3))))),
        (FOLLOWER._replace(broker=3), R.OFFLINE, Effects(None, (StopReplica(3, 4, False), TellMetadata()))),
        (FOLLOWER._replace(state=None), R.OFFLINE, Effects(None, (StopReplica(2, -1, False), TellMetadata()))),
        (FOLLOWER._replace(is_deleted=True), R.OFFLINE, Effects(None, (StopReplica(2, -2, False),))),
        (FOLLOWER._replace(state=None), R.ONLINE, Effects()),
        (FOLLOWER._replace(state=STATE._replace(isr=(1, 2, 3)), offline=(3,)), R.OFFLINE, Effects(
            SHRUNK, (StopReplica(2, 4, False), TellLeaders((1, 3))))),
    ],
    ids=["the leader", "one out of sync", "one without a state", "one of a deleted topic", "online without a state",
         "with others that are offline"],
)  # fmt: skip
def test_what_a_step_does_depends_on_the_state(facts, wanted, expected):
    assert step_replica(R.ONLINE, wanted, facts) == expected


def test_a_replica_that_leads_can_not_be_new():
    assert step_replica(R.NON_EXISTENT, R.NEW, FOLLOWER._replace(broker=1)) is NEVER
    assert step_replica(R.NON_EXISTENT, R.NEW, FOLLOWER._replace(state=None)) == Effects()


def test_a_replica_of_a_deleted_topic_is_deleted_under_the_epoch_of_deletions():
    done = step_replica(R.OFFLINE, R.DELETION_STARTED, FOLLOWER._replace(is_deleted=True))
    assert done == Effects(None, (StopReplica(2, -2, True),))
