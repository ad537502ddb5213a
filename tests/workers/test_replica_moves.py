"""Replicas that move between log directories while they serve; moves that are cut short at any point."""

import errno
import os

import pytest
from fake_seat import FakeSeat, view_of
from log_fixtures import NOW_MS, batch
from test_replicas import Node

from headrace.errors import ErrorCode
from headrace.log.reader import LogReader
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.protocol.record_batch import iterate_batches
from headrace.shm.partition_table import RowState
from headrace.workers.partition import replica_moves
from headrace.workers.partition.replica_moves import ReplicaMoves

CONFIG = {"segment.bytes": "20000", "index.interval.bytes": "500"}


class MovingNode(Node):
    def start(self):
        super().start()
        self.moves = ReplicaMoves(self.replicas, self.clock)
        return self.replicas

    def alter(self, slot, path, topic="t"):
        request = messages.AlterReplicaLogDirsRequest
        dirs = [request.AlterReplicaLogDir(path=str(path), topics=[request.AlterReplicaLogDirTopic(topic, [slot])])]
        answered = []
        body = encode_request(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, request(dirs=dirs))
        self.moves.handlers()[ApiKey.ALTER_REPLICA_LOG_DIRS](2, memoryview(body), answered.append)
        (topic,) = decode_response(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, memoryview(answered[0])).results
        return topic.partitions[0].error_code

    def other_dir(self, slot):
        return next(one for one in self.dirs if one != self.dir_of(slot))


@pytest.fixture
def node(tmp_path, monkeypatch):
    monkeypatch.setattr(replica_moves, "MOVE_BYTES_PER_CYCLE_MAX", 3_000)
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
    replica.advance_high_watermark(0)
    epochs, batches = replica.log.epochs.entries, list(replica.log.producers.producers[9].batches)
    assert node.alter(0, node.other_dir(0)) == 0
    work_through(node.moves)
    moved = node.replicas.by_slot[0].log
    assert moved is not None
    assert moved.epochs.entries == epochs
    assert [one[:4] for one in moved.producers.producers[9].batches] == [one[:4] for one in batches]


def test_what_cannot_be_moved_is_refused_with_kafkas_errors(node, tmp_path):
    assert node.alter(0, tmp_path / "nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert node.alter(7, node.dirs[0]) == ErrorCode.REPLICA_NOT_AVAILABLE
    assert node.alter(0, node.dir_of(0)) == 0
    assert node.moves.do_work() == 0
    node.seat.mask = 1 << node.dirs.index(node.other_dir(0))
    node.look()
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


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_move_whose_disk_fails_is_given_up_and_the_replica_stays(node, error):
    source, target = node.dir_of(0), node.other_dir(0)
    assert node.alter(0, target) == 0
    assert node.moves.do_work()
    node.disk.fails["pwritev"] = error
    work_through(node.moves)
    node.disk.fails.clear()
    assert node.dir_of(0) == source
    assert (target in node.replicas.usable_directories) == (error == errno.ENOSPC)
    assert node.append(0)
    assert node.row(0).log_end_offset == 401


def test_a_copy_of_an_earlier_life_is_put_away(node):
    target = node.other_dir(0)
    node.alter(0, target)
    node.moves.do_work()
    node.killed().follow(view_of(("t", 2, CONFIG)))
    assert "t-0-future" not in names(target)
    assert node.row(0).log_end_offset == 400


def test_a_crash_between_the_two_renames_leaves_one_whole_log(node, monkeypatch):
    source, target = node.dir_of(0), node.other_dir(0)
    node.alter(0, target)
    rename = os.rename

    def killed(old, new):
        if str(new).endswith("-delete"):
            raise KeyboardInterrupt
        rename(old, new)

    monkeypatch.setattr(os, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        work_through(node.moves)
    monkeypatch.undo()
    assert (source / "t-0").is_dir()
    assert (target / "t-0").is_dir()
    node.killed().follow(view_of(("t", 2, CONFIG)))
    assert node.row(0).log_end_offset == 400
    assert [(one / "t-0").is_dir() for one in node.dirs].count(True) == 1
    assert node.append(0)


def test_a_move_of_an_earlier_topic_in_the_slot_is_no_move_of_this_one(node):
    target = node.other_dir(0)
    assert node.alter(0, target) == ErrorCode.NONE
    node.replicas.follow(view_of(("u", 2, CONFIG)))  # its slots are those of the deleted topic
    assert node.dir_of(0) != target
    assert node.alter(0, target, "u") == ErrorCode.NONE
    work_through(node.moves)
    assert node.dir_of(0) == target
