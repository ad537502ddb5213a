"""Offsets of transactions: what is refused, what makes a group, what is left of a group that goes."""

import pytest


@pytest.mark.parametrize("makes_group", [False, True])
@pytest.mark.parametrize(
    ("producer_id", "epoch", "error"),
    [
        (-1, 0, "INVALID_PRODUCER_ID_MAPPING"),
        (-1, -1, "INVALID_PRODUCER_ID_MAPPING"),
        (77, -1, "INVALID_PRODUCER_EPOCH"),
    ],
)
def test_a_producer_that_can_not_be_commits_nothing(desk, makes_group, producer_id, epoch, error):
    """No marker names such a producer: the offsets of the group were unstable for ever."""
    if not makes_group:
        desk.commit(5)
    assert desk.error_of(desk.commit_transactional(41, producer_id=producer_id, epoch=epoch)) == error
    assert (desk.group is None) is makes_group
    assert desk.committed(stable=True) == ((-1 if makes_group else 5), "NONE")
