"""Replicas that may have lost what they acknowledged: who is held, what the others are told, when it ends. Over a fake ZooKeeper.

Holds: controller/agent/accepted_losses.py, controller/agent/hold_reports.py, controller/agent/opened_report.py,
controller/agent/other_ends.py, controller/agent/held_comparison.py
"""

import logging

import pytest

from headrace.controller.agent.hold_decision import OUT_OF_SERVICE, LogEnd
from headrace.controller.agent.holds import CHECK_MS, EVENT_MS, Holds
from headrace.controller.agent.other_ends import Questions
from headrace.controller.agent.owed_elections import ELECT_MS, ELECT_TRIES
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.errors import ErrorCode
from headrace.ids import partition_key
from headrace.leader_eras import ERA
from headrace.shm.messages import (
    LOG_HAS_NO_MARK,
    LOG_IS_MISSING,
    LOG_IS_WHOLE,
    LOG_WAS_ANOTHER,
    LOG_WAS_CLOSED,
    LOG_WAS_CUT,
    LOG_WAS_SYNCED,
    OPENED_LOG,
    OPENED_RESULT,
)

NODE, SECOND, THIRD = 0, 1, 2
REPLICAS = (NODE, SECOND, THIRD)
ID = "0" * 31 + "1"
LOST = "acknowledged records may be lost"
LATER = LogEnd(9, 1)


class Rig:
    """A node after its machine went down; the controller is another one, which a test plays."""

    def __init__(self, new_node, ensemble, **changes):
        self.ensemble = ensemble
        for path in znodes.PERSISTENT_PATHS:
            ensemble.put(path, b"")
        self.others = {broker: self.register(broker) for broker in (SECOND, THIRD)}
        ensemble.put(znodes.CONTROLLER_EPOCH, b"1")
        controller = ensemble.session()
        ensemble.run(controller.create(znodes.CONTROLLER, znodes.encode_controller(THIRD, 0), is_ephemeral=True))
        self.node = new_node(NODE, join=False, **changes)
        self.ends = {SECOND: {}, THIRD: {}}
        self.asked, self.registrations = [], 0
        self.asking = self.ask
        self.partings = {}  # by broker; else logs are the same up to where ours was found to have parted
        self.marks = {}
        self.out = set()  # replicas here whose logs are out of service
        self.loading = set()  # and whose rows say nothing yet
        self.begin()

    def register(self, broker):
        session = self.ensemble.session()
        data = znodes.encode_broker("there", 9000 + broker, None, 5)
        self.ensemble.run(session.create(znodes.broker_path(broker), data, is_ephemeral=True))
        return session

    def begin(self, has_new_directory=False):
        """A process of the node."""
        node = self.node
        self.known = node.known
        self.known.held.clear()
        self.holds = Holds(
            node.known, node.zk, node.tasks, lambda: node.now_ms,
            Questions(
                lambda wanted: self.asking(wanted), self.part, lambda place: self.marks.get(place, -1),
                self.out.__contains__, self.loading.__contains__,
            ),
            self.register_again, node.seat.wiring.settings, has_new_directory,
        )  # fmt: skip

    async def ask(self, wanted):
        self.asked.append({broker: set(places) for broker, places in wanted.items()})
        return {broker: dict(self.ends[broker]) for broker in wanted}

    async def part(self, wanted):
        held = self.known.held
        return {
            broker: {
                place: self.partings.get(broker, min(held[place].parted_at, self.ends[broker][place].offset))
                for place in places
            }
            for broker, places in wanted.items()
        }

    async def register_again(self):
        self.registrations += 1

    def unregister(self, broker):
        """It is away."""
        self.ensemble.run(self.others[broker].delete(znodes.broker_path(broker)))

    def put(self, isr=(NODE,), leader=-1, replicas=REPLICAS, name="t", epoch=5, **configs):
        self.ensemble.put(znodes.topic_path(name), znodes.encode_topic(TopicAssignment(ID, (replicas,))))
        self.ensemble.put(znodes.topic_config_path(name), znodes.encode_config(configs))
        self.state(isr, leader, name, epoch)

    def state(self, isr, leader, name="t", epoch=5):
        self.ensemble.put(znodes.state_path(name, 0), znodes.encode_state(PartitionState(leader, epoch, isr, 1)))

    def join(self, after_power_loss=True, in_all_directories=True):
        node = self.node

        async def joining():
            if after_power_loss:
                await self.holds.take_suspects(in_all_directories)
            await self.holds.load()
            await node.joining()
            self.holds.settle_loaded()

        node.run(joining())
        node.publish()

    def opened(self, end=88, mark=0, epoch=4, flags=0, name="t"):
        """What its owner tells of the log; the response."""
        slot = self.known.slots.get(name, 0)
        body = OPENED_LOG.pack(slot, partition_key(name, 0, ID), end, mark, epoch, epoch, flags)
        return self.holds.take_opened(memoryview(body))

    def check(self, ms=CHECK_MS):
        self.node.now_ms += ms
        now_ms = self.node.now_ms
        assert self.holds.poll(now_ms)
        self.node.tasks.run(1_000)
        self.node.now_ms = now_ms
        self.holds.follow()
        self.node.publish()

    def view(self, name="t"):
        partition = self.node.seat.view.read().topics[name].partitions[0]
        return partition.leader, partition.isr

    @property
    def is_held(self):
        """In the view."""
        return self.node.seat.view.read().topics["t"].partitions[0].is_held

    @property
    def stored(self):
        prefix = f"{held_znodes.held_by_path(NODE)}/"
        return {path.removeprefix(prefix) for path in self.ensemble.nodes if path.startswith(prefix)}

    @property
    def events(self):
        return sum(path.startswith(znodes.LOG_DIR_EVENT_PREFIX) for path in self.ensemble.nodes)

    def stored_state(self, name="t"):
        path = znodes.state_path(name, 0)
        return znodes.decode_state(path, self.ensemble.data(path), 0)


