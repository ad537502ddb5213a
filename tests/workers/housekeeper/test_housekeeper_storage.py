"""The housekeeper over disks that fail, and over topics that come again under their name."""

import errno
import os
import shutil
import time
from types import SimpleNamespace

import pytest

from headrace.errors import StorageExhausted
from headrace.ids import TopicPartition, partition_key
from headrace.limits import OPENING_SLICE_MS
from headrace.log import disk as disk_module
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.state.checkpoints import (
    CLEANER_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    read_offset_checkpoint,
    take_clean_shutdown,
)
from headrace.log.state.topic_checkpoints import CHECKPOINT_TOPICS_FILE, seal
from headrace.log.writing.partition_log import PartitionLog
from headrace.shm.cluster_view import EMPTY_VIEW, DoomedReplica
from headrace.shm.messages import REQUEST_HEADER, ReplyStatus
from headrace.workers.housekeeper import checkpoints, segment_sync
from headrace.workers.housekeeper.hosted import HostedReplicas
from headrace.workers.housekeeper.worker import Housekeeper
from headrace.workers.partition.replicas.known_checkpoints import KnownCheckpoints
from headrace.workers.partition.replication.live_brokers import LiveBrokers
from headrace.workers.partition.replication.record_deletions import RecordDeletions
from headrace.workers.partition.upkeep import Upkeep
from tests.support.altered import altered
from tests.support.answered_replicas import AnsweredReplicas
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.fake_seat import TOPIC_ID, FakeSeat, Followed, view_of
from tests.support.log_fixtures import batch

SETTINGS = {"log.segment.bytes": "2000", "log.flush.offset.checkpoint.interval.ms": "60000"}


class View(Followed):
    """Views as they are published, one version after the other."""

    def __init__(self):
        self.now = EMPTY_VIEW
        self.reads = 0

    def publish(self, view):
        self.now = view._replace(version=self.now.version + 1)

    def version(self):
        return self.now.version

    def read(self):
        self.reads += 1
        return self.now


class NoLags:
    def rows(self):
        return []


class Owner:
    """The ring to the partition worker, which handles what was asked at once."""

    message_bytes_max = 1 << 16

    def __init__(self, node):
        self.node = node
        self.requests = []

    def write(self, kind, header, payload):
        self.requests.append(bytes(header) + payload)
        return True

    def commit(self):
        upkeep = Upkeep(self.node.replicas.by_slot, lambda slot: False, RecordDeletions(), LiveBrokers(0))
        handlers = upkeep.handlers()

        def answer(number, response):
            on_reply = self.node.housekeeper._mailbox._asked[1].pop(number)
            on_reply(ReplyStatus.ANSWERED, memoryview(response))

        while self.requests:
            request = memoryview(self.requests.pop(0))
            number, kind, version, _begun = REQUEST_HEADER.unpack_from(request)
            handlers[kind](
                version, request[REQUEST_HEADER.size :], lambda response, number=number: answer(number, response)
            )
            while upkeep.do_work():
                pass


class Processes:
    def __init__(self, seat):
        self.seat = seat
        self.words = seat.date.words
        self.is_clean = True

    def is_clean_stop(self):
        return self.is_clean

    def generation(self, process_id):
        return self.seat.generation


