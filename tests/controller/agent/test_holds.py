"""Replicas that may have lost what they acknowledged: what the others are asked, and how a hold ends. Over a fake ZooKeeper."""

import pytest

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.agent.holds import EVENT_MS
from headrace.controller.agent.owed_elections import ELECT_MS, ELECT_TRIES
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.leader_eras import ERA
from tests.controller.fake_zk import Killed
from tests.controller.holding_node import ID, LATER, NODE, SECOND, THIRD, Rig, lost_lines


def test_whoever_is_as_good_as_the_others_is_released_and_says_what_may_be_lost(rig, caplog):
    rig.put()
    rig.join()
    rig.check()
    assert not rig.asked  # its log is not open yet
    rig.opened(end=88, epoch=4)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 88)}, THIRD: {("t", 0): LogEnd(4, 80)}}
    events = rig.events
    rig.check()
    assert rig.asked == [{SECOND: {("t", 0)}, THIRD: {("t", 0)}}]
    assert not rig.known.held
    assert not rig.stored
    assert rig.events == events + 1  # the controller asks, and is told that it can serve
    assert rig.node.agent.rows.outcome(rig.known.topics["t"], 0, 5) is not ErrorCode.KAFKA_STORAGE_ERROR
    [line] = lost_lines(caplog)
    assert "partition=t-0 first_offset=88 checkpointed_high_watermark=unknown" in line


@pytest.mark.parametrize("third", [LogEnd(3, 95), None], ids=["of an earlier epoch", "not known"])
def test_one_that_is_released_over_logs_that_may_have_more_begins_an_era(new_node, ensemble, third, caplog):
    """Followers truncate below their high watermarks within no era: here somebody has decided."""
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "1"})
    if third is None:
        rig.unregister(THIRD)
    rig.put(isr=(NODE, THIRD), leader=NODE)
    rig.join()
    rig.opened(end=88, epoch=4)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 88)}, THIRD: {("t", 0): third} if third else {}}
    rig.check()
    rig.check()
    assert rig.known.held, "the controller takes it for the leader still"
    rig.state((NODE, THIRD), -1, epoch=6)
    rig.check()
    assert not rig.known.held
    assert rig.stored_state()[:3] == (-1, ERA, (NODE, THIRD))
    assert "first_offset=88" in lost_lines(caplog)[-1]


def test_where_the_controller_does_not_elect_the_node_registers_again(rig):
    rig.put()
    rig.join()
    rig.opened()
    rig.ends = {broker: {("t", 0): LogEnd(4, 88)} for broker in (SECOND, THIRD)}
    rig.check()
    assert not rig.registrations
    rig.check(ELECT_MS)
    assert rig.registrations == 1
    rig.check(ELECT_MS)
    assert rig.registrations == 1  # twice as long the second time
    rig.state((NODE,), NODE, epoch=6)
    rig.check(2 * ELECT_MS)
    assert rig.registrations == 1
    assert rig.view() == (NODE, (NODE,))


def test_it_registers_again_a_few_times_only(rig):
    rig.put()
    rig.join()
    rig.opened()
    rig.ends = {broker: {("t", 0): LogEnd(4, 88)} for broker in (SECOND, THIRD)}
    rig.check()
    for tried in range(ELECT_TRIES):
        rig.check(ELECT_MS << tried)
    assert rig.registrations == ELECT_TRIES
    rig.check(ELECT_MS << ELECT_TRIES)
    assert rig.registrations == ELECT_TRIES
    assert rig.holds.next_ms is None


def test_a_replica_that_is_away_is_waited_for_until_the_time_is_over(new_node, ensemble, caplog):
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "5000"})
    rig.unregister(THIRD)
    rig.put()
    rig.join()
    rig.opened()
    rig.ends[SECOND] = {("t", 0): LogEnd(4, 80)}
    for _ in range(4):
        rig.check()
        assert rig.known.held["t", 0].waits_for == (THIRD,)
    assert not lost_lines(caplog)
    rig.check(5_000)
    assert not rig.known.held
    assert "2 is unknown" in lost_lines(caplog)[0]


def test_with_a_proof_it_is_waited_for_until_somebody_accepts_the_loss(new_node, ensemble, caplog):
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "5000"})
    rig.put()
    rig.join()
    rig.opened(end=88, mark=120)
    rig.ends[SECOND] = {("t", 0): LogEnd(4, 80)}
    for _ in range(3):
        rig.check(10_000)
    held = held_znodes.decode_held("t", ensemble.data(held_znodes.held_path(NODE, "t")))
    assert held == {0: HeldReplica(ID, False, True, 88, 4, 120, (THIRD,), log_epoch=4)}
    ensemble.put(held_znodes.accept_loss_path(("t", 0)))
    rig.check()
    assert not rig.known.held
    assert held_znodes.accept_loss_path(("t", 0)) not in ensemble.nodes
    assert "first_offset=88 checkpointed_high_watermark=120" in lost_lines(caplog)[0]


