"""The topics that the node makes for itself, and how.

Runs in: the controller process. Where fewer nodes are alive than the configured factor asks for, the topic gets
a replica on each of them, and the log a warning: a cluster that starts with one node has its groups at once.

Source: Kafka `GroupCoordinator.offsetsTopicConfigs`, `TransactionStateManager.transactionStateTopicConfigs`,
`DefaultAutoTopicCreationManager`.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from headrace.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from headrace.settings import Settings

_log = logging.getLogger(__name__)


class InternalTopic(NamedTuple):
    """What to make."""

    partitions: int
    replication_factor: int
    configs: dict[str, str]


def plan_internal_topic(settings: Settings, name: str, live_brokers: int) -> InternalTopic | None:
    """How to make an internal topic now, None for any other name."""
    if name == OFFSETS_TOPIC:
        factor = _factor(
            name, "offsets.topic.replication.factor", settings["offsets.topic.replication.factor"], live_brokers
        )
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings["offsets.topic.segment.bytes"]),
        }
        return InternalTopic(settings["offsets.topic.num.partitions"], factor, configs)
    if name == TRANSACTIONS_TOPIC:
        factor = _factor(
            name,
            "transaction.state.log.replication.factor",
            settings["transaction.state.log.replication.factor"],
            live_brokers,
        )
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(min(settings["transaction.state.log.min.isr"], factor)),
            "segment.bytes": str(settings["transaction.state.log.segment.bytes"]),
            "unclean.leader.election.enable": "false",
        }
        return InternalTopic(settings["transaction.state.log.num.partitions"], factor, configs)
    return None


def _factor(name: str, key: str, wanted: int, live_brokers: int) -> int:
    """As many replicas as are wanted, or as there are nodes."""
    factor = max(1, min(wanted, live_brokers))
    if factor < wanted:
        _log.warning(
            "internal topic created with fewer replicas topic=%s replicas=%d %s=%d live_nodes=%d",
            name, factor, key, wanted, live_brokers,
        )  # fmt: skip
    return factor
