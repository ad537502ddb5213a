"""Losses that an operator accepts (`headrace cluster accept-loss`): each of one hold.

Runs in: the controller process of the node that holds the replica. The znode names the held logs that were shown. It goes with the hold,
however that ends: the partition's next hold is another.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.session import ZkSession

Place = tuple[str, int]  # topic and partition


class AcceptedLosses:
    """Of one node's holds."""

    def __init__(self, known: KnownCluster, zk: ZkSession) -> None:
        self._known = known
        self._zk = zk
        self._over: set[Place] = set()  # holds that ended

    def __bool__(self) -> bool:
        """Whether there is something to remove."""
        return bool(self._over)

    def end(self, place: Place) -> None:
        """A hold is over."""
        self._over.add(place)

    async def read(self) -> Mapping[Place, int]:
        """Held replicas whose loss is accepted, and the broker whose log is to lead (NO_LEADER: that was not said). raises ZkError"""
        known = self._known
        names = set(await self._zk.children(held_znodes.ACCEPT_LOSS))
        places = [place for place in known.held if held_znodes.accept_loss_name(place) in names] if names else []
        nodes = await self._zk.get_many([held_znodes.accept_loss_path(place) for place in places])
        return {
            place: held_znodes.kept_broker(node.data)
            for place, node in zip(places, nodes, strict=True)
            if node is not None
            and place in known.held
            and held_znodes.is_meant(node.data, known.node_id, known.held[place].end_offset)
        }

    async def remove(self) -> None:
        """Those of holds that are over. raises ZkError"""
        names = set(await self._zk.children(held_znodes.ACCEPT_LOSS)) if self._over else set()
        for place in list(self._over):
            if held_znodes.accept_loss_name(place) in names:
                await self._zk.delete(held_znodes.accept_loss_path(place))
            self._over.discard(place)
