"""Changes of in-sync replicas that leaders of this node want: checked, put to who makes them, taken into the known cluster.

Runs in: the controller process of every node. A partition worker asks by ALTER_ISR (`shm/messages.py`):

    asked  ->  judged: is what the leader acts on what is known?  ->  batches, one on its way  ->  outcome for each
           ->  known cluster  ->  view published  ->  answered

The view is published before the answer, so whoever was answered acts on what came of it. An answer is an error code: NONE, what
the controller said, or why it was not asked. INELIGIBLE_REPLICA and OPERATION_NOT_ATTEMPTED alone say that nothing was done and
that what is known is what is; after any other the leader asks again, and an equal state is answered with NONE. A second change
of a partition waits for the first, regardless of the process that asked.

Who makes them is passed in: the active controller (AlterPartition), or from inter.broker.protocol.version 2.6 ZooKeeper itself
(`isr_writer.py`). Where either has another state than we know, it is read again (KAFKA-2729).

A change may have waited here while this process was stopped, and a broker that would join have started again, with another log. Before
AlterPartition v3 no other process would see that: its registration is read again before the change leaves.

A change to the ISR that is there already comes from a partition worker whose predecessor died: what that one asked for may still wait at
a controller that was stopped. The controller would answer it without a write, and carry out the older one later. So the state is written
again in ZooKeeper as it is: its version moves, and what expects the old one is refused.

Source: Kafka `DefaultAlterPartitionManager`; KIP-497.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.cluster.topic import is_older
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH, partition_key
from headrace.limits import ISR_ALTERATIONS_IN_FLIGHT_MAX, ISR_ANSWER_MS_MAX
from headrace.runtime.tasks import Task, Tasks
from headrace.shm.messages import ALTER_ISR_HEADER, ALTER_ISR_KNOWN, ALTER_ISR_RESULT, ALTER_ISR_WANTED

_log = logging.getLogger(__name__)


class IsrChange(NamedTuple):
    """A change as it is put to who makes it."""

    topic: str
    topic_id: str
    index: int  # type: ignore[assignment]  # shadows tuple.index
    state: PartitionState  # as it shall be, at the version that it has
    epochs: tuple[int, ...]  # of the brokers in its ISR, -1: not known


Outcome = PartitionState | ErrorCode  # what it is now, or why it is not
Alter = Callable[
    [Sequence[IsrChange]], Coroutine[Any, None, Sequence[Outcome]]
]  # in the order of the changes; raises ZkError


class _Asked:
    """One entry of a request.

    error   None: nothing came of it yet
    """

    __slots__ = ("epochs", "error", "index", "isr", "key", "known", "leader_epoch", "name", "topic")

    def __init__(
        self, holder: tuple[str, int] | None, key: int, leader_epoch: int, known: frozenset[int], wanted: dict[int, int]
    ) -> None:
        self.name, self.index = holder or ("", -1)
        self.key = key
        self.leader_epoch = leader_epoch
        self.known = known
        self.isr = tuple(wanted)
        self.epochs = tuple(wanted.values())
        self.error: ErrorCode | None = None

    @property
    def is_fence(self) -> bool:
        """Whether it asks for the ISR as it is, so that its version moves: also one with a broker that is not assigned (KAFKA-9672)."""
        return self.known == frozenset(self.isr)

    @property
    def joining(self) -> dict[int, int]:
        """Brokers that are not in the ISR yet, with the epochs in which they caught up, where those are known."""
        pairs = zip(self.isr, self.epochs, strict=True)
        return {broker: epoch for broker, epoch in pairs if broker not in self.known and epoch != NO_EPOCH}


class IsrChanges:
    """Of one node.

    alter   makes changes, a batch at a time
    fence   writes states again as they are, a batch at a time
    """

    def __init__(
        self,
        known: KnownCluster,
        zk: ZkSession,
        tasks: Tasks,
        monotonic_ms: Callable[[], int],
        alter: Alter,
        fence: Alter,
    ) -> None:
        self._known = known
        self._zk = zk
        self._tasks = tasks
        self._monotonic_ms = monotonic_ms
        self._alter = alter
        self._fence = fence
        self._waiting: deque[_Asked] = deque()
        self._task: Task[None] | None = None

    def take(self, body: memoryview) -> PendingResponse:
        """A request of a partition worker; raises struct.error, where it is none"""
        asked = []
        place = 0
        while place < len(body):
            slot, key, leader_epoch, known_count, wanted_count = ALTER_ISR_HEADER.unpack_from(body, place)
            place += ALTER_ISR_HEADER.size
            end = place + known_count * ALTER_ISR_KNOWN.size
            known = frozenset(broker for (broker,) in ALTER_ISR_KNOWN.iter_unpack(body[place:end]))
            place, end = end, end + wanted_count * ALTER_ISR_WANTED.size
            wanted = dict(ALTER_ISR_WANTED.iter_unpack(body[place:end]))
            place = end
            asked.append(_Asked(self._known.slots.holder(slot), key, leader_epoch, known, wanted))
        self._waiting += asked
        self._go_on()

        def respond(_is_done: bool) -> bytes:
            """What the view does not have at the deadline is unknown to the leader, whatever came of it: it asks again."""
            unknown = ErrorCode.REQUEST_TIMED_OUT
            errors = (one.error if one.error is not None and self._is_answered(one) else unknown for one in asked)
            return b"".join(map(ALTER_ISR_RESULT.pack, errors))

        return PendingResponse(asked, self._monotonic_ms() + ISR_ANSWER_MS_MAX, self._is_answered, respond)

    def _is_answered(self, asked: _Asked) -> bool:
        """And whether the view has what came of it."""
        return asked.error is not None and self._known.is_told(asked.name)

    def _go_on(self) -> None:
        if self._waiting and self._task is None:
            self._task = self._tasks.start(self._carry_out(), self._ended)

    def _ended(self, task: Task[None]) -> None:
        """raises   what is no failure of ZooKeeper"""
        self._task = None
        if task.failure is not None and not isinstance(task.failure, ZkError):
            raise task.failure
        self._go_on()

    async def _carry_out(self) -> None:
        """A batch: what waits, of each partition the first."""
        batch: dict[tuple[str, int], _Asked] = {}
        later: deque[_Asked] = deque()
        for asked in self._waiting:
            place = (asked.name, asked.index)
            if place in batch or len(batch) >= ISR_ALTERATIONS_IN_FLIGHT_MAX:
                later.append(asked)
            else:
                batch[place] = asked
        self._waiting = later
        changes: list[tuple[_Asked, IsrChange]] = []
        fences: list[tuple[_Asked, IsrChange]] = []
        for asked in batch.values():
            judged = self._judge(asked)
            if isinstance(judged, ErrorCode):
                asked.error = judged
            elif asked.is_fence:
                fences.append((asked, judged))
            else:
                changes.append((asked, judged))
        try:
            changes = await self._without_restarted(changes)
            for alter, some in ((self._fence, fences), (self._alter, changes)):
                if some:
                    await self._settle(some, await alter([change for _asked, change in some]))
        finally:
            for asked in batch.values():
                asked.error = ErrorCode.REQUEST_TIMED_OUT if asked.error is None else asked.error

    async def _without_restarted(self, changes: list[tuple[_Asked, IsrChange]]) -> list[tuple[_Asked, IsrChange]]:
        """Without those by which a broker would join that has started again since it caught up. raises ZkError"""
        epochs = {broker: NO_EPOCH for asked, _change in changes for broker in asked.joining}
        if not epochs:
            return changes
        await self._zk.sync()
        for broker, node in zip(epochs, await self._zk.get_many([*map(znodes.broker_path, epochs)]), strict=True):
            epochs[broker] = NO_EPOCH if node is None else node.created_zxid
        for asked, _change in changes:
            if any(epoch != epochs[broker] for broker, epoch in asked.joining.items()):
                asked.error = ErrorCode.INELIGIBLE_REPLICA
        return [(asked, change) for asked, change in changes if asked.error is None]

    def _judge(self, asked: _Asked) -> IsrChange | ErrorCode:
        """What is asked for, or why it is not."""
        known = self._known
        topic = known.topics.get(asked.name)
        if topic is None or asked.key != partition_key(asked.name, asked.index, topic.topic_id):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        state = topic.state_of(asked.index)
        if state is None or state.leader != known.node_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if state.leader_epoch != asked.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if asked.known != frozenset(state.isr):
            return ErrorCode.INVALID_UPDATE_VERSION
        if known.node_id not in asked.isr:
            return ErrorCode.INVALID_REQUEST
        if not (asked.is_fence or set(topic.replicas[asked.index]).issuperset(asked.isr)):
            return ErrorCode.INELIGIBLE_REPLICA
        wanted = state._replace(isr=asked.isr, recovery=0)
        return IsrChange(topic.name, topic.topic_id, asked.index, wanted, asked.epochs)

    async def _settle(self, changes: Sequence[tuple[_Asked, IsrChange]], outcomes: Sequence[Outcome]) -> None:
        """Take what came of them; where it is another state than we know, read what it is. raises ZkError"""
        stale: list[tuple[Topic, int]] = []
        for (asked, change), outcome in zip(changes, outcomes, strict=True):
            topic = self._known.topics.get(change.topic)
            is_current = topic is not None and topic.topic_id == change.topic_id
            if isinstance(outcome, ErrorCode):
                asked.error = outcome
                if topic is not None and is_current and outcome in _STALE:
                    stale.append((topic, asked.index))
            else:
                asked.error = ErrorCode.NONE
                state = topic.state_of(asked.index) if topic is not None and is_current else None
                if topic is not None and state is not None and not is_older(outcome, state):
                    topic.revision += 1
                    self._known.set_states(topic, {asked.index: outcome})
        if stale:
            await self._refresh(stale)

    async def _refresh(self, stale: Sequence[tuple[Topic, int]]) -> None:
        paths = [znodes.state_path(topic.name, index) for topic, index in stale]
        for (topic, index), path, node in zip(stale, paths, await self._zk.get_many(paths), strict=True):
            if node is None or not self._known.is_current(topic):
                continue
            try:
                self._known.set_states(topic, {index: znodes.decode_state(path, node.data, node.version)})
            except BadZnode as failure:
                _log.error("partition state left unchanged reason=%s", failure)


_STALE = (ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FENCED_LEADER_EPOCH)
