"""Disks of nodes: filled and emptied; a log directory that is gone and comes back, whoever else holds the node down."""

import errno
import random
import subprocess
from collections import Counter

import pytest

from tests.chaos.cluster_nodes import LOG_DIRS, ClusterNode
from tests.chaos.disk_faults import STOP_POLL_S, DiskFull, LogDirFails
from tests.chaos.network_rooms import Networks, NoNetworks

SIZE_BYTES = 4 << 20


class Node(ClusterNode):
    """One without processes, and whose disk is never full."""

    is_running, has_disk = True, False

    def __init__(self, directory, number=1):
        super().__init__(directory, number, "nowhere:2181")
        self.done = []
        for path in self.log_dirs:
            path.mkdir()
            (path / "kept").write_text(path.name)

    def fill_disk(self):
        self.is_full = True

    def empty_disk(self):
        self.is_full = False

    def kill(self):
        self.done.append("kill")
        self.is_running = False

    def ask_to_stop(self):
        self.done.append("stop")

    def launch(self):
        self.done.append("launch")
        self.is_running = True


class Stage:
    """It hits one node; ends of faults are kept."""

    def __init__(self, node):
        self.node, self.ends, self.visited, self.crashes = node, [], Counter(), 0

    def least(self, of, _visits, _chance):
        return of[0]

    def pick(self, _role, _chance):
        return self.node

    def visit(self, what, whom):
        self.visited[what, whom] += 1

    def begin(self, _name, _seconds, end):
        self.ends.append(end)

    def note_crash(self):
        self.crashes += 1


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path / "node-1")


def is_as_before(node):
    return [(path / "kept").read_text() for path in node.log_dirs] == list(LOG_DIRS)


class Lot(random.Random):
    """Always the same."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def random(self):
        return self.value


ASKED, KILLED = Lot(0.1), Lot(0.9)


def fail_a_directory(node, lot):
    stage = Stage(node)
    assert LogDirFails().fire(stage, lot)
    return stage


def test_a_directory_that_failed_is_read_where_it_is_and_comes_back(node):
    named = node.first_log_dir
    node.take_log_dir(0)
    assert not node.has_all_log_dirs
    assert named.is_file()
    assert (node.log_dirs[0] / "kept").read_text() == LOG_DIRS[0]
    assert node.first_log_dir == named
    node.put_log_dirs_back()
    assert is_as_before(node)
    assert node.has_all_log_dirs


def test_it_comes_back_with_the_next_life_of_its_node(node):
    stage = fail_a_directory(node, KILLED)
    assert not LogDirFails().fire(stage, KILLED)  # one at a time: the other one serves
    assert stage.ends[0]() is None
    assert node.done == ["kill", "launch"]
    assert stage.crashes == 1
    assert is_as_before(node)


def test_a_node_that_is_asked_to_stop_is_waited_for(node):
    stage = fail_a_directory(node, ASKED)
    assert stage.ends[0]() == STOP_POLL_S
    assert not node.is_wanted  # nobody else hits it, nor starts it again
    assert not node.has_all_log_dirs
    node.is_running = False
    assert stage.ends[0]() is None
    assert node.done == ["stop", "launch"]
    assert node.is_wanted
    assert is_as_before(node)


@pytest.mark.parametrize("lot", [ASKED, KILLED], ids=["asked", "killed"])
def test_who_holds_a_node_down_starts_it_again(node, lot):
    stage = fail_a_directory(node, lot)
    node.is_wanted = False
    assert stage.ends[0]() == STOP_POLL_S  # it is on its way down, and writes still
    assert not node.has_all_log_dirs
    node.is_running = False
    assert stage.ends[0]() is None
    assert node.done == []
    assert is_as_before(node)


def test_a_broker_of_kafkas_starts_again_when_its_disk_has_room(node):
    stage = Stage(node)
    assert not DiskFull().fire(stage, KILLED)  # the disk is everybody's
    node.has_disk = True
    for kind, done in (("headrace", []), ("kafka", ["kill", "launch"])):
        node.kind = kind
        assert DiskFull().fire(stage, KILLED)
        assert not DiskFull().fire(stage, KILLED)
        assert stage.ends.pop()() is None
        assert node.done == done
        assert not node.is_full


@pytest.mark.process
def test_a_disk_of_its_own_is_filled_and_seen_by_nobody_else(tmp_path):
    try:
        networks = Networks(1)
    except NoNetworks as failure:
        pytest.skip(str(failure))
    try:
        node = ClusterNode(tmp_path / "node-1", 1, "nowhere:2181", networks.rooms[0], disk_bytes=SIZE_BYTES)
        assert node.has_disk
        inside = node.path(node.disk)
        node.fill_disk()
        with pytest.raises(OSError, match="No space left") as failure:
            (inside / "more").write_bytes(bytes(8192))
        assert failure.value.errno == errno.ENOSPC
        (inside / "more").unlink()
        node.empty_disk()
        (inside / "more").write_bytes(bytes(SIZE_BYTES // 2))
        assert list(node.disk.iterdir()) == []
        listing = subprocess.run(node.room.command(["ls", str(node.disk)]), capture_output=True, text=True, check=True)
        assert listing.stdout.split() == ["more"]
    finally:
        networks.close()
