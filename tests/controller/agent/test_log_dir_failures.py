import pytest

from headrace.controller.agent import log_dir_failures
from headrace.controller.agent.log_dir_failures import SCAN_PAUSE_MS, LogDirFailures
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.shm.partition_table import PartitionRow, RowState


class Rig:
    """A node with one topic of three replicas, and directories that fail as a test says."""

    def __init__(self, node, ensemble):
        self.node, self.ensemble = node, ensemble
        self.mask = 0
        self.failures = LogDirFailures(node.zk, node.tasks, node.known, node.agent.rows, lambda: self.mask)
        node.create("t", ((0,),) * 3)
        node.turn()

    def fail(self, *indexes):
        """Owners follow that a directory failed."""
        for row in self.node.view.topics["t"].partitions:
            if row.index in indexes:
                offline = PartitionRow(RowState.OFFLINE, row.key, 1, row.leader_epoch, *(0,) * 15)
                self.node.seat.partitions.publish(row.slot, offline)

    def serve(self, index):
        """The owner has opened the log after all."""
        row = self.node.view.topics["t"].partitions[index]
        follower = PartitionRow(RowState.FOLLOWER, row.key, 1, row.leader_epoch, *(0,) * 15)
        self.node.seat.partitions.publish(row.slot, follower)

    def poll(self):
        self.node.now_ms += SCAN_PAUSE_MS
        self.failures.poll(self.node.now_ms)
        self.node.settle()

    def notes(self):
        parent = f"{znodes.LOG_DIR_EVENTS}/"
        paths = [path for path in self.ensemble.nodes if path.startswith(parent)]
        assert all(path.startswith(znodes.LOG_DIR_EVENT_PREFIX) for path in paths)
        return [znodes.decode_log_dir_event(path, self.ensemble.data(path)) for path in paths]


@pytest.fixture
def failing(new_node, ensemble):
    rig = Rig(new_node(0), ensemble)
    rig.node.active.term.end()  # nobody removes notes
    rig.node.active.term = None
    return rig


def test_nothing_is_told_while_all_is_well(failing):
    failing.poll()
    assert failing.notes() == []


def test_replicas_are_told_once_they_are_offline_and_once(failing):
    failing.mask = 1
    failing.poll()
    assert failing.notes() == []  # no owner has followed that
    failing.fail(1)
    failing.poll()
    assert failing.notes() == [0]
    failing.poll()
    assert failing.notes() == [0]
    failing.fail(2)
    failing.poll()
    assert failing.notes() == [0, 0]


def test_a_write_that_failed_is_done_again(failing):
    failing.mask = 1
    failing.fail(0)

    def lose(_ordinal):
        failing.ensemble.on_write = lambda _ordinal: None
        raise ZkLost("here")

    failing.ensemble.on_write = lose
    failing.poll()
    assert failing.notes() == []
    failing.poll()
    assert failing.notes() == [0]


def test_rows_are_not_scanned_in_each_cycle(failing):
    failing.mask = 1
    failing.poll()
    failing.fail(0)
    assert failing.failures.poll(failing.node.now_ms + SCAN_PAUSE_MS - 1) == 0
    assert failing.failures.poll(failing.node.now_ms + SCAN_PAUSE_MS) == 1
    failing.node.settle()


def test_a_replica_that_was_refused_is_told_of_once_it_serves(failing):
    """Its log could not be opened while the disk was full. The controller keeps it out of the ISR until it hears of it."""
    topic = failing.node.known.topics["t"]
    rows = failing.node.agent.rows
    failing.poll()
    failing.fail(1)
    rows.note_refused("t", 0)
    rows.note_refused("t", 1)
    assert rows.refused == {("t", 1)}
    failing.poll()
    assert failing.notes() == []
    failing.serve(1)
    assert rows.is_in_service(topic, 1)
    failing.poll()
    assert failing.notes() == [0]
    failing.poll()
    assert failing.notes() == [0]


def test_so_is_one_that_was_offline_before_this_process_began(failing):
    failing.fail(2)
    failing.poll()
    assert failing.notes() == [0], "nobody may have told of it"
    failing.serve(2)
    failing.poll()
    assert failing.notes() == [0, 0]


def test_a_replica_that_is_lost_without_its_directory_is_told_of_whenever_that_is(failing):
    """Its files contradict its offsets, or its owner could not open them when it began anew."""
    failing.poll()
    failing.fail(1)
    failing.poll()
    failing.poll()
    assert failing.notes() == [0]
    failing.serve(1)
    failing.poll()
    failing.fail(1)
    failing.poll()
    assert failing.notes() == [0, 0]


def test_of_many_rows_some_are_scanned_at_a_time(failing, monkeypatch):
    monkeypatch.setattr(log_dir_failures, "OFFLINE_ROWS_PER_SCAN_MAX", 2)
    failing.poll()
    failing.poll()
    failing.fail(2)
    failing.poll()
    assert failing.notes() == []
    failing.poll()
    assert failing.notes() == [0]
