"""Topics that go, from their mark to their last znode.

Runs in: the controller process of the active node, one object a term. Each step can be run again; a process that is killed leaves a
mark in /admin/delete_topics, and the next active controller goes on from there. Kafka's own tools and other brokers make such
marks as well.

    mark in /admin/delete_topics
        ->  TopicLeaving: topic out of the view, its replicas here are to go
        ->  owners rename the directories, rows DELETED; coordinators forget its offsets; every partition worker has
            followed the view: ReplicasSettled
        ->  znodes removed, the mark last
        ->  TopicRemoved: slots and name are free

The znodes hold the name until then: a topic made under it finds neither files nor committed offsets of the old one.

Source: Kafka `TopicDeletionManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.cluster import events
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkError
from headrace.limits import DELETIONS_IN_FLIGHT_MAX

ZNODES_PER_COMMIT = 500

_log = logging.getLogger(__name__)


class Deletions(Part):
    """Of marked topics. Where delete.topic.enable is off, marks of others are removed."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._pending: dict[str, None] = {}  # topics whose deletion has begun
        self._removable: dict[str, None] = {}  # of these, the ones that everybody here has acted on
        self._removals = 0  # tasks

    def __contains__(self, name: object) -> bool:
        """Whether a topic of this name is being deleted."""
        return name in self._pending

    async def begin(self) -> None:
        """The marks that the controller before left."""
        self.marks_read(self._term.marked)

    def marks_read(self, names: Iterable[str]) -> None:
        """Have marked topics go. A mark without a topic is what a killed controller may leave."""
        term = self._term
        for name in names:
            if name in self._pending or name in term.reservations:  # once it is written the marks are read again
                continue
            if not term.settings["delete.topic.enable"] and term.known.has(name):
                _log.warning("deletion mark removed, delete.topic.enable=false topic=%s", name)
                term.start(self._remove_mark(name))
                continue
            self._pending[name] = None
            term.tell(events.TopicLeaving(name))
            replicas = len(term.known.leaving.get(name, ()))
            _log.info("topic deletion begun topic=%s replicas_here=%d", name, replicas)

    def replicas_settled(self, name: str) -> None:
        if name in self._pending:
            self._removable[name] = None
            self._start_removals()

    async def mark(self, name: str) -> None:
        """Say in ZooKeeper that a topic is to go; raises ZkError."""
        transaction = self._term.guard.begin()
        transaction.create(znodes.delete_topic_path(name))
        try:
            await self._term.commit(transaction)
        except ControllerMoved:
            raise
        except ZkConflict:
            pass  # marked already

    def _start_removals(self) -> None:
        while self._removable and self._removals < DELETIONS_IN_FLIGHT_MAX and not self._term.is_over:
            name = next(iter(self._removable))
            del self._removable[name]
            self._removals += 1
            self._term.start(self._remove_topic(name), self._removal_ended)

    def _removal_ended(self) -> None:
        self._removals -= 1
        self._start_removals()

    async def _remove_topic(self, name: str) -> None:
        term, zk = self._term, self._term.zk
        while not term.is_over:
            try:
                paths = [
                    *await zk.tree(znodes.topic_path(name)),
                    *await zk.tree(znodes.topic_config_path(name)),
                    *await zk.tree(znodes.delete_topic_path(name)),
                ]
                await self._remove(paths)
                break
            except ControllerMoved:
                raise
            except ZkError as failure:
                _log.debug("deletion goes on later topic=%s reason=%s", name, failure)
                await term.tasks.sleep(RETRY_MS)
        else:
            return
        self._pending.pop(name, None)
        term.marked -= {name}
        term.tell(events.TopicRemoved(name))
        _log.info("topic deleted topic=%s", name)

    async def _remove_mark(self, name: str) -> None:
        try:
            await self._remove([znodes.delete_topic_path(name)])
        except ControllerMoved:
            raise
        except ZkConflict:
            pass  # somebody else was faster

    async def _remove(self, paths: list[str]) -> None:
        for first in range(0, len(paths), ZNODES_PER_COMMIT):
            transaction = self._term.guard.begin()
            for path in paths[first : first + ZNODES_PER_COMMIT]:
                transaction.delete(path)
            await self._term.commit(transaction)
