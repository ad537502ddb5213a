"""Which node's controller process is the active one.

`/controller` is ephemeral and `/controller_epoch` counts; both are written in one transaction, and every
later write of the active controller checks the epoch's version in its own transaction (KAFKA-6082), so that a
zombie writes nothing.

Source: Kafka `KafkaZkClient.registerControllerAndIncrementControllerEpoch`.
"""

from __future__ import annotations

from headrace.controller import znodes
from headrace.controller.transaction import Transaction
from headrace.controller.zk import ZkConflict, ZkSession
from headrace.limits import ELECTION_TRIES_MAX

NOBODY = -1


class OfficeLost(ZkConflict):
    """Another controller was elected: nothing was written."""


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

        returns   the id of the active controller, NOBODY where it changes hands all the time (the watch tells)
        """
        for _ in range(ELECTION_TRIES_MAX):
            holder = self._zk.get(znodes.CONTROLLER, watch=True)
            if holder is not None:
                return self._follow(holder.ephemeral_owner, znodes.decode_controller(holder.data))
            if self._take(now_ms):
                return self._node_id
        self.resign()
        return NOBODY

    def resign(self) -> None:
        """The office is gone, with the session or to another node."""
        self.is_active = False
        self.epoch_version = -1

    def guarded(self) -> Transaction:
        """A transaction that fails once another controller has been elected."""
        assert self.is_active
        transaction = Transaction()
        transaction.check(znodes.CONTROLLER_EPOCH, self.epoch_version)
        return transaction

    def commit(self, transaction: Transaction) -> None:
        """Commit what `guarded` began; raises OfficeLost, or ZkConflict of the caller's own operations."""
        try:
            self._zk.commit(transaction)
        except ZkConflict as conflict:
            if conflict.path != znodes.CONTROLLER_EPOCH:
                raise
            self.resign()
            raise OfficeLost(conflict.path, "another controller was elected") from None

    def _follow(self, owner: int, holder_id: int) -> int:
        """Somebody holds the office; that is us as well after a restart or a lost reply, in the same session."""
        if holder_id != self._node_id or owner != self._zk.session_id:
            self.resign()
        elif not self.is_active:
            self._enter()
        return holder_id

    def _enter(self) -> None:
        epoch = self._zk.get(znodes.CONTROLLER_EPOCH)
        if epoch is None:  # written together with /controller
            raise znodes.BadZnode(f"{znodes.CONTROLLER_EPOCH} is not there, {znodes.CONTROLLER} is")
        self.epoch, self.epoch_version = znodes.decode_controller_epoch(epoch.data), epoch.version
        self.is_active = True

    def _take(self, now_ms: int) -> bool:
        self._zk.ensure(znodes.CONTROLLER_EPOCH, b"0")
        epoch = self._zk.get(znodes.CONTROLLER_EPOCH)
        if epoch is None:
            return False
        number = znodes.decode_controller_epoch(epoch.data) + 1
        transaction = Transaction()
        transaction.create(znodes.CONTROLLER, znodes.encode_controller(self._node_id, now_ms), is_ephemeral=True)
        transaction.set(znodes.CONTROLLER_EPOCH, str(number).encode(), epoch.version)
        try:
            self._zk.commit(transaction)
        except ZkConflict:
            return False
        self.is_active, self.epoch, self.epoch_version = True, number, epoch.version + 1
        return True