class Node:
    """A partition worker and a housekeeper over two log directories; `restart` makes the next boot of it."""

    def __init__(self, path, view=None):
        self.path = path
        self.dirs = [path / "a", path / "b"]
        for one in self.dirs:
            one.mkdir(exist_ok=True)
            seal(one)
        clean = [one for one in self.dirs if take_clean_shutdown(one)]
        self.seat = FakeSeat(self.dirs, SETTINGS, clean=clean)
        self.seat.view = View()
        self.seat.readers, self.seat.writers = {}, {1: Owner(self)}
        self.seat.ring = lambda process_id: None
        self.seat.changed = frozenset
        self.seat.lags, self.seat.processes = NoLags(), Processes(self.seat)
        self.clock = FakeClock()
        self.replicas = AnsweredReplicas(self.seat, 0, self.clock)
        if view is not None:
            self.follow(view)
        self.housekeeper = Housekeeper(self.seat, self.clock)

    def kill(self):
        """SIGKILL to all of it."""
        for replica in self.replicas.by_slot.values():
            replica.log.abandon()

    def restart(self, view=None):
        return Node(self.path, view)

    def stop(self):
        """As the supervisor does; returns where a marker was left."""
        self.seat.processes.is_clean = self.replicas.close()
        self.housekeeper.close()
        return [(one / ".kafka_cleanshutdown").exists() for one in self.dirs]

    def kill_worker(self):
        self.kill()
        self.seat.restarted()
        self.replicas = AnsweredReplicas(self.seat, 0, self.clock)

    def write_checkpoints(self):
        self.clock.ms += 100_000
        self.housekeeper.do_work()

    def delete_records(self, slot, offset):
        replica = self.replicas.by_slot[slot]
        replica.log.advance_log_start(offset)
        replica.publish()

    def follow(self, view):
        self.seat.view.publish(view)
        self.replicas.follow(self.seat.view.now)

    def fill(self, slot, count=60):
        replica = self.replicas.by_slot[slot]
        for _ in range(count):
            replica.append([batch()], NOW_MS)
        replica.advance_high_watermark()
        replica.publish()
        return replica.log

    def work(self):
        self.clock.ms += 1_100
        self.housekeeper.do_work()

    def checkpoint(self, file_name=RECOVERY_POINT_FILE):
        found = {}
        for one in self.dirs:
            found |= read_offset_checkpoint(one / file_name)
        return found


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path, view_of(("t", 2)))


def made_again(view, topic_id="f" * 32):
    """The same topics, created again under their names."""
    topics = {}
    for name, topic in view.topics.items():
        partitions = [one._replace(key=partition_key(name, one.index, topic_id)) for one in topic.partitions]
        topics[name] = topic._replace(topic_id=topic_id, partitions=tuple(partitions))
    return view._replace(topics=topics)


def test_a_rolled_segment_that_cannot_be_synced_takes_its_directory_offline(node, monkeypatch):
    lost = node.fill(0).directory.parent

    def sync(directory, base_offset, disk):
        if directory.parent == lost:
            raise OSError(errno.EIO, "injected")

    monkeypatch.setattr(segment_sync, "sync_segment", sync)
    node.work()
    assert node.seat.mask == 1 << node.dirs.index(lost)
    node.housekeeper.close()
    assert [(one / ".kafka_cleanshutdown").exists() for one in node.dirs] == [one != lost for one in node.dirs]


def test_too_many_open_files_are_no_fault_of_the_disk(node, monkeypatch):
    node.fill(0)

    def sync(directory, base_offset, disk):
        raise OSError(errno.EMFILE, "injected")

    monkeypatch.setattr(segment_sync, "sync_segment", sync)
    node.work()
    assert node.seat.mask == 0


@pytest.mark.parametrize(("error", "mask"), [(errno.ENOSPC, 0), (errno.EIO, 3)])
def test_a_checkpoint_that_cannot_be_written(node, monkeypatch, error, mask):
    def write(path, offsets, disk):
        raise OSError(error, "injected")

    monkeypatch.setattr(checkpoints, "write_offset_checkpoint", write)
    node.clock.ms += 100_000
    node.housekeeper.do_work()
    assert node.seat.mask == mask


def test_what_was_synced_of_a_deleted_topic_vouches_for_no_other_of_its_name(node):
    log = node.fill(0)
    node.work()
    node.clock.ms += 100_000
    node.housekeeper.do_work()
    assert node.checkpoint()[TopicPartition("t", 0)] == log.end_segment > 0
    node.follow(view_of())  # released; its directory goes as a deletion has it go
    log.directory.rename(log.directory.with_name("t-0.0-delete"))
    node.follow(made_again(view_of(("t", 2))))
    node.fill(0, 3)
    node.work()
    assert node.checkpoint()[TopicPartition("t", 0)] == 0


def gone_and_back(node, how):
    """The partition 0 of the only topic has an empty log in its place; returns it."""
    view, log = node.seat.view.now, node.replicas.by_slot[0].log
    partition = view.topics["t"].partitions[0]
    if how == "removed while the node is stopped":
        node.stop()
        shutil.rmtree(log.directory)
        node = node.restart(view)
    else:
        node.follow(view_of(doomed=[DoomedReplica("t", 0, partition.slot, partition.key)]))
        if how == "reassigned":
            node.work()
        node.follow(view)  # within log.segment.delete.delay.ms: the same topic id
    return node, node.replicas.by_slot[0].log


