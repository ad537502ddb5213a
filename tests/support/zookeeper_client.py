"""A ZooKeeper session of a test's own, whose calls are waited for: `client.get("/a")`."""

from __future__ import annotations

import inspect
from typing import Any

from headrace.controller.zookeeper.blocking_session import BlockingSession


class ZooKeeperClient(BlockingSession):
    """The calls of `ZkSession`, each of which blocks until its reply is there; whatever else it has, as it is."""

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.zk, name)
        if not inspect.iscoroutinefunction(attribute):
            return attribute
        return lambda *arguments, **options: self.run(attribute(*arguments, **options))
