"""Which node's controller process is the active one.

`/controller` is ephemeral and `/controller_epoch` counts; both are written in one transaction, and every
later write of the active controller checks the epoch's version in its own transaction (KAFKA-6082), so that a
zombie writes nothing.

Source: Kafka `KafkaZkClient.registerControllerAndIncrementControllerEpoch`.
"""

from __future__ import annotations

from typing import Any

from headrace.controller import znodes
from headrace.controller.zk import ZkConflict, ZkSession


class Election:
    """This node's standing in the election."""

    def __init__(self, zk: ZkSession, node_id: int) -> None:
        self._zk = zk
        self._node_id = node_id
        self.is_active = False
        self.epoch = 0
        self.epoch_version = -1  # zkVersion of /controller_epoch while active

    def run(self, now_ms: int) -> int:
        """Take the office if it is free; watch it in any case.

        returns   the id of the active controller, -1 where it is just changing
        """
        zk = self._zk
        zk.ensure(znodes.CONTROLLER_EPOCH, b"0")
        holder = zk.get(znodes.CONTROLLER, watch=True)
        epoch = zk.get(znodes.CONTROLLER_EPOCH)
        assert epoch is not None
        if holder is not None:
            holder_id = znodes.decode_controller(holder.data)
            self.is_active = holder_id == self._node_id and holder.ephemeral_owner == zk.session_id
            if self.is_active:  # our own, from before this process was restarted
                self.epoch, self.epoch_version = int(epoch.data), epoch.version
            return holder_id
        transaction = zk.multi()
        transaction.create(znodes.CONTROLLER, znodes.encode_controller(self._node_id, now_ms), ephemeral=True)
        transaction.set_data(znodes.CONTROLLER_EPOCH, str(int(epoch.data) + 1).encode(), epoch.version)
        try:
            zk.commit(transaction)
        except ZkConflict:
            self.is_active = False
            return -1  # another was faster; the watch tells
        self.is_active = True
        self.epoch, self.epoch_version = int(epoch.data) + 1, epoch.version + 1
        return self._node_id

    def resign(self) -> None:
        """The session is gone, and the office with it."""
        self.is_active = False
        self.epoch_version = -1

    def commit(self, transaction: Any) -> None:
        """Commit a transaction that `guarded` began. raises ZkConflict, where the office was lost or something changed"""
        self._zk.commit(transaction)

    def guarded(self) -> Any:
        """A transaction that fails once another controller has been elected."""
        transaction = self._zk.multi()
        transaction.check(znodes.CONTROLLER_EPOCH, self.epoch_version)
        return transaction
