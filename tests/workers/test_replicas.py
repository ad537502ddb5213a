"""Replicas over disks that fail, fill up and come back; owners that are killed while they publish."""

import errno

import pytest
from fake_seat import FakeSeat, view_of
from faulty_disk import FaultyDisk
from log_fixtures import NOW_MS, FakeClock, batch

from headrace.errors import StorageExhausted, StorageFailed
from headrace.ids import TopicPartition
from headrace.log.checkpoints import LOG_START_OFFSET_FILE, write_offset_checkpoint
from headrace.log.segment_file import CorruptSegment
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas import Replicas


class RoomyDisk(FaultyDisk):
    """Says how much room there is as the test wants it, and counts syncs by file."""

    def __init__(self):
        super().__init__()
        self.free = 1 << 40
        self.fails = {}

    def _call(self, name):
        if name in self.fails:
            raise OSError(self.fails[name], "injected")
        super()._call(name)

    def free_bytes(self, directory):
        if "free_bytes" in self.fails:
            raise OSError(self.fails["free_bytes"], "injected")
        return self.free


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


class Node:
    """One partition worker over two log directories."""

    def __init__(self, path, **settings):
        self.dirs = [path / "a", path / "b"]
        for one in self.dirs:
            one.mkdir(exist_ok=True)
        self.seat = FakeSeat(self.dirs, settings)
        self.clock = FakeClock()
        self.disk = RoomyDisk()
        self.replicas = self.start()

    def start(self):
        self.replicas = Replicas(self.seat, 0, self.clock, self.disk)
        return self.replicas

    def killed(self):
        for replica in self.replicas.by_slot.values():
            replica.log.abandon()
        self.seat.restarted()
        return self.start()

    def append(self, slot, count=1):
        replica = self.replicas.by_slot[slot]
        try:
            replica.log.append_as_leader([batch() for _ in range(count)], replica.leader_epoch, NOW_MS)
        except StorageFailed as failure:
            self.replicas.fail(replica, failure)
            return False
        replica.advance_high_watermark(0)
        replica.publish()
        return True

    def row(self, slot):
        return self.seat.partitions.read(slot)

    def look(self):
        self.clock.ms += 5_000
        return self.replicas.look(self.clock.ms, self.clock.ms)

    def dir_of(self, slot):
        return self.replicas.by_slot[slot].log.directory.parent


def test_new_partitions_are_spread_over_the_directories(node):
    node.replicas.follow(view_of(("t", 6)))
    assert sorted(node.dir_of(slot).name for slot in range(6)) == ["a"] * 3 + ["b"] * 3
    assert all(node.row(slot).state == RowState.LEADER for slot in range(6))


@pytest.mark.parametrize("call", ["fdatasync", "pwritev"])
def test_an_io_error_takes_the_whole_directory_offline_and_no_other(node, call):
    node.replicas.follow(view_of(("t", 6)))
    for slot in range(6):
        assert node.append(slot)
    failing = node.dir_of(0)
    node.disk.fails[call] = errno.EIO
    replica = node.replicas.by_slot[0]
    if call == "pwritev":
        assert not node.append(0)
    else:
        with pytest.raises(StorageFailed) as failure:
            replica.log.flush(NOW_MS)
        node.replicas.fail(replica, failure.value)
    node.disk.fails.clear()
    states = {slot: node.row(slot).state for slot in range(6)}
    assert {node.dir_of(slot) for slot, state in states.items() if state == RowState.OFFLINE} == {failing}
    assert {node.dir_of(slot) for slot, state in states.items() if state == RowState.LEADER} == set(node.dirs) - {
        failing
    }
    assert sum(state == RowState.OFFLINE for state in states.values()) == 3
    assert node.row(0).log_end_offset == 1  # what it had published stands there
    assert {changed.slot for changed in node.look()} == {
        slot for slot, state in states.items() if state == RowState.OFFLINE
    }
    assert node.seat.mask == 1 << node.dirs.index(failing)
    for slot, state in states.items():
        if state == RowState.LEADER:
            assert node.append(slot)
    assert node.replicas.close()  # the other directory may get its marker


