"""What ZooKeeper says of a cluster: who controls, who leads, which replicas are in sync. The same for Headrace and Apache Kafka.

Used by: the cluster campaign, for whom to hit, and whether the cluster is whole again. One thread. Every question has a bound:
while ZooKeeper is away, it is answered with None.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

ANSWER_S = 2.0
SESSION_S = 6.0  # so long kazoo waits for a server that took its connection and was stopped, too


class PartitionState(NamedTuple):
    leader: int
    isr: tuple[int, ...]
    leader_epoch: int


class ClusterState:
    """A session of our own with ZooKeeper."""

    def __init__(self, connect: str) -> None:
        self._connect = connect
        self._open()

    def _open(self) -> None:
        retry = {"max_tries": -1, "max_delay": 0.5}
        self._client = KazooClient(self._connect, timeout=SESSION_S, connection_retry=retry)
        self._client.start(timeout=30)

    def reopen(self) -> None:
        """Another session: a server that was taken back refuses who has seen later transactions. raises KazooTimeoutError"""
        self.close()
        self._open()

    def close(self) -> None:
        with suppress(Exception):
            self._client.stop()
            self._client.close()

    def read(self, path: str) -> Any:
        """A znode's JSON; None where it is not there, or nobody says."""
        try:
            return json.loads(self._client.get_async(path).get(timeout=ANSWER_S)[0])
        except (KazooException, KazooTimeoutError, ValueError):
            return None

    def _children(self, path: str) -> list[str] | None:
        try:
            return list(self._client.get_children_async(path).get(timeout=ANSWER_S))
        except (KazooException, KazooTimeoutError):
            return None

    def children(self, path: str) -> list[str]:
        """Names below a znode; none where it is not there, or nobody says."""
        return self._children(path) or []

    def controller(self) -> int | None:
        found = self.read("/controller")
        return None if found is None else int(found["brokerid"])

    def brokers(self) -> set[int] | None:
        found = self._children("/brokers/ids")
        return None if found is None else set(map(int, found))

    def topics(self) -> list[str] | None:
        return self._children("/brokers/topics")

    def partition(self, topic: str, partition: int) -> PartitionState | None:
        found = self.read(f"/brokers/topics/{topic}/partitions/{partition}/state")
        return None if found is None else PartitionState(found["leader"], tuple(found["isr"]), found["leader_epoch"])

    def assignment(self, topic: str) -> dict[int, list[int]]:
        """Replicas by partition; empty where nobody says."""
        found = self.read(f"/brokers/topics/{topic}") or {}
        return {int(number): replicas for number, replicas in found.get("partitions", {}).items()}

    def moves(self, topic: str) -> list[str]:
        """Partitions whose replicas are being moved; whatever can't be told is one."""
        found = self.read(f"/brokers/topics/{topic}")
        if found is None:
            return [topic]
        moving = {**found.get("adding_replicas", {}), **found.get("removing_replicas", {})}
        return [f"{topic}-{index}" for index, replicas in sorted(moving.items()) if replicas]

    def not_whole(self, topics: Iterable[str]) -> list[str]:
        """Partitions of these topics without a leader, or with a replica out of sync; whatever can't be told is one."""
        found = []
        for topic in topics:
            assignment = self.assignment(topic)
            if not assignment:
                found.append(topic)
            for partition, replicas in sorted(assignment.items()):
                state = self.partition(topic, partition)
                if state is None or state.leader < 0 or set(state.isr) != set(replicas):
                    found.append(f"{topic}-{partition} {state}")
        return found