@pytest.fixture(params=["reassigned", "reassigned at once", "removed while the node is stopped"])
def replaced(tmp_path, request):
    """A node with a checkpoint of a log that is gone, and another in its place that has grown beyond that."""
    (tmp_path / "b").mkdir()
    for number in range(5):
        (tmp_path / "b" / f"other{number}").mkdir()  # each log begins in the emptier directory
    node = Node(tmp_path, view_of(("t", 1)))
    node.fill(0)
    node.work()
    node.write_checkpoints()
    node, log = gone_and_back(node, request.param)
    assert (log.log_end_offset, log.recovery_point) == (0, 0)
    node.fill(0, 80)
    return node, log, node.checkpoint()[TopicPartition("t", 0)]


def test_the_checkpoint_of_a_log_that_is_gone_vouches_for_no_other_in_its_place(replaced):
    node, log, known = replaced
    victim = log.segment_bases[1]
    assert known > victim, "the file is as old as it may be"
    node.kill()
    path = path_of(log.directory, victim, LOG_SUFFIX)
    with open(path, "r+b") as file:
        file.seek(400)
        file.write(bytes(600))  # a page that the power loss took
    again = node.restart(node.seat.view.now).replicas.by_slot[0].log
    assert again.was_cut
    assert path.stat().st_size <= 400, "it was looked at; what follows stays, for there is no other replica"
    assert again.log_end_offset == 80


def test_all_of_a_log_is_synced_that_lies_in_the_place_of_another(replaced, monkeypatch):
    node, log, _known = replaced
    synced = []
    monkeypatch.setattr(segment_sync, "sync_segment", lambda directory, base, disk: synced.append(base))
    for _ in range(3):
        node.work()
    assert set(synced) == set(log.segment_bases[:-1])
    assert log.segments.unsynced == []
    node.write_checkpoints()
    assert log.recovery_point == node.checkpoint()[TopicPartition("t", 0)] == log.end_segment


def test_what_was_compacted_of_a_log_that_is_gone_is_dirty_in_another_in_its_place(replaced):
    node, log, _known = replaced
    log_dir = log.directory.parent
    node.housekeeper._checkpoints.write(log_dir, CLEANER_OFFSET_FILE, {TopicPartition("t", 0): (TOPIC_ID, 500)})
    node.work()
    assert read_offset_checkpoint(log_dir / CLEANER_OFFSET_FILE)[TopicPartition("t", 0)] <= log.recovery_point


def test_a_log_that_was_cut_is_synced_from_where_its_owner_says(node, monkeypatch):
    """Between two passes: what was synced before the cut says nothing of what was written over it."""
    log = node.fill(0)
    node.work()
    before = log.recovery_point
    synced = []
    monkeypatch.setattr(segment_sync, "sync_segment", lambda directory, base, disk: synced.append(base))
    node.replicas.by_slot[0].truncate(20)
    node.fill(0)
    node.write_checkpoints()
    node.write_checkpoints()
    node.write_checkpoints()
    assert log.recovery_point == log.end_segment > before
    assert {base for base in log.segment_bases[:-1] if base >= 20} <= set(synced)
    assert node.checkpoint()[TopicPartition("t", 0)] == log.recovery_point


def test_what_was_put_aside_is_removed_by_people_alone(node):
    for suffix in ("stray", "delete"):
        (node.dirs[0] / f"gone-0.{'0' * 32}-{suffix}").mkdir()
    for _ in range(2):
        node.clock.ms += 100_000_000
        node.housekeeper.do_work()
    assert [path.name.rpartition("-")[2] for path in node.dirs[0].glob("gone-0.*")] == ["stray"]


