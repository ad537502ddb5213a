from headrace.controller.active.leaders.elections import elect_offline
from headrace.controller.active.topics.assignment import initial_state
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER


def test_the_first_live_replica_of_a_new_partition_leads():
    assert initial_state((3, 1, 2), [1, 2], 9) == PartitionState(1, 0, (1, 2), 9)


def test_a_new_partition_without_a_live_replica_has_no_leader_yet():
    state = initial_state((3, 1), [2], 9)
    assert state.leader == NO_LEADER
    assert elect_offline(state, (3, 1), [1, 2], 10) == PartitionState(1, 1, (1,), 10)
