"""Requests that wait where Kafka answers CONCURRENT_TRANSACTIONS.

While a record of an id is appended, or its markers are written, Kafka's clients sleep 20 to 300 ms and try again, and some
give up. A request that waits here is taken when the append or the markers are done, in the order of arrival. It gets
CONCURRENT_TRANSACTIONS after PARK_MS.
"""

from __future__ import annotations

from typing import Any

from headrace.errors import ErrorCode
from headrace.workers.coordinators.transaction.events import ParkTime
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.transaction import Transaction


def park(machine: TransactionMachine, transaction: Transaction, event: Any) -> None:
    """A request meets an append, or markers that are not all written."""
    machine.park(transaction, event)


def end_wait(machine: TransactionMachine, transaction: Transaction, event: ParkTime) -> None:
    """The first of them has waited long enough; the timer is set again for the next one."""
    if event.serial != transaction.park_timer:
        return
    transaction.park_timer = 0
    parked = transaction.parked
    while parked and parked[0][1] <= machine.now_ms:
        machine.refuse(parked.popleft()[0], ErrorCode.CONCURRENT_TRANSACTIONS)
    if parked:
        transaction.park_timer = machine.set_timer(parked[0][1], ParkTime, transaction)


def refuse_parked(machine: TransactionMachine, transaction: Transaction, error: ErrorCode) -> None:
    """Answer all that wait."""
    while transaction.parked:
        machine.refuse(transaction.parked.popleft()[0], error)
    machine.cancel_timer(transaction.park_timer)
    transaction.park_timer = 0