def test_the_old_directory_of_a_moved_replica_goes_its_log_start_stays(node):
    """It is the only one that a file has, until the file of the new directory was written. Without it deleted records come back."""
    log = node.fill(0)
    start, old_dir, name = log.segment_bases[1] + 1, log.directory.parent, TopicPartition("t", 0)
    node.delete_records(0, start)
    node.write_checkpoints()
    node.kill()
    new_dir = next(one for one in node.dirs if one != old_dir)
    shutil.copytree(log.directory, new_dir / "t-0")
    log.directory.rename(old_dir / f"t-0.{'0' * 32}-delete")
    node = node.restart(view_of(("t", 2)))
    assert node.replicas.by_slot[0].log.directory.parent == new_dir

    def known():
        return KnownCheckpoints(node.dirs).offset(LOG_START_OFFSET_FILE, name, TOPIC_ID, new_dir)

    housekeeper = node.housekeeper
    housekeeper._remove_deleted()
    node.clock.ms += 100_000
    housekeeper._remove_deleted()
    assert not list(old_dir.glob("t-0.*"))
    housekeeper._write_checkpoint(RECOVERY_POINT_FILE)
    assert known() == start
    housekeeper._write_checkpoint(LOG_START_OFFSET_FILE)
    assert known() == start
    assert name not in read_offset_checkpoint(old_dir / LOG_START_OFFSET_FILE)


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_the_date_is_set_and_every_interval_is_as_long_as_before(node, step_ms):
    """Checkpoints, syncs, the removal of files and directories: an hour too early or too late otherwise."""
    node.work()
    log = node.fill(0)
    node.clock.step_ms = step_ms
    gone = node.dirs[0] / f"gone-0.{'0' * 32}-delete"
    gone.mkdir()
    node.delete_records(0, log.segment_bases[2])
    log.delete_segments(2)
    node.replicas.by_slot[0].publish()
    retired = list(log.directory.glob("*.deleted"))
    node.housekeeper.do_work()
    assert gone.exists()
    assert list(log.directory.glob("*.deleted")) == retired != []
    longest_ms = 2 * max(node.housekeeper._intervals_ms.values())
    for _ in range(3):
        node.clock.ms += longest_ms
        node.housekeeper.do_work()
    assert not gone.exists()
    assert not list(log.directory.glob("*.deleted"))
    assert log.segments.unsynced == []
    start = read_offset_checkpoint(node.dirs[0] / LOG_START_OFFSET_FILE)
    assert start[TopicPartition("t", 0)] == log.log_start_offset > 0


@pytest.fixture
def syncs(node, monkeypatch):
    """Syncs that were called; `unannounced` are those before which nobody said that life may pause."""
    seen = SimpleNamespace(announced=0, unannounced=[])
    due_ns = [0]
    node.seat.beat = lambda now_ns: due_ns.append(now_ns)
    calls = {}
    for name, call in (("fsync", os.fsync), ("fdatasync", os.fdatasync)):

        def watched(fd, call=call):
            if due_ns[-1] > node.clock.monotonic_ns():
                seen.announced += 1
            else:
                seen.unannounced.append(os.readlink(f"/proc/self/fd/{fd}"))
            call(fd)

        calls[name] = watched
    monkeypatch.setattr(disk_module, "os", altered(os, **calls))
    return seen


def test_no_sync_of_a_worker_or_of_the_housekeeper_comes_unannounced(node, syncs):
    """Each may last longer than a process may be silent."""
    log = node.fill(0)
    log.flush()
    by_worker = syncs.announced
    assert by_worker > 1
    node.fill(1)
    node.work()
    by_syncs = syncs.announced
    assert by_syncs - by_worker >= len(node.replicas.by_slot[1].log.segment_bases) - 1
    node.write_checkpoints()
    assert syncs.announced > by_syncs
    node.seat.processes.is_clean = False
    node.housekeeper.close()
    assert syncs.unannounced == []


def test_a_topic_that_is_deleted_while_others_are_synced(node, monkeypatch):
    for slot in range(2):
        node.fill(slot)
    directories = [node.replicas.by_slot[slot].log.directory for slot in range(2)]
    synced = []

    def sync(directory, base_offset, disk):
        synced.append(directory)
        if directories[1].exists():
            directories[1].rename(directories[1].with_name("t-1.0123-delete"))

    monkeypatch.setattr(segment_sync, "sync_segment", sync)
    node.work()
    assert set(synced) == {directories[0]}
    assert node.seat.mask == 0


def test_a_view_is_read_once_however_often_the_replicas_are_looked_at(node):
    for _ in range(5):
        node.work()
    assert node.seat.view.reads == 1
    node.follow(view_of(("t", 2), ("u", 1)))
    for _ in range(5):
        node.work()
    assert node.seat.view.reads == 2
    assert {hosted.name.topic for hosted in node.housekeeper._replicas} == {"t", "u"}