def test_a_better_one_out_of_the_isr_becomes_the_isr(rig, caplog):
    rig.put(epoch=5)
    rig.join()
    rig.opened()
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {("t", 0): LogEnd(4, 95)}}
    version = rig.ensemble.nodes[znodes.state_path("t", 0)].version
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))
    assert rig.ensemble.nodes[znodes.state_path("t", 0)].version == version + 1
    [note] = [path for path in rig.ensemble.nodes if path.startswith(znodes.ISR_CHANGE_PREFIX)]
    assert znodes.decode_isr_change(note, rig.ensemble.data(note)) == [("t", 0)]
    assert not rig.known.held
    assert "first_offset=88" in lost_lines(caplog)[0]  # up to there it has what was in sync
    rig.check(ELECT_MS)
    assert rig.registrations == 1


def test_a_state_that_somebody_else_has_written_is_not_written_over(rig, caplog):
    rig.put()
    rig.join()
    rig.opened()
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {("t", 0): LATER}}
    real = rig.ask

    async def ask(wanted):
        rig.state((SECOND,), SECOND, epoch=6)
        return await real(wanted)

    rig.asking = ask
    rig.check()
    assert rig.stored_state()[:3] == (SECOND, 6, (SECOND,))
    assert len(lost_lines(caplog)) == 1  # said before it is written, for a process that is killed then
    rig.check()
    assert not rig.known.held


def test_the_controller_that_takes_us_for_the_leader_is_told_before_anything_is_handed_over(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.opened()
    rig.ends = {SECOND: {("t", 0): LATER}, THIRD: {("t", 0): LATER}}
    rig.check()
    events = rig.events
    assert rig.stored_state().isr == (NODE,)
    rig.check(EVENT_MS)
    assert rig.events > events
    rig.state((NODE,), -1, epoch=6)
    rig.check()
    assert rig.stored_state().isr == (SECOND,)


def test_a_better_one_in_the_isr_is_waited_for(rig):
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened()
    rig.ends = {SECOND: {("t", 0): LATER}, THIRD: {("t", 0): LogEnd(4, 1)}}
    rig.check()
    assert rig.known.held["t", 0].waits_for == (SECOND,)
    assert rig.stored_state().isr == (NODE, SECOND)
    rig.state((SECOND,), SECOND, epoch=6)
    rig.check()
    assert not rig.known.held
    assert rig.view() == (SECOND, (SECOND,))


def test_an_isr_without_us_ends_a_hold_in_the_view_that_says_so(rig):
    rig.put(leader=NODE)
    rig.join()
    topic = rig.known.topics["t"]
    rig.known.set_states(topic, {0: PartitionState(SECOND, 6, (SECOND,), 1, 9)})
    rig.holds.follow()
    rig.node.publish()
    assert rig.view() == (SECOND, (SECOND,))
    assert not rig.known.held


def test_unclean_elections_release_where_nobody_better_lives(rig):
    rig.unregister(THIRD)
    rig.put(**{"unclean.leader.election.enable": "true"})
    rig.join()
    rig.opened(end=88, mark=120)
    rig.ends[SECOND] = {("t", 0): LogEnd(4, 80)}
    rig.check()
    assert not rig.known.held


def test_one_in_sync_that_recovers_its_log_is_waited_for_however_long_that_takes_and_that_is_said(
    new_node, ensemble, caplog
):
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "5000"})
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened()
    rig.ends[THIRD] = {("t", 0): LogEnd(4, 10)}
    for _ in range(5):
        rig.check(5_000)
    assert rig.known.held["t", 0].waits_for == (SECOND,)
    lines = [one.message for one in caplog.records if "have not reported their log ends yet" in one.message]
    assert "waits_for=[1] waiting_s=5; to stop waiting: headrace cluster accept-loss t:0" in lines[0]
    assert len(lines) == 4
    ensemble.put(held_znodes.accept_loss_path(("t", 0)))
    rig.check()
    assert not rig.known.held


