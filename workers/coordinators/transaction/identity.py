"""InitProducerId: which producer has a transactional id, and with which epoch.

    no such id           a new producer id, epoch 0
    Empty, Complete      the epoch is raised, which fences the producer before; at its last one, a new producer id
    Ongoing              the transaction is aborted with a raised epoch, which no client gets; then as above
    Prepare              its markers are waited for

A producer that goes on after an error says what it has (`expected`, KIP-360). It is fenced unless that is what the id has, or
had before the epoch was raised last: then it asks again, for its answer was lost, and gets the same one.

Source: Kafka `TransactionCoordinator.handleInitProducerId`, `prepareInitProducerIdTransit`, `TransactionMetadata`.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.ids import ANY_ORDER, NO_EPOCH, NO_PRODUCER_ID
from headrace.workers.coordinators.coordinator import Appended
from headrace.workers.coordinators.transaction.ending import abort_over_its_head, settle_complete
from headrace.workers.coordinators.transaction.events import Identity, IdentityRecord, InitProducer
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.state import TransactionState
from headrace.workers.coordinators.transaction.transaction import LAST_EPOCH, NO_TIME_MS, Entry, Transaction

NOBODY: Final = (NO_PRODUCER_ID, NO_EPOCH)


def fault_of_init(machine: TransactionMachine, event: InitProducer) -> ErrorCode:
    """What is wrong with a request in any state."""
    if not event.transactional_id or (event.expected[0] == NO_PRODUCER_ID) != (event.expected[1] == NO_EPOCH):
        return ErrorCode.INVALID_REQUEST
    if not 0 < event.timeout_ms <= machine.config.timeout_max_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def init_unknown_id(machine: TransactionMachine, _none: None, event: InitProducer) -> None:
    """The id's first producer."""
    if not machine.has_room:
        machine.warn(
            "transactional id refused partition=%s reason=%d ids are held", machine.name, len(machine.transactions)
        )
        machine.refuse(event, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return
    producer_id = machine.new_producer_id()
    if producer_id is None:
        machine.refuse(event, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return
    transaction = machine.transactions[event.transactional_id] = Transaction(event.transactional_id)
    _store(machine, transaction, producer_id, 0, NOBODY, event)


def init_at_rest(machine: TransactionMachine, transaction: Transaction, event: InitProducer) -> None:
    """No transaction is open: the next epoch, or the next producer id."""
    expected = event.expected
    if not _is_possible(transaction, expected):
        machine.refuse(event, ErrorCode.PRODUCER_FENCED)
    elif expected == NOBODY or transaction.epoch == NO_EPOCH or expected[1] == transaction.epoch:
        _raise_epoch(machine, transaction, event)
    elif expected[1] == transaction.last_epoch:
        machine.answer(event.ticket, Identity(transaction.producer_id, transaction.epoch))
    else:
        machine.refuse(event, ErrorCode.PRODUCER_FENCED)


def init_in_transaction(machine: TransactionMachine, transaction: Transaction, event: InitProducer) -> None:
    """The open transaction is aborted first. A producer with an older epoch than the present one aborts nothing."""
    expected = event.expected
    is_older = expected[0] == transaction.producer_id and expected[1] not in (transaction.epoch, transaction.last_epoch)
    if not _is_possible(transaction, expected) or (expected != NOBODY and is_older):
        machine.refuse(event, ErrorCode.PRODUCER_FENCED)
        return
    abort_over_its_head(machine, transaction)
    machine.park(transaction, event)


def _is_possible(transaction: Transaction, expected: tuple[int, int]) -> bool:
    """Whether a producer may have been this id's."""
    producer_id, epoch = expected
    return (
        expected == NOBODY
        or transaction.epoch == NO_EPOCH
        or producer_id == transaction.producer_id
        or (producer_id == transaction.last_producer_id and epoch >= LAST_EPOCH)
    )


def _raise_epoch(machine: TransactionMachine, transaction: Transaction, event: InitProducer) -> None:
    goes_on = event.expected != NOBODY
    if not transaction.is_exhausted:
        last = (transaction.producer_id, transaction.epoch if goes_on else NO_EPOCH)
        _store(machine, transaction, transaction.producer_id, transaction.epoch + 1, last, event)
        return
    producer_id = machine.new_producer_id()
    if producer_id is None:
        machine.refuse(event, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return
    last = (transaction.producer_id, transaction.epoch if goes_on else NO_EPOCH)
    _store(machine, transaction, producer_id, 0, last, event)


def _store(
    machine: TransactionMachine,
    transaction: Transaction,
    producer_id: int,
    epoch: int,
    last: tuple[int, int],
    event: InitProducer,
) -> None:
    entry = Entry(
        producer_id, epoch, event.timeout_ms, TransactionState.EMPTY, frozenset(), machine.date_ms, NO_TIME_MS
    )
    machine.append(transaction, entry, IdentityRecord(transaction, entry, last, event))


def take_identity(machine: TransactionMachine, transaction: Transaction, event: Appended) -> None:
    """The record is committed: from here on the producer before is fenced. Orders of connections begin with its own."""
    _transaction, entry, last, request = event.what
    transaction.take(entry)
    settle_complete(machine, transaction)
    transaction.last_producer_id, transaction.last_epoch = last
    transaction.order, transaction.floor = 0 if request.order == ANY_ORDER else request.order, 0
    transaction.is_fenced = False
    if not transaction.is_late:
        machine.answer(request.ticket, Identity(entry.producer_id, entry.epoch))
