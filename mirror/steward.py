"""What the first process of a mirror does beside copying: topics and groups, each at its interval. It blocks its copies for that long.

An error of one source hinders no other one; it is logged once for each state. A source that does not respond is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from headrace.client.connection import ConnectionFailed
from headrace.errors import BadFrame, KafkaError
from headrace.mirror.copier import Copier
from headrace.mirror.group_sync import GroupSync
from headrace.mirror.topic_sync import TopicSync

FIRST_GROUPS_S = 1.0  # after the start

log = logging.getLogger("headrace.mirror")


class Steward:
    """Of one mirror, in its process 0."""

    def __init__(self, copier: Copier) -> None:
        self._copier = copier
        self._counts: dict[str, dict[str, int]] = {}
        self._topics: dict[str, TopicSync] = {}
        self._groups: dict[str, GroupSync] = {}
        self._topics_s = 0.0
        self._groups_s = FIRST_GROUPS_S
        self._failures: dict[str, str] = {}
        self.groups_carried = 0

    def turn(self, now_s: float) -> None:
        """Do what is due."""
        settings = self._copier.settings
        if now_s >= self._topics_s:
            self._topics_s = now_s + settings.refresh_ms / 1000
            found = self._responding()
            for source_id in found:
                self._try(f"topics of {source_id}", self._topics[source_id].look)
            for source_id in found:
                self._try(f"comparison with {source_id}", self._topics[source_id].run)
            self._copier.discover_soon()
        if now_s >= self._groups_s:
            self._groups_s = now_s + settings.groups_ms / 1000
            self.carry_groups()

    def carry_groups(self) -> None:
        """Carry over the offsets of all groups now."""
        self._try("the journal", self._copier.journal.read)
        for source_id in self._responding():
            self._try(f"groups of {source_id}", partial(self._carry, self._groups[source_id]))

    def _responding(self) -> list[str]:
        """The ids of the sources that respond now."""
        copier = self._copier
        found = [source for source in copier.sources if source.responds()]
        for source in found:
            known = (source.cluster, source.source_id, copier.target)
            if source.source_id not in self._topics:
                self._topics[source.source_id] = TopicSync(copier.settings, *known, copier.journal, self._counts)
                self._groups[source.source_id] = GroupSync(copier.settings, *known)
        return [source.source_id for source in found]

    def _carry(self, groups: GroupSync) -> None:
        self.groups_carried += groups.run(self._copier.journal.lanes)

    @property
    def refused(self) -> dict[str, str]:
        """Topics that are not in step, with the reason."""
        return {topic: reason for topics in self._topics.values() for topic, reason in topics.refused.items()}

    def _try(self, what: str, step: Callable[[], None]) -> None:
        try:
            step()
            self._failures.pop(what, None)
        except (KafkaError, ConnectionFailed, BadFrame) as failure:
            if self._failures.get(what) != str(failure):
                self._failures[what] = str(failure)
                log.warning("synchronization failed what=%s reason=%s", what, failure)
