"""The end of a transaction: the decision, its markers, and Complete.

    EndTransaction, or a timeout, or a new producer
      -> Append(Prepare...)              the decision; once it is committed nothing changes it, and the client is answered
      -> SendMarkers(partitions)         one marker a partition, tried until it is written
      -> MarkersWritten ... all of them  Complete in memory; requests that waited are taken
      -> Append(Complete...)             after COMPLETE_DELAY_MS, unless a later record of this id says as much

A coordinator that finds Prepare when it loads sends all markers again. They change nothing where they are already: a partition
takes an end of no transaction as done. A later record of the id is only written when all markers were, so that a later
transaction is never met by a former one's markers from here.

Source: Kafka `TransactionCoordinator.endTransaction`, `abortTimedOutTransactions`, `TransactionMarkerChannelManager`.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.transaction.effects import DropMarkers, SendMarkers
from headrace.workers.coordinators.transaction.events import (
    CompleteRecord,
    CompleteTime,
    DecisionRecord,
    EndTransaction,
    MarkersRefused,
    MarkersWritten,
    Outcome,
    RemovalRecord,
    TopicsGone,
    TransactionLoaded,
    TransactionTime,
)
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.state import TransactionState
from headrace.workers.coordinators.transaction.transaction import LAST_EPOCH, Entry, Transaction

COMPLETE_DELAY_MS: Final = 50
RETRY_MS: Final = 500  # after an append that failed, for what no client asks for again

_S = TransactionState


def end(machine: TransactionMachine, transaction: Transaction, event: EndTransaction) -> None:
    """A client ends its transaction."""
    _decide(machine, transaction, event.is_commit, event)


def end_again(machine: TransactionMachine, transaction: Transaction, event: EndTransaction) -> None:
    """It was ended. The same decision is done already; the other one comes too late."""
    is_commit = transaction.state in (_S.PREPARE_COMMIT, _S.COMPLETE_COMMIT)
    if is_commit == event.is_commit:
        machine.answer(event.ticket, Outcome(ErrorCode.NONE))
    else:
        machine.refuse(event, ErrorCode.INVALID_TXN_STATE)


def abort_over_its_head(machine: TransactionMachine, transaction: Transaction) -> None:
    """Abort a transaction without its producer, which is fenced by a raised epoch whatever becomes of the append.

    A log may have a transaction open at the epoch that is for fencing alone: no producer has that one, and none is above it.
    """
    if not transaction.is_fenced and transaction.epoch <= LAST_EPOCH:
        transaction.is_fenced = True
        transaction.epoch += 1
        transaction.last_epoch = NO_EPOCH
    _decide(machine, transaction, False, None)


def _decide(
    machine: TransactionMachine, transaction: Transaction, is_commit: bool, request: EndTransaction | None
) -> None:
    state = _S.PREPARE_COMMIT if is_commit else _S.PREPARE_ABORT
    entry = transaction.entry._replace(state=state, updated_ms=machine.date_ms)
    machine.append(transaction, entry, DecisionRecord(transaction, entry, request))


def take_decision(machine: TransactionMachine, transaction: Transaction, event: Appended) -> None:
    """It is committed: markers go out."""
    _transaction, entry, request = event.what
    transaction.take(entry)
    machine.cancel_timer(transaction.timer)
    transaction.timer = 0
    if request is not None and not transaction.is_late:
        machine.answer(request.ticket, Outcome(ErrorCode.NONE))
    _send_markers(machine, transaction)


def resume_markers(machine: TransactionMachine, transaction: Transaction, _event: TransactionLoaded) -> None:
    """Which of them were written is not known: all are sent again. Of the floor: `participants.resume`."""
    transaction.floor = machine.read_order()
    _send_markers(machine, transaction)


def _send_markers(machine: TransactionMachine, transaction: Transaction) -> None:
    transaction.serial = machine.new_timer()
    transaction.outstanding = set(transaction.partitions)
    if not transaction.outstanding:
        _complete(machine, transaction)
        return
    machine.effects.append(
        SendMarkers(
            machine.index,
            transaction.serial,
            transaction.transactional_id,
            transaction.producer_id,
            transaction.epoch,
            transaction.is_commit,
            transaction.partitions,
        )
    )


def take_markers(machine: TransactionMachine, transaction: Transaction, event: MarkersWritten) -> None:
    """Some partitions have theirs."""
    if event.serial != transaction.serial:
        return
    transaction.outstanding -= event.partitions
    if not transaction.outstanding:
        _complete(machine, transaction)


def forget_topics(machine: TransactionMachine, transaction: Transaction, event: TopicsGone) -> None:
    """Partitions that were deleted need no marker. The log says so too, before the deletion is through."""
    if not transaction.serial:
        return
    transaction.outstanding -= _gone(machine, transaction, event)
    if transaction.outstanding:
        leave_topics(machine, transaction, event)
        return
    machine.effects.append(DropMarkers(machine.index, transaction.serial))
    _complete(machine, transaction)


def leave_topics(machine: TransactionMachine, transaction: Transaction, event: TopicsGone) -> None:
    """Partitions that were deleted leave the transaction."""
    gone = _gone(machine, transaction, event)
    if gone:
        entry = transaction.entry._replace(partitions=transaction.partitions - gone, updated_ms=machine.date_ms)
        machine.append(transaction, entry, RemovalRecord(transaction, entry))


def _gone(machine: TransactionMachine, transaction: Transaction, event: TopicsGone) -> frozenset[tuple[str, int]]:
    return frozenset(
        [place for place in transaction.partitions if place[0] in event.topics and not machine.is_known(*place)]
    )


def take_removal(_machine: TransactionMachine, transaction: Transaction, event: Appended) -> None:
    """The log has them no more."""
    entry = event.what.entry
    transaction.partitions, transaction.updated_ms = entry.partitions, entry.updated_ms


def give_up_markers(machine: TransactionMachine, transaction: Transaction, event: MarkersRefused) -> None:
    """A later coordinator ends this transaction. This one leaves it as it is; it is about to be unloaded."""
    if event.serial != transaction.serial:
        return
    machine.effects.append(DropMarkers(machine.index, transaction.serial))
    transaction.serial = 0
    machine.warn(
        "transaction left to another coordinator partition=%s transactional_id=%s producer_id=%d epoch=%d reason=%s",
        machine.name, transaction.logged_id, transaction.producer_id, transaction.epoch, event.error.name,
    )  # fmt: skip


def _complete(machine: TransactionMachine, transaction: Transaction) -> None:
    transaction.enter(_S.COMPLETE_COMMIT if transaction.is_commit else _S.COMPLETE_ABORT)
    transaction.serial = 0
    transaction.prepared, transaction.partitions = transaction.partitions, frozenset()
    transaction.updated_ms = machine.date_ms
    transaction.is_fenced = False
    transaction.owes_complete = True
    delay_ms = COMPLETE_DELAY_MS
    transaction.complete_timer = machine.set_timer(machine.now_ms + delay_ms, CompleteTime, transaction)
    machine.release(transaction)


def write_complete(machine: TransactionMachine, transaction: Transaction, event: CompleteTime) -> None:
    """No later record has said it."""
    if event.serial != transaction.complete_timer:
        return
    transaction.complete_timer = 0
    if transaction.owes_complete:
        entry = transaction.entry
        machine.append(transaction, entry, CompleteRecord(transaction, entry))


def write_complete_later(machine: TransactionMachine, transaction: Transaction, event: CompleteTime) -> None:
    """Another record of this id is being appended, which says as much once it is there."""
    if event.serial == transaction.complete_timer:
        transaction.complete_timer = machine.set_timer(machine.now_ms + RETRY_MS, CompleteTime, transaction)


def take_complete(machine: TransactionMachine, transaction: Transaction, _event: Appended) -> None:
    """It is in the log."""
    settle_complete(machine, transaction)


def settle_complete(machine: TransactionMachine, transaction: Transaction) -> None:
    """The log has Complete, or what followed it."""
    transaction.owes_complete, transaction.prepared = False, frozenset()
    machine.cancel_timer(transaction.complete_timer)
    transaction.complete_timer = 0


def retry_complete(machine: TransactionMachine, transaction: Transaction, _event: AppendFailed) -> None:
    transaction.complete_timer = machine.set_timer(machine.now_ms + RETRY_MS, CompleteTime, transaction)


def refuse_decision(machine: TransactionMachine, transaction: Transaction, event: AppendFailed) -> None:
    """The transaction is open still. Its client tries again; what the coordinator wanted comes again by its timer."""
    request = event.what.request
    if request is None:
        machine.cancel_timer(transaction.timer)
        transaction.deadline_ms = machine.now_ms
        transaction.timer = machine.set_timer(machine.now_ms + RETRY_MS, TransactionTime, transaction)
    elif not transaction.is_late:
        machine.refuse(request, client_error(event.error))


def time_out(machine: TransactionMachine, transaction: Transaction, event: TransactionTime) -> None:
    """Abort what takes longer than its producer said; the timer may have been set for an earlier transaction."""
    if event.serial != transaction.timer:
        return
    transaction.timer = 0
    if machine.now_ms < transaction.deadline_ms:
        transaction.timer = machine.set_timer(transaction.deadline_ms, TransactionTime, transaction)
        return
    machine.info(
        "transaction timed out, aborted partition=%s transactional_id=%s producer_id=%d epoch=%d timeout_ms=%d partitions=%d",
        machine.name, transaction.logged_id, transaction.producer_id, transaction.epoch, transaction.timeout_ms,
        len(transaction.partitions),
    )  # fmt: skip
    abort_over_its_head(machine, transaction)


def time_out_later(machine: TransactionMachine, transaction: Transaction, event: TransactionTime) -> None:
    """A record of this id is being appended: it is looked at again when that is done."""
    if event.serial == transaction.timer:
        transaction.timer = machine.set_timer(machine.now_ms + RETRY_MS, TransactionTime, transaction)


_CLIENT_ERRORS: Final[dict[ErrorCode, ErrorCode]] = {
    **dict.fromkeys(
        (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            ErrorCode.REQUEST_TIMED_OUT,
        ),
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ),
    **dict.fromkeys(
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR),
        ErrorCode.NOT_COORDINATOR,
    ),
    **dict.fromkeys(
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE),
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ),
}


def client_error(error: ErrorCode) -> ErrorCode:
    """What a client is told of an append that failed. Source: `TransactionStateManager.appendTransactionToLog`."""
    return _CLIENT_ERRORS.get(error, error)


def entry_of_begun(transaction: Transaction, partitions: frozenset[tuple[str, int]], date_ms: int) -> Entry:
    """An Ongoing transaction with these partitions beside those that it has."""
    is_open = transaction.state is _S.ONGOING
    return transaction.entry._replace(
        state=_S.ONGOING,
        partitions=transaction.partitions | partitions if is_open else partitions,
        updated_ms=date_ms,
        start_ms=transaction.start_ms if is_open else date_ms,
    )
