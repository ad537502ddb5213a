"""What is asked of transactions and changes nothing: DescribeTransactions and ListTransactions.

Source: Kafka `TransactionCoordinator.handleDescribeTransactions`, `TransactionStateManager.listTransactionStates`; KIP-664,
KIP-994 for durations.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.transaction import Transaction

_E: Final = ErrorCode
_Described = messages.DescribeTransactionsResponse.TransactionState
_Topic = messages.DescribeTransactionsResponse.TopicData
_Listed = messages.ListTransactionsResponse.TransactionState


def describe_transaction(machine: TransactionMachine, transactional_id: str) -> _Described:
    """One row of a DescribeTransactions."""
    error = _E.NONE
    transaction = machine.transactions.get(transactional_id)
    if not transactional_id:
        error = _E.INVALID_REQUEST
    elif machine.is_loading:
        error = _E.COORDINATOR_LOAD_IN_PROGRESS
    elif machine.is_refused or transactional_id in machine.unreadable:
        error = _E.COORDINATOR_NOT_AVAILABLE
    elif transaction is None:
        error = _E.TRANSACTIONAL_ID_NOT_FOUND
    if error is not _E.NONE or transaction is None:
        return _Described(error_code=int(error), transactional_id=transactional_id, topics=[])
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(index)
    return _Described(
        error_code=0,
        transactional_id=transactional_id,
        transaction_state=transaction.state.value,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=[_Topic(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()],
    )


def list_transactions(
    machine: TransactionMachine, states: Collection[str], producer_ids: Collection[int], duration_ms: int
) -> tuple[ErrorCode, list[_Listed]]:
    """Rows of a ListTransactions; empty filters take all.

    duration_ms   only transactions that were begun longer ago; below 0: all
    """
    if machine.is_loading:
        return _E.COORDINATOR_LOAD_IN_PROGRESS, []

    def is_wanted(transaction: Transaction) -> bool:
        return (
            (not states or transaction.state.value in states)
            and (not producer_ids or transaction.producer_id in producer_ids)
            and (
                duration_ms < 0 or (transaction.start_ms >= 0 and machine.date_ms - transaction.start_ms > duration_ms)
            )
        )

    return _E.NONE, [
        _Listed(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            transaction_state=transaction.state.value,
        )
        for transaction in machine.transactions.values()
        if transaction.epoch >= 0 and is_wanted(transaction)
    ]
