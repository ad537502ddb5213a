"""Replicas that move between log directories while they serve; moves that are cut short at any point."""

import errno
import os
import shutil

import pytest

from headrace.errors import ErrorCode, StorageFailed
from headrace.ids import TopicPartition
from headrace.log.disk import Disk
from headrace.log.names import COPY_SYNCED_FILE, FUTURE_SUFFIX
from headrace.log.reading.reader import LogReader
from headrace.log.recovery import producer_recall
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.recovery.log_reach import log_reach
from headrace.log.state.checkpoints import write_partition_metadata
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, iterate_batches
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas import log_dir_moves, replica_copy
from headrace.workers.partition.replicas.log_dir_moves import LogDirMoves
from headrace.workers.partition.replicas.replica_copy import synced_before
from tests.support.descriptors import none_left
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import FakeSeat, view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import Node

CONFIG = {"segment.bytes": "20000", "index.interval.bytes": "500"}


def slow_moves(monkeypatch, slice_bytes):
    for module in (log_dir_moves, replica_copy):
        monkeypatch.setattr(module, "MOVE_BYTES_PER_CYCLE_MAX", slice_bytes)


class MovingNode(Node):
    def start(self):
        super().start()
        self.moves = LogDirMoves(self.replicas, self.clock)
        return self.replicas

    def alter(self, slot, path, topic="t", index=None):
        request = messages.AlterReplicaLogDirsRequest
        wanted = request.AlterReplicaLogDirTopic(topic, [slot if index is None else index])
        dirs = [request.AlterReplicaLogDir(path=str(path), topics=[wanted])]
        answered = []
        body = encode_request(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, request(dirs=dirs))
        self.moves.handlers()[ApiKey.ALTER_REPLICA_LOG_DIRS](2, memoryview(body), answered.append)
        (topic,) = decode_response(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, memoryview(answered[0])).results
        return topic.partitions[0].error_code

    def other_dir(self, slot):
        return next(one for one in self.dirs if one != self.dir_of(slot))


@pytest.fixture
def node(tmp_path, monkeypatch):
    slow_moves(monkeypatch, 3_000)
    node = MovingNode(tmp_path)
    node.replicas.follow(view_of(("t", 2, CONFIG)))
    for _ in range(400):
        assert node.append(0)
    return node


def records(node, slot):
    log = node.replicas.by_slot[slot].log
    reader = LogReader(log.directory)
    reader.refresh(log.segments_version)
    found = []
    for base in reader.segment_bases():
        data = (log.directory / f"{base:020d}.log").read_bytes()
        found += [bytes(whole) for _position, _header, whole in iterate_batches(data)]
    return found


def work_through(moves):
    while moves.do_work():
        pass


def copy_of(node, slot=0):
    """The copy in flight, if there is one."""
    move = node.moves._moves.get(slot)
    return None if move is None else move.copy


def names(path):
    return sorted(one.name.split(".")[0] + one.name[one.name.rfind("-") :] for one in path.iterdir() if one.is_dir())


def test_a_replica_moves_while_it_is_written_to(node):
    source, target = node.dir_of(0), node.other_dir(0)
    version = node.row(0).segments_version
    assert node.alter(0, target) == 0
    cycles, end = 0, 400
    while node.moves.do_work():
        cycles += 1
        end += node.append(0)
    assert cycles > 10
    assert node.dir_of(0) == target
    row = node.row(0)
    assert (row.state, row.log_end_offset, row.high_watermark) == (RowState.LEADER, end, end)
    assert row.segments_version != version
    assert len(records(node, 0)) == end
    assert not (source / "t-0").exists()
    assert "t-0-delete" in names(source)
    assert node.append(0)
    assert node.replicas.close()
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(view_of(("t", 2, CONFIG)))
    assert node.row(0).log_end_offset == end + 1
    assert node.dir_of(0) == target


