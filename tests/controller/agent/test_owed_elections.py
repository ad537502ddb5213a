"""Elections of partitions whose logs are found well, or that are handed over, and how long they are owed. Over a fake ZooKeeper."""

import pytest

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.agent.holds import CHECK_MS, EVENT_MS
from headrace.controller.agent.owed_elections import ELECT_MS, ELECT_TRIES
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.shm.messages import LOG_WAS_CLOSED, LOG_WAS_SYNCED
from tests.controller.fake_zk import Killed
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


def release(rig):
    rig.put()
    rig.join()
    rig.opened()
    rig.ends = {broker: {("t", 0): LogEnd(4, 88)} for broker in (SECOND, THIRD)}
    rig.check()
    assert not rig.known.held


def wait(rig, ms):
    """As long as there is something to check."""
    rig.node.now_ms += ms
    rig.holds.poll(rig.node.now_ms)
    rig.node.tasks.run(1_000)
    rig.node.publish()


def test_an_election_that_is_owed_is_owed_by_the_next_process(rig):
    """Apache's controller elects nobody because of a note, and takes the replica for offline."""
    release(rig)
    rig.begin()
    rig.join(after_power_loss=False)
    rig.check(ELECT_MS)
    assert rig.registrations == 1
    rig.state((NODE,), NODE, epoch=6)
    rig.check(2 * ELECT_MS)
    assert rig.registrations == 1
    assert rig.holds.next_ms is None


def test_it_is_owed_once_the_log_serves_and_not_while_that_is_opened_or_out_of_service(rig):
    release(rig)
    rig.begin()
    rig.loading.add(("t", 0))
    rig.join(after_power_loss=False)
    for tried in range(ELECT_TRIES):
        rig.check(ELECT_MS << tried)
    assert not rig.registrations
    rig.loading.clear()
    rig.check()
    assert rig.registrations == 1
    rig.begin()
    rig.out.add(("t", 0))
    rig.join(after_power_loss=False)
    for _ in range(3):
        wait(rig, ELECT_MS)
    assert rig.registrations == 1
    assert rig.holds.next_ms is None


def test_a_session_that_is_not_resumed_owes_nothing_for_its_registration_elects(rig):
    release(rig)
    rig.begin()
    events = rig.events
    rig.node.run(rig.holds.load())
    rig.holds.settle_loaded(is_resumed=False)
    wait(rig, ELECT_MS)
    assert rig.holds.next_ms is None
    assert rig.events == events


def test_a_session_that_is_resumed_has_the_controller_ask_once_whatever_is_held(rig):
    """It may have been refused a role for a log that is back, by the process before: that alone knew."""
    rig.put(leader=SECOND, isr=(SECOND,))
    rig.join(after_power_loss=False)
    for _ in range(3):
        wait(rig, EVENT_MS)
    assert rig.events == 1
    assert not rig.registrations
    assert rig.holds.next_ms is None


@pytest.mark.parametrize("is_stored", [True, False], ids=["hold is left", "hold is over"])
def test_a_handed_over_partition_is_owed_by_the_next_process(rig, is_stored):
    rig.put()
    rig.join()
    rig.opened()
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {("t", 0): LogEnd(4, 95)}}
    path = held_znodes.held_path(NODE, "t")
    stored = rig.ensemble.data(path)
    rig.check()
    assert rig.stored_state().isr == (THIRD,)
    assert path not in rig.ensemble.nodes
    if is_stored:
        rig.ensemble.put(path, stored)
    rig.begin()
    rig.join(after_power_loss=False)
    rig.check()
    rig.check(ELECT_MS)
    assert rig.registrations == 1
    assert path not in rig.ensemble.nodes


@pytest.mark.filterwarnings("ignore:coroutine")
def test_a_controller_is_told_by_the_next_process_of_what_was_released(rig):
    """The process is killed between the end of the hold and the note of it."""
    rig.put()
    rig.join()
    rig.opened()
    rig.ends = {broker: {("t", 0): LogEnd(4, 88)} for broker in (SECOND, THIRD)}
    path = held_znodes.held_path(NODE, "t")

    def kill(_ordinal):
        if path not in rig.ensemble.nodes:
            raise Killed

    rig.ensemble.after_write = kill
    with pytest.raises(Killed):
        rig.check()
    rig.ensemble.after_write = lambda _ordinal: None
    events = rig.events
    rig.begin()
    rig.join(after_power_loss=False)
    rig.check()
    assert rig.events == events + 1
    rig.check(EVENT_MS)
    assert rig.events == events + 1, "once"


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
