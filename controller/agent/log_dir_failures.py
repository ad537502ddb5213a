"""Replicas of this node that are offline, or that serve again: the active controller is notified.

Runs in: the controller process of every node. A process that finds a directory failed says so in the process table; the owners of its
replicas follow that, and their rows turn OFFLINE. Only then the node tells, for the controller asks at once which replicas
they are. While a directory is away all rows are scanned each SCAN_PAUSE_MS: an owner may take its time.

A replica is lost without its directory as well: its files contradict its offsets, or its owner, restarted, can't open them. That may come
after a LeaderAndIsr was answered. So OFFLINE_ROWS_PER_SCAN_MAX rows are scanned each SCAN_PAUSE_MS, all the time.

And a log that could not be opened may be opened later, as soon as there is room: replicas that a LeaderAndIsr was refused for, or that were
offline as this process began, are looked at in the same way until they serve. Else the controller would keep them out of the ISR for good.

    /log_dir_event_notification/log_dir_event_N

Any broker writes that, regardless of the controller. A new controller asks by itself.

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
from headrace.controller.zookeeper.transaction import Transaction
from headrace.limits import OFFLINE_ROWS_PER_SCAN_MAX
from headrace.runtime.tasks import Task, Tasks

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
        self._is_scanned = False
        self._left: list[Place] = []  # of the scan of all rows
        self._found: set[Place] = set()  # as this process began: the controller may not know of them
        self._next_ms = 0
        self._telling: Task[None] | None = None

    def poll(self, now_ms: int) -> int:
        """Tell of replicas that are offline since; returns whether there are. In a session that was joined."""
        if self._telling is not None or now_ms < self._next_ms:
            return 0
        self._next_ms = now_ms + SCAN_PAUSE_MS
        if not self._is_scanned:
            self._is_scanned = True
            self._found.update(self._offline())
            self._rows.refused.update(self._found)
        offline = set(self._offline()) if self._failed_dirs() else self._scan_some()
        known = self._told | (self._rows.refused - self._found)
        back = {place for place in self._rows.refused if self._is_back(place)}
        if offline <= known and not back:
            return 0
        self._telling = self._tasks.start(self._tell(offline, back), self._ended)
        return 1

    def _scan_some(self) -> set[Place]:
        """Replicas that are offline, of the next ones of all. One that is in service again is notified of when it is lost the next time."""
        found = set()
        if not self._left:
            self._left = list(self._hosted())
        part, self._left = self._left[:OFFLINE_ROWS_PER_SCAN_MAX], self._left[OFFLINE_ROWS_PER_SCAN_MAX:]
        for place in part:
            topic = self._known.topics.get(place[0])
            if topic is None or place[1] >= len(topic.replicas):
                continue
            if self._rows.is_offline(topic, place[1]):
                found.add(place)
            elif place in self._told and self._rows.is_in_service(topic, place[1]):
                self._told.discard(place)
        return found

    def _is_back(self, place: Place) -> bool:
        """Whether a replica that was refused serves now, or is no longer known."""
        topic = self._known.topics.get(place[0])
        return topic is None or place[1] >= len(topic.states) or self._rows.is_in_service(topic, place[1])

    def _offline(self) -> Iterator[Place]:
        topics = self._known.topics
        return (place for place in self._hosted() if self._rows.is_offline(topics[place[0]], place[1]))

    def _hosted(self) -> Iterator[Place]:
        node_id, topics = self._known.node_id, self._known.topics
        for name in self._known.topics_on((node_id,)):
            for index, replicas in enumerate(topics[name].replicas):
                if node_id in replicas:
                    yield name, index

    async def _tell(self, offline: set[Place], back: set[Place]) -> None:
        """raises   ZkError: it is reported again"""
        transaction = Transaction()
        data = znodes.encode_log_dir_event(self._known.node_id)
        transaction.create(znodes.LOG_DIR_EVENT_PREFIX, data, is_sequential=True)
        await self._zk.commit(transaction)
        if offline - self._told:
            _log.warning("reporting offline replicas to the controller replicas=%d", len(offline))
        if back:
            _log.info("offline replicas are back, notifying the controller replicas=%d", len(back))
        self._rows.refused -= back
        self._found -= back
        self._told = (self._told | offline) - back

    def _ended(self, task: Task[None]) -> None:
        """raises   what is no failure of ZooKeeper"""
        self._telling = None
        if task.failure is not None and not isinstance(task.failure, ZkError):
            raise task.failure