def test_a_failed_directory_stays_offline_for_the_workers_successor(node):
    view = view_of(("t", 4))
    node.replicas.follow(view)
    for slot in range(4):
        node.append(slot)
    lost = node.dir_of(0)
    node.replicas.fail(node.replicas.by_slot[0], StorageFailed("fsync: injected"))
    node.killed().follow(view)
    for slot in range(4):
        if slot in node.replicas.by_slot:
            assert node.dir_of(slot) != lost
        else:
            assert node.row(slot).state == RowState.OFFLINE
            assert node.replicas.offline[slot] == view.topics["t"].partitions[slot].key
    assert len(node.replicas.by_slot) == 2


def test_another_process_that_found_a_directory_failing_is_believed(node):
    node.replicas.follow(view_of(("t", 4)))
    node.seat.mask = 2
    changed = node.look()
    assert {replica.log.directory.parent for replica in changed} == {node.dirs[1]}
    assert all(replica.state is RowState.OFFLINE for replica in changed)
    assert len(changed) == 2


def test_no_empty_log_replaces_one_that_lies_in_a_failed_directory(tmp_path):
    node = Node(tmp_path)
    view = view_of(("t", 4))
    node.replicas.follow(view)
    for slot in range(4):
        node.append(slot)
    lost = [slot for slot in range(4) if node.dir_of(slot) == node.dirs[1]]
    node.replicas.close()
    node.seat = FakeSeat(node.dirs, offline=[node.dirs[1]])
    node.start().follow(view)
    assert {slot for slot in range(4) if node.row(slot).state == RowState.OFFLINE} == set(lost)
    assert not any((node.dirs[0] / f"t-{slot}").exists() for slot in lost)
    later = view_of(("t", 4), ("new", 2))
    node.replicas.follow(later)  # created while the node runs: it can't lie in the other directory
    assert [node.row(slot).state for slot in (4, 5)] == [RowState.LEADER] * 2
    assert node.replicas.close()


def test_what_is_remembered_of_earlier_views_is_bounded(node):
    def follow(name, is_doomed):
        view = view_of((name, 1))
        node.replicas.follow(view)
        key = view.topics[name].partitions[0].key
        node.replicas.follow(view_of(doomed=[DoomedReplica(name, 0, 0, key)] if is_doomed else []))

    for number in range(5):
        follow(f"deleted{number}", is_doomed=True)
    assert not node.replicas._known_keys
    for number in range(node.seat.partitions.rows + 5):
        follow(f"unreadable{number}", is_doomed=False)
    assert len(node.replicas._known_keys) == node.seat.partitions.rows


def test_a_topic_that_was_unreadable_for_a_while_is_not_taken_for_a_new_one(node):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    node.append(0)
    node.replicas.follow(view_of(("other", 0)))  # its znode can't be read
    node.replicas.lose_directory(node.dirs[0], StorageFailed("injected"))
    node.replicas.follow(view)
    assert node.row(0).state == RowState.OFFLINE
    assert not (node.dirs[1] / "t-0").exists()


def test_a_full_directory_refuses_appends_early_and_takes_them_again_when_there_is_room(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    assert node.append(0)
    bound = node.seat.wiring.settings["headrace.log.dir.free.bytes.min"]
    node.disk.free = bound - 1
    node.look()
    assert all(replica.is_full for replica in node.replicas.by_slot.values())
    assert node.row(0).state == RowState.LEADER  # readers go on
    node.disk.free = bound
    node.look()
    assert all(replica.is_full for replica in node.replicas.by_slot.values())  # no flapping
    node.disk.free = 2 * bound
    node.look()
    assert not any(replica.is_full for replica in node.replicas.by_slot.values())
    assert node.append(0)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EMFILE, errno.EDQUOT])