@pytest.fixture
def rig(new_node, ensemble):
    return Rig(new_node, ensemble)


def lost_lines(caplog):
    return [record.message for record in caplog.records if LOST in record.message and record.levelno == logging.ERROR]


def test_after_a_power_loss_who_is_in_an_isr_is_held_whatever_its_state_says(rig):
    rig.put(leader=NODE)
    rig.put(name="other", isr=(SECOND,), leader=SECOND)
    rig.join()
    assert rig.view() == (-1, (NODE,))
    assert rig.view("other") == (SECOND, (SECOND,))
    assert rig.stored == {"t"}
    topic = rig.known.topics["t"]
    assert rig.node.agent.rows.cannot_serve(topic, 0)
    assert rig.node.agent.rows.outcome(topic, 0, 5) is ErrorCode.KAFKA_STORAGE_ERROR
    assert not rig.node.agent.rows.cannot_serve(rig.known.topics["other"], 0)


def test_a_process_that_is_killed_leaves_its_holds_to_the_next(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.begin()
    rig.join(after_power_loss=False)
    rig.opened(flags=LOG_WAS_CLOSED | LOG_IS_WHOLE)
    assert rig.view() == (-1, (NODE,)), "closed in order since, it lacks all the same what it lost before"


@pytest.mark.parametrize("flags", [0, LOG_HAS_NO_MARK])
def test_a_log_that_was_synced_before_each_answer_is_not_held(rig, flags):
    rig.put(leader=NODE)
    rig.join()
    assert rig.view() == (-1, (NODE,)), "until its owner has said so"
    rig.opened(flags=flags | LOG_WAS_SYNCED)
    rig.check()
    assert rig.view() == (NODE, (NODE,))
    assert not rig.stored


@pytest.mark.parametrize("flags", [0, LOG_WAS_CUT])
def test_a_hold_outlasts_an_owner_that_finds_its_log_synced_where_the_one_before_it_did_not(rig, flags):
    """The first one was killed while the hold waits for another node: what it found is true."""
    rig.put(leader=NODE)
    rig.unregister(SECOND)
    rig.join()
    rig.opened(flags=flags)
    rig.check()
    rig.opened(flags=LOG_WAS_SYNCED)
    rig.check()
    assert rig.view() == (-1, (NODE,))


def test_one_that_was_synced_and_lost_something_of_that_is_held(rig):
    rig.put(leader=NODE)
    rig.unregister(SECOND)
    rig.join()
    rig.opened(flags=LOG_WAS_CUT | LOG_WAS_SYNCED)
    rig.check()
    assert rig.view() == (-1, (NODE,))
    assert rig.known.held["t", 0].is_proven


def test_by_another_process_after_the_power_loss_too(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.begin()
    rig.join(after_power_loss=False)
    rig.opened(flags=LOG_WAS_SYNCED)
    rig.check()
    assert rig.view() == (NODE, (NODE,))


@pytest.mark.parametrize("is_of_node", [False, True])
def test_the_setting_as_it_is_now_says_nothing_of_what_was_acknowledged_before(new_node, ensemble, is_of_node):
    """It is turned on after the power loss, before the nodes start."""
    setting = {"headrace.flush.before.ack": "true"}
    rig = Rig(new_node, ensemble, **(setting if is_of_node else {}))
    rig.put(leader=NODE, **({} if is_of_node else setting))
    rig.join()
    rig.opened(flags=LOG_WAS_CUT)
    rig.check()
    assert rig.view() == (-1, (NODE,))
    assert rig.known.held["t", 0].is_proven


def test_a_log_that_was_closed_in_order_is_not_held(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.opened(flags=LOG_WAS_CLOSED)
    rig.check()
    assert rig.view() == (NODE, (NODE,))
    assert not rig.stored


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
    assert "2 is not known" in lost_lines(caplog)[0]


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


@pytest.mark.parametrize("flags", [0, LOG_WAS_CUT, LOG_HAS_NO_MARK])
def test_a_log_cut_by_a_checksum_is_a_proof_and_so_is_one_of_which_no_mark_is_left(rig, flags):
    rig.put()
    rig.join()
    rig.opened(flags=flags)
    assert rig.known.held["t", 0].is_proven is bool(flags)


def test_without_a_power_loss_a_log_without_a_mark_is_not_held(rig):
    rig.put(leader=NODE)
    rig.join(after_power_loss=False)
    rig.opened(flags=LOG_HAS_NO_MARK | LOG_IS_WHOLE)
    assert not rig.known.held


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


@pytest.mark.parametrize("flags", [0, LOG_IS_MISSING])
def test_whoever_is_registered_is_waited_for_though_unclean_elections_are_allowed(rig, flags):
    """It recovers its log, and answers soon where that ends: it is not away."""
    rig.put(isr=REPLICAS, **{"unclean.leader.election.enable": "true"})
    rig.join()
    rig.opened(end=-1 if flags else 88, mark=120, flags=flags)
    rig.check()
    rig.check(10_000_000)
    assert rig.known.held["t", 0].waits_for == (SECOND, THIRD)


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
    lines = [one.message for one in caplog.records if "have not said yet where their logs end" in one.message]
    assert "waits_for=[1] waiting_s=5; to wait no longer: headrace cluster accept-loss t:0" in lines[0]
    assert len(lines) == 4
    ensemble.put(held_znodes.accept_loss_path(("t", 0)))
    rig.check()
    assert not rig.known.held


def test_a_log_that_its_broker_has_out_of_service_is_not_waited_for_beyond_the_time(new_node, ensemble):
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "5000"})
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened()
    rig.ends = {SECOND: {("t", 0): OUT_OF_SERVICE}, THIRD: {("t", 0): LogEnd(4, 10)}}
    rig.check()
    assert rig.known.held
    rig.check(5_000)
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


def test_one_without_other_replicas_is_not_held_its_loss_is_said(rig, caplog):
    rig.put(replicas=(NODE,), leader=NODE)
    rig.join()
    assert rig.view() == (NODE, (NODE,))
    assert rig.stored == {"t"}  # a process that is killed before its log is open
    rig.opened(end=88)
    assert "partition=t-0 first_offset=88 " in lost_lines(caplog)[0]
    rig.check()
    assert not rig.stored


def test_without_a_power_loss_a_log_that_ends_before_its_mark_is_held(rig, caplog):
    rig.put(leader=NODE, isr=(NODE,))
    rig.join(after_power_loss=False)
    assert rig.opened(end=88, mark=88, flags=LOG_WAS_CUT).poll(0) == OPENED_RESULT.pack(0)  # a torn tail, as ever
    assert not rig.known.held
    response = rig.opened(end=88, mark=90)
    assert response.poll(rig.node.now_ms) is None  # its owner waits until ZooKeeper has it
    rig.node.publish()
    assert rig.view() == (-1, (NODE,))
    events = rig.events
    rig.check()
    assert rig.stored == {"t"}
    assert response.poll(rig.node.now_ms) == OPENED_RESULT.pack(0)
    assert rig.events > events
    assert rig.known.held["t", 0].is_proven


def test_what_owners_tell_before_a_new_process_knows_what_is_held_waits(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.check()
    slot = rig.known.slots.get("t", 0)
    rig.begin()
    body = OPENED_LOG.pack(slot, partition_key("t", 0, ID), 88, 0, 4, 4, 0)
    response = rig.holds.take_opened(memoryview(body))
    assert response.poll(rig.node.now_ms) is None
    rig.node.run(rig.holds.load())
    assert rig.known.held["t", 0].end_offset == 88


def test_a_second_power_loss_keeps_what_was_proven_and_opens_logs_anew(rig):
    rig.put()
    rig.join()
    rig.opened(end=88, mark=120)
    rig.check()
    rig.begin()
    rig.node.run(rig.holds.take_suspects())
    assert rig.known.held["t", 0] == HeldReplica(ID, False, True, -1, 4, 120, (SECOND, THIRD), log_epoch=4)


@pytest.mark.parametrize("in_all_directories", [False, True])
def test_where_some_directories_are_suspect_logs_in_others_are_not_held(rig, in_all_directories):
    rig.put(leader=NODE)
    rig.join(in_all_directories=in_all_directories)
    rig.opened(flags=LOG_IS_WHOLE)
    assert bool(rig.known.held) is in_all_directories


def test_of_the_logs_in_sync_the_least_says_from_where_on_records_may_be_lost(rig, caplog):
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened(end=80)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 75)}, THIRD: {("t", 0): LogEnd(4, 95)}}
    rig.check()
    assert rig.stored_state().isr == (THIRD,)
    assert "first_offset=75 " in lost_lines(caplog)[0]