def test_a_topic_created_again_keeps_its_records_over_an_unclean_end(node):
    """The log start of its predecessor stands in the checkpoint for up to a minute."""
    node.fill(0)
    node.delete_records(0, 50)
    node.write_checkpoints()
    assert node.checkpoint(LOG_START_OFFSET_FILE)[TopicPartition("t", 0)] == 50
    deleted = [DoomedReplica("t", one.index, one.slot, one.key) for one in view_of(("t", 2)).topics["t"].partitions]
    node.follow(view_of(doomed=deleted))
    again = made_again(view_of(("t", 2)))
    node.follow(again)
    node.fill(0, 20)
    node.kill()
    log = node.restart(again).replicas.by_slot[0].log
    assert (log.log_start_offset, log.log_end_offset) == (0, 20)


def test_a_start_that_opens_nothing_leaves_what_was_known_and_calls_nothing_clean(node):
    node.fill(0)
    node.delete_records(0, 50)
    node.write_checkpoints()
    known = [node.checkpoint(file_name) for file_name in (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE)]
    node.kill()
    failed = node.restart()  # ZooKeeper is down
    assert failed.stop() == [False, False]
    assert [failed.checkpoint(file_name) for file_name in (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE)] == known
    again = failed.restart(view_of(("t", 2)))
    assert again.replicas.by_slot[0].log.log_start_offset == 50
    assert again.stop() == [True, True]


def test_a_start_that_opens_nothing_after_a_clean_stop_leaves_it_clean(node):
    node.fill(0)
    assert node.stop() == [True, True]
    failed = node.restart()
    assert failed.stop() == [True, True]


def test_partitions_that_are_not_open_yet_keep_what_was_known(node):
    """A checkpoint is due while a worker still recovers."""
    node.fill(0)
    node.delete_records(0, 50)
    node.write_checkpoints()
    node.kill()
    starting = node.restart(view_of(("other", 1)))
    starting.write_checkpoints()
    starting.kill()
    assert starting.checkpoint(LOG_START_OFFSET_FILE)[TopicPartition("t", 0)] == 50
    assert starting.restart(view_of(("t", 2))).replicas.by_slot[0].log.log_start_offset == 50


def test_a_topic_that_the_view_leaves_out_is_not_called_clean(node):
    node.fill(0)
    node.kill()
    again = node.restart(view_of(("other", 1)))
    assert again.stop() == [False, False]


def test_a_log_whose_owner_was_killed_is_not_called_clean_before_it_was_opened_again(node):
    node.fill(0)
    assert node.stop() == [True, True]
    again = node.restart(view_of(("t", 2)))
    lost = again.fill(0).directory.parent
    again.work()
    again.kill_worker()
    again.follow(view_of(("other", 1)))
    assert not again.stop()[again.dirs.index(lost)]


class PassingClock(FakeClock):
    """Every look at it takes a slice of opening, so that each slice opens one log."""

    def monotonic_ns(self):
        self.ms += OPENING_SLICE_MS
        return self.ms * 1_000_000


def test_a_stop_while_logs_wait_to_be_opened_is_clean_where_they_are_as_a_clean_stop_left_them(node):
    assert node.stop() == [True, True]
    (node.dirs[1] / ".kafka_cleanshutdown").unlink()
    again = node.restart()
    again.replicas = AnsweredReplicas(again.seat, 0, PassingClock())
    again.follow(view_of(("t", 4)))
    assert len(again.replicas.by_slot) == 1
    assert again.stop() == [True, False]


def test_a_stop_while_logs_of_a_killed_predecessor_wait_to_be_opened_is_clean_where_none_of_them_is(node):
    assert node.stop() == [True, True]
    again = node.restart(view_of(("t", 2)))
    again.kill_worker()
    again.replicas = AnsweredReplicas(again.seat, 0, PassingClock())
    again.follow(view_of(("t", 2)))
    [opened] = again.replicas.by_slot.values()
    assert again.stop() == [one == opened.log.directory.parent for one in again.dirs]


def test_a_log_that_waits_for_room_costs_its_directory_the_marker(node, monkeypatch):
    assert node.stop() == [True, True]
    lost = node.replicas.by_slot[1].log.directory.parent
    opened = PartitionLog.open

    def refuse(directory, *arguments, **options):
        if directory.parent == lost:
            raise StorageExhausted(f"{directory}: too many open files")
        return opened(directory, *arguments, **options)

    monkeypatch.setattr(PartitionLog, "open", refuse)
    again = node.restart(view_of(("t", 2)))
    assert again.stop() == [one != lost for one in again.dirs]


