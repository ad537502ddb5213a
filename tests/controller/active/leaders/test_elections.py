"""Each kind of election, over every set of brokers that are online."""

from itertools import chain, combinations

import pytest

from headrace.controller.active.leaders.elections import (
    RECOVERED,
    RECOVERING,
    elect_for_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
    without,
)
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER
from headrace.leader_eras import ERA

EPOCH = 10
STATE = PartitionState(leader=1, leader_epoch=4, isr=(1, 2), controller_epoch=9, version=17)
REPLICAS = (3, 1, 2)


def subsets(items):
    return list(chain.from_iterable(combinations(items, size) for size in range(len(items) + 1)))


def led_by(leader, isr, recovery=RECOVERED):
    return PartitionState(leader, 5, isr, EPOCH, 17, recovery)


@pytest.mark.parametrize(
    ("online", "expected"),
    [
        ([1, 2, 3], led_by(1, (1, 2))),
        ([2, 3], led_by(2, (2,))),
        ([3], None),
        ([], None),
    ],
    ids=["in the order of the assignment", "the ISR is its live members", "out of sync never", "nobody"],
)
def test_a_leader_for_a_partition_that_lost_its_own(online, expected):
    assert elect_offline(STATE, REPLICAS, online, EPOCH) == expected


@pytest.mark.parametrize(
    ("online", "expected"),
    [
        ([2, 3], led_by(2, (2,))),
        ([3], led_by(3, (3,), RECOVERING)._replace(leader_epoch=ERA)),
        ([4], None),
    ],
    ids=["one in sync goes first", "alone, recovering", "one that has no replica"],
)
def test_an_unclean_election(online, expected):
    assert elect_offline(STATE, REPLICAS, online, EPOCH, is_unclean=True) == expected


def test_an_unclean_election_of_old_brokers_says_nothing_of_recovery():
    elected = elect_offline(STATE, REPLICAS, [3], EPOCH, is_unclean=True, is_recovery_told=False)
    assert elected == led_by(3, (3,))._replace(leader_epoch=ERA)


def test_an_election_out_of_the_isr_begins_an_era_until_half_of_them_are_used():
    for before, after in ((ERA + 7, 2 * ERA), (2**30 - 1, 2**30), (2**30 + 5, 2**30 + 6)):
        elected = elect_offline(STATE._replace(leader_epoch=before), REPLICAS, [3], EPOCH, is_unclean=True)
        assert elected.leader_epoch == after


def test_a_clean_election_keeps_what_the_state_says_of_recovery():
    state = STATE._replace(recovery=RECOVERING)
    assert elect_offline(state, REPLICAS, [2], EPOCH) == led_by(2, (2,), RECOVERING)


@pytest.mark.parametrize(
    ("target", "online", "expected"),
    [
        ((4, 2), [1, 2, 4], led_by(2, (1, 2))),
        ((1, 2), [1, 2], led_by(1, (1, 2))),
        ((4, 5), [1, 2, 4, 5], None),
        ((2,), [1], None),
    ],
    ids=["the first in sync", "it leads already", "none in sync", "not online"],
)
def test_a_leader_among_the_target_of_a_reassignment(target, online, expected):
    assert elect_reassigned(STATE, target, online, EPOCH) == expected


@pytest.mark.parametrize(
    ("replicas", "online", "expected"),
    [((2, 1), [1, 2], led_by(2, (1, 2))), ((3, 1, 2), [1, 2, 3], None), ((2, 1), [1], None)],
    ids=["it leads", "out of sync", "not online"],
)
def test_the_preferred_leader(replicas, online, expected):
    assert elect_preferred(STATE, replicas, online, EPOCH) == expected


@pytest.mark.parametrize(
    ("shutting_down", "online", "expected"),
    [
        ({1}, [1, 2, 3], led_by(2, (2,))),
        ({1, 2}, [1, 2, 3], None),
        ({1}, [1, 3], None),
        ({2}, [1, 2, 3], led_by(1, (1,))),
    ],
    ids=["another in sync", "both go", "none in sync is there", "a follower goes"],
)
def test_a_leader_in_the_place_of_one_that_is_about_to_go(shutting_down, online, expected):
    assert elect_for_shutdown(STATE, REPLICAS, online, shutting_down, EPOCH) == expected


@pytest.mark.parametrize(
    ("isr", "leader", "gone", "expected"),
    [
        ((1, 2), 1, (2,), led_by(1, (1,))),
        ((1, 2), 1, (1,), led_by(NO_LEADER, (2,))),
        ((1, 2, 3), 1, (2, 3), led_by(1, (1,))),
        ((1,), 1, (1,), led_by(NO_LEADER, (1,))),
        ((1, 2), 1, (1, 2), led_by(NO_LEADER, (1, 2))),
        ((1, 2), 1, (3,), None),
        ((1,), NO_LEADER, (1,), None),
    ],
    ids=[
        "a follower",
        "the leader",
        "several",
        "the last one stays",
        "the last ones stay",
        "not in sync",
        "said before",
    ],
)
def test_the_isr_without_replicas(isr, leader, gone, expected):
    state = STATE._replace(isr=isr, leader=leader)
    assert without(state, gone, EPOCH) == expected


def test_whoever_is_elected_is_online_and_was_in_sync_and_the_epoch_rises():
    for isr in subsets((1, 2, 3))[1:]:
        for online in subsets((1, 2, 3)):
            state = STATE._replace(isr=isr)
            elected = {
                "offline": elect_offline(state, REPLICAS, online, EPOCH),
                "preferred": elect_preferred(state, REPLICAS, online, EPOCH),
                "reassigned": elect_reassigned(state, (2, 3), online, EPOCH),
                "shutdown": elect_for_shutdown(state, REPLICAS, online, {3}, EPOCH),
            }
            for kind, after in elected.items():
                if after is None:
                    continue
                assert after.leader in set(online) & set(isr) & set(after.isr), (kind, isr, online)
                assert set(after.isr) <= set(isr), (kind, isr, online)
                assert (after.leader_epoch, after.controller_epoch, after.version) == (5, EPOCH, 17)
            assert (elected["offline"] is None) == (not set(isr) & set(online))