def missing(rig, flags=LOG_IS_MISSING, **changes):
    rig.put(**changes)
    rig.join(after_power_loss=False)
    return rig.opened(end=0, epoch=-1, flags=flags)


def test_a_replica_in_sync_without_a_log_is_held_until_others_are_known(rig, caplog):
    response = missing(rig, leader=NODE)
    assert response.poll(rig.node.now_ms) is None
    rig.ends[SECOND] = {("t", 0): LogEnd(-1, 0)}
    rig.check()
    assert response.poll(rig.node.now_ms) == OPENED_RESULT.pack(0)
    assert rig.view() == (-1, (NODE,))
    [held] = held_znodes.decode_held("t", rig.ensemble.data(held_znodes.held_path(NODE, "t"))).values()
    assert held.is_missing
    assert held.is_proven
    assert "its log is not found in any log directory partition=t-0" in caplog.text
    rig.opened(end=0, epoch=-1)  # the empty one that was made in its place
    rig.state((NODE,), -1, epoch=6)
    rig.ends[THIRD] = {("t", 0): LogEnd(4, 95)}
    rig.check()
    assert rig.stored_state().isr == (NODE,), "the third one lacks some of what may be on a disk that comes back"
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 0}))
    rig.check()
    assert rig.stored_state().isr == (THIRD,)
    assert "first_offset=0 " in lost_lines(caplog)[0]


