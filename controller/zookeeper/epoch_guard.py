"""The guard of every shared write: a transaction that fails once another controller has been elected (KAFKA-6082).

Runs in: the controller process of the active node, for as long as it is that.

Source: Kafka `KafkaZkClient.retryRequestsUntilConnected` with `controllerZkVersionCheck`.
"""

from __future__ import annotations

from typing import Protocol

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict
from headrace.controller.zookeeper.transaction import Transaction


class Committer(Protocol):
    """What the guard needs of a session."""

    async def commit(self, transaction: Transaction) -> None: ...


class EpochGuard:
    """One term as the active controller.

    epoch          of the controller
    epoch_version  zkVersion of /controller_epoch, which no other process may have written since
    is_over        another one was elected, or we resigned: nothing is written any more
    """

    def __init__(self, zk: Committer, epoch: int, epoch_version: int) -> None:
        self.epoch = epoch
        self.epoch_version = epoch_version
        self.is_over = False
        self._zk = zk

    def begin(self) -> Transaction:
        transaction = Transaction()
        transaction.check(znodes.CONTROLLER_EPOCH, self.epoch_version)
        return transaction

    async def commit(self, transaction: Transaction) -> None:
        """Commit what `begin` began; raises ControllerMoved, or ZkConflict of the caller's own operations."""
        if self.is_over:
            raise ControllerMoved(znodes.CONTROLLER_EPOCH, "this term has ended")
        try:
            await self._zk.commit(transaction)
        except ZkConflict as conflict:
            if conflict.path != znodes.CONTROLLER_EPOCH:
                raise
            self.is_over = True
            raise ControllerMoved(conflict.path, "another controller was elected") from None