def test_producers_and_epochs_move_along(node):
    replica = node.replicas.by_slot[0]
    sequenced = batch(producer_id=9, producer_epoch=1, base_sequence=0)
    replica.log.append_as_leader([sequenced], 4, NOW_MS)
    replica.advance_high_watermark()
    epochs, batches = replica.log.epochs.entries, list(replica.log.producers.producers[9].batches)
    assert node.alter(0, node.other_dir(0)) == 0
    work_through(node.moves)
    moved = node.replicas.by_slot[0].log
    assert moved is not None
    assert moved.epochs.entries == epochs
    assert [one[:4] for one in moved.producers.producers[9].batches] == [one[:4] for one in batches]


SEQUENCES = range(5)
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def append_apart(node):
    """Batches of one producer in flight, further apart than an opening looks back; returns how each is sent again."""
    replica = node.replicas.by_slot[0]
    for sequence in SEQUENCES:
        for one in [
            batch(producer_id=9, producer_epoch=0, base_sequence=sequence),
            *(batch(size=9_000) for _ in range(3)),
        ]:
            assert replica.append([one], NOW_MS)[0][0] == ErrorCode.NONE

    def again(sequence):
        replica = node.replicas.by_slot[0]
        return replica.append([batch(producer_id=9, producer_epoch=0, base_sequence=sequence)], NOW_MS)[0][0]

    return again


def test_batches_in_flight_that_lie_far_apart_are_known_after_a_move(node, monkeypatch):
    monkeypatch.setattr(producer_recall, "RECALL_BYTES_MAX", 20_000)
    again = append_apart(node)
    assert node.alter(0, node.other_dir(0)) == 0
    work_through(node.moves)
    assert not node.moves.is_moving(0)
    assert [again(sequence) for sequence in SEQUENCES] == [ErrorCode.NONE] * 5
    assert again(7) == OUT_OF_ORDER


@pytest.mark.parametrize("is_producers_own", [False, True])
def test_batches_in_flight_that_lie_far_apart_are_known_after_a_full_disk(node, monkeypatch, is_producers_own):
    """Not those of the write that failed."""
    monkeypatch.setattr(producer_recall, "RECALL_BYTES_MAX", 20_000)
    again = append_apart(node)
    node.disk.fails["pwritev"] = errno.ENOSPC
    failing = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 5} if is_producers_own else {}
    assert append_or_fail(node, [batch(**failing)]) is None
    node.disk.fails.clear()
    node.tick()
    assert node.replicas.by_slot[0].log.failure is None
    assert [again(sequence) for sequence in SEQUENCES[is_producers_own:]] == [ErrorCode.NONE] * (5 - is_producers_own)
    end = node.replicas.by_slot[0].log.log_end_offset
    assert again(5) == ErrorCode.NONE
    assert node.replicas.by_slot[0].log.log_end_offset == end + 1, "it was not stored before"


def append_or_fail(node, batches):
    """What the produce path does with a replica: its results, or None where its log refused."""
    replica = node.replicas.by_slot[0]
    try:
        return replica.append(batches, NOW_MS)
    except StorageFailed as failure:
        replica.fail(failure)
        return None


def sequenced(sequence, transactional=0):
    return batch(producer_id=9, producer_epoch=1, base_sequence=sequence, attributes=transactional)


@pytest.mark.parametrize("transactional", [0, TRANSACTIONAL_BIT])
def test_what_a_full_disk_refused_is_no_duplicate_where_the_log_was_moved_to(node, transactional):
    assert append_or_fail(node, [sequenced(0, transactional)]) == [(0, 400, -1)]
    stable = node.row(0).last_stable_offset
    assert node.alter(0, node.other_dir(0)) == 0
    node.disk.fails["pwritev"] = errno.ENOSPC
    assert append_or_fail(node, [sequenced(1, transactional)]) is None
    node.disk.fails.clear()
    work_through(node.moves)
    assert node.row(0).last_stable_offset == stable
    assert append_or_fail(node, [sequenced(1, transactional)]) == [(0, 401, -1)]
    row = node.row(0)
    assert (row.log_end_offset, row.high_watermark) == (402, 402)
    assert len(records(node, 0)) == 402


