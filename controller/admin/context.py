"""What requests are carried out with.

Runs in: the controller process. A handler is a procedure (`async def`): over each of its awaits the cluster may have changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from headrace.controller.active.active_controller import ActiveController
from headrace.controller.agent.agent import Agent
from headrace.controller.agent.new_replicas import Replica
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper.session import ZkSession
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import LOAD_WAIT_MS_MAX, REQUEST_WORK_MS_MAX
from headrace.runtime.tasks import Tasks
from headrace.settings import Settings

LOAD_POLL_MS = 20  # between two checks whether everything was read


class AdminContext(NamedTuple):
    """The controller process's parts.

    tell_new   tells owners which replicas are new, and returns when they have heard it
    """

    agent: Agent
    active: ActiveController
    tell_new: Callable[[Iterable[Replica]], Awaitable[None]]

    @property
    def known(self) -> KnownCluster:
        return self.agent.known

    @property
    def zk(self) -> ZkSession:
        return self.agent.zk

    @property
    def tasks(self) -> Tasks:
        return self.agent.tasks

    @property
    def settings(self) -> Settings:
        return self.agent.settings

    async def wait_loaded(self) -> None:
        """Wait until all is known that ZooKeeper has. raises KafkaError NOT_CONTROLLER, where that takes LOAD_WAIT_MS_MAX; ZkLost"""
        agent = self.agent
        end_ms = agent.monotonic_ms() + LOAD_WAIT_MS_MAX
        while not agent.is_loaded:
            if agent.monotonic_ms() >= end_ms:
                agent.check_loaded()
            await self.tasks.sleep(LOAD_POLL_MS)

    def time_limit(self) -> Callable[[], None]:
        """To be called before each item of a request; raises KafkaError REQUEST_TIMED_OUT, once the request took too long."""
        end_ms = self.agent.monotonic_ms() + REQUEST_WORK_MS_MAX

        def check() -> None:
            if self.agent.monotonic_ms() >= end_ms:
                raise KafkaError(
                    ErrorCode.REQUEST_TIMED_OUT,
                    f"not started: earlier entries of the request took {REQUEST_WORK_MS_MAX} ms",
                )

        return check
