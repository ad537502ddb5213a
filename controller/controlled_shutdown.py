"""Before this node stops: the active controller is asked to move leaders to other brokers (ControlledShutdown).

Runs in: the controller process. The words are in the process table:

    other brokers are alive, we are joined           leave: WANTED, else NOTHING: a stop does not wait
    the supervisor is told to stop                   leaving
        -> asked, again where leaders are left       controlled.shutdown.max.retries, .retry.backoff.ms
        -> leave: DONE, or LEAVE_MS_MAX are over     network workers are stopped next

All processes serve until then, so clients that are notified of other leaders find them in place. Where it fails, the others hear of
the node's end when its session is closed, as of a broker that died.

Source: Kafka `KafkaServer.controlledShutdown`.
"""

from __future__ import annotations

import logging

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.controller_line import ControllerLine
from headrace.controller.zookeeper.errors import ZkError
from headrace.errors import error_of
from headrace.limits import LEAVE_MS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.runtime.tasks import Task, Tasks
from headrace.shm.process_table import Leave
from headrace.shm.seat import Seat

VERSION = 3  # of ControlledShutdown, from inter.broker.protocol.version 2.4 on

_log = logging.getLogger(__name__)


class ControlledShutdown:
    """Of one node."""

    def __init__(self, seat: Seat, known: KnownCluster, tasks: Tasks, line: ControllerLine) -> None:
        settings = seat.wiring.settings
        self._is_enabled: bool = settings["controlled.shutdown.enable"]
        self._tries_max: int = settings["controlled.shutdown.max.retries"]
        self._backoff_ms: int = settings["controlled.shutdown.retry.backoff.ms"]
        self._seat = seat
        self._known = known
        self._tasks = tasks
        self._line = line
        self._leave = Leave.NOTHING
        self._task: Task[None] | None = None

    def turn(self, is_joined: bool) -> None:
        """Once a cycle: say whether a stop has to wait, and ask when it comes."""
        if self._leave is Leave.DONE or self._task is not None:
            return
        is_wanted = self._is_enabled and is_joined and len(self._known.brokers) > 1
        self._say(Leave.WANTED if is_wanted else Leave.NOTHING)
        if is_wanted and self._seat.is_leaving():
            self._task = self._tasks.start(self._ask(), self._ended)

    def _say(self, leave: Leave) -> None:
        if leave is not self._leave:
            self._leave = leave
            self._seat.set_leave(leave)

    async def _ask(self) -> None:
        known = self._known
        for tried in range(self._tries_max):
            if tried:
                await self._tasks.sleep(self._backoff_ms)
            request = messages.ControlledShutdownRequest(known.node_id, known.broker_epoch)
            answer = await self._line.ask(ApiKey.CONTROLLED_SHUTDOWN, VERSION, request, LEAVE_MS_MAX)
            error = answer.error if answer.error else error_of(answer.response.error_code)
            left = [] if error else answer.response.remaining_partitions
            if not error and not left:
                _log.info("leaders moved to other brokers controller=%d tries=%d", known.controller_id, tried + 1)
                return
            _log.info(
                "leaders not moved to other brokers controller=%d error=%s partitions_left=%d",
                known.controller_id, error.name, len(left),
            )  # fmt: skip
        _log.warning("stopping while the node still leads partitions: other brokers notice when its session is closed")

    def _ended(self, task: Task[None]) -> None:
        """raises   what is no failure of ZooKeeper: with the session it is over, too"""
        self._say(Leave.DONE)
        if task.failure is not None and not isinstance(task.failure, ZkError):
            raise task.failure
