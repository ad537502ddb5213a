"""The host carries any coordinator: a toy one beside the groups, with a log, timers and answers of its own."""

from types import SimpleNamespace
from typing import NamedTuple

import pytest

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.protocol.control_record import EndMarker
from headrace.protocol.record_batch import iterate_records
from headrace.shm.cluster_view import DeletedTopic
from headrace.shm.partition_table import RowState
from headrace.workers.coordinators.coordinator import (
    Appended,
    AppendFailed,
    AppendLate,
    Loaded,
    TopicsDeleted,
    Unloaded,
    Upkeep,
)
from headrace.workers.coordinators.effects import Answer, Append, CancelTimer, SetTimer
from headrace.workers.partition.coordination.coordinator_host import CoordinatorHost
from headrace.workers.partition.coordination.known_topics import KnownTopics
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.replica_events import ReplicaEvents
from tests.support.fake_date import FakeDate
from tests.support.log_fixtures import LogMaker
from tests.workers.partition.host_rig import NODE, Rig, Rows, fail

TOPIC = "__ballots"
CLOSING_MS = 500


class Vote(NamedTuple):
    """A request: answered with the votes so far, once its own is committed."""

    name: str
    ticket: object


class Close(NamedTuple):
    """A timer: nobody votes any more."""

    serial: int


class Ballots:
    """A coordinator that counts votes by name; its ballot closes CLOSING_MS after the last one."""

    def __init__(self, partition, new_timer):
        self.partition = partition
        self.votes = {}
        self.is_loading = True
        self.has_followed = True
        self.is_closed = False
        self.upkeeps = self.unprepared = 0
        self.heard = []
        self._new_timer = new_timer
        self._timer = 0

    def load(self, header, batch):
        for record in iterate_records(batch, 1 << 20):
            self._count(record.key.decode())
        return len(batch)

    def prepare(self, room):
        if not self.unprepared:
            return 0
        self.unprepared -= 1
        return room

    def report(self, fault):
        self.heard.append(fault)

    def reload(self):
        self.votes.clear()

    def snapshot(self):
        return f"votes={sum(self.votes.values())}" if self.votes else ""

    def _count(self, name):
        self.votes[name] = self.votes.get(name, 0) + 1

    def step(self, event, now_ms, date_ms):
        return getattr(self, "on_" + type(event).__name__.lower())(event, now_ms)

    def on_loaded(self, _event, _now_ms):
        self.is_loading = False
        return []

    def on_unloaded(self, _event, _now_ms):
        return [CancelTimer(self._timer)]

    def on_vote(self, event, now_ms):
        if self.is_loading or self.is_closed:
            return [Answer(event.ticket, "not now")]
        effects = [CancelTimer(self._timer)] if self._timer else []
        self._timer = self._new_timer()
        effects.append(SetTimer(self._timer, now_ms + CLOSING_MS, Close(self._timer)))
        return [*effects, Append([(event.name.encode(), b"")], event)]

    def on_close(self, event, _now_ms):
        self.is_closed = event.serial == self._timer
        return [("closed", self.partition.partition)]

    def on_appended(self, event, _now_ms):
        self._count(event.what.name)
        return [Answer(event.what.ticket, dict(self.votes))]

    def on_appendfailed(self, event, _now_ms):
        return [Answer(event.what.ticket, event.error.name)]

    def on_appendlate(self, event, _now_ms):
        if event.what.name == "fails":
            raise RuntimeError("half done")
        self.heard.append(event.what.name)
        return []

    def on_upkeep(self, _event, _now_ms):
        self.upkeeps += 1
        return []

    def on_topicsdeleted(self, event, _now_ms):
        self.heard.append(event.names)
        return []


HOST_EVENTS = (Appended, AppendFailed, AppendLate, Loaded, TopicsDeleted, Unloaded, Upkeep)
assert all(hasattr(Ballots, "on_" + event.__name__.lower()) for event in HOST_EVENTS)


class BallotKind:
    name, topic, partition_count = "ballots", TOPIC, 1
    codec, commit_timeout_ms, upkeep_interval_ms, waits_for_late = 0, 5_000, 60_000, False

    def __init__(self):
        self.performed, self.records, self.flushed, self.unloaded = [], [], 0, []

    def new_coordinator(self, partition, new_timer, has_timers, is_known):
        return Ballots(partition, new_timer)

    def perform(self, effect):
        self.performed.append(effect)

    def appended(self, records):
        pass

    def committed(self, records):
        self.records += records

    def loaded(self, coordinator):
        pass

    def marker_event(self, producer_id, is_commit):
        return None

    def unloading(self, coordinator):
        self.unloaded.append(coordinator)

    def flush(self, now_ms):
        self.flushed += 1


class Ticket(list):
    give = list.append


