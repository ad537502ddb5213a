"""A log without other replicas that is opened short leads on in another leader epoch, whenever that is. Over a fake ZooKeeper."""

import pytest

from headrace.controller.agent import short_logs
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.ids import partition_key
from headrace.shm.messages import LOG_WAS_CUT, OPENED_LOG, OPENED_RESULT
from tests.controller.holding_node import ID, NODE, Rig, lost_lines

DONE = OPENED_RESULT.pack(0)


@pytest.fixture
def rig(new_node, ensemble):
    return Rig(new_node, ensemble)


def epoch_in_the_view(rig):
    return rig.node.seat.view.read().topics["t"].partitions[0].leader_epoch


def test_its_owner_is_answered_once_the_view_has_the_next_epoch(rig, caplog):
    """The owner was killed, or ran out of room, and the disk had damaged what it had published."""
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join(after_power_loss=False)
    report = rig.opened(end=4, mark=10, flags=LOG_WAS_CUT)
    assert report.poll(rig.node.now_ms) is None
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE
    assert rig.stored_state().leader_epoch == epoch_in_the_view(rig) == 6
    assert "partition=t-0 first_offset=4 " in lost_lines(caplog)[0]
    again = rig.opened(end=3, mark=4)
    rig.check()
    assert again.poll(rig.node.now_ms) == DONE
    assert epoch_in_the_view(rig) == 7, "each time"


def test_while_zookeeper_fails_it_is_not_answered(rig, monkeypatch):
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join(after_power_loss=False)
    report = rig.opened(end=4, mark=10)

    async def lost(*_args):
        raise ZkLost("connection lost")

    with monkeypatch.context() as patch:
        patch.setattr(short_logs, "begin_epochs", lost)
        rig.check()
        rig.opened(end=4, mark=10)  # its owner reports it again
        rig.check()
    assert report.poll(rig.node.now_ms) is None
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE
    assert rig.stored_state().leader_epoch == 6, "once, however often it was reported"


def test_where_a_crash_of_the_machine_has_begun_one_there_is_no_other(rig):
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join()
    report = rig.opened(end=4, mark=10)
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE
    assert rig.stored_state().leader_epoch == 6


def test_a_write_that_lost_against_another_one_is_tried_again(rig, monkeypatch):
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join(after_power_loss=False)
    report = rig.opened(end=4, mark=10)

    async def lose(*_args):
        pass

    with monkeypatch.context() as patch:
        patch.setattr(short_logs, "begin_epochs", lose)
        rig.check()
    assert report.poll(rig.node.now_ms) is None
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE
    assert rig.stored_state().leader_epoch == 6


def test_one_that_nobody_leads_waits_for_no_epoch(rig):
    rig.put(leader=-1, replicas=(NODE,))
    rig.join(after_power_loss=False)
    report = rig.opened(end=4, mark=10)
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE
    assert rig.stored_state().leader_epoch == 5, "its election begins one"


def test_a_topic_that_goes_meanwhile_is_passed_over(rig, monkeypatch):
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join(after_power_loss=False)
    report = rig.opened(end=4, mark=10)
    monkeypatch.delitem(rig.known.topics, "t")
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE


@pytest.mark.parametrize("data", [b"no state", None], ids=["unreadable", "not there"])
def test_a_state_that_can_not_be_read_leaves_out_its_own_partition_alone(rig, caplog, data):
    """It kept the owners of all logs in the same request waiting, for ever."""
    for name in ("t", "u"):
        rig.put(leader=NODE, replicas=(NODE,), name=name)
    rig.join(after_power_loss=False)
    path = znodes.state_path("u", 0)
    if data is None:
        rig.ensemble.nodes.pop(path)
    else:
        rig.ensemble.put(path, data)
    body = b"".join(
        OPENED_LOG.pack(rig.known.slots.get(name, 0), partition_key(name, 0, ID), 4, 10, 4, 4, LOG_WAS_CUT)
        for name in ("u", "t")
    )
    report = rig.holds.take_opened(memoryview(body))
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE
    assert (rig.stored_state().leader_epoch, epoch_in_the_view(rig)) == (6, 6)
    (line,) = [one.getMessage() for one in caplog.records if "epoch not started" in one.getMessage()]
    assert "partition=u-0 leader_epoch=5" in line
    assert path in line
