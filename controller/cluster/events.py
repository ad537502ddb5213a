"""What agent and active controller tell one another: facts, as plain data.

Runs in: the controller process. Neither room imports the other; `process.py` hands each event over, at once. All that an event
of the active controller says is in it: the agent acts on it without a look into ZooKeeper, so that the same facts may
come from another node's controller one day, as LeaderAndIsr, UpdateMetadata and StopReplica.

    agent -> active     Elected, Resigned, BrokersChanged, TopicsRead, Marked, ReplicasSettled, Notified
    requests -> agent   LeadersTold, ReplicasStopped: what LeaderAndIsr, UpdateMetadata and StopReplica say
    active -> agent     NameReserved, NameReleased, TopicWritten, ReplicasAssigned, StatesWritten, StatesStale,
                        TopicIdsGiven, TopicLeaving, TopicRemoved, SteppedDown
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.controller.zookeeper.znodes import NO_FIELDS, NO_MOVES, Moves, PartitionState

Replicas = tuple[tuple[int, ...], ...]  # by partition


class Elected(NamedTuple):
    """We are the active controller, and all is known that ZooKeeper has."""

    epoch: int
    epoch_version: int  # of the node /controller_epoch, which each write checks


class Resigned(NamedTuple):
    """We are not, any more or for now."""


class BrokersChanged(NamedTuple):
    """Brokers came or went, or listen elsewhere; the known cluster has it."""

    brokers: frozenset[int]


class TopicsRead(NamedTuple):
    """These topics were read, new ones and others: states may be missing, leaders may be gone."""

    names: tuple[str, ...]


class Marked(NamedTuple):
    """All marks in /admin/delete_topics."""

    names: frozenset[str]


class ReplicasSettled(NamedTuple):
    """Everybody on this node has acted on a topic's deletion."""

    name: str


class Notified(NamedTuple):
    """A node that the active controller watches itself changed, or what is below it (`znodes.WATCHED_BY_CONTROLLER`)."""

    path: str


class NameReserved(NamedTuple):
    """A topic of this name is being written, in several steps: it is left alone until NameReleased."""

    name: str


class NameReleased(NamedTuple):
    """It is written, or was given up: what ZooKeeper has of it is to be read, where nothing else said so."""

    name: str
    is_known: bool  # whether all that was written was reported


class TopicWritten(NamedTuple):
    """A topic is in ZooKeeper as a whole; or only its node is, if it is marked for deletion.

    others   fields of its node that we don't know
    """

    name: str
    topic_id: str
    replicas: Replicas
    configs: dict[str, str]
    states: tuple[PartitionState | None, ...]
    others: Mapping[str, Any] = NO_FIELDS


class ReplicasAssigned(NamedTuple):
    """A topic has more partitions, or other replicas, or some are being moved (KIP-455)."""

    name: str
    topic_id: str
    replicas: Replicas  # of all partitions
    states: dict[int, PartitionState]  # of those that were written with it
    adding: Moves = NO_MOVES
    removing: Moves = NO_MOVES
    others: Mapping[str, Any] | None = None  # further fields of the topic's node; None: as they were


class StatesWritten(NamedTuple):
    """Partitions have other states, at the versions that their nodes have now."""

    name: str
    topic_id: str
    states: dict[int, PartitionState]


class StatesStale(NamedTuple):
    """Another client wrote states of these topics: they are to be read again."""

    names: tuple[str, ...]


class TopicIdsGiven(NamedTuple):
    """Topics that had no id have one."""

    ids: dict[str, str]  # by name


class TopicLeaving(NamedTuple):
    """A topic is being deleted: ReplicasSettled is waited for."""

    name: str


class TopicRemoved(NamedTuple):
    """A topic that was being deleted has no znodes any more."""

    name: str


class SteppedDown(NamedTuple):
    """A write said that another controller was elected."""


class ToldPartition(NamedTuple):
    """A partition as a controller's request has it."""

    state: PartitionState  # its version is the partition epoch
    replicas: tuple[int, ...]  # with those that are added
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    is_new: bool = False  # a new replica: it is made even beside a directory that failed (KAFKA-10314)


class ToldTopic(NamedTuple):
    """Some or all partitions of a topic."""

    topic_id: str  # 32 hex digits, '': the request has none
    partitions: dict[int, ToldPartition]


class LeadersTold(NamedTuple):
    """What the active controller told this node of partitions; older epochs than what is known change nothing."""

    controller_id: int
    controller_epoch: int
    topics: dict[str, ToldTopic]
    has_roles: bool = True  # a LeaderAndIsr: this node's replicas take their roles; else an UpdateMetadata
    deleted: tuple[str, ...] = ()  # topics that are being deleted, it says: no file goes by that


class ReplicasStopped(NamedTuple):
    """Replicas that this node is to follow no more, or to delete."""

    controller_id: int
    controller_epoch: int
    replicas: dict[tuple[str, int], StoppedReplica]


class StoppedReplica(NamedTuple):
    """How a replica is stopped."""

    leader_epoch: int  # -1: not said; -2: the topic is being deleted
    is_deleted: bool  # its files go


ToActive = Elected | Resigned | BrokersChanged | TopicsRead | Marked | ReplicasSettled | Notified
ToAgent = (
    NameReserved
    | NameReleased
    | TopicWritten
    | ReplicasAssigned
    | StatesWritten
    | StatesStale
    | TopicIdsGiven
    | TopicLeaving
    | TopicRemoved
    | SteppedDown
    | LeadersTold
    | ReplicasStopped
)