def test_what_a_full_disk_took_before_it_refused_counts_where_the_log_was_moved_to(node):
    """Two segments' batches in one call, of which the second segment could not be begun."""
    many = [sequenced(number) for number in range(300)]
    node.disk.fails["fallocate"] = node.disk.fails["rename"] = errno.ENOSPC
    assert append_or_fail(node, many) is None
    node.disk.fails.clear()
    kept = node.replicas.by_slot[0].log.log_end_offset
    assert 400 < kept < 700
    assert node.row(0).high_watermark == 400
    assert node.alter(0, node.other_dir(0)) == 0
    work_through(node.moves)
    row = node.row(0)
    assert (row.log_end_offset, row.high_watermark) == (kept, kept)
    last = kept - 401
    assert append_or_fail(node, [sequenced(last), sequenced(last + 1)]) == [(0, kept - 1, -1), (0, kept, -1)]


def test_a_move_that_waits_for_the_high_watermark_keeps_its_worker_from_no_sleep(node):
    replica = node.replicas.by_slot[0]
    replica.isr = (0, 7)  # the follower holds the mark back
    for _ in range(100):
        assert append_or_fail(node, [batch()])
    assert node.alter(0, node.other_dir(0)) == 0
    work_through(node.moves)
    assert node.moves.is_moving(0)
    assert node.moves.do_work() == 0
    assert replica.move_high_watermark(500)
    work_through(node.moves)
    assert node.dir_of(0) == node.dirs[1]
    assert len(records(node, 0)) == 500