def test_a_write_without_room_keeps_the_log_for_reads_and_opens_it_again(node, error):
    node.replicas.follow(view_of(("t", 2)))
    assert node.append(0, 3)
    node.disk.fails["pwritev"] = error
    assert not node.append(0)
    assert node.row(0).state == RowState.LEADER
    assert node.row(0).log_end_offset == 3
    assert node.replicas.by_slot[0].is_full
    for _ in range(3):  # it opens, which writes nothing, and fails again
        assert [replica.slot for replica in node.look()] == [0]
        assert not node.append(0)
    assert (node.row(0).log_end_offset, node.row(0).high_watermark) == (3, 3)
    node.disk.fails.clear()
    assert [replica.slot for replica in node.look()] == [0]
    assert node.append(0)
    assert node.row(0).log_end_offset == 4
    assert node.seat.mask == 0
    assert node.replicas.close()


def test_a_role_without_room_for_its_epoch_is_taken_for_reads_and_later_for_appends(node):
    node.replicas.follow(view_of(("t", 1)))
    assert node.append(0)
    node.disk.fails["pwritev"] = errno.ENOSPC
    node.replicas.follow(view_of(("t", 1, {}, 5)))
    row = node.row(0)
    assert (row.state, row.leader_epoch, row.high_watermark) == (RowState.LEADER, 5, 1)
    assert node.replicas.by_slot[0].is_full
    node.look()
    assert node.replicas.by_slot[0].is_full
    node.disk.fails.clear()
    node.look()
    assert node.append(0)
    assert node.replicas.by_slot[0].log.epochs.entries == [(0, 0), (5, 1)]
    row = node.row(0)
    assert (row.state, row.leader_epoch, row.log_end_offset) == (RowState.LEADER, 5, 2)


@pytest.mark.parametrize("is_clean", [False, True])
@pytest.mark.parametrize("epoch", [0, 1])
def test_a_node_whose_disks_are_full_serves_reads_from_its_start(node, is_clean, epoch):
    node.replicas.follow(view_of(("t", 2)))
    assert node.append(0, 20)
    if is_clean:
        node.replicas.close()
    else:
        for replica in node.replicas.by_slot.values():
            replica.log.abandon()
    node.seat = FakeSeat(node.dirs, clean=node.dirs if is_clean else ())
    node.disk.free = 0
    node.disk.fails = dict.fromkeys(("pwritev", "fallocate", "fsync"), errno.ENOSPC)
    node.start().follow(view_of(("t", 2, {}, epoch)))
    rows = [node.row(slot) for slot in range(2)]
    assert [(row.state, row.leader_epoch, row.high_watermark) for row in rows] == [
        (RowState.LEADER, epoch, 20),
        (RowState.LEADER, epoch, 0),
    ]
    assert not node.append(0)
    node.disk.free = 1 << 40
    node.disk.fails.clear()
    node.look()
    assert node.append(0)


def test_a_directory_whose_disk_is_gone_is_found_without_a_write(node):
    node.replicas.follow(view_of(("t", 2)))
    node.disk.fails["free_bytes"] = errno.EIO
    assert len(node.look()) == 2
    assert node.seat.mask == 3


def torn(node, slot):
    """The row as a kill in mid-publish leaves it."""
    table = node.seat.partitions
    start = (128 + slot * 256) // 8
    assert table._words[start] % 2 == 0
    table._words[start] += 1


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
        patched.setattr(Replicas, "_open_log", refuse)
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
    node.look()
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


