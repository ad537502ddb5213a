"""Replicas that may have lost what they acknowledged are held back, until it is known who has the better log (decision 013).

Runs in: the controller process of every node, under a controller of either kind. Who is held:

    after the machine went down, each replica that is in its ISR still (`new_life.py`): nobody else was alive that had it all; but
        logs that say that each append was synced before its answer (headrace.flush.before.ack, as it was then), and those that the
        last stop closed; where only some directories are suspect, also logs in others
    a log that ends before its checkpointed high watermark, whenever it is opened: its owner leaves it without a role, and asks. One of a
        suspect directory that has no such mark can't be shown to be whole: that counts as much
    each replica that is in its ISR, where a log directory is new, until its owner has found the log
    a replica that is in its ISR and has no log here at all: its owner makes none before it is answered. One without other replicas is
        held as well, where a log directory is new: its disk may not be mounted

    held        the view says leader -1, LeaderAndIsr is answered with KAFKA_STORAGE_ERROR: the controller takes us for offline,
                and leaves the last members in the ISR, leader -1
    checked     each CHECK_MS: states read, the other replicas asked where their logs end, decided (`hold_decision.py`)
    released    no longer held, /log_dir_event_notification; the controller asks again, and elects. Apache's does not by itself
                (`owed_elections.py`). A process that resumes the session does so too: the one before may have been killed in between
    handed over the state says that the better one is the ISR, leader -1, by the version that we know; a note as of a leader that
                changed its ISR; then the same
    over        the ISR is without us: we follow

What is held stands in ZooKeeper before the node registers, and before the owner of a log is answered, for a process that is killed
(`held_znodes.py`). What may be lost is said by one ERROR a partition. One without other replicas is not held: its loss is said.

Source: KIP-966, whose unclean.recovery.timeout.ms this is; Kafka `Election`, `OfflinePartitionLeaderElectionStrategy`.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterable

from headrace.controller.agent.accepted_losses import AcceptedLosses
from headrace.controller.agent.ahead_replicas import NOTHING_HELD, AheadReplicas
from headrace.controller.agent.held_comparison import HeldComparison, Owners, read_held_states
from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.agent.hold_reports import report_loss, report_missing, some_of
from headrace.controller.agent.missing_logs import Absence, MissingLogs
from headrace.controller.agent.new_life import begin_epochs, in_sync_replicas
from headrace.controller.agent.opened_report import OpenedReport
from headrace.controller.agent.other_ends import Questions
from headrace.controller.agent.owed_elections import OwedElections, Register
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.agent.short_logs import ShortLogs
from headrace.controller.agent.stored_holds import StoredHolds
from headrace.controller.cluster.known_cluster import KnownCluster, Topic, is_another
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError
from headrace.controller.zookeeper.held_znodes import NO_OFFSET, HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH, NO_LEADER, partition_key
from headrace.limits import (
    HELD_CHECK_MS_MAX,
    ISR_ANSWER_MS_MAX,
    OPENED_LOGS_WAITING_MAX,
)
from headrace.runtime.tasks import Task, Tasks
from headrace.settings import Settings
from headrace.shm.cluster_view import DeletedTopic
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

CHECK_MS = 1_000
PAUSE_FACTOR = 4  # a check that took so long is followed by a pause of so many times that
EVENT_MS = 5_000  # before the controller is told again of replicas that it takes for leaders

Place = tuple[str, int]  # topic and partition
_Take = Callable[["OpenedReport", bytes], None]

_log = logging.getLogger(__name__)


class Holds:
    """Those of one node, over all sessions.

    ask                 asks other brokers
    register_again      has any controller elect leaders of ISRs
    settings            of the node
    has_new_directory   whether a log directory is new, or not mounted
    """

    def __init__(
        self,
        known: KnownCluster,
        zk: ZkSession,
        tasks: Tasks,
        monotonic_ms: Callable[[], int],
        ask: Questions,
        register_again: Register,
        settings: Settings,
        has_new_directory: bool = False,
    ) -> None:
        self._known = known
        self._zk = zk
        self._tasks = tasks
        self._monotonic_ms = monotonic_ms
        self._fresh: set[Place] = set()  # suspects since this life began, for no other reason
        self._well = LOG_WAS_CLOSED  # what owners say of logs that lost nothing
        self._missing = MissingLogs(known, zk, has_new_directory)
        self._short = ShortLogs(known, zk, tasks)
        self._ahead = AheadReplicas(known, zk)
        self._stored = StoredHolds(known, zk, tasks)
        self._early: list[tuple[OpenedReport, bytes, _Take]] = []  # told before we knew what is held
        self._unstored: list[OpenedReport] = []
        self._accepted = AcceptedLosses(known, zk)
        self._before: set[Place] | None = (
            None  # what was held as this session began, while accepted losses are compared with it
        )
        self._elections = OwedElections(known, monotonic_ms, register_again, ask)
        owners = Owners(self._ahead, self._accepted, self._elections, self._drop, self._stored.dirty.add)
        self._comparison = HeldComparison(known, zk, monotonic_ms, ask, settings, owners)
        self._has_event = False  # the controller is to ask us
        self._event_ms = -EVENT_MS
        self._next_ms = 0
        self._checking: Task[None] | None = None

    # A session begins

    async def take_suspects(self, in_all_directories: bool = True) -> None:
        """The machine went down, or a log directory is new: note what that makes suspect, before anybody learns that we are back.

        Where the disk was swapped a log may be missing: elected before its owner has said so, this node would be left alone in the ISR.

        raises ZkError

        in_all_directories   else owners say which logs lie in a suspect one
        """
        await self._load_stored()
        self._well = LOG_WAS_CLOSED if in_all_directories else LOG_WAS_CLOSED | LOG_IS_WHOLE
        held = self._known.held
        for place, one in held.items():  # its log is opened anew
            unopened = one._replace(is_unopened=True)  # what is ahead waits for an operator: accept-loss names its end
            held[place] = unopened if one.is_ahead else one._replace(end_offset=NO_OFFSET)
        for place, one in (await in_sync_replicas(self._zk, self._tasks, self._known.node_id)).items():
            before = held.get(place)
            if before is None or is_another(before.topic_id, one.topic_id):
                held[place] = one
                self._fresh.add(place)
        self._stored.dirty |= {name for name, _index in held}
        await self._store()
        sole = [place for place, one in held.items() if one.is_sole]
        await begin_epochs(self._zk, self._tasks, self._known.node_id, sole)
        waiting = sorted(held.keys() - set(sole))
        if waiting:
            _log.warning(
                "the machine went down or a log directory was replaced: in-sync replicas are held until it is known"
                " that no other replica has more partitions=%d some=%s", len(waiting), some_of(waiting),
            )  # fmt: skip

    async def load(self) -> None:
        """Know what a process before us held; where ZooKeeper was put back, have it know what we hold now. raises ZkError"""
        self._stored.dirty |= {name for name, _index in self._known.held}
        await self._load_stored()
        early, self._early = self._early, []
        for token, body, take in early:
            self._take_all(token, body, take)

    async def _load_stored(self) -> None:
        """raises   ZkError"""
        await self._stored.load()
        if self._before is None:
            self._before = set(self._known.held)
        await self._accepted.remove_left(self._before)
        self._before = None

    def settle_loaded(self, *, is_resumed: bool) -> None:
        """Everything was read.

        is_resumed   no controller saw the node go, and none asks by itself. What a process before us had to tell died with it: that
                     replicas serve again, and that elections are owed. So that is told by each process
        """
        self._follow(self._known.held)
        self._has_event = self._has_event or is_resumed or bool(self._known.held)
        if is_resumed:
            self._elections.owe_left()

    # Owners tell of logs that they have opened

    def take_opened(self, body: memoryview) -> PendingResponse:
        """Answered once what follows stands in ZooKeeper, and in the view. raises   struct.error"""
        return self._take_told(body, self._take)

    def take_ahead(self, body: memoryview) -> PendingResponse:
        """Logs that have more than their states know of; answered in the same way. raises   struct.error"""
        return self._take_told(body, self._take_ahead)

    def _take_told(self, body: memoryview, take: _Take) -> PendingResponse:
        token = OpenedReport()
        if self._stored.is_loaded:
            self._take_all(token, bytes(body), take)
        elif len(self._early) < OPENED_LOGS_WAITING_MAX:
            self._early.append((token, bytes(body), take))
        else:
            raise struct.error("too many logs were opened before held replicas were known")

        def respond(is_done: bool) -> bytes:
            return OPENED_RESULT.pack(ErrorCode.NONE if is_done else ErrorCode.REQUEST_TIMED_OUT)

        return PendingResponse((token,), self._monotonic_ms() + ISR_ANSWER_MS_MAX, self._is_followed, respond)

    def _is_followed(self, token: OpenedReport) -> bool:
        return token.is_stored and all(map(self._known.is_told, token.names))

    def _take_all(self, token: OpenedReport, body: bytes, take: _Take) -> None:
        take(token, body)
        if token.names:
            self._unstored.append(token)
            self._next_ms = 0
        else:
            token.is_stored = True

    def _take_ahead(self, token: OpenedReport, body: bytes) -> None:
        token.names |= self._ahead.take(body)
        self._stored.dirty |= token.names
        self._known.unstored_holds |= token.names
        self._has_event = self._has_event or bool(token.names)

    def _take(self, token: OpenedReport, body: bytes) -> None:
        known = self._known
        for slot, key, end_offset, high_watermark, epoch, latest_epoch, flags in OPENED_LOG.iter_unpack(body):
            place = known.slots.holder(slot)
            topic = known.topics.get(place[0]) if place is not None else None
            if place is None or topic is None or key != partition_key(*place, topic.topic_id):
                continue
            if self._take_one(topic, place[1], LogEnd(epoch, end_offset), high_watermark, flags):
                token.names.add(topic.name)
            if (held := known.held.get(place)) is not None:
                known.held[place] = held._replace(log_epoch=latest_epoch)

    def _take_one(self, topic: Topic, index: int, end: LogEnd, high_watermark: int, flags: int) -> bool:
        """A log as it was opened; returns whether that says something of what is held."""
        known, place = self._known, (topic.name, index)
        if flags & LOG_IS_MISSING:
            self._missing.report(place, topic.topic_id, bool(flags & LOG_WAS_ANOTHER))
            return True
        is_short = end.offset < high_watermark
        held = known.held.get(place)
        if held is not None and is_another(held.topic_id, topic.topic_id):
            held = None
        if held is None and not is_short:
            return False
        if held is not None and held.is_ahead:
            is_missing = held.is_missing and end.offset <= 0
            known.held[place] = held._replace(
                end_offset=end.offset, end_epoch=end.epoch, is_missing=is_missing, is_unopened=False,
                high_watermark=_greater_mark(held, high_watermark),
            )  # fmt: skip
            self._stored.dirty.add(topic.name)
            return True
        is_new = held is None
        held = held or HeldReplica(topic.topic_id, is_sole=len(topic.replicas[index]) == 1)
        is_cut = bool(flags & LOG_WAS_CUT)
        # By what its owner did; settings may have been others then. An owner that could not say so stays true: the next one has only
        # opened the log.
        was_synced = bool(flags & LOG_WAS_SYNCED) and not is_cut and held.end_offset == NO_OFFSET
        is_well = was_synced or (place in self._fresh and flags & self._well)
        if is_well and not (is_short or held.is_proven):
            self._drop(place)  # the machine went down after it was closed in order, or its directory is not suspect
            self._elections.owe(place)
            return True
        if held.is_missing and end.offset > 0:  # its disk is back
            held = held._replace(is_missing=False, is_proven=False, end_offset=NO_OFFSET)
        held = known.held[place] = held._replace(
            end_offset=end.offset if held.end_offset == NO_OFFSET else min(held.end_offset, end.offset),
            end_epoch=end.epoch,
            high_watermark=_greater_mark(held, high_watermark),
            is_proven=held.is_proven or is_short or is_cut or bool(flags & LOG_HAS_NO_MARK),
        )
        self._stored.dirty.add(topic.name)
        if held.is_sole:
            if place not in self._fresh:  # of these it was begun before they were opened
                self._short.report(place)
            report_loss(place, held.end_offset, held, "the partition has no other replica")
            self._drop(place)
        elif is_new:
            _log.warning(
                "replica held: its log ends before its high watermark partition=%s-%d log_end=%d high_watermark=%d",
                *place, end.offset, high_watermark,
            )  # fmt: skip
            known.note_held(*place)
            self._has_event = True
        return True

    async def _settle_missing(self) -> None:
        """Hold replicas without a log, but for those that never had one, or that nothing brings back. raises ZkError"""
        found = await self._missing.judge()
        for place, absence in found.items():
            if absence is Absence.HELD:
                self._hold_missing(place)
            elif absence is Absence.NEW:
                self._drop(place)
        lost = [place for place, absence in found.items() if absence in (Absence.LOST, Absence.REPLACED)]
        await begin_epochs(self._zk, self._tasks, self._known.node_id, lost)  # offsets begin again
        for place in self._missing.take(lost):
            if found[place] is Absence.LOST:
                why = "its log was not found, no log directory is new, and the partition has no other replica"
                report_loss(place, 0, self._known.held.get(place, NOTHING_HELD), why)
            self._drop(place)

    def _hold_missing(self, place: Place) -> None:
        known = self._known
        held = known.held.get(place) or HeldReplica(known.topics[place[0]].topic_id)
        known.held[place] = held._replace(
            end_offset=0, end_epoch=NO_EPOCH, is_proven=True, is_missing=True, is_sole=False
        )
        self._fresh.discard(place)
        self._stored.dirty.add(place[0])
        known.note_held(*place)
        self._has_event = True
        report_missing(place)

    # Cycles

    @property
    def next_ms(self) -> int | None:
        """When the next check is due; None: nothing is held."""
        return self._next_ms if self._checking is None and self._has_work() else None

    def follow(self) -> None:
        """Before a view is published: what its states say of what is held."""
        known = self._known
        if known.changed:
            self._ahead.follow()
        if known.held and known.changed:
            self._follow([place for place in known.held if place[0] in known.changed])

    def poll(self, now_ms: int) -> int:
        """Begin a check where one is due; in a session that was joined."""
        if self._checking is not None or now_ms < self._next_ms or not self._has_work():
            return 0
        self._checking = self._tasks.start(self._check(now_ms), self._checked)
        return 1

    def _has_work(self) -> bool:
        return bool(
            self._known.held or self._stored.dirty or self._unstored or self._elections or self._has_event or self._accepted
            or self._missing or self._short
        )  # fmt: skip

    def _follow(self, places: Iterable[Place]) -> None:
        """End holds of replicas whose ISR is without us, or whose partition is another one now."""
        known = self._known
        over = []
        for place in list(places):
            topic = known.topics.get(place[0])
            held = known.held[place]
            if topic is None:
                if DeletedTopic(place[0], held.topic_id) in known.deleted:
                    self._drop(place)
                continue  # else unknown, and not deleted
            state = topic.states[place[1]] if place[1] < len(topic.states) else None
            is_gone = place[1] >= len(topic.states) or known.node_id not in topic.replicas[place[1]]
            is_kept = held.is_ahead and not (state is not None and held.is_over(state.leader_epoch))
            if is_another(held.topic_id, topic.topic_id) or (is_gone and not is_kept):
                self._drop(place)
                continue
            if is_gone:
                self._ahead.note_unassigned(place)
                continue  # nobody has decided that its log may go: a reassignment has not compared it
            if held.is_sole and len(topic.replicas[place[1]]) > 1:
                known.held[place] = held._replace(is_sole=False)
                self._stored.dirty.add(place[0])
            is_left = held.is_ahead and not is_kept
            if is_left or (state is not None and not held.is_ahead and known.node_id not in state.isr):
                if state is not None and state.leader == NO_LEADER:
                    self._elections.owe(place)  # the process that handed it over may have been killed
                over.append(place)
                self._drop(place)
        if over:
            self._next_ms = 0  # ZooKeeper is to say so
            _log.info("replicas no longer held, others are in sync partitions=%d some=%s", len(over), some_of(over))

    def _drop(self, place: Place) -> None:
        held = self._known.held.pop(place, None)
        if held is not None:
            self._has_event = True  # to the controller it is offline, however the hold ended
            if held.is_ahead:
                self._ahead.end(place, held)
        self._fresh.discard(place)
        self._accepted.end(place)
        self._comparison.end(place)
        self._stored.dirty.add(place[0])
        self._known.note_held(*place)

    def _checked(self, task: Task[None]) -> None:
        """raises   what is no failure of ZooKeeper"""
        self._checking = None
        if task.failure is not None and not isinstance(task.failure, ZkError):
            raise task.failure
        if task.failure is not None:
            self._next_ms = self._monotonic_ms() + CHECK_MS

    async def _check(self, began_ms: int) -> None:
        """raises   ZkError"""
        self._next_ms = began_ms + CHECK_MS
        if self._missing:
            await self._settle_missing()
        await self._short.settle()
        await self._store()
        places = [place for place, one in self._known.held.items() if not one.is_sole]
        await read_held_states(self._zk, self._known, {*places, *self._elections.places})
        self._follow(place for place in places if place in self._known.held)
        await self._comparison.decide(places)
        await self._store()
        await self._accepted.remove()
        await self._tell_controller()
        await self._elections.settle()
        took_ms = self._monotonic_ms() - began_ms
        if self._next_ms:  # else something was told meanwhile
            self._next_ms = began_ms + took_ms + min(max(CHECK_MS, PAUSE_FACTOR * took_ms), HELD_CHECK_MS_MAX)

    async def _store(self) -> None:
        """Have ZooKeeper say what is held; then owners are answered, but for what is not settled yet. raises ZkError"""
        unstored, self._unstored = self._unstored, []
        try:
            await self._stored.write()
        except BaseException:
            self._unstored += unstored
            raise
        unsettled = self._missing.topics | self._short.topics
        for token in unstored:
            token.is_stored = unsettled.isdisjoint(token.names)
        self._unstored += [token for token in unstored if not token.is_stored]

    async def _tell_controller(self) -> None:
        """Have it ask which replicas of ours can serve: what it knows of that is another now."""
        known, now_ms = self._known, self._monotonic_ms()
        has_mistaken = any(
            known.is_held(topic, index) and (state := topic.states[index]) is not None and state.leader == known.node_id
            for name, index in known.held
            if (topic := known.topics.get(name)) is not None and index < len(topic.states)
        )
        interval_ms = CHECK_MS if self._has_event else EVENT_MS
        if not (self._has_event or has_mistaken) or now_ms - self._event_ms < interval_ms:
            return
        transaction = Transaction()
        transaction.create(znodes.LOG_DIR_EVENT_PREFIX, znodes.encode_log_dir_event(known.node_id), is_sequential=True)
        self._has_event = False
        try:
            await self._zk.commit(transaction)
        except ZkError:
            self._has_event = True
            raise
        self._event_ms = now_ms


def _greater_mark(held: HeldReplica, high_watermark: int) -> int:
    """The high watermark that is remembered: a row says nothing of it while the log is not in service. 0 is none."""
    return max(held.high_watermark, high_watermark) if high_watermark > 0 else held.high_watermark