def test_what_cannot_be_moved_is_refused_with_kafkas_errors(node, tmp_path):
    assert node.alter(0, tmp_path / "nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert node.alter(7, node.dirs[0]) == ErrorCode.REPLICA_NOT_AVAILABLE
    assert node.alter(0, node.dir_of(0)) == 0
    assert node.moves.do_work() == 0
    node.seat.mask = 1 << node.dirs.index(node.other_dir(0))
    node.tick()
    assert node.alter(0, node.other_dir(0)) == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_move_is_given_up_when_the_replica_is_asked_to_stay(node):
    target = node.other_dir(0)
    assert node.alter(0, target) == 0
    assert node.moves.do_work()
    assert "t-0-future" in names(target)
    assert node.alter(0, node.dir_of(0)) == 0
    assert node.moves.do_work() == 0
    assert "t-0-future" not in names(target)
    assert node.append(0)


def test_retention_and_truncation_of_the_source_do_not_confuse_the_copy(node):
    assert node.alter(0, node.other_dir(0)) == 0
    for _ in range(3):
        assert node.moves.do_work()
    log = node.replicas.by_slot[0].log
    count = log.count_deletable(set(log.segment_bases[:2]), log.log_end_offset)
    assert count == 2
    log.advance_log_start(log.segment_bases[2])
    log.delete_segments(2)
    start = log.log_start_offset
    work_through(node.moves)
    row = node.row(0)
    assert (row.log_start_offset, row.log_end_offset) == (start, 400)
    assert len(records(node, 0)) == 400 - start


def test_what_a_leader_has_cut_is_cut_from_the_copy_too(node):
    """A follower whose log parts from its leader's below what was copied, as after an unclean election."""
    assert node.alter(0, node.other_dir(0)) == 0
    for _ in range(20):
        assert node.moves.do_work()
    replica = node.replicas.by_slot[0]
    move = copy_of(node)
    assert move.future.log_end_offset > 100
    replica.truncate(50)
    node.moves.follow_cut(replica)
    assert move.future.log_end_offset == 50
    for _ in range(200):
        assert node.append(0)
    expected = records(node, 0)
    work_through(node.moves)
    assert node.row(0).log_end_offset == 250
    assert records(node, 0) == expected


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_move_whose_disk_fails_is_given_up_and_the_replica_stays(node, error):
    source, target = node.dir_of(0), node.other_dir(0)
    assert node.alter(0, target) == 0
    assert node.moves.do_work()
    node.disk.fails["pwritev"] = error
    work_through(node.moves)
    node.disk.fails.clear()
    assert node.dir_of(0) == source
    assert (target in node.replicas.directories.usable) == (error == errno.ENOSPC)
    assert node.append(0)
    assert node.row(0).log_end_offset == 401


VIEW = view_of(("t", 2, CONFIG))


def successor(node, view=VIEW):
    """The worker is killed and starts again."""
    node.killed().follow(view)
    node.moves.resume()
    return copy_of(node)


@pytest.mark.parametrize("cycles", [0, 1, 5, 12])
def test_a_move_goes_on_in_the_next_life_of_its_worker(node, cycles):
    source, target = node.dir_of(0), node.other_dir(0)
    before = records(node, 0)
    node.alter(0, target)
    for _ in range(cycles):
        assert node.moves.do_work()
    copied = copy_of(node).future.log_end_offset
    assert (copied > 0) == (cycles > 0)
    assert successor(node).future.log_end_offset == copied
    assert node.append(0)
    work_through(node.moves)
    assert node.dir_of(0) == target
    assert records(node, 0)[:400] == before
    assert node.row(0).log_end_offset == len(records(node, 0)) == 401
    assert names(source).count("t-0") == 0


def test_a_move_outlives_a_clean_stop(node):
    target = node.other_dir(0)
    node.alter(0, target)
    for _ in range(5):
        node.moves.do_work()
    copied = copy_of(node).future.log_end_offset
    node.moves.close()
    assert node.replicas.close()
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(VIEW)
    node.moves.resume()
    assert copy_of(node).future.log_end_offset == copied
    work_through(node.moves)
    assert node.dir_of(0) == target
    assert len(records(node, 0)) == 400


def test_a_stop_in_the_midst_of_many_moves_waits_for_no_copy(node):
    """Each sync may take milliseconds, and thousands of copies may be begun: the worker would be killed before it closed its logs."""
    node.replicas.follow(view_of(("t", 12, CONFIG)))
    for slot in range(12):
        assert node.append(slot, 20)
        node.replicas.by_slot[slot].isr = (0, 7)
        assert node.append(slot, 60)  # the mark waits for the follower, and the copy for the mark
        assert node.alter(slot, node.other_dir(slot)) == 0
    work_through(node.moves)
    targets = {slot: node.other_dir(slot) for slot in range(12)}
    assert [copy_of(node, slot).future.log_end_offset for slot in range(1, 12)] == [20] * 11
    node.disk.calls.clear()
    node.moves.close()
    assert [call for call in node.disk.calls if "sync" in call] == []
    assert not node.moves._moves
    assert node.replicas.close()
    node.seat = FakeSeat(node.dirs, clean=node.dirs)
    node.start().follow(view_of(("t", 12, CONFIG)))
    node.moves.resume()
    work_through(node.moves)
    assert {slot: node.dir_of(slot) for slot in targets} == targets


def test_a_copy_whose_last_batch_is_half_written_goes_on_before_it(node):
    node.alter(0, node.other_dir(0))
    for _ in range(5):
        node.moves.do_work()
    move = copy_of(node)
    copied, path = move.future.log_end_offset, move.directory / f"{move.future.end_segment:020d}.log"
    os.truncate(path, path.stat().st_size - 1)
    assert successor(node).future.log_end_offset == copied - 1
    work_through(node.moves)
    assert len(records(node, 0)) == 400


def in_sync_with(view, other):
    topic = view.topics["t"]
    partitions = tuple(one._replace(isr=(0, other), replicas=(0, other)) for one in topic.partitions)
    return view._replace(topics={"t": topic._replace(partitions=partitions)})


@pytest.mark.parametrize("is_alone", [True, False])
def test_what_a_copy_has_above_the_end_of_its_log_is_not_believed(node, is_alone):
    """The worker is killed when the copy is whole, and the log loses what it had not published: where no other node has it, it is kept."""
    target, log = node.other_dir(0), node.replicas.by_slot[0].log
    row = node.row(0)
    log.append_as_leader([batch(2) for _ in range(3)], 0, NOW_MS)
    node.alter(0, target)

    def killed(_old, new):
        if new.name == "t-0":
            raise KeyboardInterrupt

    node.disk.before_rename = killed
    with pytest.raises(KeyboardInterrupt):
        work_through(node.moves)
    node.disk.before_rename = None
    os.truncate(log.directory / f"{row.end_segment:020d}.log", row.end_position)
    move = successor(node, VIEW if is_alone else in_sync_with(VIEW, 7))
    assert node.row(0).log_end_offset == 400
    assert move.future.log_end_offset == (0 if is_alone else 400)
    kept = [one for one in target.iterdir() if one.name.endswith("-stray")]
    assert len(kept) == is_alone
    if is_alone:
        assert log_reach(kept[0]).end_offset == 406
    node.replicas.by_slot[0].isr = (0,)
    node.replicas.by_slot[0].followers = None
    for _ in range(10):
        assert node.append(0)
    expected = records(node, 0)
    work_through(node.moves)
    assert node.dir_of(0) == target
    assert records(node, 0) == expected


@pytest.mark.parametrize("what", ["gone", "other topic", "not started", "second", "same directory"])
def test_a_copy_that_is_none_of_this_replica_is_put_away(node, what, caplog):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)
    node.moves.do_work()
    directory = copy_of(node).directory
    view = VIEW
    if what == "gone":
        view = view_of()
    elif what == "other topic":
        write_partition_metadata(directory / "partition.metadata", "ff" * 16)
    elif what == "not started":
        (directory / "partition.metadata").unlink()
    elif what == "second":
        shutil.copytree(directory, directory.with_name(f"t-0.{'a' * 32}-future"))
    else:
        os.rename(directory, source / directory.name)
    move = successor(node, view)
    assert (move is not None) == (what in ("second", "not started"))
    assert (names(source) + names(target)).count("t-0-future") == (move is not None)
    is_kept = what in ("gone", "other topic", "not started")
    assert (names(source) + names(target)).count("t-0-stray") == is_kept
    assert (names(source) + names(target)).count("t-0-delete") == (not is_kept)
    assert "move cancelled partition=t-0" in caplog.text
    if what != "gone":
        work_through(node.moves)
        assert len(records(node, 0)) == 400
        assert node.append(0)