def test_a_log_that_is_back_is_held_for_its_absence_no_more(rig):
    missing(rig, leader=NODE)
    rig.check()
    rig.begin()
    rig.join(after_power_loss=False)
    rig.opened(end=88)
    held = rig.known.held["t", 0]
    assert (held.is_missing, held.is_proven, held.end_offset) == (False, False, 88)


def test_a_partition_that_was_made_in_this_life_never_had_a_log(rig):
    rig.put(name="other", isr=(SECOND,), leader=SECOND)
    rig.join(after_power_loss=False)
    rig.put(leader=NODE)
    rig.node.turn()
    response = rig.opened(end=0, epoch=-1, flags=LOG_IS_MISSING)
    rig.check()
    assert response.poll(rig.node.now_ms) == OPENED_RESULT.pack(0)
    assert not rig.known.held
    assert rig.view() == (NODE, (NODE,))


@pytest.mark.parametrize(("is_new", "epoch"), [(False, 0), (False, 5), (True, 0), (True, 5)])
def test_a_sole_replica_without_a_log_is_held_where_a_disk_may_not_be_mounted(rig, caplog, is_new, epoch):
    rig.begin(has_new_directory=is_new)
    missing(rig, replicas=(NODE,), leader=NODE, epoch=epoch)
    rig.check()
    assert rig.view() == (-1 if is_new else NODE, (NODE,))
    assert bool(lost_lines(caplog)) is not is_new
    assert rig.stored_state().leader_epoch == epoch + (not is_new), "readers notice that offsets begin again"
    if is_new:
        rig.check(1_000_000)
        assert rig.known.held
        rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 0}))
        rig.check()
        assert rig.view() == (NODE, (NODE,))
        assert "first_offset=0 " in lost_lines(caplog)[0]


