"""Eras of leader epochs."""

from headrace.leader_eras import ERA, era_of, first_after


def test_each_epoch_is_of_an_era_and_the_next_one_begins_above_it():
    for epoch in (-1, 0, 1, ERA - 1, ERA, 5 * ERA + 3):
        first = first_after(epoch)
        assert era_of(first) == era_of(epoch) + 1
        assert era_of(first - 1) == era_of(epoch)
        assert first > epoch
