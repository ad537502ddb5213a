"""A cluster at one glance: brokers with what they lead and hold, and the partitions that lack something.

Made of Metadata of all topics, which is one response (RESPONSE_BYTES_MAX bounds it), and of `min.insync.replicas` of each
topic by DescribeConfigs, TOPICS_PER_REQUEST_MAX topics a request. So it is a picture of some milliseconds, of a cluster that moves.

    offline            no leader, or one that is not there
    under-replicated   fewer in sync than there are replicas
    under-min-ISR      fewer in sync than min.insync.replicas (at most the number of replicas): acks=all is refused
    at-min-ISR         as many as that: one more loss, and it is; every partition with one replica

Source: Kafka `TopicCommand.PartitionDescription`; KAFKA-15583 for the effective minimum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from headrace.client.admin import Admin
from headrace.client.cluster import Broker, Cluster, Partition
from headrace.ids import TopicPartition
from headrace.limits import TOPICS_PER_REQUEST_MAX

MIN_ISR_KEY = "min.insync.replicas"
KINDS = ("offline", "under-replicated", "under-min-isr", "at-min-isr")


class BrokerLoad(NamedTuple):
    """A broker, with what metadata says that it leads and holds."""

    node_id: int
    broker: Broker | None  # None: replicas are assigned to it, but it is not there
    is_controller: bool
    leaders: int
    replicas: int


class PartitionHealth(NamedTuple):
    """A partition that is of at least one kind, those in KINDS' order."""

    name: TopicPartition
    partition: Partition
    min_isr: int
    kinds: tuple[str, ...]


class ClusterHealth(NamedTuple):
    """What was found; `partitions` are in order."""

    cluster_id: str
    controller_id: int | None  # None: there is none
    brokers: tuple[BrokerLoad, ...]
    topics: int
    partition_count: int
    partitions: tuple[PartitionHealth, ...]

    def count(self, kind: str) -> int:
        """Partitions of a kind."""
        return sum(kind in one.kinds for one in self.partitions)


def cluster_health(cluster: Cluster) -> ClusterHealth:
    """Ask, and judge. raises KafkaError, ConnectionFailed"""
    topics = cluster.refresh(None)
    known = set(topics)
    partitions = {name: one for name, one in cluster.partitions.items() if name.topic in known}
    minimums = _minimums(Admin(cluster), sorted(topics))
    judged = []
    for name, partition in sorted(partitions.items()):
        min_isr = min(minimums.get(name.topic, 1), len(partition.replicas))
        kinds = kinds_of(partition, min_isr, cluster.brokers)
        if kinds:
            judged.append(PartitionHealth(name, partition, min_isr, kinds))
    return ClusterHealth(
        cluster.cluster_id,
        cluster.controller_id if cluster.controller_id in cluster.brokers else None,
        _loads(cluster, partitions.values()),
        len(topics),
        len(partitions),
        tuple(judged),
    )


def kinds_of(partition: Partition, min_isr: int, brokers: Mapping[int, Broker]) -> tuple[str, ...]:
    """What a partition lacks.

    min_isr   the effective minimum
    brokers   those that are there
    """
    in_sync = len(partition.isr)
    facts = (
        partition.leader not in brokers,
        in_sync < len(partition.replicas),
        in_sync < min_isr,
        in_sync == min_isr,
    )
    return tuple(kind for kind, is_so in zip(KINDS, facts, strict=True) if is_so)


def _minimums(admin: Admin, topics: Sequence[str]) -> dict[str, int]:
    """min.insync.replicas of each topic; one deleted meanwhile is left out."""
    found = {}
    for chunk in _chunks(topics, TOPICS_PER_REQUEST_MAX):
        for topic, configs in admin.describe_configs(chunk, [MIN_ISR_KEY], may_be_gone=True).items():
            for config in configs:
                if config.name == MIN_ISR_KEY and config.value:
                    found[topic] = int(config.value)
    return found


def _chunks(names: Sequence[str], size: int) -> Iterator[list[str]]:
    remaining = iter(names)
    while chunk := list(islice(remaining, size)):
        yield chunk


def _loads(cluster: Cluster, partitions: Iterable[Partition]) -> tuple[BrokerLoad, ...]:
    leaders: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    for partition in partitions:
        leaders[partition.leader] += 1
        replicas.update(partition.replicas)
    return tuple(
        BrokerLoad(
            node_id,
            cluster.brokers.get(node_id),
            node_id == cluster.controller_id,
            leaders[node_id] if node_id in cluster.brokers else 0,
            replicas[node_id],
        )
        for node_id in sorted(cluster.brokers.keys() | replicas.keys())
    )