def test_a_stop_while_the_owner_waits_for_its_start_leaves_the_directories_clean_that_it_had_nothing_in(
    tmp_path, caplog
):
    node = Node(tmp_path, view_of(("t", 1)))
    lost = node.fill(0).directory.parent
    node.kill_worker()  # and no successor opens it again
    assert node.stop() == [one != lost for one in node.dirs]
    assert (
        f"no clean-shutdown marker, the next start recovers the logs directory={lost} reason=t-0 was not" in caplog.text
    )


def test_a_stop_in_which_a_worker_could_not_close_says_which_directories_have_no_marker(node, caplog):
    node.seat.processes.is_clean = False
    node.housekeeper.close()
    assert [
        f"directory={one} reason=a partition worker did not close its logs" in caplog.text for one in node.dirs
    ] == [
        True,
        True,
    ]


def test_after_a_clean_stop_apache_kafka_may_believe_every_checkpoint(node):
    node.fill(0)
    node.delete_records(0, 50)
    assert node.stop() == [True, True]
    assert not any((one / CHECKPOINT_TOPICS_FILE).exists() for one in node.dirs)
    assert node.checkpoint(LOG_START_OFFSET_FILE)[TopicPartition("t", 0)] == 50
    again = node.restart(view_of(("t", 2)))
    assert again.replicas.by_slot[0].log.log_start_offset == 50


def test_what_the_checkpoints_say_of_a_deleted_replica_goes_with_its_directory(node):
    node.fill(0)
    node.write_checkpoints()
    deleted = [DoomedReplica("t", one.index, one.slot, one.key) for one in view_of(("t", 2)).topics["t"].partitions]
    node.follow(view_of(doomed=deleted))
    node.clock.ms = time.time_ns() // 1_000_000  # that of the renames
    node.write_checkpoints()  # removes the directories
    node.write_checkpoints()
    assert node.checkpoint() == {}


def test_a_log_that_could_not_be_closed_is_not_what_the_last_stop_closed(node, monkeypatch):
    assert node.stop() == [True, True]
    node = node.restart(view_of(("t", 1)))
    log = node.fill(0)

    def refuse(_log):
        raise StorageExhausted("no room")

    monkeypatch.setattr(PartitionLog, "finish", refuse)
    node.follow(view_of(("other", 1)))  # which takes its slot
    monkeypatch.undo()
    node.follow(view_of(("other", 1), ("t", 1)))
    again = node.replicas.by_slot[1].log
    assert again is not log
    assert again.log_end_offset == log.log_end_offset
    assert again.recovery_point < again.end_segment
    assert again.segments.unsynced == log.segment_bases[:-1]


def test_an_owner_learns_what_was_synced_for_it(node):
    log = node.fill(0)
    rolled = len(log.segment_bases) - 1
    assert len(log.segments.unsynced) == rolled > 3
    node.work()
    assert log.segments.unsynced == []
    assert log.recovery_point == log.end_segment
    assert node.seat.partitions.read(0).recovery_point == log.end_segment


@pytest.mark.parametrize("slot", [0, 1], ids=["the first directory", "the second one"])
def test_the_log_that_its_owner_names_is_synced_where_another_directory_has_its_name(node, monkeypatch, slot):
    """A copy whose move failed after it got the name, and could not be renamed again."""
    log = node.fill(slot)
    other = next(one for one in node.dirs if one != log.directory.parent) / f"t-{slot}"
    shutil.copytree(log.directory, other)
    synced, sync = set(), segment_sync.sync_segment

    def watched(directory, base_offset, disk):
        synced.add(directory)
        sync(directory, base_offset, disk)

    monkeypatch.setattr(segment_sync, "sync_segment", watched)
    node.work()
    assert synced == {log.directory}
    assert log.recovery_point == log.end_segment


def test_an_owner_learns_nothing_of_a_log_that_moved_while_it_was_synced(node, monkeypatch):
    log = node.fill(0)
    row = node.seat.partitions.read(0)
    monkeypatch.setattr(
        segment_sync, "sync_segment", lambda *_: node.seat.partitions.publish(0, row._replace(log_dir=1 - row.log_dir))
    )
    node.work()
    assert log.recovery_point == 0


