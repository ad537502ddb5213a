"""Topics on their way out, as this node sees them: which workers have acted on a deletion, and what is free again.

A replica that is deleted by itself is free when it is DELETED: only its owner had to act on that.

Runs in: the controller process of every node. A topic's slots and name are free when each of its replicas here is DELETED, and every
partition worker has followed a view without it; where this node's active controller deletes it, when its znodes are gone as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from headrace.controller.agent.hosted_rows import HostedRows
from headrace.controller.cluster.known_cluster import KnownCluster, is_another
from headrace.limits import ITEMS_PER_POLL_MAX
from headrace.shm.cluster_view import DeletedTopic


class Departures:
    """What is deleted and not yet forgotten.

    marked       names in /admin/delete_topics when they were read last
    is_stirred   there may be something to settle
    """

    def __init__(self, known: KnownCluster, rows: HostedRows) -> None:
        self.marked: frozenset[str] = frozenset()
        self.is_stirred = False
        self._known = known
        self._rows = rows
        self._leaving: dict[str, bool] = {}  # topics that the active controller deletes -> whether it was told to go on
        self._told: dict[str, int] = {}  # topics that another node's controller deletes -> `additions` then
        self._said: frozenset[str] = (
            frozenset()
        )  # topics without replicas here, said to be deleted, whatever the marks say
        self._next = 0  # where in the list of deleted topics the next check begins
        self._next_replica = 0  # the same of replicas that leave without their topic

    def __contains__(self, name: object) -> bool:
        """Whether the active controller deletes a topic of this name."""
        return name in self._leaving

    @property
    def is_any(self) -> bool:
        return bool(self._leaving or self._known.is_waiting)

    def begin(self, name: str) -> None:
        """The active controller deletes a topic, or a mark without one."""
        if self._known.has(name):
            self._known.mark_for_deletion(name)
        self._leaving.setdefault(name, False)

    def hold(self, name: str) -> None:
        """Another node's controller deletes a topic: while ZooKeeper has the mark, it has the topic, which must not come back."""
        if not self._known.is_authority:
            self._told[name] = self._known.additions

    def note_said(self, names: Iterable[str]) -> None:
        """An UpdateMetadata says that these topics are being deleted. It may be late, and name one that was made since."""
        self._said |= {name for name in names if not self._known.replicas_here((name,))}

    def hold_back(self, marked: Set[str]) -> None:
        """All marks were read: a topic that is marked, and said to be deleted, leaves the view, as in Kafka; a replica goes by StopReplica.

        One whose mark is gone is in the view again.
        """
        known = self._known
        self._said &= marked
        known.hold_back((known.held_back & marked) | (frozenset() if known.is_authority else self._said))

    def note_marks(self, marked: Set[str], as_of: int) -> None:
        """All marks, as they were read after `additions` was that: a deletion whose mark is gone is over."""
        self._told = {name: since for name, since in self._told.items() if name in marked or since > as_of}

    def end(self, name: str) -> None:
        """Its znodes are gone."""
        self._leaving.pop(name, None)

    def abandon(self) -> None:
        """The next active controller goes on. Replicas that are to go still are."""
        self._leaving.clear()

    def is_gone(self, topic: tuple[str, str]) -> bool:
        """Whether a topic that was to be deleted is, here and in ZooKeeper; another one may have its name."""
        name, topic_id = topic
        now = self._known.topics.get(name)
        if now is not None:
            return is_another(now.topic_id, topic_id)
        return name not in self._leaving

    def settle(self, followed: int) -> tuple[list[str], int]:
        """Check some of the deleted topics, and free what may be.

        followed   the view that all workers have acted on
        returns    names whose deletion may go on, each once; how many topics were forgotten
        """
        known = self._known
        known.free_released(followed, self._rows.is_left)
        settled, has_more = self._settled(followed, self.marked)
        self.is_stirred = self._settle_replicas() or has_more
        unsettled = {topic.name for topic in known.deleted if topic not in settled}
        ready = [name for name, is_told in self._leaving.items() if not is_told and name not in unsettled]
        self._leaving.update(dict.fromkeys(ready, True))
        gone = {topic.name for topic in settled if topic.name not in self._leaving} - unsettled
        if gone:
            known.forget(gone)
        return ready, len(gone)

    def _settle_replicas(self) -> bool:
        """Free the slots of replicas that were deleted while their topics stay; returns whether there are more to check."""
        known = self._known
        whole = {topic.name for topic in known.deleted}
        replicas = [one for name, held in known.leaving.items() if name not in whole for one in held]
        first = self._next_replica if self._next_replica < len(replicas) else 0
        checked = replicas[first : first + ITEMS_PER_POLL_MAX]
        gone = [replica for replica in checked if self._rows.is_deleted(replica)]
        self._next_replica = first + len(checked) - len(gone)
        known.forget_replicas(gone)
        return len(checked) < len(replicas) and bool(gone)

    def _settled(self, followed: int, marked: Set[str]) -> tuple[set[DeletedTopic], bool]:
        """Of the deleted topics, ITEMS_PER_POLL_MAX replicas at a time, those that everybody here has acted on."""
        topics = list(self._known.deleted)
        settled = set()
        left = ITEMS_PER_POLL_MAX
        for checked in range(len(topics)):
            topic = topics[(self._next + checked) % len(topics)]
            left -= 1 + len(self._known.leaving.get(topic.name, ()))
            if self._is_settled(topic, followed, marked):
                settled.add(topic)
            if left <= 0 and checked + 1 < len(topics):
                self._next += checked + 1 - len(settled)
                return settled, True
        return settled, False

    def _is_settled(self, topic: DeletedTopic, followed: int, marked: Set[str]) -> bool:
        """Whether every worker of this node has acted on a topic's deletion, and it is not still there to be deleted."""
        known = self._known
        is_anothers = (
            topic.name in self._told and topic.name not in self._leaving
        )  # told, then elected: it is ours to remove
        if is_anothers or not 0 < known.deleted[topic] <= followed:
            return False
        if not all(map(self._rows.is_deleted, known.leaving.get(topic.name, ()))):
            return False
        now = known.topics.get(topic.name)
        return now is None or now.topic_id != topic.topic_id or topic.name not in marked
