"""Transactional ids that were not used for long, and the end of a coordinator.

Source: Kafka `TransactionStateManager.removeExpiredTransactionalIds`, `removeTransactionsForTxnTopicPartition`.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.transaction.effects import DropMarkers
from headrace.workers.coordinators.transaction.events import (
    ExpiryRecord,
    IdChecked,
    TransactionUnloaded,
)
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.parking import refuse_parked
from headrace.workers.coordinators.transaction.state import TransactionState
from headrace.workers.coordinators.transaction.transaction import Transaction


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
