"""Replicas that come, change their role, are released and deleted; owners that are killed while they publish."""

import errno
import os
import threading

import pytest

from headrace.errors import StorageExhausted, StorageFailed
from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import LOG_START_OFFSET_FILE, write_offset_checkpoint
from headrace.log.writing.partition_log import PartitionLog
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.counters import RECOVERED_BYTES
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.log_opener import LogOpener
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import TOPIC_ID, FakeSeat, view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import Node, torn, with_id


def test_what_is_remembered_of_earlier_views_is_bounded(node):
    def follow(name, is_doomed):
        view = view_of((name, 1))
        node.replicas.follow(view)
        key = view.topics[name].partitions[0].key
        node.replicas.follow(view_of(doomed=[DoomedReplica(name, 0, 0, key)] if is_doomed else []))

    for number in range(5):
        follow(f"deleted{number}", is_doomed=True)
    assert not len(node.replicas._known)
    for number in range(node.seat.partitions.rows + 5):
        follow(f"unreadable{number}", is_doomed=False)
    assert len(node.replicas._known) == node.seat.partitions.rows


def test_a_topic_that_was_unreadable_for_a_while_is_not_taken_for_a_new_one(node):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0)
    node.replicas.follow(view_of(("other", 0)))  # its znode can't be read
    node.replicas.failures.lose_directory(node.dirs[0], StorageFailed("injected"))
    node.replicas.follow(view)
    assert node.row(0).state == RowState.OFFLINE
    assert not (node.dirs[1] / "t-0").exists()


def test_a_row_torn_by_a_kill_costs_no_full_recovery_and_keeps_the_high_watermark(node):
    from headrace.shm.layout import PARTITION_ROW_BYTES, PARTITION_ROWS

    assert (PARTITION_ROWS, PARTITION_ROW_BYTES) == (128, 256)
    view = view_of(("t", 1, {"segment.bytes": "2000"}))
    node.replicas.follow(view)
    for _ in range(80):
        node.append(0)
    before = node.row(0)
    first = node.replicas.by_slot[0].log.directory / f"{0:020d}.log"
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF  # were it read again, the log would end here
    first.write_bytes(data)
    torn(node, 0)
    assert node.row(0) is None
    node.killed()
    node.replicas.follow(view)
    after = node.row(0)
    assert (after.log_end_offset, after.high_watermark, after.state) == (80, 80, RowState.LEADER)
    assert (after.end_segment, after.end_position) == (before.end_segment, before.end_position)
    assert node.seat.counters.get(RECOVERED_BYTES) <= 2000


def test_a_torn_row_whose_halves_do_not_fit_is_checked_against_the_headers(node):
    view = view_of(("t", 1, {"segment.bytes": "2000"}))
    node.replicas.follow(view)
    for _ in range(40):
        node.append(0)
    good = node.row(0)
    for segment, position in ((good.end_segment, 1999), (0, good.end_position), (0, 7), (good.end_segment, 1)):
        node.seat.partitions.publish(0, good._replace(end_segment=segment, end_position=position))
        torn(node, 0)
        node.killed()
        node.replicas.follow(view)
        assert node.row(0).log_end_offset == 40


def test_a_clean_start_says_nothing_of_a_log_that_was_written_to_since(node, monkeypatch):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.replicas.close()
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(view)
    node.append(0, 50)

    def refuse(*_arguments, **_settings):
        raise StorageExhausted("too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(LogOpener, "open", refuse)
        node.killed().follow(view)
    assert node.row(0).state == RowState.OFFLINE
    node.killed().follow(view)
    assert node.row(0).log_end_offset == 50
    assert node.seat.counters.get(RECOVERED_BYTES) == node.row(0).size_bytes  # all of it was looked at


def test_only_logs_with_flush_ms_are_looked_at(node):
    node.replicas.follow(view_of(("t", 3), ("timed", 1, {"flush.ms": "100"})))
    for slot in range(4):
        node.append(slot)
    asked = []
    for slot, replica in node.replicas.by_slot.items():
        flush_due = replica.log.flush_due
        replica.log.flush_due = lambda now_ms, slot=slot, inner=flush_due: asked.append(slot) or inner(now_ms)
    node.tick()
    assert asked == [3]
    assert [node.row(slot).recovery_point for slot in range(4)] == [0, 0, 0, 1]


def test_the_start_of_a_log_is_known_again(node):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0, 10)
    node.replicas.close()
    write_offset_checkpoint(node.dirs[0] / "log-start-offset-checkpoint", {TopicPartition("t", 0): 4})
    node.seat = FakeSeat(node.dirs)
    node.start().follow(view)
    assert (node.row(0).log_start_offset, node.row(0).log_end_offset) == (4, 10)


def test_the_directory_of_a_deleted_topic_of_the_same_name_is_put_aside(node):
    node.replicas.follow(view_of(("t", 1)))
    node.append(0, 10)
    node.replicas.close()
    node.seat = FakeSeat(node.dirs)
    view = view_of(("t", 1))
    view.topics["t"] = view.topics["t"]._replace(topic_id="ff" * 16)
    node.start().follow(view)
    assert node.row(0).log_end_offset == 0
    assert len([path for one in node.dirs for path in one.glob("t-0.*-stray")]) == 1


