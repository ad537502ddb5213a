"""Missing logs where ZooKeeper fails, or another report comes, before they are settled: no owner is answered. Over a fake ZooKeeper."""

import pytest

from headrace.controller.agent import holds
from headrace.controller.zookeeper.errors import ZkLost
from headrace.shm.messages import LOG_IS_MISSING, LOG_WAS_ANOTHER, OPENED_RESULT
from tests.controller.holding_node import NODE, Rig, lost_lines

DONE = OPENED_RESULT.pack(0)


@pytest.fixture
def rig(new_node, ensemble):
    return Rig(new_node, ensemble)


def missing(rig, name="t", flags=LOG_IS_MISSING):
    return rig.opened(end=0, epoch=-1, flags=flags, name=name)


def before_epochs(monkeypatch, act):
    """Have something happen once, when leader epochs are to be raised."""
    real, acts = holds.begin_epochs, [act]

    async def begin_epochs(zk, tasks, node_id, places):
        if places and acts:
            acts.pop()()
        await real(zk, tasks, node_id, places)

    monkeypatch.setattr(holds, "begin_epochs", begin_epochs)


def lose_zookeeper():
    raise ZkLost("connection lost")


def test_an_error_of_zookeeper_while_they_are_settled_forgets_none(rig, caplog, monkeypatch):
    rig.put(leader=NODE)
    rig.put(leader=NODE, name="u", replicas=(NODE,))
    rig.join(after_power_loss=False)
    held, lost = missing(rig), missing(rig, "u")
    before_epochs(monkeypatch, lose_zookeeper)
    rig.check()
    assert (held.poll(rig.node.now_ms), lost.poll(rig.node.now_ms)) == (None, None)
    rig.check()
    assert (held.poll(rig.node.now_ms), lost.poll(rig.node.now_ms)) == (DONE, DONE)
    assert (rig.view("t")[0], rig.view("u")[0]) == (-1, NODE)
    assert rig.stored == {"t"}
    assert "its log is not found in any log directory partition=t-0" in caplog.text
    assert ["partition=u-0" in line for line in lost_lines(caplog)] == [True]
    assert rig.stored_state("u").leader_epoch == 6


def test_a_log_that_is_reported_while_a_check_runs_is_judged_before_its_owner_is_answered(rig, monkeypatch):
    rig.put(leader=NODE)
    rig.put(leader=NODE, name="u")
    rig.join(after_power_loss=False)
    late, real = [], holds.read_held_states

    async def read_states(zk, known, places):
        late.extend([] if late else [missing(rig)])
        await real(zk, known, places)

    monkeypatch.setattr(holds, "read_held_states", read_states)
    missing(rig, "u")
    rig.check()
    assert late[0].poll(rig.node.now_ms) is None
    rig.check()
    assert late[0].poll(rig.node.now_ms) == DONE
    assert rig.view() == (-1, (NODE,))


def test_a_topic_that_goes_while_its_epoch_is_raised_is_passed_over(rig, caplog, monkeypatch):
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join(after_power_loss=False)
    report = missing(rig)
    before_epochs(monkeypatch, lambda: monkeypatch.delitem(rig.known.topics, "t"))
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE
    assert not lost_lines(caplog)


def test_a_place_that_another_topic_s_log_had_is_so_at_the_next_try_too(rig, caplog, monkeypatch):
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join(after_power_loss=False)
    report = missing(rig, flags=LOG_IS_MISSING | LOG_WAS_ANOTHER)
    before_epochs(monkeypatch, lose_zookeeper)
    rig.check()
    rig.check()
    assert report.poll(rig.node.now_ms) == DONE
    assert not lost_lines(caplog), "its owner has said so"
