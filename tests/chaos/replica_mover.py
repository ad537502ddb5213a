"""Replicas that move between nodes under faults: reassignments begun, replaced and cancelled, preferred leaders elected.

Used by: the cluster campaign, by our own client library (AlterPartitionReassignments, ElectLeaders). What it is answered is counted and not
judged: that nothing is lost, that every reassignment comes to its end and leaves no files, the end of the round shows.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence

from headrace.client.admin import ReplicaAdmin
from headrace.client.cluster import Cluster
from headrace.errors import HeadraceError, KafkaError
from headrace.ids import TopicPartition
from tests.chaos.cluster_topics import RoundTopic
from tests.chaos.load import Client

PAUSE_S = 0.5
TIMEOUT_S = 5.0


class ReplicaMover(Client):
    """Moves the replicas of `topic`, and elects preferred leaders of all topics.

    brokers   ids of the nodes
    resting   set while somebody measures how long the cluster takes to be whole
    """

    def __init__(self, topic: RoundTopic, brokers: Sequence[int], bootstrap: str, seed: int) -> None:
        super().__init__("mover")
        self.resting = threading.Event()
        self.told: Counter[str] = Counter()  # answers, by request
        self.is_moving = False  # as far as it knows
        self._topic, self._brokers, self._bootstrap = topic, brokers, bootstrap
        self._chance = random.Random(seed)

    def run(self) -> None:
        while not self.stopping.wait(PAUSE_S):
            if self.resting.is_set():
                continue
            what, step = self._chance.choices(
                [("reassign", self._reassign), ("cancel", self._cancel), ("elect", self._elect)], [6, 2, 2]
            )[0]
            try:
                with Cluster(self._bootstrap, timeout_s=TIMEOUT_S) as cluster:
                    admin = ReplicaAdmin(cluster)
                    step(admin)
                    self.is_moving = bool(admin.reassignments())
            except (HeadraceError, OSError) as failure:
                self.told[f"{what}: {_name(failure)}"] += 1

    def _reassign(self, admin: ReplicaAdmin) -> None:
        """Of some partitions; a reassignment that is on is replaced."""
        targets = {
            TopicPartition(self._topic.name, index): self._chance.sample(self._brokers, self._chance.choice([2, 2, 3]))
            for index in self._chance.sample(range(self._topic.partitions), self._chance.randint(1, 2))
        }
        self._count("reassign", admin.reassign(dict(targets)))

    def _cancel(self, admin: ReplicaAdmin) -> None:
        """All that is on."""
        found = [name for name in admin.reassignments() if name.topic == self._topic.name]
        if found:
            self._count("cancel", admin.reassign(dict.fromkeys(found)))

    def _elect(self, admin: ReplicaAdmin) -> None:
        self._count("elect preferred", admin.elect(None))

    def _count(self, what: str, errors: dict[TopicPartition, KafkaError | None]) -> None:
        for error in errors.values():
            self.told[f"{what}: {'done' if error is None else _name(error)}"] += 1


def _name(failure: Exception) -> str:
    return failure.code.name if isinstance(failure, KafkaError) else type(failure).__name__
