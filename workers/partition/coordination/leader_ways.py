"""The way from a partition worker to whatever leads a partition: itself, another worker of the node, another node.

Runs in: a partition worker. Each asker has its own, with one connection to each other node that it asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.ids import NO_LEADER, owner_of
from headrace.runtime.peer import Peer
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peers import Peers
from headrace.shm.cluster_view import EMPTY_VIEW, BrokerView, ClusterView, PartitionView
from headrace.shm.seat import Seat


@dataclass(frozen=True, slots=True)  # tuples of one number each would be equal to one another
class Worker:
    """A partition worker of this node."""

    process_id: int


@dataclass(frozen=True, slots=True)
class Node:
    """Another node."""

    node_id: int


Target = Worker | Node


class LeaderWays:
    """Of one asker.

    here   this worker
    """

    def __init__(self, seat: Seat, peers: Peers | None, options: PeerOptions) -> None:
        self.here = Worker(seat.process_id)
        self._wiring = seat.wiring
        self._peers = peers
        self._options = options
        self._node_id: int = seat.wiring.settings["broker.id"]
        self._view: ClusterView = EMPTY_VIEW
        self._connections: dict[int, tuple[BrokerView, Peer]] = {}

    def follow(self, view: ClusterView) -> None:
        """Leaders may be others, and nodes may have other addresses."""
        self._view = view
        for node_id, (broker, peer) in list(self._connections.items()):
            if view.brokers.get(node_id) != broker and self._peers is not None:
                del self._connections[node_id]
                self._peers.close(peer)

    def partition_count(self, topic: str) -> int:
        """0 where there is no such topic in the view."""
        known = self._view.topics.get(topic)
        return 0 if known is None else len(known.partitions)

    def leader_of(self, topic: str, index: int) -> tuple[Target | None, PartitionView | None]:
        """(what leads a partition, the partition); None, None: nothing does, or it is not known."""
        known = self._view.topics.get(topic)
        if known is None or not 0 <= index < len(known.partitions):
            return None, None
        partition = known.partitions[index]
        if partition.leader == NO_LEADER:
            return None, None
        if partition.leader != self._node_id:
            return Node(partition.leader), partition
        wiring = self._wiring
        return Worker(wiring.network_count + owner_of(topic, index, wiring.partition_count)), partition

    def peer(self, target: Node) -> Peer | None:
        """The connection to a node; None: it can't be reached now."""
        known = self._connections.get(target.node_id)
        if known is not None:
            return known[1]
        broker = self._view.brokers.get(target.node_id)
        if broker is None or self._peers is None:
            return None
        peer = self._peers.open(broker.host, broker.port, self._options)
        if peer is not None:
            self._connections[target.node_id] = (broker, peer)
        return peer
