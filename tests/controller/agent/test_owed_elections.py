"""Elections of partitions whose logs are found well, or that are handed over, and how long they are owed. Over a fake ZooKeeper."""

import pytest

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.agent.holds import CHECK_MS
from headrace.controller.agent.owed_elections import ELECT_MS, ELECT_TRIES
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.shm.messages import LOG_WAS_CLOSED, LOG_WAS_SYNCED
from tests.controller.holding_node import NODE, SECOND, THIRD, Rig


@pytest.fixture
def rig(new_node, ensemble):
    return Rig(new_node, ensemble)


@pytest.mark.parametrize("flags", [LOG_WAS_SYNCED, LOG_WAS_CLOSED])
def test_the_controller_asks_again_once_a_log_is_found_well(rig, flags):
    rig.put(leader=NODE)
    rig.join()
    rig.check()  # the event of the start: the controller hears that it can't serve
    rig.state((NODE,), -1, epoch=6)
    events = rig.events
    rig.opened(flags=flags)
    rig.check()
    assert not rig.known.held
    assert rig.events == events + 1


def test_logs_that_are_found_well_one_after_another_make_no_event_each(rig):
    for name in "tuv":
        rig.put(leader=NODE, name=name)
    rig.join()
    rig.check()
    events = rig.events
    for name in "tuv":
        rig.opened(flags=LOG_WAS_SYNCED, name=name)
        rig.check(CHECK_MS // 4)
    assert rig.events == events
    rig.check()
    assert rig.events == events + 1


def test_a_partition_that_is_owed_late_has_tries_of_its_own(rig):
    for name in "tu":
        rig.put(name=name)
    rig.join()
    rig.ends = {broker: {(name, 0): LogEnd(4, 88) for name in "tu"} for broker in (SECOND, THIRD)}
    rig.opened()
    rig.check()
    for tried in range(ELECT_TRIES - 1):
        rig.check(ELECT_MS << tried)
    rig.opened(name="u")
    rig.check()
    rig.check(ELECT_MS << ELECT_TRIES)
    assert rig.registrations == ELECT_TRIES
    rig.check()
    assert rig.registrations == ELECT_TRIES, "no more for the first one"
    rig.check(2 * ELECT_MS)
    assert rig.registrations == ELECT_TRIES + 1, "which counts for the late one still"


def test_a_handed_over_partition_is_noted_for_the_controller_though_the_reply_is_lost(rig):
    rig.put()
    rig.join()
    rig.opened()
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {("t", 0): LogEnd(4, 95)}}

    def lose_reply(_ordinal):
        if rig.stored_state().isr == (THIRD,):
            rig.ensemble.after_write = lambda _ordinal: None
            raise ZkLost("connection lost")

    rig.ensemble.after_write = lose_reply
    rig.check()
    rig.check()
    assert rig.stored_state().isr == (THIRD,)
    assert not rig.known.held
    [note] = [path for path in rig.ensemble.nodes if path.startswith(znodes.ISR_CHANGE_PREFIX)]
    assert znodes.decode_isr_change(note, rig.ensemble.data(note)) == [("t", 0)]
    rig.check(ELECT_MS)
    assert rig.registrations == 1
