"""The partitions of a transaction: added by its producer before it writes to them, verified by their leaders when it does.

Source: Kafka `TransactionCoordinator.handleAddPartitionsToTransaction`, `handleVerifyPartitionsInTransaction`; KIP-890.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.workers.coordinators.coordinator import Appended
from headrace.workers.coordinators.transaction.ending import entry_of_begun, settle_complete
from headrace.workers.coordinators.transaction.events import (
    AddPartitions,
    Outcome,
    PartitionsRecord,
    TransactionLoaded,
    TransactionTime,
    Verified,
    VerifyPartitions,
)
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.state import PREPARED
from headrace.workers.coordinators.transaction.transaction import Transaction


def add(machine: TransactionMachine, transaction: Transaction, event: AddPartitions) -> None:
    """Partitions of an open transaction."""
    if event.partitions <= transaction.partitions:
        machine.answer(event.ticket, Outcome(ErrorCode.NONE))
        return
    _store(machine, transaction, event)


def begin(machine: TransactionMachine, transaction: Transaction, event: AddPartitions) -> None:
    """The first partitions of a transaction, which begins with them."""
    if not transaction.timer and not machine.has_timers():
        machine.refuse(event, ErrorCode.CONCURRENT_TRANSACTIONS)
        return
    _store(machine, transaction, event)


def _store(machine: TransactionMachine, transaction: Transaction, event: AddPartitions) -> None:
    entry = entry_of_begun(transaction, event.partitions, machine.date_ms)
    machine.append(transaction, entry, PartitionsRecord(transaction, entry, event))


def take_partitions(machine: TransactionMachine, transaction: Transaction, event: Appended) -> None:
    """They are in the log. The time of a transaction counts from its first ones."""
    _transaction, entry, request = event.what
    has_begun = entry.start_ms != transaction.start_ms or not transaction.partitions
    transaction.take(entry)
    settle_complete(machine, transaction)
    if has_begun:
        set_deadline(machine, transaction)
    if not transaction.is_late:
        machine.answer(request.ticket, Outcome(ErrorCode.NONE))


def set_deadline(machine: TransactionMachine, transaction: Transaction) -> None:
    """When it times out: by what is left of its time since its start."""
    elapsed_ms = max(0, machine.date_ms - transaction.start_ms)
    transaction.deadline_ms = machine.now_ms + max(0, transaction.timeout_ms - elapsed_ms)
    if not transaction.timer:
        transaction.timer = machine.set_timer(transaction.deadline_ms, TransactionTime, transaction)


def resume(machine: TransactionMachine, transaction: Transaction, _event: TransactionLoaded) -> None:
    """An open transaction was loaded. Connections from before may hold requests of the one before it."""
    transaction.floor = machine.read_order()
    set_deadline(machine, transaction)


def resume_ended(machine: TransactionMachine, transaction: Transaction, _event: TransactionLoaded) -> None:
    """The same of one that has ended: what was given up over such a connection would begin another, and end that."""
    transaction.floor = machine.read_order()


def verify_pending(machine: TransactionMachine, transaction: Transaction, event: VerifyPartitions) -> None:
    """The same while a record is appended, which changes what a transaction has once it is committed."""
    if transaction.state in PREPARED:
        machine.refuse(event, ErrorCode.CONCURRENT_TRANSACTIONS)
    else:
        verify(machine, transaction, event)


def verify(machine: TransactionMachine, transaction: Transaction, event: VerifyPartitions) -> None:
    """Which of these partitions are in the transaction."""
    machine.answer(event.ticket, Verified(event.partitions & transaction.partitions))
