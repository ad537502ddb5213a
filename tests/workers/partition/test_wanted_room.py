"""A log whose opening wants room for a copy waits until there is so much: it is not read again each second."""

import errno

import pytest

from headrace.errors import StorageFailed
from headrace.limits import OPENING_SLICE_MS, REOPEN_INTERVAL_MS, REOPEN_SHARE
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.opening_queue import OpeningQueue
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import look_and_open

SIZE = len(batch())
COUNT = 300
DAMAGED = COUNT - 5


@pytest.fixture
def read_bytes(node, monkeypatch):
    """How much was read of segments, in a list of one."""
    done = [0]
    read = node.disk.preadv

    def preadv(fd, buffers, position):
        count = read(fd, buffers, position)
        done[0] += count
        return count

    monkeypatch.setattr(node.disk, "preadv", preadv)
    return done


def damaged(node):
    """A log of one replica, with a damaged batch in what its owner had published."""
    node.replicas.follow(view_of(("t", 1)))
    node.replicas.take_opened()
    replica = node.replicas.by_slot[0]
    for _ in range(COUNT):
        replica.append([batch()], NOW_MS)
    path = path_of(replica.log.directory, 0, LOG_SUFFIX)
    data = bytearray(path.read_bytes())
    data[DAMAGED * SIZE + 8] ^= 4
    path.write_bytes(data)
    return replica


def test_an_opening_waits_for_the_room_that_it_wants(node, read_bytes):
    damaged(node)
    node.killed()
    node.disk.free = 0
    node.replicas.follow(view_of(("t", 1)))
    assert node.row(0).state == RowState.OFFLINE
    first = read_bytes[0]
    for free in (0, 0, SIZE, 5 * SIZE - 1):
        node.disk.free = free
        look_and_open(node)
    assert read_bytes[0] == first, "nothing was read again"
    node.disk.free = 5 * SIZE
    look_and_open(node)
    assert node.replicas.by_slot[0].log.log_end_offset == DAMAGED


def test_a_log_that_is_opened_again_in_place_waits_for_it_too(node, read_bytes):
    replica = damaged(node)
    run_out_of_room(node, replica)
    node.disk.free = 1
    look_and_open(node)
    first = read_bytes[0]
    for _ in range(4):
        look_and_open(node)
    assert read_bytes[0] == first
    node.disk.free = 1 << 40
    look_and_open(node)
    assert node.replicas.by_slot[0].log.failure is None


def test_a_directory_that_can_not_be_asked_is_tried(node):
    damaged(node)
    node.killed()
    node.disk.free = 0
    node.replicas.follow(view_of(("t", 1)))
    node.disk.fails["free_bytes"] = errno.EIO
    assert node.replicas.failures.has_room(node.dirs[0], 1 << 50)


def test_tries_that_take_long_are_seldom(node):
    failures = node.replicas.failures
    failures.note_try(1, 10_700, 700)
    assert not failures.may_try(1, 10_700 + 700 * REOPEN_SHARE - 1)
    assert failures.may_try(1, 10_700 + 700 * REOPEN_SHARE)
    assert failures.may_try(2, 10_700)
    failures.note_try(1, 40_000, 1)
    assert failures.may_try(1, 40_000 + REOPEN_SHARE)


def test_tries_of_many_logs_take_no_more_time_than_those_of_one(node):
    """Twenty logs, each of which is read for a minute, would leave no time for anything else."""
    failures, took_ms, logs = node.replicas.failures, 60_000, 40
    now_ms = tried_ms = 0
    for _ in range(20 * logs):
        due = [slot for slot in range(logs) if failures.may_try(slot, now_ms)]
        if not due:
            now_ms += took_ms
            continue
        now_ms += took_ms
        tried_ms += took_ms
        failures.note_try(due[0], now_ms, took_ms)
    assert tried_ms <= took_ms * logs + now_ms // REOPEN_SHARE


def test_a_log_that_is_tried_in_vain_keeps_no_other_one_waiting(node):
    """All logs of the worker waited twenty times as long as one of them was read in vain."""
    replica = damaged(node)
    run_out_of_room(node, replica)
    node.replicas.failures.note_try(7, node.clock.ms, 60_000)
    node.clock.ms += REOPEN_INTERVAL_MS
    node.replicas.tick(node.clock.ms)
    assert replica.log.failure is None or 0 not in node.replicas.by_slot


def test_a_log_that_is_opened_again_at_once_is_charged_with_nothing(node, monkeypatch):
    """Two thousand logs had room again after twenty seconds of opening, and what was refused meanwhile waited for six minutes."""
    node.replicas.follow(view_of(("t", 1)))
    node.replicas.take_opened()
    replica = node.replicas.by_slot[0]
    reopen = node.replicas.failures._reopen
    monkeypatch.setattr(node.replicas.failures, "_reopen", lambda one: _passing(node, 20_000) or reopen(one))
    for _ in range(2):
        run_out_of_room(node, replica)
        node.clock.ms += REOPEN_INTERVAL_MS
        node.replicas.tick(node.clock.ms)
        assert replica.log.failure is None


def _passing(node, took_ms):
    node.clock.ms += took_ms


def run_out_of_room(node, replica):
    node.disk.fails["pwritev"] = errno.ENOSPC
    with pytest.raises(StorageFailed) as refused:
        replica.append([batch()], NOW_MS)
    replica.fail(refused.value)
    node.disk.fails.clear()


def test_logs_that_have_room_again_are_opened_some_in_each_cycle(node, monkeypatch):
    logs = 6
    node.replicas.follow(view_of(("t", logs)))
    node.replicas.take_opened()
    replicas = [node.replicas.by_slot[slot] for slot in range(logs)]
    for replica in replicas:
        run_out_of_room(node, replica)
    reopen = node.replicas.failures._reopen
    monkeypatch.setattr(node.replicas.failures, "_reopen", lambda one: _passing(node, OPENING_SLICE_MS) or reopen(one))
    node.clock.ms += REOPEN_INTERVAL_MS
    node.replicas.tick(node.clock.ms)
    opened = [sum(one.log.failure is None for one in replicas)]
    while node.replicas.reopen_some():
        opened.append(sum(one.log.failure is None for one in replicas))
    assert opened == list(range(1, logs + 1))


def test_deletions_and_names_that_are_owed_wait_for_no_log(node, monkeypatch):
    done = []
    replica = damaged(node)
    monkeypatch.setattr(node.replicas._opener, "sync_names", lambda: done.append("names"))
    monkeypatch.setattr(node.replicas, "_delete_all", lambda is_first_view: done.append("deletions"))
    run_out_of_room(node, replica)
    node.replicas.failures.note_try(0, node.clock.ms, 60_000)
    node.clock.ms += REOPEN_INTERVAL_MS
    node.replicas.tick(node.clock.ms)
    assert done == ["names", "deletions"]
    assert replica.log.failure is not None


def test_what_said_how_much_it_wants_is_tried_where_there_is_so_much(node):
    queue, row = OpeningQueue(), node.seat.partitions.recover_row(0)[0]
    a, b = node.dirs
    for slot, wanted in ((1, (a, 100)), (2, (b, 50)), (3, None)):
        queue.postpone(slot, row, False, wanted)
    free = {a: 99, b: 50}
    queue.try_again(lambda log_dir, wanted_bytes: free[log_dir] >= wanted_bytes)
    assert list(queue) == [2, 3]
    queue.postpone(2, row, False)  # it can't tell any more
    free[b] = 0
    queue.try_again(lambda log_dir, wanted_bytes: free[log_dir] >= wanted_bytes)
    assert sorted(queue) == [2, 3]