def test_where_another_topic_s_log_had_its_place_its_owner_has_said_so(rig, caplog):
    missing(rig, LOG_IS_MISSING | LOG_WAS_ANOTHER, replicas=(NODE,), leader=NODE)
    rig.check()
    assert rig.view() == (NODE, (NODE,))
    assert not lost_lines(caplog)


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


def test_a_topic_of_another_id_is_not_held(rig):
    rig.put(leader=NODE)
    rig.join()
    rig.known.held["t", 0] = rig.known.held["t", 0]._replace(topic_id="f" * 32)
    assert not rig.known.is_held(rig.known.topics["t"], 0)


@pytest.mark.parametrize("is_power_loss", [True, False])
def test_a_sole_replica_leads_on_in_another_epoch_after_a_power_loss(rig, is_power_loss):
    """Else readers of records that are lost go on at offsets that others have taken."""
    rig.put(leader=NODE, replicas=(NODE,))
    rig.join(after_power_loss=is_power_loss)
    assert rig.stored_state().leader_epoch == 5 + is_power_loss


@pytest.mark.parametrize("is_missing", [True, False])
def test_an_empty_log_in_the_place_of_one_that_is_missing_is_not_compared_with(rig, is_missing):
    """The other replica in sync waits for its disk. What it has of the end that is lost here is not known."""
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened(end=80, mark=90)
    missing = HeldReplica(ID, is_proven=True, end_offset=0, is_missing=is_missing)
    rig.ensemble.put(held_znodes.held_path(SECOND, "t"), held_znodes.encode_held({0: missing}))
    rig.ends = {SECOND: {("t", 0): LogEnd(-1, 0)}, THIRD: {("t", 0): LogEnd(4, 60)}}
    rig.check()
    assert (("t", 0) in rig.known.held) is is_missing
    if is_missing:
        assert rig.known.held["t", 0].waits_for == (SECOND,)


def test_holds_of_the_backup_that_are_over_are_removed_where_the_process_lived_through_the_restore(rig):
    """The backup was made while this node held t-0. Each election would take that replica for offline."""
    rig.put(isr=REPLICAS, leader=THIRD)
    rig.join(after_power_loss=False)
    rig.ensemble.put(held_znodes.held_path(NODE, "t"), held_znodes.encode_held({0: HeldReplica(ID, end_offset=88)}))
    rig.join(after_power_loss=False)
    rig.check()
    assert not rig.stored
    assert not rig.known.held


def test_the_holds_of_a_topic_of_many_partitions_are_several_znodes(rig, monkeypatch):
    monkeypatch.setattr(held_znodes, "HELD_PER_ZNODE", 2)
    data = znodes.encode_topic(TopicAssignment(ID, (REPLICAS,) * 5))
    rig.ensemble.put(znodes.topic_path("t"), data)
    for index in range(5):
        rig.ensemble.put(znodes.state_path("t", index), znodes.encode_state(PartitionState(-1, 5, (NODE,), 1)))
    all_in_one = held_znodes.encode_held({index: HeldReplica(ID) for index in range(5)})
    rig.ensemble.put(held_znodes.held_path(NODE, "t"), all_in_one)  # as an older version wrote it
    rig.join()
    assert rig.stored == {"t", "t:1", "t:2"}
    assert sorted(rig.known.held) == [("t", index) for index in range(5)]
    rig.begin()
    rig.join(after_power_loss=False)
    assert sorted(rig.known.held) == [("t", index) for index in range(5)]
    for index in (2, 3):
        rig.ensemble.put(znodes.state_path("t", index), znodes.encode_state(PartitionState(1, 6, (SECOND,), 1)))
    rig.check()
    assert rig.stored == {"t", "t:2"}


