"""What topics inherit: the node's settings, overridden by those changed while it runs.

Every process that computes topic settings has one, and passes it each new cluster view, which has the changes.

Source: Kafka `DynamicBrokerConfig`, `DynamicLogConfig` (KIP-226).
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.settings import Settings


class TopicDefaults:
    """`settings`: the broker settings that topics inherit from."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._static = settings
        self._changes: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})

    def follow(self, cluster: Mapping[str, str], node: Mapping[str, str]) -> bool:
        """Apply the changes for all nodes and for this one; True if they differ from before."""
        if self._changes == (cluster, node):
            return False
        self._changes = (cluster, node)
        self.settings = self._static.with_dynamic(cluster, node)
        return True
