"""What the controller process last knew of the cluster, as the node's other processes see it.

Runs in: every process of the node. The view is the desired state of this node's replicas, the partition table the actual
one (docs/architecture.md). How it lies in shared memory: view_log.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from headrace.errors import HeadraceError
from headrace.ids import NO_KEY, PartitionKey

NO_SETTINGS: Final[dict[str, str]] = {}
NO_SLOT: Final = -1


class ViewError(HeadraceError):
    """The view can't be read, or does not fit."""


class BrokerView(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None = None
    epoch: int = -1  # of the broker (KIP-380), -1: not known


class PartitionView(NamedTuple):
    index: int  # type: ignore[assignment]  # shadows tuple.index, which nothing wants of a partition
    leader: int  # node id, -1: none
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline: tuple[int, ...] = ()
    slot: int = NO_SLOT  # row of the partition table, -1: not hosted on this node
    key: PartitionKey = NO_KEY  # partition_key() while hosted
    is_halted: bool = False  # the replica here follows no leader at all
    is_held: bool = (
        False  # nor takes any role: it is not known whether its log is one to go by; clients go to who leads
    )


class TopicView(NamedTuple):
    name: str
    topic_id: str  # 32 hex digits, or '' for a topic from before ids
    internal: bool
    configs: dict[str, str]  # overrides only
    partitions: Sequence[PartitionView]  # by index


class DoomedReplica(NamedTuple):
    """A replica of this node whose files are to be deleted."""

    topic: str
    partition: int
    slot: int
    key: PartitionKey


class DeletedTopic(NamedTuple):
    """A deleted topic, or one whose name another topic has taken. What is absent elsewhere is unknown, not deleted."""

    name: str
    topic_id: str


class ReleasedTopic(NamedTuple):
    """A topic that ZooKeeper lost and was not deleted: not served, but its name is taken and its files stay."""

    name: str
    topic_id: str
    replicas: tuple[tuple[int, ...], ...]  # by partition
    slots: tuple[int, ...]  # by partition; -1: it holds no row (any more)


class ClusterView(NamedTuple):
    """`deleted` is kept here until every partition worker has followed it; no topic of such a name is in `topics` meanwhile."""

    version: int
    cluster_id: str
    controller_id: int  # -1: none known
    brokers: dict[int, BrokerView]
    topics: dict[str, TopicView]
    doomed: tuple[DoomedReplica, ...] = ()
    cluster_settings: dict[str, str] = NO_SETTINGS  # changed for all nodes while they run (/config/brokers/<default>)
    node_settings: dict[str, str] = NO_SETTINGS  # the same, for this node alone
    deleted: tuple[DeletedTopic, ...] = ()
    released: tuple[ReleasedTopic, ...] = ()


EMPTY_VIEW: Final = ClusterView(0, "", -1, {}, {}, ())

Changes = Mapping[str, frozenset[int] | None]
"""By topic: the indexes of the partitions that changed; None where it is another topic, has other settings, other
replicas, more partitions, or is gone."""


def changed_topics(before: Mapping[str, TopicView], after: Mapping[str, TopicView]) -> Changes:
    """Changes found by comparing views: topics that are other objects than before."""
    names = [name for name, topic in after.items() if before.get(name) is not topic]
    return dict.fromkeys([*names, *(name for name in before if name not in after)])