def test_a_copy_whose_disk_is_bad_is_put_away_and_the_replica_serves(node):
    node.alter(0, node.other_dir(0))
    node.moves.do_work()
    directory = copy_of(node).directory
    (directory / f"{0:020d}.index").unlink()
    (directory / f"{0:020d}.index").mkdir()
    assert successor(node) is None
    assert node.append(0)


def test_a_crash_between_the_two_renames_leaves_one_whole_log(node, monkeypatch):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)

    def killed(_old, new):
        if str(new).endswith("-delete"):
            raise KeyboardInterrupt

    node.disk.before_rename = killed
    with pytest.raises(KeyboardInterrupt):
        work_through(node.moves)
    node.disk.before_rename = None
    assert (source / "t-0").is_dir()
    assert (target / "t-0").is_dir()
    node.killed().follow(view_of(("t", 2, CONFIG)))
    assert node.row(0).log_end_offset == 400
    assert [(one / "t-0").is_dir() for one in node.dirs].count(True) == 1
    assert node.append(0)


def test_a_copy_that_gets_no_name_costs_the_move_and_not_the_directory_of_the_replica(node, monkeypatch):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)

    def fails(_old, new):
        if str(new) == str(target / "t-0"):
            raise OSError(errno.EIO, "injected")

    node.disk.before_rename = fails
    work_through(node.moves)
    assert source in node.replicas.directories.usable
    assert node.dir_of(0) == source
    assert node.append(0)
    assert len(records(node, 0)) == 401
    assert "t-0-future" not in names(target)


