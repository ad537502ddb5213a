"""Topics on their way out, under the active controller.

Runs in: the controller process. Each step can be run again; a process that is killed leaves a mark in
/admin/delete_topics, and the next active controller goes on from there. Kafka's own tools and other brokers
make such marks as well.

    mark in /admin/delete_topics
        ->  topic out of the view, its replicas here doomed
        ->  owners rename the directories, rows DELETED; coordinators forget its offsets; every partition worker has
            followed the view
        ->  znodes removed, the mark last
        ->  slots and name free (`Office`)

The znodes hold the name until then: a topic made under it finds neither files nor committed offsets of the old one.

Source: Kafka `TopicDeletionManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from headrace.controller import znodes
from headrace.controller.cluster import Cluster
from headrace.controller.election import Election, OfficeLost
from headrace.controller.zk import ZkConflict, ZkSession

ZNODES_PER_COMMIT = 500

_log = logging.getLogger(__name__)


class Deletions:
    """What the active controller has begun to delete.

    is_enabled   delete.topic.enable: where it is off, marks of others are removed
    """

    def __init__(
        self,
        zk: ZkSession,
        election: Election,
        cluster: Cluster,
        is_enabled: bool,
    ) -> None:
        self._zk = zk
        self._election = election
        self._cluster = cluster
        self._is_enabled = is_enabled
        self._pending: dict[str, None] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._pending

    def __bool__(self) -> bool:
        return bool(self._pending)

    def mark(self, name: str) -> None:
        """Say in ZooKeeper that a topic is to go; raises ZkError."""
        transaction = self._election.guarded()
        transaction.create(znodes.delete_topic_path(name))
        try:
            self._election.commit(transaction)
        except OfficeLost:
            raise
        except ZkConflict:
            pass  # marked already

    def begin(self, names: Iterable[str]) -> None:
        """Doom the replicas of marked topics. A mark without a topic is what a killed controller may leave."""
        for name in names:
            if name in self._pending:
                continue
            if not self._is_enabled and self._cluster.has(name):
                _log.warning("deletion mark removed, delete.topic.enable=false topic=%s", name)
                self._remove([znodes.delete_topic_path(name)])
                continue
            if self._cluster.has(name):
                self._cluster.doom(name)
            self._pending[name] = None
            _log.info(
                "topic deletion begun topic=%s replicas_here=%d",
                name,
                sum(replica.topic == name for replica in self._cluster.doomed),
            )

    def work(self, unsettled: Collection[str]) -> int:
        """Finish those that everybody here has acted on; returns how many. raises ZkError; call again then

        unsettled   names that somebody has yet to act on
        """
        finished = 0
        for name in list(self._pending):
            if name in unsettled:
                continue
            self._remove(
                [
                    *self._zk.tree(znodes.topic_path(name)),
                    *self._zk.tree(znodes.topic_config_path(name)),
                    *self._zk.tree(znodes.delete_topic_path(name)),
                ]
            )
            del self._pending[name]
            _log.info("topic deleted topic=%s", name)
            finished += 1
        return finished

    def abandon(self) -> None:
        """The office is lost: the next controller goes on. Doomed replicas stay doomed."""
        self._pending.clear()

    def _remove(self, paths: list[str]) -> None:
        for first in range(0, len(paths), ZNODES_PER_COMMIT):
            transaction = self._election.guarded()
            for path in paths[first : first + ZNODES_PER_COMMIT]:
                transaction.delete(path)
            self._election.commit(transaction)
