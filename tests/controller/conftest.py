"""A controller's surroundings: real shared memory, a fake ZooKeeper, a fake partition worker; real ZooKeepers."""

import pytest

from headrace.shm.fabric import Fabric
from headrace.shm.seat import Seat
from tests.controller.fake_node import Node, settings_of
from tests.controller.fake_owner import FakeOwner
from tests.controller.fake_zk import FakeEnsemble
from tests.support.waiting import DEADLINE_S
from tests.support.zookeepers import ZOOKEEPERS, new_zookeeper


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
    for node in Node.made:
        node.close()
    Node.made.clear()
    for fabric in fabrics:
        fabric.destroy()


@pytest.fixture(scope="session", params=ZOOKEEPERS)
def zookeeper(request, tmp_path_factory):
    """One real server of each kind for all tests that want one; each takes a chroot of its own."""
    server = new_zookeeper(request.param, tmp_path_factory.mktemp("zookeeper"))
    server.start()
    server.wait_until_ready(DEADLINE_S)
    yield server
    server.stop()


@pytest.fixture
def chroot(zookeeper, request):
    """A zookeeper.connect that only this test uses."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    return f"{zookeeper.connect}/{name}"
