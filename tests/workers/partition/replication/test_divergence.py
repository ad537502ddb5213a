"""Where a follower's log parts from its leader's: each row of KIP-101 and KIP-279."""

import random

import pytest

from headrace.log.state.leader_epochs import end_offset_for
from headrace.workers.partition.replication.divergence import Cut, find_cut

OWN = [(1, 0), (3, 10), (5, 20)]  # ends at 30


@pytest.mark.parametrize(
    ("epoch", "end_offset", "cut"),
    [
        (5, 25, Cut(25, True)),  # the leader's epoch ended earlier
        (5, 40, Cut(30, True)),  # later: nothing is cut
        (3, 15, Cut(15, True)),  # the leader never had 5, and its 3 is shorter
        (3, 28, Cut(20, True)),  # its 3 is longer than ours, which ended at 20
        (4, 25, Cut(20, False)),  # an epoch that we don't know: ask again from our 3
        (2, 12, Cut(10, False)),
        (0, 0, Cut(0, True)),  # before all that we know: nothing of ours is the leader's
        (-1, -1, Cut(17, True)),  # it knows no such epoch: the high watermark is all that is certain
        (-1, 22, Cut(22, True)),  # a leader that does not say which epoch
    ],
)
def test_a_row(epoch, end_offset, cut):
    assert find_cut(epoch, end_offset, OWN, 30, 17) == cut


def test_a_log_without_epochs_takes_the_leaders_word():
    assert find_cut(3, 12, [], 30, 17) == Cut(12, True)
    assert find_cut(3, 50, [], 30, 17) == Cut(30, True)


def test_a_high_watermark_is_never_beyond_the_log():
    assert find_cut(-1, -1, [], 5, 17) == Cut(5, True)


@pytest.mark.parametrize("seed", range(50))
def test_iterating_ends_where_two_random_histories_part(seed):
    """Logs as lists of epochs by offset, made by leaders that took turns, each from the log of one before."""
    chance = random.Random(seed)
    histories = [[]]
    for epoch in range(1, 8):
        base = chance.choice(histories)
        histories.append(base[: chance.randint(0, len(base))] + [epoch] * chance.randint(0, 6))
    leader, follower = chance.choice(histories), chance.choice(histories)
    asked = 0
    while follower:
        epoch, end_offset = end_offset_for(_entries(leader), follower[-1], len(leader))
        if epoch == follower[-1] and end_offset >= len(follower):
            break
        cut = find_cut(epoch, end_offset, _entries(follower), len(follower), 0)
        assert cut.offset < len(follower)
        follower = follower[: cut.offset]
        asked += 1
        assert asked <= 8, f"seed {seed}"
    assert follower == leader[: len(follower)], f"seed {seed}"


def _entries(history):
    return [(epoch, n) for n, epoch in enumerate(history) if n == 0 or history[n - 1] != epoch]