class BallotBench:
    """A second host over a log of its own, in the worker of a first one."""

    def __init__(self, path, seat):
        path.mkdir()
        self.logs = LogMaker(path)
        self.log = self.logs.open()
        self.moved = ReplicaEvents()
        self.replica = Replica(TopicPartition(TOPIC, 0), self.log, 5, 9, Rows(), 1, NODE, 0, self.moved, fail)
        self.kind, self.topics = BallotKind(), KnownTopics()
        self._seat = seat
        self.new_host()
        self.lead()

    def new_host(self):
        answers = SimpleNamespace(flush=lambda: 0)
        self.host = CoordinatorHost(self.kind, self.topics, self._seat, answers, {5: self.replica}, self.logs.clock.ms)

    def lead(self, isr=(NODE,)):
        self.replica.state, self.replica.isr, self.replica.leader_epoch = RowState.LEADER, isr, 1
        self.replica.advance_high_watermark()

    def follow(self, deleted=()):
        view = SimpleNamespace(topics={}, deleted=[DeletedTopic(*each) for each in deleted])
        self.host.follow(self.topics.follow(view))

    def load(self):
        self.follow()
        while self.hosted.coordinator.is_loading:
            self.host.do_work()

    @property
    def hosted(self):
        return self.host.hosted_of("any name")

    def vote(self, name):
        ticket = Ticket()
        self.host.step(self.hosted, Vote(name, ticket))
        return ticket


@pytest.fixture
def ballots(tmp_path, rig):
    seat = SimpleNamespace(wiring=SimpleNamespace(settings=rig.settings), process_id=0, processes=FakeDate())
    return BallotBench(tmp_path / "ballots", seat)


def test_a_second_coordinator_appends_answers_and_is_loaded_again(ballots):
    ballots.follow()
    assert ballots.vote("early") == ["not now"], "it is loading"
    ballots.load()
    votes = [ballots.vote(name) for name in ("yes", "no", "yes")]
    assert not any(votes)
    ballots.host.do_work()
    assert votes == [[{"yes": 1}], [{"yes": 1, "no": 1}], [{"yes": 2, "no": 1}]]
    assert [key for key, _value in ballots.kind.records] == [b"yes", b"no", b"yes"]
    ballots.new_host()
    ballots.load()
    assert ballots.hosted.coordinator.votes == {"yes": 2, "no": 1}


def test_its_timers_come_its_own_effects_too(ballots):
    ballots.load()
    ballots.vote("yes")
    ballots.host.do_work()
    ballots.host.clock.now_ms += CLOSING_MS - 1
    ballots.vote("yes")  # cancels, and sets another
    ballots.host.do_work()
    ballots.host.clock.now_ms += 1
    ballots.host.do_work()
    assert not ballots.kind.performed
    assert ballots.host.sleep_bound_ms(100_000) == CLOSING_MS - 1
    ballots.host.clock.now_ms += CLOSING_MS
    ballots.host.do_work()
    assert ballots.kind.performed == [("closed", 0)]
    assert ballots.vote("late") == ["not now"]


def test_what_waits_is_told_when_leadership_is_lost(ballots):
    ballots.load()
    ballots.lead(isr=(NODE, 1))
    waiting = ballots.vote("yes")
    ballots.host.do_work()
    assert not waiting
    ballots.replica.state = RowState.FOLLOWER
    ballots.follow()
    assert waiting == [ErrorCode.NOT_LEADER_OR_FOLLOWER.name]
    assert ballots.hosted is None
    assert len(ballots.kind.unloaded) == 1
    assert len(ballots.host.timers) == 0, "cancelled"
    ballots.host.clock.now_ms += CLOSING_MS
    ballots.host.do_work()
    assert len(ballots.host.timers) == 0
    assert not ballots.kind.performed


def test_one_that_fails_when_something_is_late_costs_no_other_answer(ballots, caplog):
    ballots.kind.waits_for_late = True
    ballots.load()
    ballots.lead(isr=(NODE, 1))
    waiting = [ballots.vote(name) for name in ("first", "fails", "third")]
    failed = ballots.hosted.coordinator
    ballots.host.do_work()
    markers = []
    ballots.host.append_markers(ballots.replica, [EndMarker(7, 2, 0, False)], [markers.append])
    ballots.host.do_work()
    ballots.host.clock.now_ms += BallotKind.commit_timeout_ms
    ballots.host.do_work()
    assert "half done" in caplog.text
    assert ballots.hosted.coordinator is not failed
    assert failed.heard == ["first"], "the third one's outcome is known by then"
    assert waiting == [[ErrorCode.NOT_LEADER_OR_FOLLOWER.name]] * 3
    assert markers == [ErrorCode.REQUEST_TIMED_OUT]


def test_it_is_kept_up_and_hears_of_deleted_topics(ballots):
    ballots.load()
    ballots.follow(deleted=[("t", "id1")])
    assert ballots.hosted.coordinator.heard == [frozenset({"t"})]
    assert ballots.host.has_followed
    ballots.host.clock.now_ms += BallotKind.upkeep_interval_ms
    ballots.host.do_work()
    assert ballots.hosted.coordinator.upkeeps == 1


def test_both_kinds_live_in_one_worker_and_neither_takes_the_others_partition(ballots, rig, tmp_path):
    assert isinstance(rig, Rig)
    ballots.load()
    rig.load()
    rig.host.follow_role(ballots.replica)
    ballots.host.follow_role(rig.replica)
    assert rig.host.by_partition[0].replica is rig.replica
    assert ballots.host.by_partition[0].replica is ballots.replica
    vote, commit = ballots.vote("yes"), rig.commit(7)
    for host in (rig.host, ballots.host):
        host.do_work()
    assert vote == [{"yes": 1}]
    assert rig.error_of(commit) == "NONE"


def test_what_was_read_is_made_ready_in_further_cycles(ballots):
    ballots.follow()
    ballots.hosted.coordinator.unprepared = 3
    for _cycle in range(3):
        ballots.host.do_work()
        assert ballots.hosted.coordinator.is_loading
    ballots.host.do_work()
    assert not ballots.hosted.coordinator.is_loading
