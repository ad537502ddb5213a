"""A log that was opened short: nobody goes by what its row said before, and no loss is forgotten until it was reported."""

import pytest

from headrace.ids import TopicPartition
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.state.checkpoints import REPLICATION_OFFSET_FILE, write_offset_checkpoint
from headrace.log.state.loss_mark import LOSS_FILE
from headrace.shm.partition_table import RowState, has_published
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import Node, look_and_open, torn
from tests.workers.partition.test_reopened_logs import LENGTH, OFFSET, SIZE, damage, led, refuse_append, truncated, view

OTHERS = (1, 2)


def killed(node):
    node.killed().follow(view(*OTHERS))


def reopened(node):
    refuse_append(node, node.replicas.by_slot[0])
    look_and_open(node)


@pytest.mark.parametrize("way", [killed, reopened])
def test_its_row_says_loading_and_keeps_what_was_published(node, way):
    led(node, *OTHERS)
    damage(node.replicas.by_slot[0], 4, LENGTH)
    way(node)
    replica = node.replicas.by_slot[0]
    assert (replica.is_doubted, replica.log.log_end_offset) == (True, 4)
    row = node.row(0)
    assert (row.state, row.log_end_offset, row.generation) == (RowState.LOADING, 10, node.seat.generation)
    node.replicas.take_opened()
    node.replicas.trust(replica)
    row = node.row(0)
    assert (row.state, row.log_end_offset, row.high_watermark) == (RowState.LEADER, 4, 0)


def test_so_does_one_whose_owner_was_killed_while_it_published(node):
    replica = led(node)
    damage(replica, 4, LENGTH)
    torn(node, 0)
    node.killed().follow(view())
    assert node.replicas.by_slot[0].is_doubted
    assert (node.row(0).state, node.row(0).high_watermark) == (RowState.LOADING, 10)


def test_one_that_a_truncation_finds_short_says_so_before_it_is_opened_again(node):
    replica = led(node, *OTHERS)
    damage(replica, 2, LENGTH)
    truncated(replica, 7)
    assert (node.row(0).state, node.row(0).log_end_offset) == (RowState.LOADING, 7)


def test_the_next_owner_knows_of_it_where_this_one_is_killed_before_it_was_answered(node):
    """The second opening finds nothing damaged, and no owner before it has served what is left."""
    led(node, *OTHERS)
    damage(node.replicas.by_slot[0], 4, LENGTH)
    killed(node)
    for _ in range(2):
        killed(node)
        (opened,) = node.replicas.take_opened()
        assert (opened.end_offset, opened.high_watermark, opened.was_cut, opened.has_mark) == (4, 10, True, True)
        assert node.replicas.by_slot[0].is_doubted
        assert node.row(0).state == RowState.LOADING


def test_so_it_is_where_the_end_is_gone_at_the_end_of_a_batch(node):
    """Nothing is damaged, so no file notes it: the row alone says what was committed."""
    replica = led(node)
    path = path_of(replica.log.directory, 0, LOG_SUFFIX)
    path.write_bytes(path.read_bytes()[: 6 * SIZE])
    for _ in range(3):
        node.killed().follow(view())
        (opened,) = node.replicas.take_opened()
        assert (opened.end_offset, opened.high_watermark, opened.was_cut) == (6, 10, False)
        assert node.replicas.by_slot[0].is_doubted


@pytest.mark.parametrize("what", ["synced elsewhere", "owed sync", "mark"])
def test_nothing_publishes_it_before_it_was_answered(node, what):
    led(node, *OTHERS)
    damage(node.replicas.by_slot[0], 4, LENGTH)
    killed(node)
    replica, row = node.replicas.by_slot[0], node.row(0)
    if what == "synced elsewhere":
        assert replica.log.note_synced(4, replica.log.segments_version)
        replica.publish()
    elif what == "owed sync":
        node.replicas._sync_owed(replica)
        replica.publish()
    else:
        replica.move_high_watermark(3)
    assert node.row(0) == row


