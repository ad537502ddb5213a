"""A fake ZooKeeper that answers when the test says so: the order of things is forced, not waited for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from headrace.controller.zookeeper.errors import ZkConflict, ZkLost
from headrace.runtime.tasks import Future
from tests.controller.fake_node import Node


class Gate:
    """Calls of a node wait here, in their order; `open` lets all through from then on."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._asked: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        node.zk.ensemble.gate = self._wait

    def __len__(self) -> int:
        return len(self._asked)

    async def _wait(self, _zk: object, operation: Callable[[], Any]) -> Any:
        future: Future[Any] = Future()
        self._asked.append((operation, future))
        return await future

    def carry_out(self, count: int = 1) -> list[Callable[[], None]]:
        """Have ZooKeeper do the next calls; each reply comes when what is returned is called."""
        replies: list[Callable[[], None]] = []
        for _ in range(count):
            operation, future = self._asked.popleft()
            replies.append(_reply_of(operation, future))
        return replies

    def answer(self, count: int = 1) -> None:
        """Have ZooKeeper do and answer the next calls, and whoever waits for them go on."""
        for _ in range(count):
            for reply in self.carry_out():
                reply()
            self._node.tasks.run(1_000)

    def hold(self) -> Callable[[], None]:
        """Keep what waits here now, and let all others through; what is returned carries it out and answers it."""
        held, self._asked = self._asked, deque()
        self._node.zk.ensemble.gate = None

        def release() -> None:
            for operation, future in held:
                _reply_of(operation, future)()

        return release

    def lose(self, is_done: bool) -> None:
        """The reply of the next call is lost; it was carried out or not."""
        operation, future = self._asked.popleft()
        if is_done:
            operation()
        future.fail(ZkLost("no reply"))
        self._node.tasks.run(1_000)

    def open(self) -> None:
        self._node.zk.ensemble.gate = None
        while self._asked:
            self.answer()
        self._node.settle()


def _reply_of(operation: Callable[[], Any], future: Future[Any]) -> Callable[[], None]:
    try:
        value = operation()
    except (ZkConflict, ZkLost) as failure:
        reason = failure
        return lambda: future.fail(reason)
    return lambda: future.complete(value)
