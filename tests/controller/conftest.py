"""A controller's surroundings: real shared memory, a fake ZooKeeper, a fake partition worker; one real ZooKeeper."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from headrace.controller import registration, znodes
from headrace.controller.cluster import Cluster
from headrace.controller.office import Office
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.settings import Settings
from headrace.shm.fabric import Fabric
from headrace.shm.seat import Seat

sys.path.insert(0, str(Path(__file__).parent))  # for fake_zk.py, fake_owner.py beside this file

from fake_owner import FakeOwner
from fake_zk import FakeEnsemble, FakeZk


def settings_of(log_dir: Path, **changes: str) -> Settings:
    """Small ones; `broker_id="1"` stands for broker.id=1."""
    return Settings(
        {
            "log.dirs": str(log_dir),
            "headrace.network.workers": "1",
            "headrace.partition.workers": "1",
            "headrace.request.ring.bytes": "65536",
            "message.max.bytes": "16384",
            "headrace.partitions.max": "64",
            **{key.replace("_", "."): value for key, value in changes.items()},
        }
    )


class Node:
    """One node's controller parts over a fake ZooKeeper, without a process."""

    def __init__(self, seat: Seat, zk: FakeZk, owner: FakeOwner) -> None:
        self.seat = seat
        self.zk = zk
        self.owner = owner
        self.now_ms = 0
        assert seat.view_writer is not None
        settings = seat.wiring.settings
        self.cluster = Cluster(settings["broker.id"], seat.view_writer, settings["headrace.partitions.max"])
        self.office = Office(seat, zk, self.cluster, lambda: self.now_ms)

    def join(self) -> None:
        """What a new session does."""
        for path in znodes.PERSISTENT_PATHS:
            self.zk.ensure(path)
        self.cluster.cluster_id = registration.cluster_id(self.zk)
        data = znodes.encode_broker("127.0.0.1", 9092, None, 0)
        registration.register(self.zk, self.cluster.node_id, data, 0, lambda: None)
        self.office.load()

    def turn(self, cycles: int = 5) -> None:
        """Some duty cycles of the controller process and of the owner."""
        for _ in range(cycles):
            for path in self.zk.take_changes():
                self.office.react(path)
            self.owner.follow()
            self.office.work_on_deletions()

    def restarted(self) -> "Node":
        """The controller process was killed; its successor resumed the session."""
        node = Node(self.seat, self.zk.successor(), self.owner)
        node.join()
        return node

    @property
    def view(self):
        return self.seat.view.read()


@pytest.fixture
def ensemble():
    return FakeEnsemble()


@pytest.fixture
def new_node(tmp_path, ensemble):
    """A function that makes a node of its own shared memory, joined to the fake ZooKeeper."""
    fabrics = []

    def make(broker_id: int = 0, join: bool = True, **changes: str) -> Node:
        log_dir = tmp_path / f"node-{broker_id}"
        log_dir.mkdir()
        fabric = Fabric.create(settings_of(log_dir, broker_id=str(broker_id), **changes), host="127.0.0.1", port=9092)
        fabrics.append(fabric)
        seat = Seat(fabric.wiring, fabric.wiring.controller_id)
        node = Node(seat, ensemble.session(), FakeOwner(seat))
        if join:
            node.join()
        return node

    yield make
    for fabric in fabrics:
        fabric.destroy()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory):
    """One real server for all tests that want one; each takes a chroot of its own."""
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH: the embedded ZooKeeper can't run")
    server = EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    server.wait_until_ready(30)
    yield server
    server.stop()


@pytest.fixture
def chroot(zookeeper, request):
    """A zookeeper.connect that only this test uses."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    return f"{zookeeper.connect}/{name}"


def end(pid: int, number: int = signal.SIGKILL) -> int:
    """Send a signal to our own child and reap it; its exit code."""
    os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
