"""Losses that an operator accepts (`headrace cluster accept-loss`): each of one hold.

Runs in: the controller process of the node that holds the replica. The znode names the held logs that were shown. Each goes with
its hold, however that ends, and the znode with the last one: the partition's next hold is another.

What is over is known to one process. One that was killed between the two leaves the loss, and it would count for a next hold of a log
that ends there. So each session begins with a look at all of them: ours go, of what was not held before.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.errors import ZkConflict
from headrace.controller.zookeeper.held_reader import read_znodes, unread_in
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction

Place = tuple[str, int]  # topic and partition

_log = logging.getLogger(__name__)


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

    async def remove_left(self, held: Collection[Place]) -> None:
        """Those that a process before us has left. raises ZkError

        held   before this process found anything that it holds
        """
        known = self._known
        for name in await self._zk.children(held_znodes.ACCEPT_LOSS):
            topic, _colon, index = name.rpartition(":")
            if not index.isdecimal() or (topic, int(index)) in held or topic in known.unread_holds:
                continue
            place = (topic, int(index))
            node = await self._zk.get(held_znodes.accept_loss_path(place))
            if node is None or not await self._is_left(place, node.data):
                continue
            _log.warning("accepted loss removed, its hold has ended partition=%s-%d", *place)
            self._over.add(place)
        await self.remove()

    async def _is_left(self, place: Place, data: bytes) -> bool:
        """Whether it is of a hold of ours; without data, as older tools write it, of one that nobody has. raises ZkError"""
        if data:
            return self._known.node_id in held_znodes.accepted_ends(data)
        brokers = [int(name) for name in await self._zk.children(held_znodes.HELD) if name.isdecimal()]
        return not any([await self._is_held_by(broker, place) for broker in brokers])

    async def read(self) -> Mapping[Place, int]:
        """Held replicas whose loss is accepted, and the broker whose log is to lead (NO_LEADER: that was not said). raises ZkError

        None that was accepted for a hold before.
        """
        known = self._known
        if not self._over.isdisjoint(known.held):  # held again, before what was accepted is removed
            await self.remove()
        names = set(await self._zk.children(held_znodes.ACCEPT_LOSS))
        places = [
            place
            for place in (known.held if names else ())
            if held_znodes.accept_loss_name(place) in names and place not in self._over
        ]
        nodes = await self._zk.get_many([held_znodes.accept_loss_path(place) for place in places])
        return {
            place: held_znodes.kept_broker(node.data)
            for place, node in zip(places, nodes, strict=True)
            if node is not None
            and place in known.held
            and held_znodes.is_meant(node.data, known.node_id, known.held[place].end_offset)
        }

    async def remove(self) -> None:
        """Our entry, where our hold is over; others have theirs to read. raises ZkError"""
        names = set(await self._zk.children(held_znodes.ACCEPT_LOSS)) if self._over else set()
        for place in list(self._over):
            if held_znodes.accept_loss_name(place) in names:
                try:
                    await self._remove_own(place)
                except ZkConflict:
                    continue  # another holder's entry went: at the next check
            self._over.discard(place)

    async def _remove_own(self, place: Place) -> None:
        """raises   ZkConflict, where the znode is another now; ZkError"""
        path = held_znodes.accept_loss_path(place)
        node = await self._zk.get(path)
        if node is None:
            return
        if not held_znodes.is_readable(node.data):
            _log.error("accepted loss ignored, it can't be read path=%s bytes=%d", path, len(node.data))
            return
        ends = held_znodes.accepted_ends(node.data)
        ends.pop(self._known.node_id, None)
        left = {broker: end for broker, end in ends.items() if await self._is_held_by(broker, place)}
        if left:
            await self._zk.set(
                path, held_znodes.encode_accept_loss(left, held_znodes.kept_broker(node.data)), node.version
            )
        else:
            transaction = Transaction()
            transaction.delete(path, node.version)  # an operator may accept another loss meanwhile
            await self._zk.commit(transaction)

    async def _is_held_by(self, broker: int, place: Place) -> bool:
        """Whether a broker holds its replica, as far as it can be read. raises ZkError"""
        found, failures = await read_znodes(self._zk, broker, place[0])
        return place in found or bool(unread_in(failures))
