"""Numbered nodes below a watched one, by which brokers tell the active controller something: read, followed, removed.

Runs in: the controller process of the active node, one object a term and kind. One task at a time follows them; what ZooKeeper does
not carry out is tried again later, and a note stays until it was followed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.zookeeper import notifications
from headrace.controller.zookeeper.errors import ControllerMoved, Node, ZkError
from headrace.limits import READS_IN_FLIGHT_MAX

_log = logging.getLogger(__name__)


class NumberedNotes(Part):
    """Those of a kind; `watched` is their parent."""

    watched: str

    def __init__(self, term: Term) -> None:
        self._term = term
        self._is_following = False
        self._has_more = False  # it was notified of more meanwhile

    async def begin(self) -> None:
        """What came since everything was read."""
        self.notified()

    def notified(self) -> None:
        self._has_more = True
        if not self._is_following and not self._term.is_over:
            self._is_following = True
            self._term.start(self._follow_all(), self._followed)

    async def take(self, notes: Iterator[tuple[str, bytes]]) -> None:
        """Follow some notes: path and data of each. raises   ZkError"""
        raise AssertionError("each kind has its own")

    def _followed(self) -> None:
        self._is_following = False
        if self._has_more:
            self.notified()

    async def _follow_all(self) -> None:
        while self._has_more and not self._term.is_over:
            self._has_more = False
            try:
                await self._follow()
            except ControllerMoved:
                raise
            except ZkError as failure:
                self._has_more = True
                _log.debug("notes not processed, retrying later parent=%s reason=%s", self.watched, failure)
                await self._term.tasks.sleep(RETRY_MS)

    async def _follow(self) -> None:
        zk = self._term.zk
        names = await zk.children(self.watched, watch=True)
        for first in range(0, len(names), READS_IN_FLIGHT_MAX):
            paths = [f"{self.watched}/{name}" for name in names[first : first + READS_IN_FLIGHT_MAX]]
            nodes: list[Node | None] = await zk.get_many(paths)
            await self.take((path, node.data) for path, node in zip(paths, nodes, strict=True) if node is not None)
            await notifications.remove(self._term.guard, paths)
