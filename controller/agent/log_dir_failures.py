"""Replicas of this node that are offline, for their log directory failed: the active controller is told.

Runs in: the controller process of every node. A process that finds a directory failed says so in the process table; the owners of its
replicas follow that, and their rows turn OFFLINE. Only then the node tells, for the controller asks at once which replicas
they are. While a directory is away the rows are scanned each SCAN_PAUSE_MS: an owner may take its time.

    /log_dir_event_notification/log_dir_event_N

Any broker writes that, whoever the controller is. A new controller asks by itself.

Source: Kafka `KafkaZkClient.propagateLogDirEvent`; KIP-112.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from headrace.controller.agent.hosted_rows import HostedRows
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.tasks import Task, Tasks
from headrace.controller.zookeeper.transaction import Transaction

SCAN_PAUSE_MS = 1_000

Place = tuple[str, int]  # topic and partition

_log = logging.getLogger(__name__)


class LogDirFailures:
    """What was told so far.

    failed_dirs   reads which directories failed, as bits; 0: none
    """

    def __init__(
        self, zk: ZkSession, tasks: Tasks, known: KnownCluster, rows: HostedRows, failed_dirs: Callable[[], int]
    ) -> None:
        self._zk = zk
        self._tasks = tasks
        self._known = known
        self._rows = rows
        self._failed_dirs = failed_dirs
        self._told: set[Place] = set()
        self._next_ms = 0
        self._telling: Task[None] | None = None

    def poll(self, now_ms: int) -> int:
        """Tell of replicas that are offline since; returns whether there are. In a session that was joined."""
        if self._telling is not None or now_ms < self._next_ms or not self._failed_dirs():
            return 0
        self._next_ms = now_ms + SCAN_PAUSE_MS
        offline = set(self._offline())
        if offline <= self._told:
            return 0
        self._telling = self._tasks.start(self._tell(offline), self._ended)
        return 1

    def _offline(self) -> Iterator[Place]:
        node_id, topics = self._known.node_id, self._known.topics
        for name in self._known.topics_on((node_id,)):
            topic = topics[name]
            for index, replicas in enumerate(topic.replicas):
                if node_id in replicas and self._rows.is_offline(topic, index):
                    yield name, index

    async def _tell(self, offline: set[Place]) -> None:
        """raises   ZkError: it is told again"""
        transaction = Transaction()
        data = znodes.encode_log_dir_event(self._known.node_id)
        transaction.create(znodes.LOG_DIR_EVENT_PREFIX, data, is_sequential=True)
        await self._zk.commit(transaction)
        _log.warning("replicas in failed log directories are reported to the controller replicas=%d", len(offline))
        self._told |= offline

    def _ended(self, task: Task[None]) -> None:
        """raises   what is no failure of ZooKeeper"""
        self._telling = None
        if task.failure is not None and not isinstance(task.failure, ZkError):
            raise task.failure
