"""Replicas that the controller says are new, beside a directory that failed (KAFKA-10314)."""

import pytest

from headrace.errors import StorageFailed
from headrace.shm.messages import NEW_REPLICA
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.new_replicas import NewReplicas
from tests.support.fake_seat import FakeSeat, view_of
from tests.workers.partition.replica_fixtures import Node

MOVED_HERE = ("moved", 1, {}, 7)  # at a leader epoch at which it may have been here before
LEADER = 7  # another node


@pytest.fixture
def node(tmp_path):
    """One of its two directories failed before it started."""
    node = Node(tmp_path)
    node.seat = FakeSeat(node.dirs, offline=[node.dirs[1]])
    node.start()
    return node


def added(*topics):
    """A view in which the replicas here are being added: another node leads, and is alone in the ISR."""
    view = view_of(*topics)
    partitions = tuple(
        one._replace(leader=LEADER, isr=(LEADER,), replicas=(LEADER, 0)) for one in view.topics["moved"].partitions
    )
    return view._replace(topics={**view.topics, "moved": view.topics["moved"]._replace(partitions=partitions)})


def key_of(view, name="moved"):
    return view.topics[name].partitions[0].key


def say_new(node, *keys):
    """As the controller process asks."""
    replies = []
    [(_kind, handler)] = NewReplicas(node.replicas).handlers().items()
    handler(0, memoryview(b"".join(map(NEW_REPLICA.pack, keys))), replies.append)
    assert replies == [b""]


def test_it_is_made_where_it_was_said_before_the_view_has_it(node):
    view = added(("t", 1, {}, 0), MOVED_HERE)
    node.replicas.follow(view_of(("t", 1, {}, 0)))
    say_new(node, key_of(view))
    node.replicas.follow(view)
    assert node.row(1).state == RowState.FOLLOWER
    assert node.dir_of(1) == node.dirs[0]


def test_one_that_was_refused_is_made_after_all_and_nobody_takes_it_for_out_of_service_meanwhile(node):
    view = added(MOVED_HERE)
    node.replicas.follow(view)
    assert node.row(0).state == RowState.OFFLINE
    say_new(node, key_of(view))
    assert node.row(0).state == RowState.LOADING
    assert node.replicas.has_unopened
    node.replicas.open_some()
    assert node.row(0).state == RowState.FOLLOWER
    assert node.replicas.offline == {}


def test_one_that_nobody_calls_new_stays_refused(node):
    view = added(MOVED_HERE)
    node.replicas.follow(view)
    say_new(node, 4711)
    assert not node.replicas.has_unopened
    assert node.row(0).state == RowState.OFFLINE
    assert not (node.dirs[0] / "moved-0").exists()


def test_a_log_that_lies_in_the_directory_that_failed_is_not_new_whoever_says_so(tmp_path):
    node = Node(tmp_path)
    view = view_of(("t", 2, {}, 7))
    node.replicas.follow(view)
    node.append(0)
    lost = node.dir_of(0)
    node.replicas.failures.take(node.replicas.by_slot[0], StorageFailed("fsync: injected"))
    say_new(node, key_of(view, "t"))
    node.killed().follow(view)  # told before, and not believed later either
    assert node.row(0).state == RowState.OFFLINE
    assert not any((one / "t-0").exists() for one in node.dirs if one != lost)


def test_it_is_new_once(node):
    """A replica that was made, and lost with its directory, is not made again by what was said then."""
    view = added(MOVED_HERE)
    say_new(node, key_of(view))
    node.replicas.follow(view)
    assert node.row(0).state == RowState.FOLLOWER
    node.replicas.follow(view_of())
    assert 0 not in node.replicas.by_slot
    (node.dirs[0] / "moved-0").rename(node.dirs[0] / "gone")
    node.replicas.follow(view)
    assert node.row(0).state == RowState.OFFLINE


def test_what_never_comes_is_forgotten_for_what_is_said_later(node):
    view = added(MOVED_HERE)
    say_new(node, key_of(view), *range(1, node.seat.partitions.rows + 1))
    node.replicas.follow(view)
    assert node.row(0).state == RowState.OFFLINE


def test_one_that_is_in_sync_is_not_new_whoever_says_so(node):
    """It was made before: an empty log of it would be in the ISR."""
    view = view_of(MOVED_HERE)
    say_new(node, key_of(view))
    node.replicas.follow(view)
    assert node.row(0).state == RowState.OFFLINE
    assert not (node.dirs[0] / "moved-0").exists()
