"""A node without processes: the controller's parts over a fake ZooKeeper and real shared memory."""

from __future__ import annotations

from pathlib import Path

from headrace.controller import registration, znodes
from headrace.controller.cluster import Cluster
from headrace.controller.office import Office
from headrace.settings import Settings
from headrace.shm.seat import Seat
from tests.controller.fake_owner import FakeOwner
from tests.controller.fake_zk import FakeZk


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

    def restarted(self) -> Node:
        """The controller process was killed; its successor resumed the session."""
        node = Node(self.seat, self.zk.successor(), self.owner)
        node.join()
        return node

    @property
    def view(self):
        return self.seat.view.read()
