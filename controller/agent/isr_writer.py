"""In-sync replicas written into ZooKeeper by their leader, as at an inter.broker.protocol.version below 2.7.

Runs in: the controller process of a node that leads. The write expects the version that we know. Where that is another, a client wrote
it, or we did and got no reply: what is there now tells. The controller hears of it by a node of its own, which names
many partitions: once nothing changed for LINGER_MS, or after ISR_NOTICE_MS_MAX. What a process that was killed has not told, the next one
owes: it doesn't know what that is, and tells all that the node leads (`owe`). What is fenced is noted in the same multi
(`noted_states.py`), for that is done at later versions as well, where the next process owes nothing.

    /brokers/topics/T/partitions/P/state    set, the controller epoch stays as it was
    /isr_change_notification/isr_change_N   created

Source: Kafka `ZkAlterPartitionManager`, `ReplicationUtils.updateLeaderAndIsr`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from headrace.controller.agent.isr_changes import IsrChange, Outcome
from headrace.controller.agent.noted_states import StateWrite, write_each
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkConflict, ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.errors import ErrorCode
from headrace.limits import ISR_NOTICE_MS_MAX, ISR_NOTICE_PARTITIONS_MAX, ISR_WRITES_IN_FLIGHT_MAX
from headrace.runtime.tasks import Task, Tasks

LINGER_MS = 5_000  # Kafka's

_log = logging.getLogger(__name__)


class IsrWriter:
    """Of one node."""

    def __init__(self, zk: ZkSession, tasks: Tasks, monotonic_ms: Callable[[], int]) -> None:
        self._zk = zk
        self._tasks = tasks
        self._monotonic_ms = monotonic_ms
        self._changed: dict[tuple[str, int], None] = {}  # that the controller is to hear of
        self._changed_ms = 0  # the last one
        self._first_ms = 0
        self._task: Task[None] | None = None

    @property
    def next_ms(self) -> int | None:
        """When the controller is told next; None: it knows everything, or is being told."""
        if not self._changed or self._task is not None:
            return None
        return min(self._changed_ms + LINGER_MS, self._first_ms + ISR_NOTICE_MS_MAX)

    async def alter(self, changes: Sequence[IsrChange]) -> Sequence[Outcome]:
        """Write them; returns what came of each."""
        outcomes: dict[IsrChange, Outcome] = {}
        left = iter(changes)

        async def write_some() -> None:
            for change in left:
                try:
                    outcomes[change] = await self._write(change)
                except ZkConflict:
                    outcomes[change] = ErrorCode.INVALID_UPDATE_VERSION
                except (ZkError, BadZnode) as failure:
                    outcomes[change] = _unwritten(change, failure)

        await self._tasks.share(min(ISR_WRITES_IN_FLIGHT_MAX, len(changes)), write_some)
        return [outcomes[change] for change in changes]

    async def fence(self, changes: Sequence[IsrChange]) -> Sequence[Outcome]:
        """Write states as they are, so that their versions move; with the notes: else the controller refuses the next change."""
        writes = [
            StateWrite((one.topic, one.index), znodes.encode_state(one.state), one.state.version) for one in changes
        ]
        failures = await write_each(self._zk, self._tasks, writes)
        return [await self._fenced(one, failures.get((one.topic, one.index))) for one in changes]

    async def _fenced(self, change: IsrChange, failure: ZkError | None) -> Outcome:
        """What came of one: of what conflicts it is looked whether that is our own write, whose reply was lost."""
        if failure is None:
            return change.state._replace(version=change.state.version + 1)
        try:
            return change.state._replace(version=await self._version_of(change, failure))
        except ZkConflict:
            return ErrorCode.INVALID_UPDATE_VERSION
        except (ZkError, BadZnode) as reason:
            return _unwritten(change, reason)

    def owe(self, known: KnownCluster) -> None:
        """A process before this one may have changed ISRs of what the node leads, and not notified the controller."""
        for name in known.topics_on([known.node_id]):
            for index, state in enumerate(known.topics[name].states):
                if state is not None and state.leader == known.node_id:
                    self._note((name, index))

    def tell(self) -> int:
        """Notify the controller, where it is time; returns what was begun."""
        next_ms = self.next_ms
        if next_ms is None or self._monotonic_ms() < next_ms:
            return 0
        changed, self._changed = self._changed, {}
        self._task = self._tasks.start(self._notify(changed), self._notified)
        return 1

    async def _write(self, change: IsrChange) -> Outcome:
        """raises   ZkConflict, where another client wrote it; ZkError; BadZnode"""
        path = znodes.state_path(change.topic, change.index)
        state = change.state
        try:
            version = await self._zk.set(path, znodes.encode_state(state), state.version)
        except ZkConflict as conflict:
            version = await self._version_of(change, conflict)
        self._note((change.topic, change.index))
        return state._replace(version=version)

    async def _version_of(self, change: IsrChange, failure: ZkError) -> int:
        """Of our own write, whose reply was lost. raises   the failure, where there is none; ZkError; BadZnode"""
        path = znodes.state_path(change.topic, change.index)
        node = await self._zk.get(path) if isinstance(failure, ZkConflict) else None
        if node is None:
            raise failure
        found = znodes.decode_state(path, node.data, node.version)
        if found._replace(version=change.state.version) != change.state:
            raise failure
        return found.version

    def _note(self, place: tuple[str, int]) -> None:
        now_ms = self._monotonic_ms()
        if not self._changed:
            self._first_ms = now_ms
        self._changed[place] = None
        self._changed_ms = now_ms

    async def _notify(self, changed: dict[tuple[str, int], None]) -> None:
        places = list(changed)
        try:
            for first in range(0, len(places), ISR_NOTICE_PARTITIONS_MAX):
                part = places[first : first + ISR_NOTICE_PARTITIONS_MAX]
                transaction = Transaction()
                transaction.create(znodes.ISR_CHANGE_PREFIX, znodes.encode_isr_change(part), is_sequential=True)
                await self._zk.commit(transaction)
        except ZkError:
            self._changed = {**changed, **self._changed}
            raise

    def _notified(self, task: Task[None]) -> None:
        """raises   what is no failure of ZooKeeper: after that it is tried again"""
        self._task = None
        if task.failure is None:
            return
        if not isinstance(task.failure, ZkError):
            raise task.failure
        self._first_ms = self._changed_ms = self._monotonic_ms()


def _unwritten(change: IsrChange, reason: Exception) -> ErrorCode:
    """Nobody knows whether it is written: it is asked for again."""
    _log.warning("ISR not written topic=%s partition=%d reason=%s", change.topic, change.index, reason)
    return ErrorCode.REQUEST_TIMED_OUT
