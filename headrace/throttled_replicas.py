"""Which replicas a replication throttle holds for, and its rate: as kafka-reassign-partitions sets both.

Runs in: partition workers, for the followers of this node; network workers, for those that fetch from its leaders.

    side       of this node, bytes a second           of a topic: `*`, or partition:broker, ...
    follower   follower.replication.throttled.rate    follower.replication.throttled.replicas
    leader     leader.replication.throttled.rate      leader.replication.throttled.replicas

Source: Kafka `ReplicationQuotaManager`; KIP-73.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Protocol

from headrace.limits import REPLICATION_RATE_MAX

Side = Literal["follower", "leader"]
ALL: Final = "*"


class AnyTopic(Protocol):
    """A topic of a view."""

    @property
    def configs(self) -> Mapping[str, str]: ...


class AnyView(Protocol):
    """A cluster view, as far as it matters here."""

    @property
    def node_settings(self) -> Mapping[str, str]: ...

    @property
    def cluster_settings(self) -> Mapping[str, str]: ...

    @property
    def topics(self) -> Mapping[str, AnyTopic]: ...


class ThrottledReplicas:
    """Of one side, as of the view.

    rate   bytes a second of this node
    """

    __slots__ = ("_node_id", "_rate_key", "_replicas_key", "_static_rate", "_topics", "rate")

    def __init__(self, side: Side, node_id: int, rate: int) -> None:
        self._rate_key = f"{side}.replication.throttled.rate"
        self._replicas_key = f"{side}.replication.throttled.replicas"
        self._node_id = node_id
        self._static_rate = rate  # as the node's file has it
        self._topics: Mapping[str, AnyTopic] = {}
        self.rate = rate

    @property
    def is_limited(self) -> bool:
        """Whether there is a throttle at all."""
        return self.rate < REPLICATION_RATE_MAX

    def follow(self, view: AnyView) -> bool:
        """Take the topics' replicas and the rate; returns whether the rate is another."""
        self._topics = view.topics
        text = view.node_settings.get(self._rate_key, view.cluster_settings.get(self._rate_key))
        rate = self._static_rate if text is None else int(text)
        is_another = rate != self.rate
        self.rate = rate
        return is_another

    def holds(self, topic: str, index: int) -> bool:
        """Whether this node's replica of a partition is throttled."""
        found = self._topics.get(topic)
        text = "" if found is None else found.configs.get(self._replicas_key, "")
        return bool(text) and (text == ALL or f"{index}:{self._node_id}" in text.replace(" ", "").split(","))