@pytest.mark.parametrize("what", ["deleted", "released", "replaced"])
def test_who_waits_for_a_replica_that_is_no_more_is_told(node, what):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    replica = node.replicas.by_slot[0]
    if what == "deleted":
        following = view_of(doomed=[DoomedReplica("t", 0, 0, replica.key)])
    else:
        following = view_of() if what == "released" else view_of(("u", 1))
    node.changed()
    node.replicas.follow(following)
    assert replica in node.changed()
    assert not replica.is_leader
    node.replicas.follow(following)
    assert replica not in node.changed()


def test_a_worker_that_opens_deletes_or_releases_many_logs_is_seen_to_live(node):
    beats = []
    node.seat.beat = beats.append
    node.replicas.follow(view_of(("t", 40)))
    assert len(beats) >= 40
    beats.clear()
    keys = [partition.key for partition in view_of(("t", 40)).topics["t"].partitions]
    node.replicas.follow(view_of(doomed=[DoomedReplica("t", index, index, keys[index]) for index in range(20)]))
    assert len(beats) >= 40


@pytest.mark.parametrize("slot", [0, 5])
def test_a_released_topic_that_is_back_begins_where_it_ended(node, slot):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0, 9)
    replica = node.replicas.by_slot[0]
    replica.log.advance_log_start(4)
    replica.publish()
    directory = replica.log.directory
    node.replicas.follow(view_of(("other", 0)))
    assert not node.replicas.by_slot
    assert directory.is_dir()
    node.replicas.follow(with_id(view, TOPIC_ID, slot))
    row = node.row(slot)
    assert (row.state, row.log_start_offset, row.high_watermark, row.log_end_offset) == (RowState.LEADER, 4, 9, 9)
    assert node.append(slot)
    assert node.replicas.close()


def test_files_of_another_topic_are_neither_served_nor_deleted(node, caplog):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0, 9)
    directory = node.dir_of(0)
    later = with_id(view, "f" * 32)
    key = later.topics["t"].partitions[0].key
    node.replicas.follow(view_of(doomed=[DoomedReplica("t", 0, 0, key)]))  # it came and went between two looks
    assert node.row(0).state == RowState.DELETED
    assert (directory / "t-0").is_dir()
    assert "directory kept, it belongs to another topic" in caplog.text
    node.replicas.follow(later)
    assert (node.row(0).log_start_offset, node.row(0).log_end_offset) == (0, 0)
    (stray,) = [path for one in node.dirs for path in one.glob("t-0.*-stray")]
    assert (stray / "00000000000000000000.log").stat().st_size > 0
    assert (
        f"stray directory renamed, remove it if its records are not needed partition=t-0 topic_id={'f' * 32}"
        in caplog.text
    )


def test_a_topic_with_the_longest_name_is_deleted_and_put_aside_like_any_other(node):
    name = "x" * 249
    view = view_of((name, 1))
    node.replicas.follow(view)
    later = with_id(view, "f" * 32)
    node.replicas.follow(view_of(("other", 0)))
    node.replicas.follow(later)
    assert node.row(0).state == RowState.LEADER
    node.replicas.follow(view_of(doomed=[DoomedReplica(name, 0, 0, later.topics[name].partitions[0].key)]))
    assert node.row(0).state == RowState.DELETED
    assert node.replicas.directories.usable == node.dirs
    put_aside = [path.name for one in node.dirs for path in one.iterdir() if path.is_dir()]
    assert {(len(one), one.rpartition("-")[2]) for one in put_aside} == {(255, "delete"), (255, "stray")}


def test_names_of_new_partitions_are_synced_once_for_all(node):
    node.replicas.follow(view_of(("t", 50)))
    assert node.disk.calls.count("fsync") == len(node.dirs)
    assert node.disk.calls.count("fdatasync") == 0
    node.replicas.follow(view_of(("t", 50), ("u", 1)))
    assert node.disk.calls.count("fsync") == len(node.dirs) + 1


def test_partitions_that_hold_nothing_are_closed_without_a_call_to_the_disk(node):
    view = view_of(("t", 50))
    node.replicas.follow(view)
    node.disk.calls.clear()
    assert node.replicas.close()
    assert not node.disk.calls
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(view)
    assert node.append(7)
    assert [node.row(slot).log_end_offset for slot in range(50)] == [int(slot == 7) for slot in range(50)]


