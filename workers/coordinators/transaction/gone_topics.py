"""Topics that were deleted, and whose partitions have to leave the transactions that have them, in memory and in the log.

    names added, loaded -> each id that has some of them: `TopicsGone`, a record without them
                        -> looked at again, until the log of each one says nothing of them

A partition that is known under a deleted topic's name is another topic's, and stays: a marker does no harm there. An id counts
as done when nothing of it is being appended, what memory has is in the log, and none of its requests that wait would add such a
partition. Until all are, the deletion waits: a coordinator that finds Prepare in the log after it would wait for a leader of a
partition that never comes.

What was found is looked at again, and nothing else. Bound: GONE_IDS_PER_STEP_MAX records at once. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from headrace.backoff import pause_after
from headrace.limits import GONE_IDS_PER_STEP_MAX
from headrace.workers.coordinators.effects import SetTimer
from headrace.workers.coordinators.transaction.events import AddPartitions, TopicsGone
from headrace.workers.coordinators.transaction.machine import TransactionMachine
from headrace.workers.coordinators.transaction.state import PREPARED
from headrace.workers.coordinators.transaction.transaction import TopicIndex, Transaction

LOOK_MS: Final = 50  # the first time; doubled each time
LOOK_MAX_MS: Final = 1_000
LOOKS_TOLD: Final = 16  # after so many looks, and after so many again, it is said


class LookTime(NamedTuple):
    """The event of the timer that is set while something is left."""

    serial: int


class GoneTopics:
    """What has to be forgotten in one partition.

    names   of topics some of whose partitions may be in a transaction here, or in the log
    """

    __slots__ = ("_left", "_looks", "_timer", "names")

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self._left: dict[str, None] = {}  # ids, looked at again at the time of `_timer`
        self._looks = 0
        self._timer = 0

    def add(self, machine: TransactionMachine, names: Iterable[str]) -> None:
        """Further topics."""
        self.names |= frozenset(names)
        self.start(machine)

    def start(self, machine: TransactionMachine) -> None:
        """Find the ids that have some of them, once the log was read."""
        if machine.is_loading or not self.names:
            return
        for transaction in machine.transactions.values():
            if not self._is_done(machine, transaction):
                self._left[transaction.transactional_id] = None
        self._looks = 0
        self._look(machine)

    def look_again(self, machine: TransactionMachine, event: LookTime) -> None:
        """Some time has passed."""
        if event.serial == self._timer:
            self._timer = 0
            self._look(machine)

    def _look(self, machine: TransactionMachine) -> None:
        asked = 0
        for transactional_id in list(self._left):
            transaction = machine.transactions.get(transactional_id)
            if transaction is None or self._is_done(machine, transaction):
                del self._left[transactional_id]
            elif transaction.pending is None and asked < GONE_IDS_PER_STEP_MAX:
                asked += 1
                machine.do(transaction, TopicsGone(transaction, self.names))
        if not self._left:
            self.names = frozenset()
            return
        self._looks += 1
        if self._looks % LOOKS_TOLD == 0:
            machine.warn(
                "partitions of deleted topics still in transactions partition=%s topics=%d ids=%d",
                machine.name, len(self.names), len(self._left),
            )  # fmt: skip
        if not self._timer:
            self._timer = machine.new_timer()
            deadline_ms = machine.now_ms + pause_after(self._looks, LOOK_MS, LOOK_MAX_MS)
            machine.effects.append(SetTimer(self._timer, deadline_ms, LookTime(self._timer)))

    def _is_done(self, machine: TransactionMachine, transaction: Transaction) -> bool:
        """Whether nothing of them is in a transaction, nor in its last record, nor on its way there."""
        if transaction.state in PREPARED and not transaction.serial:
            return True  # a later coordinator has it
        pending = getattr(transaction.pending, "entry", None)
        if self._has_some(machine, transaction.partitions) or self._has_some(machine, transaction.prepared):
            return False
        if pending is not None and self._has_some(machine, pending.partitions):
            return False
        return not any(self._would_add(machine, event) for event, _deadline_ms in transaction.parked)

    def _would_add(self, machine: TransactionMachine, event: Any) -> bool:
        return isinstance(event, AddPartitions) and self._has_some(machine, event.partitions)

    def _has_some(self, machine: TransactionMachine, partitions: Iterable[TopicIndex]) -> bool:
        return any(place[0] in self.names and not machine.is_known(*place) for place in partitions)

    def unload(self, machine: TransactionMachine) -> None:
        """The partition is given up: another coordinator reads its log."""
        machine.cancel_timer(self._timer)
        self.names, self._timer = frozenset(), 0
        self._left.clear()
