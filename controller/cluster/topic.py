"""One topic as this controller process knows it, and which of two states of a partition is the newer one.

Runs in: the controller process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.controller.zookeeper.znodes import (
    NO_FIELDS,
    NO_MOVES,
    Moves,
    PartitionState,
    TopicAssignment,
)
from headrace.ids import NO_LEADER
from headrace.shm.cluster_view import TopicView

UNCLEAN = "unclean.leader.election.enable"

Replicas = tuple[tuple[int, ...], ...]


class Topic:
    """One topic: assignment, overrides, partition states (None: not there).

    adding, removing   replicas that a reassignment adds or removes, by partition (KIP-455); the added are in `replicas` too
    others       fields of its node that we don't know
    past         states that were there once: what is written in their place goes on from them
    told         leader epochs of the last LeaderAndIsr that was accepted, of replicas here
    stopped      partitions whose replica here was deleted, whatever the assignment says, until a LeaderAndIsr names it
    halted       partitions whose replica here follows no leader at all, until a LeaderAndIsr names it
    offline      replicas that can't be served by brokers that are alive, as told by the active controller
    is_watched   whether its node in ZooKeeper is
    added        which addition to the known cluster this was, 0: none yet
    revision     how often it was changed by what we wrote: what was read before that is older
    """

    __slots__ = (
        "added",
        "adding",
        "configs",
        "halted",
        "is_watched",
        "name",
        "offline",
        "others",
        "past",
        "removing",
        "replicas",
        "revision",
        "states",
        "stopped",
        "told",
        "topic_id",
    )

    def __init__(
        self,
        name: str,
        topic_id: str,
        replicas: Replicas,
        configs: dict[str, str],
        states: list[PartitionState | None],
        adding: Moves = NO_MOVES,
        removing: Moves = NO_MOVES,
        others: Mapping[str, Any] = NO_FIELDS,
    ) -> None:
        self.name = name
        self.adding = adding
        self.removing = removing
        self.others = others
        self.topic_id = topic_id
        self.replicas = replicas
        self.configs = configs
        self.states = states
        self.past: dict[int, PartitionState] = {}
        self.told: dict[int, int] = {}
        self.stopped: set[int] = set()
        self.halted: set[int] = set()
        self.offline: dict[int, tuple[int, ...]] = {}
        self.is_watched = False
        self.added = 0
        self.revision = 0

    @property
    def assignment(self) -> TopicAssignment:
        """As its node has it."""
        return TopicAssignment(self.topic_id, self.replicas, self.adding, self.removing, self.others)

    def state_of(self, index: int) -> PartitionState | None:
        """Of a partition that was named some time ago: the topic may have fewer by now. None: no partition, or no state."""
        return self.states[index] if 0 <= index < len(self.states) else None

    def known_of(self, indexes: Iterable[int]) -> list[int]:
        """Of partitions that were named some time ago, those that the topic has."""
        count = len(self.states)
        return [index for index in indexes if 0 <= index < count]

    @property
    def missing(self) -> list[int]:
        """Partitions without a state."""
        return [index for index, state in enumerate(self.states) if state is None]

    @property
    def is_leaderless(self) -> bool:
        """Whether one of its partitions has no leader."""
        return any(state is not None and state.leader == NO_LEADER for state in self.states)

    def brokers(self) -> set[int]:
        """All that have a replica."""
        return {broker for row in self.replicas for broker in row}


def is_older(state: PartitionState, known: PartitionState) -> bool:
    """By the leader epoch, then by the version of its node, which is the partition epoch."""
    return (state.leader_epoch, state.version) < (known.leader_epoch, known.version)


def is_another(known_id: str, topic_id: str) -> bool:
    """Whether two topics of one name are two; one from before ids may have been given one."""
    return bool(known_id and topic_id) and known_id != topic_id


def topic_of(view: TopicView) -> Topic:
    """A topic as the view has it, but for the versions of its nodes."""
    states: list[PartitionState | None] = [
        PartitionState(partition.leader, partition.leader_epoch, partition.isr, 0) if partition.isr else None
        for partition in view.partitions
    ]
    replicas = tuple(partition.replicas for partition in view.partitions)
    topic = Topic(view.name, view.topic_id, replicas, dict(view.configs), states)
    topic.halted = {partition.index for partition in view.partitions if partition.is_halted}
    return topic


def with_moves(moves: Moves, index: int, replicas: tuple[int, ...]) -> Moves:
    """The same moves, with other ones of a partition."""
    if moves.get(index, ()) == replicas:
        return moves
    changed = {**moves, index: replicas}
    if not replicas:
        del changed[index]
    return changed or NO_MOVES