def test_logs_wait_for_the_disk_together_when_the_worker_stops(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    for slot in range(2):
        node.append(slot)
    both = threading.Barrier(2, timeout=60)
    synced = node.disk.fdatasync
    node.disk.fdatasync = lambda fd: (both.wait(), synced(fd))
    assert node.replicas.close()
    assert [node.row(slot).recovery_point for slot in range(2)] == [1, 1]


def test_one_log_that_can_not_be_closed_takes_its_directory_and_no_other(node):
    node.replicas.follow(view_of(("t", 4)))
    for slot in range(4):
        node.append(slot)
    lost = node.dir_of(0)
    sick = os.fstat(node.replicas.by_slot[0].log.segments.active.fd)  # not its number, which another file gets after it
    synced = node.disk.fdatasync

    def fail(fd):
        if os.path.samestat(os.fstat(fd), sick):
            raise OSError(errno.EIO, "injected")
        synced(fd)

    node.disk.fdatasync = fail
    node.replicas.close()
    assert node.replicas.directories.usable == [one for one in node.dirs if one != lost]
    assert [node.row(slot).recovery_point for slot in range(4) if node.dir_of(slot) != lost] == [1, 1]


class CountedLookups:
    """`PartitionLog.position_of`, counted, and failing as the test wants it."""

    def __init__(self, monkeypatch):
        self.count = 0
        self.fails_with = None
        self._position_of = PartitionLog.position_of
        monkeypatch.setattr(PartitionLog, "position_of", lambda log, offset: self(log, offset))

    def __call__(self, log, offset):
        self.count += 1
        if self.fails_with is not None:
            raise OSError(self.fails_with, "injected")
        return self._position_of(log, offset)


def held_back(node):
    """A leader whose follower holds the high watermark at 1."""
    node.replicas.follow(view_of(("t", 2)))
    assert node.append(0)
    assert node.append(1)
    replica = node.replicas.by_slot[0]
    replica.isr = (0, 7)
    return replica


def test_a_mark_that_stands_is_not_looked_up_for_each_append(node, monkeypatch):
    replica = held_back(node)
    lookups = CountedLookups(monkeypatch)
    for _ in range(10):
        replica.append([batch()], NOW_MS)
    assert lookups.count == 1
    assert replica.move_high_watermark(5)
    assert lookups.count == 2
    row = node.row(0)
    assert (row.high_watermark, row.hw_position, row.log_end_offset) == (5, 5 * len(batch()), 11)


@pytest.mark.parametrize("error", [errno.EMFILE, errno.EIO])
def test_a_mark_whose_segment_can_not_be_read_costs_the_append_not_the_process(node, monkeypatch, error):
    replica = held_back(node)
    lookups = CountedLookups(monkeypatch)
    lookups.fails_with = error
    with pytest.raises(StorageExhausted if error == errno.EMFILE else StorageFailed) as failed:
        replica.append([batch()], NOW_MS)
    assert node.row(0).log_end_offset == 1
    replica.fail(failed.value)
    lookups.fails_with = None
    if error == errno.EIO:
        assert replica.state is RowState.OFFLINE
        return
    replica.append([batch()], NOW_MS)
    assert (node.row(0).high_watermark, node.row(0).log_end_offset) == (1, 3)


@pytest.mark.parametrize("error", [errno.EMFILE, errno.EIO])
def test_a_mark_that_can_not_be_published_at_the_stop_leaves_the_other_logs_closed(node, monkeypatch, error):
    replica = held_back(node)
    lookups = CountedLookups(monkeypatch)
    lookups.fails_with = error
    replica.log.append_as_leader([batch()], replica.leader_epoch, NOW_MS)
    lost = node.dir_of(0)
    assert node.replicas.close() == (error == errno.EIO)  # a directory that failed gets no marker in any case
    assert (lost in node.replicas.directories.usable) == (error == errno.EMFILE)
    assert node.row(1).recovery_point == 1
    assert node.replicas.by_slot[1].log.segments.active.fd < 0


def test_producers_of_all_logs_share_one_bound(tmp_path):
    """A log for each of its partitions is what a topic asks for: a bound for each would be none."""
    node = Node(tmp_path, **{"headrace.producer.ids.max": "10"})
    node.replicas.follow(view_of(("t", 4)))
    logs = [node.replicas.by_slot[slot].log for slot in range(4)]
    for producer_id in range(20):
        log = logs[producer_id % 4]
        sent = batch(producer_id=producer_id, producer_epoch=0, base_sequence=0)
        node.clock.ms += 1
        ((error, _offset, _time),) = log.append_as_leader([sent], 0, NOW_MS)
        assert error == 0
    left = {name for log in logs for name in log.producers.producers}
    assert 0 < len(left) <= 10
    assert left == set(range(20 - len(left), 20)), "the idlest have gone, wherever they were"


def test_the_log_start_survives_a_first_publication_torn_by_a_kill(node):
    """What was there is the row of a log that loads, with zeros; the checkpoint knows better."""
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0, 10)
    node.replicas.by_slot[0].log.advance_log_start(5)
    node.replicas.close()
    write_offset_checkpoint(node.dir_of(0) / LOG_START_OFFSET_FILE, {TopicPartition("t", 0): 5})
    node.seat = FakeSeat(node.dirs)
    node.start().follow(view)
    row = node.row(0)
    node.seat.partitions.publish(0, row._replace(log_start_offset=0, high_watermark=0, recovery_point=0))
    torn(node, 0)
    node.killed().follow(view)
    assert len(node.changed()) == 1
    assert node.replicas.by_slot[0].log.log_start_offset == 5