def test_a_deletion_does_not_wait_for_a_failed_directory(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    keys = [partition.key for partition in view.topics["t"].partitions]
    node.replicas.fail(node.replicas.by_slot[0], StorageFailed("injected"))
    doomed = [DoomedReplica("t", index, index, keys[index]) for index in range(2)]
    node.replicas.follow(view_of(doomed=doomed))
    assert [node.row(slot).state for slot in range(2)] == [RowState.DELETED] * 2


def test_progress_is_counted(node):
    view = view_of(("t", 2))
    node.replicas.follow(view)
    for slot in range(2):
        node.append(slot, 50)
    size = sum(node.row(slot).size_bytes for slot in range(2))
    node.seat = FakeSeat(node.dirs)
    node.start().follow(view)
    counters = node.seat.counters
    assert (counters.get(LOGS_WANTED), counters.get(LOGS_OPENED)) == (2, 2)
    assert counters.get(RECOVERED_BYTES) == size


@pytest.mark.parametrize("what", ["deleted", "released", "replaced"])
def test_who_waits_for_a_replica_that_is_no_more_is_told(node, what):
    view = view_of(("t", 1))
    node.replicas.follow(view)
    replica = node.replicas.by_slot[0]
    if what == "deleted":
        following = view_of(doomed=[DoomedReplica("t", 0, 0, replica.key)])
    else:
        following = view_of() if what == "released" else view_of(("u", 1))
    assert replica in node.replicas.follow(following)
    assert not replica.is_leader
    assert replica not in node.replicas.follow(following)


def test_a_worker_that_opens_deletes_or_releases_many_logs_is_seen_to_live(node):
    beats = []
    node.seat.beat = beats.append
    node.replicas.follow(view_of(("t", 40)))
    assert len(beats) >= 40
    beats.clear()
    keys = [partition.key for partition in view_of(("t", 40)).topics["t"].partitions]
    node.replicas.follow(view_of(doomed=[DoomedReplica("t", index, index, keys[index]) for index in range(20)]))
    assert len(beats) >= 40


def test_a_log_that_does_not_open_for_whatever_reason_costs_no_other(node, monkeypatch):
    opened = node.replicas._open_log

    def fail(name, *arguments, **options):
        if name.partition == 1:
            raise ValueError("a fault of ours")
        return opened(name, *arguments, **options)

    monkeypatch.setattr(node.replicas, "_open_log", fail)
    node.replicas.follow(view_of(("t", 3)))
    assert [node.row(slot).state for slot in range(3)] == [RowState.LEADER, RowState.OFFLINE, RowState.LEADER]
    assert not node.replicas.close()  # not clean


def test_a_log_whose_files_contradict_its_offsets_costs_no_other(node, monkeypatch):
    def fail(_log, _offset):
        raise CorruptSegment("no batch at byte 0")

    monkeypatch.setattr("headrace.log.partition_log.PartitionLog.position_of", fail)
    view = view_of(("t", 2))
    other = view.topics["t"].partitions[1]._replace(isr=(0, 5))  # its high watermark is below its end
    node.replicas.follow(view)
    assert node.append(1)
    node.replicas.follow(view)
    node.replicas.by_slot[1].high_watermark = 0
    topic = view.topics["t"]
    changed = topic._replace(partitions=(topic.partitions[0], other._replace(leader_epoch=1)))
    node.replicas.follow(view._replace(version=2, topics={"t": changed}))
    assert [node.row(slot).state for slot in range(2)] == [RowState.LEADER, RowState.OFFLINE]
    assert node.append(0)


def test_the_line_of_an_opening_tells_the_bytes_that_were_recovered_for_it(node, caplog):
    caplog.set_level("INFO")
    node.replicas.follow(view_of(("t", 1)))
    node.append(0, 10)
    node.replicas.close()
    for clean in ((), node.dirs):
        node.seat = FakeSeat(node.dirs, clean=clean)
        caplog.clear()
        node.start().follow(view_of(("t", 1)))
        node.replicas.follow(view_of(("t", 1), ("u", 1)))
        recovered = [
            line.partition("recovered_bytes=")[2].split()[0] for line in caplog.messages if "logs opened" in line
        ]
        assert [number != "0" for number in recovered] == [not clean, False]
        for replica in node.replicas.by_slot.values():
            replica.log.abandon()


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
    assert node.killed().follow(view)
    assert node.replicas.by_slot[0].log.log_start_offset == 5
