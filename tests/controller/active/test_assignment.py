import pytest

from headrace.controller.active.assignment import elect, initial_state
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER


def test_the_first_live_replica_of_a_new_partition_leads():
    assert initial_state((3, 1, 2), [1, 2], 9) == PartitionState(1, 0, (1, 2), 9)


def test_a_new_partition_without_a_live_replica_has_no_leader_yet():
    state = initial_state((3, 1), [2], 9)
    assert state.leader == NO_LEADER
    assert elect(state, (3, 1), [1, 2], 10) == PartitionState(1, 1, (1,), 10)


STATE = PartitionState(leader=1, leader_epoch=4, isr=(1, 2), controller_epoch=9, version=17)


@pytest.mark.parametrize(
    ("live", "state", "expected"),
    [
        ([1, 2, 3], STATE, None),
        ([2, 3], STATE, PartitionState(2, 5, (2,), 10, 17)),
        ([3], STATE, PartitionState(NO_LEADER, 5, (1, 2), 10, 17)),
        ([], STATE, PartitionState(NO_LEADER, 5, (1, 2), 10, 17)),
        ([3], STATE._replace(leader=NO_LEADER), None),
        ([2, 3], STATE._replace(leader=NO_LEADER), PartitionState(2, 5, (2,), 10, 17)),
    ],
    ids=["leader lives", "in-sync one takes over", "out of sync never", "nobody", "still nobody", "one is back"],
)
def test_election(live, state, expected):
    assert elect(state, (3, 1, 2), live, 10) == expected
