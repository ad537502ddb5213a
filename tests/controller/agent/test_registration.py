import time

import pytest

from headrace.controller.agent import registration
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.runtime.tasks import Tasks

PATH = znodes.broker_path(1)
DATA = znodes.encode_broker("here", 9092, None, 5)


def register(zk, data=DATA, wait_s=0.0, on_wait=lambda: None):
    """on_wait   called each time somebody else's registration is waited for"""
    tasks = Tasks(lambda: time.monotonic_ns() // 1_000_000, ZkLost)

    async def sleep(_wait_ms):
        on_wait()

    tasks.sleep = sleep
    zk.ensemble.run(registration.register(zk, tasks, 1, data, wait_s))


def test_the_first_node_makes_the_cluster_id_and_all_others_read_it(ensemble):
    made = ensemble.run(registration.cluster_id(ensemble.session()))
    assert len(made) == 22
    assert ensemble.run(registration.cluster_id(ensemble.session())) == made


def test_two_nodes_that_start_at_once_agree_on_the_cluster_id(ensemble):
    def overtake(_ordinal):
        ensemble.on_write = lambda _ordinal: None
        ensemble.put(znodes.CLUSTER_ID, znodes.encode_cluster_id("theirs"))

    ensemble.on_write = overtake
    assert ensemble.run(registration.cluster_id(ensemble.session())) == "theirs"


def test_the_node_is_ephemeral(ensemble):
    zk = ensemble.session()
    register(zk)
    assert ensemble.nodes[PATH].ephemeral_owner == zk.session_id
    zk.expire()
    assert PATH not in ensemble.nodes


def test_a_resumed_session_keeps_its_node_untouched(ensemble):
    zk = ensemble.session()
    register(zk)
    before = ensemble.nodes[PATH]
    register(zk.successor(), znodes.encode_broker("here", 9092, None, 77))
    assert ensemble.nodes[PATH] == before


def test_a_resumed_session_mends_what_its_node_says(ensemble):
    zk = ensemble.session()
    register(zk)
    register(zk.successor(), znodes.encode_broker("there", 9093, "r", 77))
    assert znodes.decode_broker(1, ensemble.data(PATH))[:4] == (1, "there", 9093, "r")
    assert ensemble.nodes[PATH].ephemeral_owner == zk.session_id


def test_a_stale_node_of_the_session_held_before_is_replaced(ensemble):
    old = ensemble.session()
    register(old)
    new = ensemble.session()
    new.previous = (old.session_id, b"")
    register(new)
    assert ensemble.nodes[PATH].ephemeral_owner == new.session_id


def test_a_stale_node_of_an_unknown_session_is_waited_for(ensemble):
    old, new = ensemble.session(), ensemble.session()
    register(old)
    waits = []

    def on_wait():
        waits.append(1)
        if len(waits) == 3:
            old.expire()

    register(new, on_wait=on_wait, wait_s=10)
    assert ensemble.nodes[PATH].ephemeral_owner == new.session_id
    assert len(waits) == 3


def test_an_id_that_another_live_node_holds_is_refused_with_its_address(ensemble):
    register(ensemble.session(), znodes.encode_broker("other-host", 1234, None, 0))
    with pytest.raises(registration.IdHeld, match=r"broker\.id 1 .*other-host:1234 session=0x65.*choose another id"):
        register(ensemble.session(), wait_s=-1)


def test_who_holds_the_id_is_said_while_it_is_waited_for(ensemble, caplog):
    held = ensemble.session()
    register(held, b"[]")
    register(ensemble.session(), wait_s=10, on_wait=held.expire)
    assert (
        f"waiting for a broker id that another session holds broker_id=1 holder=session=0x{held.session_id:x}"
        in caplog.text
    )


@pytest.mark.parametrize("data", [None, znodes.encode_cluster_id("theirs")])
def test_a_node_that_serves_in_a_cluster_makes_no_other_one(ensemble, data):
    zk = ensemble.session()
    if data is not None:
        ensemble.put(znodes.CLUSTER_ID, data)
    nodes = dict(ensemble.nodes)
    with pytest.raises(registration.ForeignCluster, match="this node belongs to cluster ours"):
        ensemble.run(registration.cluster_id(zk, "ours"))
    assert ensemble.nodes == nodes
    ensemble.put(znodes.CLUSTER_ID, znodes.encode_cluster_id("ours"))
    assert ensemble.run(registration.cluster_id(zk, "ours")) == "ours"


def test_a_node_that_registers_again_has_another_broker_epoch_and_is_never_away(ensemble):
    zk = ensemble.session()
    register(zk)
    before, zxid = ensemble.nodes[PATH], ensemble.zxid
    ensemble.run(registration.register_again(zk, 1))
    after = ensemble.nodes[PATH]
    assert after.created_zxid > before.created_zxid
    assert after[:3] == before[:3]
    assert ensemble.zxid == zxid + 1, "one transaction"


def test_what_another_session_registered_is_left_alone(ensemble):
    register(ensemble.session())
    before = ensemble.nodes[PATH]
    ensemble.run(registration.register_again(ensemble.session(), 1))
    assert ensemble.nodes[PATH] == before
    ensemble.run(registration.register_again(ensemble.session(), 2))
    assert znodes.broker_path(2) not in ensemble.nodes