def test_one_that_was_whole_serves_by_the_row_of_the_owner_before_until_it_has_a_role(node):
    led(node, *OTHERS)
    node.killed()
    assert node.row(0).state == RowState.LEADER
    node.replicas.follow(view(*OTHERS))
    assert not node.replicas.by_slot[0].is_doubted
    assert (node.row(0).state, node.row(0).log_end_offset) == (RowState.LEADER, 10)


def test_which_rows_say_what_was_published(node):
    led(node)
    row = node.row(0)
    said = {state: has_published(row._replace(state=state)) for state in RowState}
    assert [state for state in RowState if said[state]] == [RowState.LOADING, RowState.LEADER, RowState.FOLLOWER]
    assert not has_published(row._replace(state=RowState.LOADING, generation=0)), (
        "a log that was not opened in this boot"
    )


# A log without other replicas


def node_down(node, mark, *others):
    """The whole node is killed: no row is left, and the checkpoint of the mark is some seconds old."""
    for replica in node.replicas.by_slot.values():
        replica.log.abandon()
    write_offset_checkpoint(node.dirs[0] / REPLICATION_OFFSET_FILE, {TopicPartition("t", 0): mark})
    again = Node(node.dirs[0].parent)
    again.replicas.follow(view(*others))
    return again


def cut(node):
    replica = node.replicas.by_slot[0]
    path = path_of(replica.log.directory, 0, LOG_SUFFIX)
    path.write_bytes(path.read_bytes()[:-10])
    return path.parent


def test_a_sole_log_that_was_cut_above_its_checkpointed_mark_waits_for_another_leader_epoch(node):
    """Its records up to the cut were read: offsets are given again from there."""
    led(node)
    directory = cut(node)
    again = node_down(node, 5)
    replica = again.replicas.by_slot[0]
    assert (directory / LOSS_FILE).exists()
    assert replica.is_doubted
    assert not replica.is_leader
    (opened,) = again.replicas.take_opened()
    assert (opened.end_offset, opened.high_watermark, opened.is_short) == (9, 10, True)
    again.replicas.trust(replica)
    assert replica.is_leader


def test_so_it_is_where_an_owner_was_killed_before_that_was_answered(node):
    led(node)
    cut(node)
    again = node_down(node, 5)
    again.killed().follow(view())
    (opened,) = again.replicas.take_opened()
    assert opened.is_short
    again.replicas.by_slot[0].log.forget_loss()
    again.killed().follow(view())
    (opened,) = again.replicas.take_opened()
    assert not opened.is_short


def test_one_with_other_replicas_is_held_by_its_own_rules(node):
    led(node, *OTHERS)
    cut(node)
    again = node_down(node, 5, *OTHERS)
    (opened,) = again.replicas.take_opened()
    assert (opened.was_cut, opened.is_short) == (True, False)


def test_an_append_that_was_torn_by_a_kill_of_its_worker_is_no_loss(node):
    """The row says what was published: nobody was answered for more."""
    replica = led(node)
    with open(path_of(replica.log.directory, 0, LOG_SUFFIX), "ab") as file:
        file.write(batch()[: SIZE // 2])
    node.killed().follow(view())
    (opened,) = node.replicas.take_opened()
    assert (opened.end_offset, opened.was_cut, opened.is_short) == (10, True, False)
    assert node.replicas.by_slot[0].is_leader


def test_damage_whose_rest_stays_in_the_log_gives_no_offset_twice(node):
    replica = led(node)
    damage(replica, 4, OFFSET)
    node.killed().follow(view())
    (opened,) = node.replicas.take_opened()
    assert (opened.end_offset, opened.was_cut, opened.is_short) == (10, True, False)
    assert node.replicas.by_slot[0].append([batch()], NOW_MS) == [(0, 10, -1)]
