"""A log that is opened again for want of room is judged like any other: it may have lost meanwhile what was published."""

import errno

import pytest

from headrace.errors import LogShort, StorageFailed
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.shm.partition_table import RowState
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import look_and_open

SIZE = len(batch())
OFFSET, LENGTH = 7, 8  # bytes of a batch: where its length is damaged, the next one is not found


def view(*others):
    found = view_of(("t", 1))
    partition = found.topics["t"].partitions[0]._replace(replicas=(0, *others), isr=(0, *others))
    return found._replace(topics={"t": found.topics["t"]._replace(partitions=(partition,))})


def damage(replica, number, at):
    path = path_of(replica.log.directory, 0, LOG_SUFFIX)
    data = bytearray(path.read_bytes())
    data[number * SIZE + at] ^= 4
    path.write_bytes(data)


def refuse_append(node, replica):
    node.disk.fails["pwritev"] = errno.ENOSPC
    with pytest.raises(StorageFailed) as refused:
        replica.append([batch()], NOW_MS)
    replica.fail(refused.value)
    node.disk.fails.clear()


def led(node, *others):
    node.replicas.follow(view(*others))
    node.replicas.take_opened()
    replica = node.replicas.by_slot[0]
    for _ in range(10):
        replica.append([batch()], NOW_MS)
    return replica


@pytest.mark.parametrize("others", [(), (1, 2)], ids=["alone", "with followers"])
def test_one_that_ends_before_what_was_published_has_no_role_until_that_was_reported(node, others, caplog):
    """Beside followers nothing is committed yet: they have taken the records from here all the same."""
    replica = led(node, *others)
    damage(replica, 4, LENGTH)
    refuse_append(node, replica)
    look_and_open(node)
    again = node.replicas.by_slot[0]
    assert again is not replica
    assert replica.state is RowState.DELETED, "nobody takes it for the leader any more"
    assert again.is_doubted
    assert not again.is_leader
    (opened,) = node.replicas.take_opened()
    assert (opened.replica, opened.end_offset, opened.high_watermark, opened.was_cut) == (again, 4, 10, True)
    assert "end_offset=4 published=10" in caplog.text
    node.replicas.trust(again)
    assert again.is_leader
    assert again.append([batch()], NOW_MS) == [(0, 4, -1)]


def test_one_without_other_replicas_keeps_what_follows_the_damage(node):
    replica = led(node)
    damage(replica, 4, OFFSET)
    refuse_append(node, replica)
    look_and_open(node)
    assert node.replicas.by_slot[0] is replica
    assert replica.log.segment_bases == [0, 5]
    assert replica.append([batch()], NOW_MS) == [(0, 10, -1)]


def test_one_that_is_whole_goes_on(node):
    replica = led(node, 1)
    refuse_append(node, replica)
    look_and_open(node)
    assert node.replicas.by_slot[0] is replica
    assert replica.is_leader
    assert not node.replicas.take_opened()


def test_a_killed_owners_log_is_compared_with_all_that_was_published_not_with_the_mark_alone(node):
    replica = led(node, 1)
    assert (replica.high_watermark, node.row(0).log_end_offset) == (0, 10)
    damage(replica, 4, LENGTH)
    node.killed().follow(view(1))
    again = node.replicas.by_slot[0]
    assert again.is_doubted
    (opened,) = node.replicas.take_opened()
    assert (opened.end_offset, opened.high_watermark) == (4, 10)


def truncated(replica, offset):
    """As its follower's state does (`followed.py`)."""
    with pytest.raises(LogShort) as short:
        replica.truncate(offset)
    replica.fail(short.value)


def test_a_log_that_a_truncation_finds_damaged_has_no_role_until_that_was_reported(node, caplog):
    """Elected before it has fetched the rest again, it would lead without records that it has acknowledged."""
    replica = led(node, 1, 2)
    damage(replica, 2, LENGTH)
    truncated(replica, 7)
    assert replica.state is RowState.DELETED
    assert "end_offset=2 published=7" in caplog.text
    look_and_open(node)
    again = node.replicas.by_slot[0]
    assert again is not replica
    assert again.is_doubted
    assert not again.is_leader
    assert not node.seat.mask
    (opened,) = node.replicas.take_opened()
    assert (opened.replica, opened.end_offset, opened.high_watermark, opened.was_cut) == (again, 2, 7, True)
    node.replicas.trust(again)
    assert again.append([batch()], NOW_MS) == [(0, 2, -1)]


def test_readers_are_never_offered_what_such_a_truncation_lost(node):
    replica = led(node)
    assert replica.high_watermark == 10
    damage(replica, 2, LENGTH)
    with pytest.raises(LogShort):
        replica.truncate(7)
    row = node.row(0)
    assert (row.log_end_offset, row.high_watermark) == (2, 2)
