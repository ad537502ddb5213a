"""Offsets of many groups, which live in a topic with as many replicas as there are nodes; some of the groups are at rest.

Used by: the cluster campaign. The load writes its own offsets again, so those that nobody touches show more losses (docs/decisions/025). A
group's commits are farther apart than any fault is long: a request that a stopped node has in its sockets is carried out when it goes
on, and must not overtake a later one of the same group.
"""

from __future__ import annotations

import itertools
import time

from headrace.client.admin import Admin
from headrace.client.cluster import Cluster
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from tests.chaos.cluster_topics import RoundTopic
from tests.chaos.history import NO_OFFSET, Commit, Committed, History, Outcome
from tests.chaos.judge import Anomaly
from tests.chaos.load import Client

GROUPS = 32
AT_REST = 12  # of them, after their first commits
FIRST_COMMITS = 2
PAUSE_S = 0.8
TIMEOUT_S = 5.0
READ_S = 60.0


class GroupOffsets(Client):
    """Commits and reads offsets of groups without members, one after the other."""

    def __init__(self, topic: RoundTopic, bootstrap: str, history: History) -> None:
        super().__init__("offsets")
        self.commits = 0
        self._place = TopicPartition(topic.name, 0)
        self._bootstrap, self._history = bootstrap, history

    def run(self) -> None:
        for number in itertools.count():
            if self.stopping.wait(PAUSE_S):
                return
            group = f"{self.name}-{number % GROUPS}"
            if number % GROUPS >= AT_REST or number < FIRST_COMMITS * GROUPS:
                self._commit(group, number)
            else:
                self._read(group)

    def _commit(self, group: str, offset: int) -> None:
        began, outcome = time.monotonic(), Outcome.UNKNOWN
        try:
            with Cluster(self._bootstrap, timeout_s=TIMEOUT_S) as cluster:
                Admin(cluster).alter_group_offsets(group, {self._place: offset})
            outcome = Outcome.OK
            self.commits += 1
        except (HeadraceError, OSError):
            pass
        self._history.add(Commit(group, self._place.topic, 0, 0, offset, outcome, began, time.monotonic()))

    def _read(self, group: str) -> bool:
        began = time.monotonic()
        try:
            with Cluster(self._bootstrap, timeout_s=TIMEOUT_S) as cluster:
                offset = Admin(cluster).group_offsets(group).get(self._place, NO_OFFSET)
        except (HeadraceError, OSError):
            return False
        self._history.add(Committed(group, self._place.topic, 0, 0, offset, began, time.monotonic()))
        return True

    def read_all(self) -> list[Anomaly]:
        """At the end, from another thread: every group's, into the history."""
        deadline = time.monotonic() + READ_S
        for number in range(GROUPS):
            group = f"{self.name}-{number}"
            while not self._read(group):
                if time.monotonic() > deadline:
                    return [Anomaly("not-served", f"{group} can't be read at the end")]
                time.sleep(0.1)
        return []
