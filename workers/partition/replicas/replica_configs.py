"""The settings of the topics whose replicas this worker holds, as their logs have them.

Runs in: a partition worker. A topic's overrides come with a view, the defaults below them from the node's file and from
what was changed of it for the cluster or this node (`headrace/topic_defaults.py`).
"""

from __future__ import annotations

from headrace.log.config import LogConfig
from headrace.settings import Settings, topic_values
from headrace.shm.cluster_view import ClusterView, TopicView
from headrace.topic_defaults import TopicDefaults
from headrace.workers.partition.replicas.replica import Replica


class ReplicaConfigs:
    """What was applied to each replica.

    timed   slots of replicas with flush.ms
    """

    def __init__(self, settings: Settings) -> None:
        self.timed: set[int] = set()
        self._defaults = TopicDefaults(settings)
        self._applied: dict[int, dict[str, str]] = {}  # by slot: the topic's overrides

    def follow(self, view: ClusterView) -> bool:
        """Take the defaults of a view; returns whether they are others, so that every replica is to be configured."""
        return self._defaults.follow(view.cluster_settings, view.node_settings)

    def log_config(self, topic: TopicView) -> LogConfig:
        """For a log of the topic that is to be opened."""
        return LogConfig.from_values(topic_values(self._defaults.settings, topic.configs))

    def apply(self, replica: Replica, topic: TopicView) -> None:
        """Give a replica its topic's settings."""
        values = topic_values(self._defaults.settings, topic.configs)
        replica.configure(
            LogConfig.from_values(values),
            values["min.insync.replicas"],
            may_be_unclean=values["unclean.leader.election.enable"],
        )
        self._applied[replica.slot] = topic.configs
        if replica.log.config.flush_ms is None:
            self.timed.discard(replica.slot)
        else:
            self.timed.add(replica.slot)

    def apply_changed(self, replica: Replica, topic: TopicView) -> None:
        """`apply`, where the overrides are others than before."""
        if self._applied.get(replica.slot) != topic.configs:
            self.apply(replica, topic)

    def forget(self, slot: int) -> None:
        """The replica is no longer held."""
        self.timed.discard(slot)
        self._applied.pop(slot, None)