def test_a_log_that_is_ahead_elsewhere_is_waited_for_and_what_it_loses_is_said(rig, caplog):
    """SECOND holds 80..99 of a state that nobody knows any more; ours went on from 80 in the state's epoch."""
    rig.put(isr=(NODE,), leader=-1, epoch=7)
    held = HeldReplica(ID, is_proven=True, end_offset=100, end_epoch=5, parted_at=80, parted_from=NODE, parted_in=6)
    rig.ensemble.put(held_znodes.held_path(SECOND, "t"), held_znodes.encode_held({0: held._replace(is_conflict=True)}))
    rig.join()
    rig.opened(end=90, epoch=6)
    rig.ends = {SECOND: {("t", 0): LogEnd(5, 100)}, THIRD: {("t", 0): LogEnd(6, 85)}}
    rig.check()
    assert rig.known.held["t", 0].waits_for == (SECOND,)
    assert rig.stored_state()[:3] == (-1, 7, (NODE,))
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (NODE,))
    assert "first_offset=80" in lost_lines(caplog)[0]


@pytest.mark.parametrize("keep", [NODE, SECOND, THIRD])
def test_whom_an_operator_names_leads_whoever_has_more(rig, caplog, keep):
    rig.put(isr=(NODE, SECOND), leader=-1)
    rig.join()
    rig.opened(end=88, epoch=4)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 95)}, THIRD: {("t", 0): LogEnd(4, 80)}}
    rig.check()
    data = held_znodes.encode_accept_loss({NODE: 88}, keep)
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), data)
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (keep,))
    assert not rig.known.held
    assert "first_offset=80" in lost_lines(caplog)[0] or keep != THIRD


def test_of_the_logs_in_sync_the_least_says_from_where_on_records_may_be_lost(rig, caplog):
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened(end=80)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 75)}, THIRD: {("t", 0): LogEnd(4, 95)}}
    rig.check()
    assert rig.stored_state().isr == (THIRD,)
    assert "first_offset=75 " in lost_lines(caplog)[0]


def test_a_loss_is_accepted_of_the_hold_that_was_shown(rig):
    rig.put()
    rig.join()
    rig.opened(end=88, mark=120)
    path = held_znodes.accept_loss_path(("t", 0))
    for other in ({NODE: 90}, {SECOND: 88}):
        rig.ensemble.put(path, held_znodes.encode_accept_loss(other))
        rig.check()
        assert rig.known.held
    rig.state((SECOND,), SECOND, epoch=6)
    rig.check()
    assert not rig.known.held
    assert path not in rig.ensemble.nodes, "the next hold is another"


@pytest.mark.parametrize("mark", [10, 13])
def test_an_epoch_without_a_record_gives_nothing_away(rig, caplog, mark):
    """Brokers 1 and 0 have 10..12; 1 has led epoch 2 from 10 on, and wrote nothing. Its disk is dead. 2 led in it as well."""
    rig.unregister(THIRD)
    rig.put(isr=(THIRD, NODE), epoch=3)
    rig.join()
    rig.marks["t", 0] = mark
    rig.opened(end=13, mark=mark, epoch=1)
    rig.ends = {SECOND: {("t", 0): LogEnd(2, 10, 10)}, THIRD: {}}  # as an older node says it
    rig.check()
    assert ("t", 0) in rig.known.held, "the third one may have more"
    for _ in range(2):
        rig.check(200_000)
    assert rig.stored_state()[2] == (THIRD, NODE), "the second one ends within our log"
    assert not rig.known.held
    assert "first_offset=13 " in lost_lines(caplog)[0]


# Raft's figure 8: NODE and SECOND committed 90..99 of epoch 3 in epoch 5, which has no record; THIRD alone has 90..119 of epoch 4


def figure_8(rig, isr, mark):
    rig.put(isr=isr, leader=-1, epoch=5)
    rig.join()
    rig.marks["t", 0] = mark
    rig.opened(end=100, mark=mark, epoch=3)
    rig.ends = {SECOND: {("t", 0): LogEnd(3, 100, mark)}, THIRD: {("t", 0): LogEnd(4, 120, 90)}}
    rig.partings = {THIRD: 90}


@pytest.mark.parametrize("mark", [100, 90])
@pytest.mark.parametrize("isr", [(NODE,), (NODE, SECOND)])
@pytest.mark.parametrize("unclean", ["false", "true"])
def test_a_later_record_that_nobody_acknowledged_is_given_nothing(rig, caplog, isr, mark, unclean):
    figure_8(rig, isr, mark)
    rig.put(isr=isr, leader=-1, epoch=5, **{"unclean.leader.election.enable": unclean})
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, isr), "the other one finds that it was decided"
    assert not rig.known.held
    assert "first_offset=90 " in lost_lines(caplog)[0], "no higher than where the logs part"


