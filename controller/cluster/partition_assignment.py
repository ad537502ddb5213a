"""Where a partition's replicas are, and where they are going (KIP-455): plain data.

Runs in: the controller process. While replicas move, a topic's node has all of them, those of the target first:

    replicas   target + what goes   [4, 5, 6, 1, 2, 3]
    adding     target - origin      [4, 5, 6]
    removing   origin - target      [1, 2, 3]

So what was there before (the origin) is still known, and a reassignment can be cancelled, but for the order of the origin.

Source: Kafka `ReplicaAssignment`; KIP-455.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment

if TYPE_CHECKING:
    from headrace.controller.cluster.known_cluster import Topic


class PartitionAssignment(NamedTuple):
    """One partition's part of its topic's node."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """Replicas without those that are added."""
        return without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """Replicas as they shall be."""
        return without(self.replicas, self.removing)

    def to(self, target: Sequence[int]) -> PartitionAssignment:
        """The assignment by which the origin becomes this target, whatever was on its way before."""
        origin = self.origin
        replicas = tuple(dict.fromkeys((*target, *origin)))
        return PartitionAssignment(replicas, without(replicas, origin), without(replicas, target))


def assignment_of(topic: Topic | TopicAssignment, index: int) -> PartitionAssignment:
    """One partition's of a topic."""
    return PartitionAssignment(topic.replicas[index], topic.adding.get(index, ()), topic.removing.get(index, ()))


def told_assignment(assignment: PartitionAssignment, state: PartitionState) -> PartitionAssignment:
    """What brokers are sent: the target alone, once the ISR is the target.

    From then on a leader must not add a replica that goes to the ISR again, and the topic's node still has it: the
    node is written last, so that a successor knows which replicas are to be deleted.
    """
    if assignment.is_moving and set(state.isr) == set(assignment.target) and state.leader in state.isr:
        return PartitionAssignment(assignment.target)
    return assignment


def without(replicas: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
    """A request may name very many, before anybody asks which of them are brokers: looked up in a set."""
    left_out = frozenset(others)
    return tuple(replica for replica in replicas if replica not in left_out)