def test_a_move_of_an_earlier_topic_in_the_slot_is_no_move_of_this_one(node):
    target = node.other_dir(0)
    assert node.alter(0, target) == ErrorCode.NONE
    node.replicas.follow(view_of(("u", 2, CONFIG)))  # its slots are those of the deleted topic
    assert node.dir_of(0) != target
    assert node.alter(0, target, "u") == ErrorCode.NONE
    work_through(node.moves)
    assert node.dir_of(0) == target


def test_only_what_was_synced_in_any_case_is_believed_without_a_look(node, monkeypatch):
    """It is noted when it is synced: nothing that is worked out from sizes and settings, which may be others by now."""
    monkeypatch.setattr(replica_copy, "MOVE_SYNC_BYTES", 10_000)
    believed = []
    monkeypatch.setattr(
        replica_copy,
        "LogCheckpoint",
        lambda **known: believed.append(known.get("recovery_point", 0)) or LogCheckpoint(**known),
    )
    node.alter(0, node.other_dir(0))
    copy, synced = copy_of(node), 0
    flush = copy.future.flush

    def flush_all():
        nonlocal synced
        flush()
        synced = copy.future.log_end_offset

    copy.future.flush = flush_all
    believed.clear()
    directory = copy.directory
    for _ in range(3):
        assert node.moves.do_work()
    assert synced_before(directory, node.disk) == 0, "nothing was synced"
    while copy.future.log_end_offset < 300:
        assert node.moves.do_work()
    assert 0 < synced < copy.future.log_end_offset
    assert synced_before(directory, node.disk) == synced
    future = successor(node).future
    assert believed == [synced]
    future.truncate_to(synced - 10)
    assert synced_before(directory, node.disk) == synced - 10, "what comes in place of what was cut is not synced"
    work_through(node.moves)
    assert len(records(node, 0)) == 400
    assert not list(node.dirs[0].glob("t-?/headrace.copy-*")) + list(node.dirs[1].glob("t-?/headrace.copy-*"))


def test_a_copy_whose_note_cannot_be_read_is_looked_at(tmp_path):
    disk = Disk()
    assert synced_before(tmp_path, disk) == 0
    for content in (b"", b"0\n1\nx\n", b"0\n1\n12", b"\xff"):
        (tmp_path / COPY_SYNCED_FILE).write_bytes(content)
        assert synced_before(tmp_path, disk) == 0


def test_directories_that_are_no_copies_end_nobody(node):
    for name in (
        b"\xff-0.aa-future",
        b"x-future",
        b"-0.aa-future",
        "t-\u0663.aa-future".encode(),
        b"t-99999999999999.aa-future",
    ):
        os.mkdir(os.path.join(os.fsencode(node.dirs[0]), name))
    (node.dirs[0] / "t-0.aa-future").mkdir()
    found = node.replicas.directories.find_copies(FUTURE_SUFFIX, node.replicas.owned.has)
    assert found == {TopicPartition("t", 0): [node.dirs[0] / "t-0.aa-future"]}


def test_a_move_for_whose_end_there_is_no_room_is_given_up_and_the_replica_stays(node):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)

    def is_full(old, _new):
        if old == source / "t-0":
            raise OSError(errno.ENOSPC, "injected")

    node.disk.before_rename = is_full
    work_through(node.moves)
    assert node.replicas.directories.usable == node.dirs
    assert node.dir_of(0) == source
    assert node.append(0)
    assert len(records(node, 0)) == 401
    assert "t-0" not in names(target)
    node.disk.before_rename = None
    assert node.alter(0, target) == ErrorCode.NONE
    work_through(node.moves)
    assert node.dir_of(0) == target
    assert len(records(node, 0)) == 401


def test_a_move_without_a_descriptor_for_its_end_is_given_up_before_a_name_changes(node):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)
    copy = copy_of(node)
    while copy.left_bytes() > 5_000:
        node.moves.do_work()
    with none_left():
        for _ in range(5):
            node.moves.do_work()
    work_through(node.moves)
    assert node.replicas.directories.usable == node.dirs
    assert (node.dir_of(0), copy_of(node)) == (source, None)
    assert node.append(0)
    assert "t-0" not in names(target)