def test_a_log_that_rests_costs_no_system_call_until_it_moves_again(node, monkeypatch):
    """10,000 of them took a third of a core, a `stat` each and every second."""
    node.fill(0)
    housekeeper = node.housekeeper
    for _ in range(3):  # what is synced is told, and the row says so
        housekeeper._sync_rolled_segments()
        housekeeper._mailbox.flush()
    housekeeper._retention.remove_retired()
    placed = []
    place = HostedReplicas.place
    monkeypatch.setattr(
        HostedReplicas, "place", lambda hosted, serving: (placed.append(serving.name), place(hosted, serving))[1]
    )
    housekeeper._sync_rolled_segments()
    housekeeper._retention.remove_retired()
    assert placed == []
    log = node.fill(0)
    housekeeper._sync_rolled_segments()
    assert placed == [TopicPartition("t", 0)]
    assert log.recovery_point == log.end_segment
    node.delete_records(0, log.segment_bases[2])
    log.delete_segments(2)
    node.replicas.by_slot[0].publish()
    retired = list(log.directory.glob("*.deleted"))
    housekeeper._retention.remove_retired()
    assert retired
    assert list(log.directory.glob("*.deleted")) == retired, "their delay is not over"
    node.clock.ms += 100_000
    housekeeper._retention.remove_retired()
    assert not list(log.directory.glob("*.deleted"))


def test_a_view_is_decoded_once(node):
    read = node.seat.view.read
    counts = []
    node.seat.view.read = lambda: (counts.append(1), read())[1]
    for _ in range(5):
        node.write_checkpoints()
    assert len(counts) <= 1
    node.follow(view_of(("t", 2), ("u", 1)))
    node.write_checkpoints()
    node.write_checkpoints()
    assert sum(counts) <= 2
    assert TopicPartition("u", 0) in node.checkpoint()


def test_a_pass_that_fails_ends_no_other_and_is_tried_again_later(node, monkeypatch, caplog):
    monkeypatch.setattr(node.housekeeper._lags, "run", lambda: 1 / 0)
    tasks = node.housekeeper._tasks
    tasks["lag"] = node.housekeeper._lags.run
    node.fill(0)
    node.write_checkpoints()
    assert caplog.text.count("what=lag") == 1
    assert node.checkpoint()[TopicPartition("t", 0)] > 0
    node.work()
    assert caplog.text.count("what=lag") == 1  # too early
    node.write_checkpoints()
    assert caplog.text.count("what=lag") == 2


def test_a_log_that_makes_no_sense_ends_no_pass_over_the_others(node, monkeypatch, caplog):
    logs = [node.fill(slot) for slot in range(2)]

    def sync(directory, base_offset, disk):
        if directory == logs[0].directory:
            raise ValueError("injected")

    monkeypatch.setattr(segment_sync, "sync_segment", sync)
    node.work()
    assert [log.recovery_point for log in logs] == [0, logs[1].end_segment]
    assert caplog.text.count("housekeeping task failed") == 1
    assert node.seat.mask == 0


def test_a_default_that_was_changed_while_the_node_runs_holds_for_retention_and_appends(node):
    view = node.seat.view.now
    hosted = HostedReplicas(node.seat, node.dirs)
    assert {one.config.retention_ms for one in hosted} == {7 * 24 * 3_600_000}
    node.follow(view._replace(cluster_settings={"log.retention.ms": "7"}, node_settings={"message.max.bytes": "9000"}))
    assert {one.config.retention_ms for one in hosted} == {7}
    assert {replica.log.config.max_message_bytes for replica in node.replicas.by_slot.values()} == {9000}
    node.follow(view)
    assert {one.config.retention_ms for one in hosted} == {7 * 24 * 3_600_000}
    assert {replica.log.config.max_message_bytes for replica in node.replicas.by_slot.values()} == {1_048_588}


def test_a_log_directory_that_is_gone_at_the_start_costs_the_others_nothing(node):
    log = node.fill(0)
    lost = next(one for one in node.dirs if one != log.directory.parent)
    shutil.rmtree(lost)
    node.housekeeper = Housekeeper(node.seat, node.clock)
    node.write_checkpoints()
    assert node.seat.mask == 1 << node.dirs.index(lost)
    known = read_offset_checkpoint(log.directory.parent / RECOVERY_POINT_FILE)
    assert known[TopicPartition("t", 0)] == log.end_segment