@pytest.mark.parametrize("mark", [100, 90])
def test_nor_where_only_a_follower_of_the_epoch_without_a_record_is_left(rig, mark):
    rig.unregister(SECOND)
    figure_8(rig, (SECOND, NODE), mark)
    rig.ends[SECOND] = {}
    rig.check()
    assert rig.known.held["t", 0].waits_for == (SECOND,)
    rig.check(400_000)
    assert rig.stored_state()[:3] == (-1, ERA, (SECOND, NODE))
    assert not rig.known.held


def test_a_log_that_lost_something_beside_one_that_has_parted_is_for_an_operator_who_reads_what_each_loses(rig, caplog):
    figure_8(rig, (NODE,), 100)
    rig.ends[SECOND] = {("t", 0): LogEnd(2, 60)}
    rig.opened(end=95, mark=100, epoch=3)
    for _ in range(3):
        rig.check(400_000)
    assert rig.known.held["t", 0].waits_for == (THIRD,)
    assert rig.stored_state()[:3] == (-1, 5, (NODE,))
    assert caplog.text.count("an operator must choose one partition=t-0") == 1
    for broker, end, epoch, mark in ((NODE, 95, 3, 100), (THIRD, 120, 4, 90)):
        command = f"headrace cluster accept-loss t:0 --keep {broker} keeps log_end={end} log_epoch={epoch}"
        assert f"{command} high_watermark={mark} and loses the records of the others from offset 90 on" in caplog.text
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 95}, THIRD))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))
    assert "first_offset=90 " in lost_lines(caplog)[0]


def test_whom_an_operator_keeps_may_have_parted_anywhere_where_it_does_not_say(rig, caplog):
    figure_8(rig, (NODE,), 100)
    rig.unanswered.add(THIRD)
    rig.check()
    assert rig.known.held["t", 0].waits_for == (THIRD,), "it may have more, or another history"
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 100}, THIRD))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))
    assert "first_offset=0 " in lost_lines(caplog)[0]


@pytest.mark.parametrize("how", ["the node restarted", "an opening postponed"])
def test_a_row_that_says_nothing_is_waited_for_and_the_mark_is_remembered(rig, how):
    rig.put(isr=(NODE,), leader=-1, epoch=5)
    rig.join()
    rig.opened(end=100, mark=97, epoch=3)
    rig.marks["t", 0] = 100  # as its row says it
    rig.ends = {SECOND: {}, THIRD: {("t", 0): LogEnd(4, 120, 90)}}
    rig.partings = {THIRD: 90}
    rig.check()
    assert rig.known.held
    rig.marks.clear()
    if how == "the node restarted":
        rig.begin()
        rig.join(after_power_loss=False)
        rig.loading.add(("t", 0))
    else:
        rig.out.add(("t", 0))
    rig.ends[SECOND] = {("t", 0): LogEnd(3, 90, 90)}
    for _ in range(3):
        rig.check(400_000)
    assert rig.stored_state()[:3] == (-1, 5, (NODE,)), "nothing is decided by a row that says nothing"
    held = held_znodes.decode_held("t", rig.ensemble.data(held_znodes.held_path(NODE, "t")))[0]
    assert held.high_watermark == 100
    rig.loading.clear()
    rig.out.clear()
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (NODE,))
    assert not rig.known.held


def test_what_is_accepted_is_there_for_each_holder(rig):
    """Both lost power, both are in the ISR, and the other one is to be kept."""
    rig.unregister(THIRD)
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened(end=80, mark=100)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 90)}, THIRD: {}}
    other = HeldReplica(ID, is_proven=True, end_offset=90, end_epoch=4, high_watermark=100)
    rig.ensemble.put(held_znodes.held_path(SECOND, "t"), held_znodes.encode_held({0: other}))
    path = held_znodes.accept_loss_path(("t", 0))
    rig.ensemble.put(path, held_znodes.encode_accept_loss({NODE: 80, SECOND: 90, THIRD: 70}, SECOND))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (SECOND,))
    data = rig.ensemble.data(path)
    assert held_znodes.accepted_ends(data) == {SECOND: 90}, "the third holds nothing"
    assert held_znodes.kept_broker(data) == SECOND


