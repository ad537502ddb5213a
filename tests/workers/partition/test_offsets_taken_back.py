"""A follower whose committed records are cut (an unclean election): its start and its mark stay as low as they were made."""

import pytest

from headrace.log.state.checkpoints import LOG_START_OFFSET_FILE, REPLICATION_OFFSET_FILE, write_offset_checkpoint
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import FakeSeat, view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import torn

VIEW = view_of(("t", 1, {"segment.bytes": "4000"}))


def led_by(isr):
    """The view in which another broker is in sync as well: the mark waits for it."""
    topic = VIEW.topics["t"]
    partition = topic.partitions[0]._replace(leader_epoch=1, isr=isr, replicas=isr)
    return VIEW._replace(topics={"t": topic._replace(partitions=(partition,))})


@pytest.fixture
def replica(node):
    """It ends at 400, which is its mark; checkpoints say so from now on."""
    node.replicas.follow(VIEW)
    for _ in range(400):
        assert node.append(0)
    return node.replicas.by_slot[0]


def checkpoint(node, replica):
    """What the housekeeper writes now and then."""
    for one in node.dirs:
        write_offset_checkpoint(one / LOG_START_OFFSET_FILE, {replica.partition: replica.log.log_start_offset})
        write_offset_checkpoint(one / REPLICATION_OFFSET_FILE, {replica.partition: replica.high_watermark})


def killed(node):
    node.killed()


def machine_down(node):
    for replica in node.replicas.by_slot.values():
        replica.log.abandon()
    node.seat = FakeSeat(node.dirs)
    node.start()


def opened(node, view):
    """The controller process has heard of it: after a crash of the machine the checkpoint may be right, and the log short."""
    node.replicas.follow(view)
    node.replicas.trust(node.replicas.by_slot[0])


@pytest.fixture(params=[killed, machine_down])
def ended(request):
    """How the owner ends: its row stays, or the checkpoints are all there is."""
    return request.param


def test_what_was_written_after_a_cut_below_the_start_is_kept(node, replica, ended):
    replica.log.advance_log_start(300)
    replica.publish()
    checkpoint(node, replica)
    replica.truncate(200)
    assert (replica.log.log_start_offset, replica.log.log_end_offset) == (200, 200)
    for _ in range(50):
        assert node.append(0)
    ended(node)
    opened(node, VIEW)
    row = node.row(0)
    assert (row.log_start_offset, row.log_end_offset) == (200, 250)
    assert not list(node.dirs[0].rglob("*stray*"))


def test_a_mark_that_was_cut_below_does_not_rise_without_followers(node, replica, ended):
    checkpoint(node, replica)
    replica.truncate(200)
    node.replicas.follow(led_by((0, 7)))
    replica.log.append_as_leader([batch() for _ in range(50)], 1, NOW_MS)
    replica.publish()
    assert node.row(0).high_watermark == 200
    ended(node)
    opened(node, led_by((0, 7)))
    row = node.row(0)
    assert (row.high_watermark, row.log_end_offset) == (200, 250)


@pytest.mark.parametrize("start", [250, 320])
def test_a_start_that_moved_since_is_not_taken_back_further_than_it_may_have_been(node, replica, start):
    """At 250 it may be one of before the cut: records are kept, though they were deleted. At 320 it is not."""
    replica.log.advance_log_start(300)
    replica.publish()
    replica.truncate(200)
    for _ in range(150):
        assert node.append(0)
    replica.log.advance_log_start(start)
    replica.publish()
    checkpoint(node, replica)
    machine_down(node)
    node.replicas.follow(VIEW)
    assert node.row(0).log_start_offset == (200 if start <= 300 else start)


def test_a_cut_above_the_start_says_nothing_of_where_the_log_begins(node, replica):
    replica.log.advance_log_start(100)
    replica.publish()
    replica.truncate(200)
    for _ in range(150):
        assert node.append(0)
    replica.log.advance_log_start(250)
    replica.publish()
    checkpoint(node, replica)
    machine_down(node)
    node.replicas.follow(VIEW)
    assert node.row(0).log_start_offset == 250


def test_what_a_clean_stop_says_is_not_doubted(node, replica):
    replica.log.advance_log_start(300)
    replica.publish()
    replica.truncate(200)
    for _ in range(60):
        assert node.append(0)
    replica.log.advance_log_start(220)
    replica.publish()
    checkpoint(node, replica)
    assert node.replicas.close()
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(VIEW)
    row = node.row(0)
    assert (row.log_start_offset, row.high_watermark, row.log_end_offset) == (220, 260, 260)


def test_a_first_publication_that_was_torn_leaves_the_checkpoints(node, replica):
    checkpoint(node, replica)
    replica.publish()
    row = node.row(0)
    node.seat.partitions.publish(0, row._replace(log_start_offset=0, high_watermark=0))
    torn(node, 0)
    node.killed()
    node.replicas.follow(led_by((0, 7)))
    assert node.row(0).high_watermark == 400
