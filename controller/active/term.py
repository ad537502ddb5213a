"""A term as the active controller: what its parts share, what a part is, and the order in which they begin.

Runs in: the controller process of the active node. Each term has an object of its own, and parts of its own, so that nothing of
an earlier one is left. A failover, in this order:

    the agent           watches; notifications of before removed; everything read   (`agent.py`, `Agent.load`)
    the channels        UpdateMetadata with the live brokers and no partition, to all
    parts, as in PARTS  `begin`, each of which ends before the next one starts

From its `begin` on, a part hears of what happens (the methods of `Part`); what happened before, it reads by itself then. What is
told in such a method is in the known cluster already.

Source: Kafka `KafkaController.onControllerFailover`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any

from headrace.controller.active.answers import Answers
from headrace.controller.active.heard_epochs import HeardEpochs
from headrace.controller.active.leaders.liveness import Liveness
from headrace.controller.active.leaders.state_changes import StateChanges
from headrace.controller.active.notices import Channels
from headrace.controller.active.reservations import Reservations
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ControllerMoved, ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.errors import ErrorCode
from headrace.log_rate_limit import is_worth_a_line
from headrace.protocol.broker_versions import inter_broker
from headrace.runtime.tasks import Task, Tasks
from headrace.settings import Settings

FAILURES_UNTOLD = 8  # a lost connection and its recovery
SLOW_MS = 30_000  # of one part's begin, which those after it wait for
RETRY_MS = 200  # between two tries of what ZooKeeper did not carry out

_log = logging.getLogger(__name__)


class Part:
    """Something that the active controller does in a term.

    All but `begin` return at once: what takes ZooKeeper is a task (`Term.start`). Each does nothing unless a part says otherwise.

    watched   a path in ZooKeeper whose change is told by `notified`; the part sets the watch as it reads it
    """

    watched: str | None = None

    async def begin(self) -> None:
        """Its turn in the failover. raises   ZkError: it is called again; ControllerMoved"""

    def brokers_changed(self, gone: frozenset[int], come: frozenset[int]) -> None:
        """Brokers went, and came. The channels know: those that came were sent everything, the others were sent which brokers are alive."""

    async def settle(self) -> None:
        """Wait until what `brokers_changed` began is over."""

    def topics_read(self, names: Collection[str]) -> None:
        """Topics were read, new ones and others: states may be missing, leaders may be gone."""

    def topic_written(self, name: str) -> None:
        """A topic that was written in several steps is whole, and may be written by others again."""

    def leaders_told(self, name: str, indexes: Collection[int]) -> None:
        """The writer of first states has sent them to brokers."""

    def isrs_changed(self, name: str, indexes: Collection[int]) -> None:
        """Leaders changed in-sync replicas, by AlterPartition or by themselves."""

    def marks_read(self, names: frozenset[str]) -> None:
        """All marks in /admin/delete_topics."""

    def replicas_settled(self, name: str) -> None:
        """Everybody on this node has acted on a topic's deletion."""

    def leaders_answered(self, broker: int, errors: Mapping[tuple[str, int], ErrorCode]) -> None:
        """A broker's answer to LeaderAndIsr, by partition: KAFKA_STORAGE_ERROR, where its directory failed; NONE."""

    def directories_changed(self, broker: int) -> None:
        """A log directory of a broker failed, or replicas of it can serve again."""

    def notified(self) -> None:
        """The node `watched`, or what is below it, changed; or the connection was lost meanwhile."""

    def end(self) -> None:
        """The term is over; its tasks' next commit says so."""


