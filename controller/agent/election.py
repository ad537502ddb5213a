"""Which node's controller process is the active one.

`/controller` is ephemeral and `/controller_epoch` counts; both are written in one transaction, and every
later write of the active controller checks the epoch's version in its own transaction (`zookeeper/epoch_guard.py`), so
that a zombie writes nothing.

Runs in: the controller process of every node.

Source: Kafka `KafkaZkClient.registerControllerAndIncrementControllerEpoch`.
"""

from __future__ import annotations

import logging

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import Node, ZkConflict
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.limits import ELECTION_TRIES_MAX

NOBODY = -1

_log = logging.getLogger(__name__)


class Election:
    """This node's standing in the election. One task at a time runs it."""

    def __init__(self, zk: ZkSession, node_id: int) -> None:
        self._zk = zk
        self._node_id = node_id
        self.is_active = False
        self.epoch = 0
        self.epoch_version = -1  # zkVersion of /controller_epoch while active

    async def run(self, now_ms: int, seen_epoch: int = 0) -> int:
        """Be elected if no broker is; watch the node in any case.

        seen_epoch   the highest of a controller that this node has seen: it is above what a ZooKeeper has that was put back, and
                     brokers which have seen it too refuse a lower one. A term of ours that is found there and is below gives way
        returns   the id of the active controller, NOBODY where it changes all the time (the watch tells)
        """
        for _ in range(ELECTION_TRIES_MAX):
            holder = await self._zk.get(znodes.CONTROLLER, watch=True)
            if holder is not None:
                holder_id = await self._follow(holder.ephemeral_owner, znodes.decode_controller(holder.data))
                if not self.is_active or self.epoch >= seen_epoch:
                    return holder_id
                if not await self._give_up(holder):
                    continue
            self.step_down()  # no leader is elected, we neither: where our election's reply is lost, its epoch is read
            if await self._elect(now_ms, seen_epoch):
                return self._node_id
        self.step_down()
        return NOBODY

    def step_down(self) -> None:
        """It is over, with the session or because another node was elected."""
        self.is_active = False
        self.epoch_version = -1

    async def _follow(self, owner: int, holder_id: int) -> int:
        """A broker is elected; that is us as well after a restart or a lost reply, in the same session."""
        if holder_id != self._node_id or owner != self._zk.session_id:
            self.step_down()
        elif not self.is_active:
            await self._resume()
        return holder_id

    async def _resume(self) -> None:
        epoch = await self._zk.get(znodes.CONTROLLER_EPOCH)
        if epoch is None:  # written together with /controller
            raise znodes.BadZnode(f"{znodes.CONTROLLER_EPOCH} does not exist, but {znodes.CONTROLLER} does")
        self.epoch, self.epoch_version = znodes.decode_controller_epoch(epoch.data), epoch.version
        self.is_active = True

    async def _give_up(self, holder: Node) -> bool:
        """Have nobody elected, where that is us still; returns whether it was done."""
        transaction = Transaction()
        transaction.check(znodes.CONTROLLER_EPOCH, self.epoch_version)  # else it is another one's
        transaction.delete(znodes.CONTROLLER, holder.version)
        _log.warning(
            "controller epoch is lower than one already seen, resigning for a new election epoch=%d", self.epoch
        )
        self.step_down()
        try:
            await self._zk.commit(transaction)
        except ZkConflict:
            return False
        return True

    async def _elect(self, now_ms: int, seen_epoch: int) -> bool:
        await self._zk.ensure(znodes.CONTROLLER_EPOCH, b"0")
        epoch = await self._zk.get(znodes.CONTROLLER_EPOCH)
        if epoch is None:
            return False
        number = max(znodes.decode_controller_epoch(epoch.data), seen_epoch) + 1
        transaction = Transaction()
        transaction.create(znodes.CONTROLLER, znodes.encode_controller(self._node_id, now_ms), is_ephemeral=True)
        transaction.set(znodes.CONTROLLER_EPOCH, str(number).encode(), epoch.version)
        try:
            await self._zk.commit(transaction)
        except ZkConflict:
            return False
        self.is_active, self.epoch, self.epoch_version = True, number, epoch.version + 1
        return True
