"""A ZooKeeper session of a test's own, whose calls are waited for: `client.get("/a")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.controller.zookeeper.blocking_session import BlockingSession


class ZooKeeperClient(BlockingSession):
    """The calls of `ZkSession`, each of which blocks until its reply is there."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self.zk, name)
        return lambda *arguments, **options: self.run(call(*arguments, **options))