class Term:
    """One term.

    epoch      of the controller
    brokers    those that the parts know to be alive, and their epochs
    marked     names in /admin/delete_topics, as they were read last
    leaving    topics that are being deleted: no longer known, and still sent to brokers, without a leader
    failed     by broker, replicas in log directories that failed
    liveness   which replicas can serve, with those
    heard      leader epochs that brokers have and states don't
    answers    which replicas serve, as their brokers have answered in this term
    states     both state machines: how partitions get leaders, and replicas come and go
    tells_recovery   whether states say that a leader was elected out of the ISR (IBP 3.2 and later)
    is_over    whether it ended: nothing is written any more
    """

    def __init__(
        self,
        zk: ZkSession,
        tasks: Tasks,
        known: KnownCluster,
        settings: Settings,
        tell: Callable[[events.ToAgent], None],
        reservations: Reservations,
        guard: EpochGuard,
    ) -> None:
        self.zk = zk
        self.tasks = tasks
        self.known = known
        self.settings = settings
        self.tell = tell
        self.reservations = reservations
        self.guard = guard
        self.epoch = guard.epoch
        self.brokers = {broker_id: broker.epoch for broker_id, broker in known.brokers.items()}
        self._registrations = known.brokers  # the same ones
        self.marked: frozenset[str] = frozenset()
        self.leaving: dict[str, Topic] = {}
        self.failed: dict[int, set[tuple[str, int]]] = {}
        self.liveness = Liveness(known, self.failed)
        self.heard = HeardEpochs(zk, known)
        self.answers = Answers(known)
        self.states = StateChanges(self)
        self.tells_recovery = inter_broker(settings["inter.broker.protocol.version"]).leader_and_isr >= 6
        self.is_over = False
        self.notices: Channels
        self._parts: list[Part] = []
        self._begun = 0  # of these

    def open(self, channels: Channels, parts: list[Part]) -> None:
        """Begin: one part after another, in a task."""
        self.notices = channels
        self._parts = parts
        self.start(self._begin())

    def parts(self) -> Iterator[Part]:
        """Parts that have started: those that are notified."""
        return iter(self._parts[: self._begun])

    def find(self, name: str) -> Topic | None:
        """A topic that brokers may be notified of."""
        return self.known.topics.get(name) or self.leaving.get(name)

    async def commit(self, transaction: Transaction) -> None:
        """Write what `guard.begin` began; raises ControllerMoved, of which the agent knows then, or ZkError"""
        try:
            await self.guard.commit(transaction)
        except ControllerMoved as failure:
            if not self.is_over:
                _log.warning("no longer the active controller reason=%s", failure)
                self.tell(events.SteppedDown())
            raise

    def start(self, coroutine: Coroutine[Any, None, None], on_end: Callable[[], None] = lambda: None) -> Task[None]:
        """Have a procedure run. What ZooKeeper does not carry out ends it; anything else that it raises, the process.

        on_end   called when it ended, however it did
        """
        return self.tasks.start(coroutine, partial(_ended, on_end))

    def take_brokers(self) -> None:
        """Brokers came or went, or listen elsewhere; the known cluster has it."""
        now, registrations = self.known.brokers, self._registrations
        self._registrations = now
        live = {broker_id: broker.epoch for broker_id, broker in self.known.brokers.items()}
        before, self.brokers = self.brokers, live
        # A ZooKeeper that was put back gives a lower one.
        bounced = {one for one in live.keys() & before.keys() if live[one] != before[one] >= 0 <= live[one]}
        gone = frozenset((before.keys() - live.keys()) | bounced)
        come = frozenset(live.keys() - before.keys())
        kept = (live.keys() & before.keys()) - bounced - self.liveness.returning
        moved = {one for one in kept if now[one] != registrations[one]}
        if moved:
            self.notices.move_brokers(sorted(moved))
        if not gone and not come:
            return
        self.liveness.forget(gone)
        self.answers.forget(gone)
        self.liveness.returning |= bounced
        self._tell_changed(gone, come)
        if bounced:
            self.start(self._bring_back({one: live[one] for one in bounced}))

    def take_answer(self, broker: int, asked: Any, errors: Mapping[tuple[str, int], ErrorCode]) -> None:
        """A broker has answered a LeaderAndIsr, by partition."""
        self.answers.note(broker, asked, errors)
        for part in self.parts():
            part.leaders_answered(broker, errors)

    def _tell_changed(self, gone: frozenset[int], come: frozenset[int]) -> None:
        self.states.forget_stopped(gone)
        self.notices.take_brokers(gone, come)
        for part in self.parts():
            part.brokers_changed(gone, come)

    async def _bring_back(self, epochs: Mapping[int, int]) -> None:
        """Brokers were restarted between two reads: once others lead and ISRs are without them, they come.

        What they had not synced may be gone, and in the same leader epoch that would go unnoticed.

        epochs   theirs
        source   Kafka `KafkaController.processBrokerChange`: bounced brokers
        """
        while self._begun < len(self._parts) and not self.is_over:
            await self.tasks.sleep(RETRY_MS)
        for part in self._parts:
            await part.settle()
        back = frozenset(one for one, epoch in epochs.items() if self.brokers.get(one) == epoch)
        if back and not self.is_over:
            self.liveness.returning -= back
            self._tell_changed(frozenset(), back)

    def end(self) -> None:
        self.is_over = self.guard.is_over = True
        self.notices.close()
        for part in self.parts():
            part.end()

    async def _begin(self) -> None:
        self.notices.tell_brokers()
        for part in self._parts:
            self._begun += 1
            await self._begin_part(part)

    async def _begin_part(self, part: Part) -> None:
        failures = 0
        has_begun = False

        def tell() -> None:
            if not has_begun and not self.is_over:
                _log.warning(
                    "a part of the controller has not started part=%s waited_ms=%d", type(part).__name__, SLOW_MS
                )

        self.tasks.later(SLOW_MS, tell)
        while not self.is_over:
            try:
                await part.begin()
                has_begun = True
                return
            except ControllerMoved:
                raise
            except ZkError as failure:
                failures += 1
                level = logging.WARNING if is_told(failures) else logging.DEBUG
                _log.log(
                    level, "a part of the controller failed to start, retrying later part=%s failures=%d reason=%s",
                    type(part).__name__, failures, failure,
                )  # fmt: skip
                await self.tasks.sleep(RETRY_MS)


def is_told(failures: int) -> bool:
    """Whether a step that failed so often in a row is an operator's matter by now: from FAILURES_UNTOLD on, ever more rarely."""
    return is_worth_a_line(failures, FAILURES_UNTOLD)


def _ended(on_end: Callable[[], None], task: Task[None]) -> None:
    """raises   what is no failure of ZooKeeper: that ends a procedure, with the session or the term"""
    on_end()
    if task.failure is not None and not isinstance(task.failure, ZkError):
        raise task.failure
