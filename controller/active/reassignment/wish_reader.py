"""Follows /admin/reassign_partitions: what it asks for is written into the topics' nodes, which are the truth from there on.

Runs in: the controller process of the active node; one object a term. A wish that was taken is not taken again while it is in the
node. One that is refused is logged, and taken out.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from headrace.controller.active.reassignment.wishes import Errors, Target, take_out
from headrace.controller.active.term import RETRY_MS, Term
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.admin_znodes import Place, decode_reassignment
from headrace.controller.zookeeper.errors import ControllerMoved, ZkError
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.errors import KafkaError

_log = logging.getLogger(__name__)


class WishReader:
    """The wishes of a term.

    alter      writes a topic's wishes into its node; an error for each partition, None: it is written
    is_known   whether there is such a topic, which is not being deleted
    """

    def __init__(
        self,
        term: Term,
        alter: Callable[[str, Mapping[int, Target]], Awaitable[Errors]],
        is_known: Callable[[str], bool],
    ) -> None:
        self._term = term
        self._alter = alter
        self._is_known = is_known
        self._taken: dict[Place, tuple[int, ...]] = {}  # wishes that were read into their topics
        self._is_reading = False
        self._is_stale = False  # there may be others

    def note_changed(self) -> None:
        """The node changed: read it, soon."""
        self._is_stale = True
        if not self._is_reading and not self._term.is_over:
            self._is_reading = True
            self._term.start(self._follow_all(), self._followed)

    async def follow(self) -> None:
        """Read the wishes into the topics' nodes; those that can't be go. raises   ZkError"""
        node = await self._term.zk.get(znodes.REASSIGN_PARTITIONS, watch=True)
        if node is None:
            self._taken.clear()  # the same wish may come again
            return
        try:
            wanted = decode_reassignment(node.data)
        except BadZnode as failure:
            _log.error("requested reassignments not processed, their znode is kept reason=%s", failure)
            return
        self._taken = {place: target for place, target in self._taken.items() if wanted.get(place) == target}
        by_topic: dict[str, dict[int, Target]] = {}
        for (name, index), target in wanted.items():
            if (name, index) not in self._taken or not self._is_known(name):
                by_topic.setdefault(name, {})[index] = target
        refused: dict[Place, KafkaError] = {}
        for name, targets in by_topic.items():
            try:
                errors = await self._alter(name, targets)
            except KafkaError as failure:
                errors = dict.fromkeys(targets, failure)
            for index, error in errors.items():
                if error is None:
                    self._taken[name, index] = wanted[name, index]
                else:
                    refused[name, index] = error
        if refused:
            (name, index), reason = next(iter(refused.items()))
            _log.warning(
                "reassignments refused count=%d first=%s-%d reason=%s", len(refused), name, index, reason.message
            )
            await self._drop(refused)

    def _followed(self) -> None:
        self._is_reading = False
        if self._is_stale:
            self.note_changed()

    async def _follow_all(self) -> None:
        while self._is_stale and not self._term.is_over:
            self._is_stale = False
            try:
                await self.follow()
            except ControllerMoved:
                raise
            except ZkError as failure:
                self._is_stale = True
                _log.debug("requested reassignments not processed, retrying later reason=%s", failure)
                await self._term.tasks.sleep(RETRY_MS)

    async def _drop(self, places: Collection[Place]) -> None:
        """raises   ZkError; a conflict: then they are read again"""
        transaction = self._term.guard.begin()
        node = await self._term.zk.get(znodes.REASSIGN_PARTITIONS)
        if take_out(transaction, node, lambda place, _target: place in places):
            await self._term.commit(transaction)
