"""Offsets of transactions: what is refused, what makes a group, what is left of a group that goes."""

import pytest

from headrace.errors import ErrorCode
from headrace.workers.coordinators.group import machine


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


def test_what_stores_nothing_makes_no_group_and_holds_none(desk):
    """A producer's id was held, with no record of it: no marker came, and the group never went."""
    assert desk.error_of(desk.commit_transactional(41, topic="none", partition=9)) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert desk.group is None
    desk.commit(5)
    desk.commit_transactional(41, partition=9)
    assert not desk.group.transactions
    desk.delete_group()
    assert desk.group is None


def test_a_transaction_makes_no_group_where_there_is_no_room(desk, monkeypatch):
    monkeypatch.setattr(machine, "GROUPS_PER_PARTITION_MAX", 1)
    desk.commit(5, group="other")
    assert desk.error_of(desk.commit_transactional(41)) == "COORDINATOR_NOT_AVAILABLE"
    assert desk.group is None
    assert desk.error_of(desk.commit_transactional(41, group="other")) == "NONE"


def test_a_group_whose_transaction_could_not_be_written_goes_with_the_next_upkeep(desk):
    desk.holds = True
    desk.commit_transactional(41)
    desk.settle(ErrorCode.NOT_ENOUGH_REPLICAS)
    desk.expire()
    assert desk.group is None


def test_a_marker_looks_at_no_group_that_holds_nothing_of_its_producer(desk):
    """It went over all groups of the partition."""
    for name in "abc":
        desk.commit(5, group=name)
        desk.commit_transactional(6, group=name, producer_id=ord(name))
    assert {producer_id: len(groups) for producer_id, groups in desk.coordinator._machine.holders.items()} == {
        97: 1, 98: 1, 99: 1,
    }  # fmt: skip
    desk.coordinator._machine.groups["b"].transactions = None
    desk.end_transaction(97, True)
    assert desk.committed(group="a") == (6, "NONE")
    assert 97 not in desk.coordinator._machine.holders


def test_a_marker_does_nothing_to_a_group_that_was_deleted_or_made_again(desk):
    desk.commit(5)
    desk.commit_transactional(41)
    desk.delete_group()
    desk.commit(6)
    desk.end_transaction(77, True)
    assert desk.committed() == (6, "NONE")
    assert not desk.coordinator._machine.holders


def test_offsets_that_a_transaction_holds_get_tombstones_with_their_group(desk):
    """Without them a commit marker brought the offsets back at the next load."""
    desk.commit_transactional(41)
    (key, _value), *_more = desk.log
    desk.delete_group()
    assert desk.log[-1] == (key, None)
