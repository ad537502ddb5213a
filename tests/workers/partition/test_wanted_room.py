"""A log whose opening wants room for a copy waits until there is so much: it is not read again each second.

Holds: workers/partition/opening_queue.py, workers/partition/storage_failures.py, workers/partition/replica_opener.py
"""

import errno

import pytest

from headrace.errors import StorageFailed
from headrace.limits import REOPEN_INTERVAL_MS, REOPEN_SHARE
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.shm.partition_table import RowState
from headrace.workers.partition.opening_queue import OpeningQueue
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
    node.disk.fails["pwritev"] = errno.ENOSPC
    with pytest.raises(StorageFailed) as refused:
        replica.append([batch()], NOW_MS)
    replica.fail(refused.value)
    node.disk.fails.clear()
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
    assert failures.is_retry_due(10_000)
    failures.note_try(10_700, 700)
    assert not failures.is_retry_due(10_700 + 700 * REOPEN_SHARE - 1)
    assert failures.is_retry_due(10_700 + 700 * REOPEN_SHARE)
    failures.note_try(40_000, 1)
    assert not failures.is_retry_due(10_700 + 700 * REOPEN_SHARE + REOPEN_INTERVAL_MS - 1)


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