def test_an_epoch_without_a_record_gives_nothing_away(rig, caplog):
    """Brokers 1 and 0 have 10..12; 1 has led epoch 2 from 10 on, and wrote nothing. Its disk is dead. 2 led in it as well."""
    rig.unregister(THIRD)
    rig.put(isr=(THIRD, NODE), epoch=3)
    rig.join()
    rig.marks["t", 0] = 13
    rig.opened(end=13, mark=13, epoch=1)
    rig.ends = {SECOND: {("t", 0): LogEnd(2, 10, 10)}, THIRD: {}}  # as an older node says it
    for _ in range(3):
        rig.check(200_000)
    assert rig.stored_state()[2] == (THIRD, NODE), "it ends below what is committed here"
    assert ("t", 0) in rig.known.held
    assert caplog.text.count("lacks what is committed here partition=t-0 broker=") == 1
    rig.ends[SECOND] = {("t", 0): LogEnd(1, 10, 10)}
    rig.check(200_000)
    assert not rig.known.held
    assert not lost_lines(caplog) or "first_offset=13" in lost_lines(caplog)[0]


@pytest.mark.parametrize("keep", [-1, SECOND])
def test_a_log_that_can_not_be_opened_gives_way_once_its_loss_is_accepted(new_node, ensemble, caplog, keep):
    """The last of the ISR lost power, and its disk: its owner says nowhere that it was opened."""
    rig = Rig(new_node, ensemble)
    rig.put()
    rig.join()
    rig.out.add(("t", 0))
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {("t", 0): LogEnd(4, 70)}}
    rig.check()
    assert rig.stored_state()[:3] == (-1, 5, (NODE,))
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: -1}, keep))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (SECOND,))
    assert not rig.known.held
    assert "first_offset=0 " in lost_lines(caplog)[0]


def test_one_that_is_being_recovered_has_its_time(new_node, ensemble):
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "60000"})
    rig.put()
    rig.join()
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {("t", 0): LogEnd(4, 70)}}
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: -1}))
    for _ in range(5):
        rig.check(10_000)
    assert rig.known.held
    rig.opened(end=88)  # it is whole, and what was accepted is meant all the same
    rig.ends[THIRD] = {}
    rig.check()
    assert not rig.known.held
    assert rig.stored_state()[2] == (NODE,)


def test_where_nobody_else_is_known_a_log_that_can_not_be_opened_is_held_on(rig):
    rig.put()
    rig.join()
    rig.out.add(("t", 0))
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: -1}))
    for _ in range(3):
        rig.check(200_000)
    assert rig.known.held


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


def test_a_missing_log_that_a_controller_left_alone_in_the_isr_gives_way_to_those_that_were_in_it(
    new_node, ensemble, caplog
):
    """Apache's controller reads no holds: it elects whoever registers first."""
    rig = Rig(new_node, ensemble)
    rig.put(isr=REPLICAS, leader=THIRD)
    rig.join()
    assert rig.known.held["t", 0].isr == REPLICAS
    rig.opened(end=0, epoch=-1, flags=LOG_IS_MISSING)
    rig.state((NODE,), -1, epoch=6)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {}}
    rig.check()
    assert rig.stored_state()[:3] == (-1, 6, (NODE,)), "one of them may have more"
    rig.ends[THIRD] = {("t", 0): LogEnd(4, 90)}
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))
    assert "first_offset=80 " in lost_lines(caplog)[-1], "each of them had what was acknowledged"


def test_one_whose_row_says_nothing_yet_is_compared_with_the_next_check(rig):
    """Its mark is not known before, and a log that lacks what is committed here may lead."""
    rig.put()
    rig.join()
    rig.loading.add(("t", 0))
    rig.opened(end=88)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 90)}, THIRD: {("t", 0): LogEnd(4, 70)}}
    rig.check()
    assert not rig.asked
    rig.loading.clear()
    rig.check()
    assert rig.stored_state()[2] == (SECOND,)
