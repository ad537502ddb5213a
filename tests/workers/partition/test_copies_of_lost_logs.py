"""A copy whose replica was given up is never deleted for that: it is compared with the log that is opened next, or kept."""

import errno

import pytest

from headrace.errors import HeadraceError, StorageFailed
from headrace.limits import REOPEN_INTERVAL_MS
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.shm.cluster_view import EMPTY_VIEW
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas import replica_opener
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import look_and_open
from tests.workers.partition.replicas.test_log_dir_moves import (
    MovingNode,
    copy_of,
    in_sync_with,
    names,
    records,
    slow_moves,
    work_through,
)

SIZE = len(batch())
DAMAGED = 100
VIEW = view_of(("t", 1, {"index.interval.bytes": "500"}))


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A replica without others, more than half of which is copied to the other log directory."""
    slow_moves(monkeypatch, 3_000)
    node = MovingNode(tmp_path)
    node.replicas.follow(VIEW)
    node.replicas.take_opened()
    for _ in range(400):
        assert node.append(0)
    assert node.alter(0, node.other_dir(0)) == 0
    for _ in range(15):
        assert node.moves.do_work()
    assert copy_of(node).future.log_end_offset > 200
    return node


def without_room(node):
    replica = node.replicas.by_slot[0]
    node.disk.fails["pwritev"] = errno.ENOSPC
    with pytest.raises(StorageFailed) as refused:
        replica.append([batch()], NOW_MS)
    replica.fail(refused.value)
    node.disk.fails.clear()


def lose_the_end(node):
    """The disk loses what follows a batch, and the log is opened again in place."""
    path = path_of(node.replicas.by_slot[0].log.directory, 0, LOG_SUFFIX)
    data = bytearray(path.read_bytes())
    data[DAMAGED * SIZE : 400 * SIZE] = bytes(300 * SIZE)
    path.write_bytes(data)
    without_room(node)
    node.clock.ms += REOPEN_INTERVAL_MS
    node.replicas.tick(node.clock.ms)
    assert 0 not in node.replicas.by_slot
    assert node.replicas.has_unopened


@pytest.mark.parametrize("error", [None, errno.EMFILE, errno.ENOSPC, "damaged"])
def test_a_copy_of_a_log_that_was_found_short_is_kept(node, monkeypatch, error):
    """The log has lost what the copy has. Opening it again is refused once, and its copy has 155 records that are nowhere else."""
    target, copied = node.other_dir(0), copy_of(node).future.log_end_offset
    lose_the_end(node)
    if error == "damaged":
        refusals = [HeadraceError("contradictory files")]
        opened = replica_opener.ReplicaOpener._open_log
        monkeypatch.setattr(
            replica_opener.ReplicaOpener, "_open_log", lambda *given: _raise_once(refusals, opened, *given)
        )
    elif error is not None:
        node.disk.fails["open"] = error
    node.replicas.open_some()
    node.disk.fails.clear()
    if not node.replicas.has_unopened:
        node.moves.do_work()
    look_and_open(node)
    assert "t-0-delete" not in names(target)
    if error == "damaged":
        assert "t-0-future" in names(target)
        assert node.row(0).state == RowState.OFFLINE
        return
    assert node.replicas.by_slot[0].log.log_end_offset == DAMAGED
    assert "t-0-stray" in names(target), f"the copy has {copied} records, the log {DAMAGED}"


def _raise_once(refusals, opened, *given):
    if refusals:
        raise refusals.pop()
    return opened(*given)


def test_a_copy_that_waits_for_its_log_goes_on_where_that_lost_nothing(node):
    """The opening that follows meets no descriptor once: the move waits for the log, and is not lost."""
    replica = node.replicas.by_slot[0]
    before, copied = records(node, 0), copy_of(node).future.log_end_offset
    replica.log.abandon()
    node.replicas._open_again(replica, 0)
    node.disk.fails["open"] = errno.EMFILE
    node.replicas.open_some()
    node.disk.fails.clear()
    assert node.moves.do_work()
    assert not node.moves.is_moving(0)
    look_and_open(node)
    assert copy_of(node).future.log_end_offset == copied
    work_through(node.moves)
    assert node.dir_of(0) == node.dirs[1]
    assert records(node, 0) == before


def test_a_copy_of_a_replica_that_was_released_is_kept(node):
    """The view has it no more and says nothing of a deletion: files stay where they are, and so does what was copied."""
    target = node.other_dir(0)
    node.replicas.follow(EMPTY_VIEW._replace(version=9))
    assert node.moves.do_work()
    assert names(target).count("t-0-stray") == 1
    assert "t-0-delete" not in names(target)


def test_a_copy_beside_a_log_that_waits_for_room_is_kept(node):
    """That log may be found damaged when it is opened again."""
    target = node.other_dir(0)
    without_room(node)
    assert node.alter(0, node.dir_of(0)) == 0, "the replica is asked to stay"
    assert names(target).count("t-0-stray") == 1
    assert "t-0-delete" not in names(target)


def test_a_copy_is_compared_with_a_log_that_was_opened_again_in_place(node):
    """Between two turns a follower's log has lost its end, and has got other records in its place."""
    replica = node.replicas.by_slot[0]
    node.replicas.follow(in_sync_with(VIEW._replace(version=3), 7))
    copied = copy_of(node).future.log_end_offset
    old = replica.log
    old.truncate_to(50)
    old.close()
    log = node.replicas.logs.open(replica.partition, old.directory, old.config, LogCheckpoint(is_clean=True))
    for _ in range(350):
        log.append_as_leader([batch(size=99)], 0, NOW_MS)
    replica.replace_log(log, replica.log_dir)
    expected = records(node, 0)
    assert log.log_end_offset > copied
    work_through(node.moves)
    assert node.dir_of(0) == node.dirs[1]
    assert records(node, 0) == expected
    assert "t-0-stray" in names(node.dirs[1])


def test_a_log_that_is_shorter_in_its_new_place_does_not_take_it(node, monkeypatch):
    source, open_log = node.dir_of(0), node.replicas.logs.open

    def open_short(partition, directory, *given):
        log = open_log(partition, directory, *given)
        if directory == node.dirs[1] / "t-0":
            log.truncate_to(399)
        return log

    monkeypatch.setattr(node.replicas.logs, "open", open_short)
    work_through(node.moves)
    assert node.dir_of(0) == source
    assert len(records(node, 0)) == 400
    assert node.append(0)
