"""Transactional ids that were not used for long, and the end of a coordinator.

Source: Kafka `TransactionStateManager.removeExpiredTransactionalIds`, `removeTransactionsForTxnTopicPartition`.
"""

from __future__ import annotations

from collections import deque

from headrace.errors import ErrorCode
from headrace.limits import EXPIRED_IDS_PER_STEP_MAX
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.transaction.effects import DropMarkers
from headrace.workers.coordinators.transaction.events import (
    ExpiryRecord,
    IdChecked,
    TransactionUnloaded,
)
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.parking import refuse_parked
from headrace.workers.coordinators.transaction.state import EXPIRABLE, TransactionState
from headrace.workers.coordinators.transaction.transaction import Transaction


class Expiry:
    """One partition's: after an `Upkeep` all ids that are due, so many records at once, the next ones when those are committed.

    A date is the guarded one of the host: a wall clock that was set ahead by mistake takes no ids (decision 008).
    """

    __slots__ = ("_due", "_expiry_ms", "_is_failed", "_owed", "_removed")

    def __init__(self) -> None:
        self._due: deque[str] = deque()
        self._expiry_ms = 0
        self._owed = 0  # records that are being appended
        self._removed = 0
        self._is_failed = False

    def start(self, machine: TransactionMachine, date_ms: int) -> None:
        """Look at all of them, unless those of the last look are still being removed."""
        if self._owed:
            return
        self._expiry_ms = date_ms - machine.config.expiration_ms
        self._removed, self._is_failed = 0, False
        self._due = deque(
            [one.transactional_id for one in machine.transactions.values() if _is_due(one, self._expiry_ms)]
        )
        self._expire_some(machine)

    def _expire_some(self, machine: TransactionMachine) -> None:
        while self._due and self._owed < EXPIRED_IDS_PER_STEP_MAX:
            transaction = machine.transactions.get(self._due.popleft())
            if transaction is not None and transaction.pending is None:
                machine.do(transaction, IdChecked(transaction, self._expiry_ms))
                self._owed += transaction.pending is not None

    def settle(self, machine: TransactionMachine, is_removed: bool) -> None:
        """One record is committed, or not. After a failure the next look tries again."""
        self._owed -= 1
        self._removed += is_removed
        self._is_failed |= not is_removed
        if self._owed:
            return
        if self._is_failed:
            self._due.clear()
        self._expire_some(machine)
        if not self._owed and self._removed:
            machine.info("transactional ids expired partition=%s ids=%d", machine.name, self._removed)

    def unload(self) -> None:
        self._due.clear()


def _is_due(transaction: Transaction, expiry_ms: int) -> bool:
    return transaction.updated_ms <= expiry_ms and transaction.state in EXPIRABLE and transaction.pending is None


def expire(machine: TransactionMachine, transaction: Transaction, event: IdChecked) -> None:
    """Remove an id whose last use is long ago."""
    if transaction.updated_ms <= event.expiry_ms and not transaction.owes_complete:
        machine.append_tombstone(transaction, ExpiryRecord(transaction))


def take_expiry(machine: TransactionMachine, transaction: Transaction, _event: Appended) -> None:
    transaction.enter(TransactionState.DEAD)
    del machine.transactions[transaction.transactional_id]


def keep_expired(machine: TransactionMachine, transaction: Transaction, event: AppendFailed) -> None:
    """The next look tries again."""
    machine.warn(
        "transactional id not expired partition=%s transactional_id=%s reason=%s",
        machine.name, transaction.logged_id, event.error.name,
    )  # fmt: skip


def unload(machine: TransactionMachine, transaction: Transaction, _event: TransactionUnloaded) -> None:
    """This node leads the partition no more. What is being appended has its outcome still."""
    refuse_parked(machine, transaction, ErrorCode.NOT_COORDINATOR)
    for serial in (transaction.timer, transaction.complete_timer):
        machine.cancel_timer(serial)
    transaction.timer = transaction.complete_timer = 0
    if transaction.serial:
        machine.effects.append(DropMarkers(machine.index, transaction.serial))
        transaction.serial = 0
    transaction.enter(TransactionState.DEAD)
