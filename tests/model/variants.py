"""Other rules for late requests, on the real tables: which of them let one through.

none         Kafka's: the producer's id and epoch alone
identity     an id is bound to the connection of its last request; the ones before are refused
no floor     orders of connections, forgotten with the coordinator
accept       the rule, with the order of accept(), which may run late
built        the rule
order of     the same at the data leader, for markers, and at the group's node, for TxnOffsetCommit: not built
Ongoing's    the rule, with a floor at loads of Ongoing alone
"""

from typing import Any, NamedTuple

from headrace.errors import ErrorCode
from headrace.state_table import to
from headrace.workers.coordinators.transaction import connection_order, ending, participants, table
from headrace.workers.coordinators.transaction.events import Outcome, TransactionLoaded
from headrace.workers.coordinators.transaction.state import TransactionState
from tests.model.patches import cell, swapped, without_rule
from tests.model.scenarios import ACCEPT, FIRST_ANSWER, HANDSHAKE, Scenario

_S = TransactionState
_RESUME_MARKERS, _SET_DEADLINE = ending.resume_markers, participants.set_deadline


def no_order(transaction, event):
    error = connection_order._fault_of_producer(transaction, event.producer)
    return None if error is ErrorCode.NONE else Outcome(error)


def identity(transaction, event):
    """`order` has the connection that the id is bound to, `floor` those that it was bound to before."""
    error = connection_order._fault_of_producer(transaction, event.producer)
    if error is not ErrorCode.NONE:
        return Outcome(error)
    former = transaction.floor or frozenset()
    if event.order in former:
        return Outcome(ErrorCode.COORDINATOR_NOT_AVAILABLE, True)
    if transaction.order not in (0, event.order):
        transaction.floor = former | {transaction.order}
    transaction.order = event.order
    return None


def no_floor_at_prepare(machine, transaction, event):
    _RESUME_MARKERS(machine, transaction, event)
    transaction.floor = 0


def no_floor_at_rest(_machine, _transaction, _event):
    pass


class FewerFloors:
    """A load sets a floor for Ongoing alone."""

    def __enter__(self):
        rest = to(no_floor_at_rest, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)
        self._held = [swapped(ending.resume_markers, no_floor_at_prepare)]
        self._held += [cell(table.ROWS, TransactionLoaded, state, rest) for state in rest.states]
        for one in self._held:
            one.__enter__()

    def __exit__(self, *_what):
        for one in reversed(self._held):
            one.__exit__(None, None, None)


class Variant(NamedTuple):
    """patch       makes a `with` that changes the tables
    is_sound    whether no late request is let through
    """

    name: str
    scenario: Any
    patch: Any
    uses_floor: bool
    is_sound: bool


def _late(plan, hands=HANDSHAKE, **others):
    return Scenario("", (plan,), hands=hands, is_healthy=True, **others)


VARIANTS = (
    Variant(
        "none", _late("A+A+", timeouts=2), lambda: swapped(connection_order.fault_of_participant, no_order), True, False
    ),
    Variant(
        "identity",
        _late("A+A+", timeouts=4),
        lambda: swapped(connection_order.fault_of_participant, identity),
        False,
        False,
    ),
    Variant("no floor", _late("A+A+", timeouts=1, failovers=2), without_rule, False, False),
    Variant("accept", _late("A+A+", hands=ACCEPT, timeouts=2), without_rule, True, False),
    Variant("built", _late("A+A+", timeouts=2, failovers=2), without_rule, True, True),
    Variant(
        "built, no ApiVersions", _late("A+A+", hands=FIRST_ANSWER, timeouts=2, failovers=2), without_rule, True, True
    ),
    Variant("late markers", Scenario("", ("AP+AP+",), lost_markers=1), without_rule, True, False),
    Variant(
        "late markers, order of markers",
        Scenario("", ("AP+AP-",), lost_markers=2, failovers=1, orders_markers=True),
        without_rule,
        True,
        True,
    ),
    Variant("late offsets", Scenario("", ("AOT+AOT+",), loses="T", timeouts=1), without_rule, True, False),
    Variant(
        "late offsets, order of offsets",
        Scenario("", ("AOT+AOT-",), loses="T", timeouts=2, failovers=1, orders_offsets=True),
        without_rule,
        True,
        True,
    ),
    Variant("Ongoing's floor, reload", _late("A+A-", timeouts=2, reloads=1), FewerFloors, True, False),
    Variant("Ongoing's floor, coordinator A-B-A", _late("A-A+", timeouts=2, failovers=2), FewerFloors, True, False),
    Variant("built, strict", _late("A-A+", timeouts=2, failovers=2), without_rule, True, True),
)