def test_a_hold_that_is_over_disputes_nothing(new_node, ensemble):
    """Its broker is dead for good. It was raised over while it was down, so nobody removed it."""
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "1000"})
    rig.unregister(SECOND)
    over = HeldReplica(
        ID, is_proven=True, end_offset=100, end_epoch=5, parted_at=80, parted_from=2, parted_in=5, is_conflict=True
    )
    rig.ensemble.put(held_znodes.held_path(SECOND, "t"), held_znodes.encode_held({0: over}))
    rig.put(epoch=ERA + 3)
    rig.join()
    rig.opened(end=300, epoch=ERA + 3)
    rig.ends = {SECOND: {}, THIRD: {("t", 0): LogEnd(ERA + 2, 200)}}
    for _ in range(3):
        rig.check(60_000)
    assert not rig.known.held


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("is_power_lost", [False, True])
@pytest.mark.parametrize("data", [held_znodes.encode_accept_loss({NODE: 88}), b""], ids=["of this hold", "of any"])
def test_a_loss_whose_hold_ended_as_the_process_was_killed_counts_for_no_later_hold(rig, data, is_power_lost):
    accepted, held = held_znodes.accept_loss_path(("t", 0)), held_znodes.held_path(NODE, "t")
    rig.put()
    rig.join()
    rig.opened(end=88, mark=120)
    rig.ends = {SECOND: {}, THIRD: {("t", 0): LogEnd(4, 80)}}
    rig.check()
    rig.ensemble.put(accepted, data)

    def kill(_ordinal):
        if held not in rig.ensemble.nodes:
            raise Killed

    rig.ensemble.after_write = kill
    with pytest.raises(Killed):
        rig.check()
    rig.ensemble.after_write = lambda _ordinal: None
    assert accepted in rig.ensemble.nodes
    rig.begin()
    rig.state((NODE, SECOND), -1, epoch=7)
    rig.join(after_power_loss=is_power_lost)
    rig.opened(end=88, mark=100, epoch=5)
    rig.check()
    assert rig.known.held
    assert accepted not in rig.ensemble.nodes


def test_a_loss_that_is_accepted_stays_over_a_kill_while_its_hold_does(rig):
    """So do those that other nodes hold, and those of a topic whose holds can't be read."""
    mine, other = held_znodes.encode_accept_loss({NODE: 88}), held_znodes.encode_accept_loss({SECOND: 10})
    held = {0: HeldReplica(ID, is_proven=True, end_offset=10)}
    rig.put()
    rig.put(name="u")
    rig.join()
    rig.opened(end=88, mark=120)
    rig.ends = {SECOND: {}, THIRD: {("t", 0): LogEnd(4, 80)}}
    rig.check()
    rig.ensemble.put(held_znodes.held_path(SECOND, "v"), held_znodes.encode_held(held))
    rig.ensemble.put(held_znodes.held_path(NODE, "w"), b"{")
    left = {("t", 0): mine, ("u", 7): other, ("v", 0): b"", ("w", 0): mine}
    for place, data in left.items():
        rig.ensemble.put(held_znodes.accept_loss_path(place), data)
    rig.begin()
    rig.join(after_power_loss=False)
    for place, data in left.items():
        assert rig.ensemble.data(held_znodes.accept_loss_path(place)) == data


def test_a_hold_that_begins_before_the_loss_of_the_last_one_is_removed_is_another(rig):
    path = held_znodes.accept_loss_path(("t", 0))
    rig.put()
    rig.join()
    rig.opened(end=88, mark=120)
    rig.ends = {SECOND: {}, THIRD: {("t", 0): LogEnd(4, 80)}}
    rig.check()
    rig.ensemble.put(path, held_znodes.encode_accept_loss({NODE: 88}))
    rig.holds._drop(("t", 0))
    rig.opened(end=88, mark=120)
    rig.check()
    assert rig.known.held
    assert path not in rig.ensemble.nodes


def test_a_loss_that_is_accepted_while_the_one_before_is_removed_stays(rig):
    """The entry of the hold that ended is all that it had. Its znode has another holder's by then."""
    path = held_znodes.accept_loss_path(("t", 0))
    rig.put()
    rig.join()
    rig.opened()
    rig.ensemble.put(path, held_znodes.encode_accept_loss({NODE: 88}))
    rig.state((SECOND,), SECOND, epoch=6)
    real, count = rig.node.zk.get, iter(range(10))

    async def get(asked, *more, **others):
        found = await real(asked, *more, **others)
        if asked == path and next(count) == 0:
            held = {0: HeldReplica(ID, is_proven=True, end_offset=10)}
            rig.ensemble.put(held_znodes.held_path(SECOND, "t"), held_znodes.encode_held(held))
            rig.ensemble.put(path, held_znodes.encode_accept_loss({SECOND: 10, NODE: 88}))
        return found

    rig.node.zk.get = get
    rig.check()
    assert not rig.known.held
    assert held_znodes.accepted_ends(rig.ensemble.data(path)) == {SECOND: 10, NODE: 88}
    rig.check()
    assert held_znodes.accepted_ends(rig.ensemble.data(path)) == {SECOND: 10}
