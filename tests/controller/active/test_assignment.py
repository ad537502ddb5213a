import random
from collections import Counter

import pytest

from headrace.controller.active.assignment import assign_replicas, initial_state
from headrace.controller.active.elections import elect_offline
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER


def test_replicas_go_round_the_brokers_and_shift_after_each_round():
    # the example in the comment of Kafka's AdminUtils: 5 brokers, 10 partitions, 3 replicas, from broker 0
    rows = assign_replicas(range(5), 10, 3, start=0, shift=0)
    assert rows == (
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    )


def test_one_broker_holds_everything():
    assert assign_replicas([7], 3, 1, 0, 0) == ((7,), (7,), (7,))


@pytest.mark.parametrize("seed", range(20))
def test_leaders_are_spread_evenly_and_no_broker_stands_twice_in_a_row(seed):
    chance = random.Random(seed)
    brokers = sorted(chance.sample(range(1000), chance.randint(1, 9)))
    factor, partitions = chance.randint(1, len(brokers)), chance.randint(1, 60)
    rows = assign_replicas(brokers, partitions, factor, chance.randrange(len(brokers)), chance.randrange(len(brokers)))
    assert all(len(set(row)) == factor and set(row) <= set(brokers) for row in rows), seed
    leaders = Counter(row[0] for row in rows)
    most, least = max(leaders.values()), min(leaders[broker] for broker in brokers)
    assert most - least <= 1, seed


def test_the_first_live_replica_of_a_new_partition_leads():
    assert initial_state((3, 1, 2), [1, 2], 9) == PartitionState(1, 0, (1, 2), 9)


def test_a_new_partition_without_a_live_replica_has_no_leader_yet():
    state = initial_state((3, 1), [2], 9)
    assert state.leader == NO_LEADER
    assert elect_offline(state, (3, 1), [1, 2], 10) == PartitionState(1, 1, (1,), 10)
