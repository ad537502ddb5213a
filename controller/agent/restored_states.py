"""Whether ZooKeeper was put back to an earlier state while the session was kept.

Runs in: the controller process, after each connection to ZooKeeper that was lost while the session was kept. A server refuses a client that
has seen a later transaction than its own last one. But others write meanwhile, its transactions count on, and then it takes the client back
with a session that the backup has as well. What a synced server has is compared with what was known: the epoch of controllers may not
be older, nor the state of a partition.

    lost    a comparison is owed, however short that was: a process that was stopped meanwhile does not know how long it was
    owed    compared while there is a connection, again after RETRY_MS where that failed, until it has succeeded
    left    the session is: everything is read in the next one

Source: none in Kafka; ZooKeeper `ZooKeeperServer.processConnectRequest`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.cluster.topic import Topic, is_another, is_older
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.limits import READS_IN_FLIGHT_MAX
from headrace.runtime.tasks import Task, Tasks

RETRY_MS = 1_000

_log = logging.getLogger(__name__)


class RestoreComparison:
    """Those of one process.

    controller_epoch   reads the highest that was seen
    on_past            called where ZooKeeper was put back
    compare_producer_ids   raises the counter of producer ids where it was put back
    """

    def __init__(
        self,
        zk: ZkSession,
        tasks: Tasks,
        known: KnownCluster,
        monotonic_ms: Callable[[], int],
        controller_epoch: Callable[[], int],
        on_past: Callable[[], None],
        compare_producer_ids: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._zk = zk
        self._tasks = tasks
        self._known = known
        self._monotonic_ms = monotonic_ms
        self._controller_epoch = controller_epoch
        self._on_past = on_past
        self._compare_producer_ids = compare_producer_ids
        self._drops = 0
        self._is_owed = False
        self._not_before_ms = 0
        self._comparing: Task[bool] | None = None

    def look(self, drops: int, *, is_joined: bool, is_connected: bool) -> None:
        """Follow the connection, and begin what is due.

        drops   how often it was lost so far
        """
        if drops != self._drops:
            self._drops = drops
            self._comparing = None  # what runs may have read before it was lost
            self._is_owed = is_joined
        self._is_owed = self._is_owed and is_joined
        is_due = self._monotonic_ms() >= self._not_before_ms
        if self._is_owed and is_connected and is_due and self._comparing is None:
            self._comparing = self._tasks.start(self._compare(), self._compared)

    async def _compare(self) -> bool:
        """Whether ZooKeeper is of the past; the producer ids that it gives are not, from then on. raises ZkError"""
        is_past = await has_past_states(self._zk, self._tasks, self._known, self._controller_epoch())
        await self._compare_producer_ids()
        return is_past

    def _compared(self, task: Task[bool]) -> None:
        """raises   what is no failure of ZooKeeper"""
        if task.failure is not None and not isinstance(task.failure, ZkError):
            raise task.failure
        if task is not self._comparing:
            return
        self._comparing = None
        if task.failure is not None:
            self._not_before_ms = self._monotonic_ms() + RETRY_MS
        elif self._is_owed:
            self._is_owed = False
            if task.result():
                self._on_past()


async def has_past_states(zk: ZkSession, tasks: Tasks, known: KnownCluster, controller_epoch: int = 0) -> bool:
    """Whether a partition's state in ZooKeeper is older than the known one, or the epoch of controllers. raises ZkError

    controller_epoch   the highest that was seen
    """
    await zk.sync()
    node = await zk.get(znodes.CONTROLLER_EPOCH)
    if node is not None and _epoch_in(node.data, controller_epoch) < controller_epoch:
        return True
    before = [
        (topic, index, state)
        for topic in list(known.topics.values())
        for index, state in enumerate(topic.states)
        if state is not None
    ]
    for first in range(0, len(before), READS_IN_FLIGHT_MAX):
        part = before[first : first + READS_IN_FLIGHT_MAX]
        paths = [znodes.state_path(topic.name, index) for topic, index, _state in part]
        for (topic, _index, state), path, node in zip(part, paths, await zk.get_many(paths), strict=True):
            if node is None or not known.is_current(topic):
                continue  # what is not there may have been deleted
            try:
                found = znodes.decode_state(path, node.data, node.version)
            except BadZnode:
                continue
            if is_older(found, state) and not await _is_made_again(zk, topic):
                return True
        await tasks.pause()
    return False


def _epoch_in(data: bytes, controller_epoch: int) -> int:
    """What can't be read says nothing; the states are compared all the same."""
    try:
        return znodes.decode_controller_epoch(data)
    except BadZnode as failure:
        _log.error("controller epoch not compared reason=%s", failure)
        return controller_epoch


async def _is_made_again(zk: ZkSession, topic: Topic) -> bool:
    """Whether another topic has the name by now: its states begin again. raises ZkError"""
    node = await zk.get(znodes.topic_path(topic.name))
    try:
        return node is None or is_another(topic.topic_id, znodes.decode_topic(topic.name, node.data).topic_id)
    except BadZnode:
        return False
