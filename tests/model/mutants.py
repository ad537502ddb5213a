"""The real tables with one thing taken out or turned: what the search finds of that, and what it can't.

python -m tests.model --mutants
"""

from typing import Any, NamedTuple

from headrace.errors import ErrorCode
from headrace.log.state.producer_state import ProducerState
from headrace.state_table import IGNORED, to
from headrace.workers.coordinators.transaction import (
    connection_order,
    ending,
    expiry,
    identity,
    parking,
    participants,
    records,
    table,
)
from headrace.workers.coordinators.transaction.events import (
    AddPartitions,
    CompleteTime,
    DecisionRecord,
    EndTransaction,
    InitProducer,
    MarkersWritten,
    Outcome,
    TransactionLoaded,
    TransactionTime,
    Verified,
)
from headrace.workers.coordinators.transaction.state import TransactionState
from headrace.workers.coordinators.transaction.transaction import Transaction
from tests.model.patches import PENDING, cell, method, on_machine, swapped
from tests.model.scenarios import Scenario

_S = TransactionState
_OK = Outcome(ErrorCode.NONE)
_NOWHERE = -1  # no connection: who waits there has its answer

# What is there, before anything is changed
_take_markers, _send_markers, _complete = ending.take_markers, ending._send_markers, ending._complete
_abort_over, _decide, _refuse_decision = ending.abort_over_its_head, ending._decide, ending.refuse_decision
_begin, _store_partitions = participants.begin, participants._store
_entry_of_begun, _value_of = ending.entry_of_begun, records.value_of
_unload, _is_commit = expiry.unload, Transaction.is_commit
_end_transaction, _fault_of_participant = ProducerState.end_transaction, connection_order.fault_of_participant


def abort_without_raise(machine, transaction):
    _decide(machine, transaction, False, None)


def end_answered_at_once(machine, transaction, event):
    machine.answer(event.ticket, _OK)
    _decide(machine, transaction, event.is_commit, event._replace(ticket=(_NOWHERE, *event.ticket[1:])))


def begin_answered_at_once(machine, transaction, event):
    machine.answer(event.ticket, _OK)
    _store_partitions(machine, transaction, event._replace(ticket=(_NOWHERE, *event.ticket[1:])))


def any_order(transaction, event):
    error = connection_order._fault_of_producer(transaction, event.producer)
    return None if error is ErrorCode.NONE else Outcome(error)


def order_of_last(transaction, event):
    """Refused by the floor alone."""
    order = transaction.order
    transaction.order = 0
    found = _fault_of_participant(transaction, event)
    if found is not None:
        transaction.order = order
    return found


def any_producer(_transaction, _event):
    return None


def resume_without_floor(machine, transaction, _event):
    participants.set_deadline(machine, transaction)


def resume_without_deadline(machine, transaction, _event):
    transaction.floor = machine.read_order()


def first_marker_counts_for_all(machine, transaction, event):
    transaction.outstanding = set(event.partitions)
    _take_markers(machine, transaction, event)


def complete_with_partitions(machine, transaction):
    partitions = transaction.partitions
    _complete(machine, transaction)
    transaction.partitions = partitions


def no_markers(_machine, transaction):
    transaction.serial = 0


def complete_at_once(machine, transaction):
    _complete(machine, transaction)


def last_partitions_alone(transaction, partitions, date_ms):
    return _entry_of_begun(transaction, partitions, date_ms)._replace(partitions=partitions)


def value_without_partitions(entry):
    return _value_of(entry._replace(partitions=frozenset()))


def same_epoch_again(machine, transaction, event):
    last = (transaction.producer_id, transaction.epoch)
    identity._store(machine, transaction, transaction.producer_id, transaction.epoch, last, event)


def bump_for_anyone(machine, transaction, event):
    identity._raise_epoch(machine, transaction, event)


def verify_unborn(machine, transaction, event):
    known = transaction.partitions
    if transaction.pending is not None:
        known = known | transaction.pending.entry.partitions
    machine.answer(event.ticket, Verified(event.partitions & known))


def verify_all(machine, _transaction, event):
    machine.answer(event.ticket, Verified(event.partitions))


def decision_counts_though_it_failed(machine, transaction, event):
    _transaction, entry, request = event.what
    transaction.take(entry)
    if request is not None:
        machine.answer(request.ticket, _OK)
    _send_markers(machine, transaction)


def failed_decision_forgets_its_time(machine, transaction, event):
    request = event.what.request
    if request is not None:
        _refuse_decision(machine, transaction, event)


def failed_decision_lowers_the_epoch(machine, transaction, event):
    if transaction.is_fenced:
        transaction.epoch -= 1
        transaction.is_fenced = False
    _refuse_decision(machine, transaction, event)


def raised_each_time(machine, transaction):
    transaction.is_fenced = False
    _abort_over(machine, transaction)


def unload_in_silence(machine, transaction, event):
    transaction.parked.clear()
    _unload(machine, transaction, event)


def end_always_agrees(machine, _transaction, event):
    machine.answer(event.ticket, _OK)


def any_serial(machine, transaction, event):
    _take_markers(machine, transaction, event._replace(serial=transaction.serial))


def release_nothing(_machine, _transaction):
    pass


def any_coordinator(self, producer_id, epoch, coordinator_epoch):
    producer = self.producers.get(producer_id)
    return int(ErrorCode.INVALID_PRODUCER_EPOCH) if producer is not None and epoch < producer.epoch else 0


def any_marker_epoch(self, producer_id, epoch, coordinator_epoch):
    producer = self.producers.get(producer_id)
    is_old = producer is not None and coordinator_epoch < producer.coordinator_epoch
    return int(ErrorCode.TRANSACTION_COORDINATOR_FENCED) if is_old else 0


def verification_outlives_markers(self, producer_id, *arguments):
    kept = dict(self.verifications)
    ended = _end_transaction(self, producer_id, *arguments)
    self.verifications.update(kept)
    return ended


def nothing_is_verified(self, producer_id, epoch):
    return False


class Mutant(NamedTuple):
    """found_in   the scenario that shows it, or None: `why` says that the model can't"""

    name: str
    patch: Any
    found_in: Any
    why: str = ""


def _one(plan, **others):
    return Scenario("", (plan,), **others)


_LATE = _one("A+A+", timeouts=2, is_healthy=True)
_MOVED = _one("A+A+", timeouts=1, failovers=2, is_healthy=True)
_PLAIN = _one("AP+AP-", is_healthy=True)
_OFFSETS = _one("APOT+AOT-", failovers=1, is_healthy=True)
_FAILS = _one("AP+", fails=2, is_healthy=True)
_GONE = _one("AP+", crashes=1, failovers=1, fails=1, time_outs=1)
_GIVEN_UP = _one("AP+AP+", give_ups=1, timeouts=1, loses="")
_TWO = Scenario("", ("AP+", "IAP+"), failovers=1)
_TIME = _one("APOT+", time_outs=1, fails=1)
_MARKERS = _one("AP+AP+", lost_markers=1, failovers=1, orders_markers=True)


def _cell(rows, event, state, new):
    return lambda: cell(rows, event, state, new)


def _swap(old, new):
    return lambda: swapped(old, new)


def _producers(name, new):
    return lambda: method(ProducerState, name, new)


MUTANTS = (
    Mutant("the order of connections is not judged", _swap(_fault_of_participant, any_order), _LATE),
    Mutant("the order is not kept", _swap(_fault_of_participant, order_of_last), _LATE),
    Mutant("no floor at a load", _swap(participants.resume, resume_without_floor), _MOVED),
    Mutant("the producer is not judged", _swap(_fault_of_participant, any_producer), _TWO),
    Mutant("no epoch is raised by a timeout", _swap(_abort_over, abort_without_raise), _TIME),
    Mutant("PrepareCommit is not resumed", _cell(table.ROWS, TransactionLoaded, _S.PREPARE_COMMIT, IGNORED), _OFFSETS),
    Mutant("PrepareAbort is not resumed", _cell(table.ROWS, TransactionLoaded, _S.PREPARE_ABORT, IGNORED), _OFFSETS),
    Mutant("an end is answered before its record", _swap(ending.end, end_answered_at_once), _FAILS),
    Mutant("a begin is answered before its record", _swap(_begin, begin_answered_at_once), _FAILS),
    Mutant("a decision counts though its append failed", _cell(table.FAILED, DecisionRecord, _S.ONGOING,
           to(decision_counts_though_it_failed, _S.PREPARE_COMMIT, _S.PREPARE_ABORT)),
           _one("AP+A-", fails=1, failovers=1, is_healthy=True)),
    Mutant("Complete at the first marker", _swap(_take_markers, first_marker_counts_for_all), _OFFSETS),
    Mutant("Complete without markers", _swap(_send_markers, complete_at_once), _PLAIN),
    Mutant("no markers are sent", _swap(_send_markers, no_markers), _PLAIN),
    Mutant("partitions stay after Complete", _swap(_complete, complete_with_partitions), _GIVEN_UP),
    Mutant("an AddPartitions forgets those before", _swap(_entry_of_begun, last_partitions_alone), _OFFSETS),
    Mutant("partitions are not in the log", _swap(_value_of, value_without_partitions), _PLAIN),
    Mutant("aborts are written as commits", lambda: method(Transaction, "is_commit", property(lambda _self: True)), _PLAIN),
    Mutant("a new producer gets the same epoch", _swap(identity._raise_epoch, same_epoch_again), _TWO),
    Mutant("an open transaction is never over", _cell(table.ROWS, TransactionTime, _S.ONGOING, IGNORED), _GONE),
    Mutant("a timer that meets an append is lost", _cell(table.ROWS, TransactionTime, PENDING, IGNORED), _GONE),
    Mutant("a loaded transaction has no deadline", _swap(participants.resume, resume_without_deadline), _GONE),
    Mutant("an abort that failed is not tried again", _swap(_refuse_decision, failed_decision_forgets_its_time), _GONE),
    Mutant("what waits is not answered at an unload", _swap(_unload, unload_in_silence), _TWO),
    Mutant("a repeated end is not answered", _cell(table.ROWS, EndTransaction, _S.COMPLETE_COMMIT, IGNORED),
           _one("AP+", timeouts=1, is_healthy=True)),
    Mutant("partitions are added while markers are out", _cell(table.ROWS, AddPartitions, _S.PREPARE_COMMIT,
           to(_begin, _S.PREPARE_COMMIT)), _PLAIN),
    Mutant("an end while a record is appended is taken", _cell(table.ROWS, EndTransaction, PENDING,
           to(ending.end, _S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)), _LATE),
    Mutant("an open transaction is not aborted for its next producer", _cell(table.ROWS, InitProducer, _S.ONGOING,
           to(identity.init_at_rest, _S.ONGOING)), _TWO),
    Mutant("markers are not counted", _cell(table.ROWS, MarkersWritten, _S.PREPARE_COMMIT, IGNORED), _PLAIN),
    Mutant("a decision that is stored changes nothing", _cell(table.STORED, DecisionRecord, _S.ONGOING, IGNORED), _PLAIN),
    Mutant("any partition is verified", _swap(participants.verify, verify_all), _GIVEN_UP),
    Mutant("a verification does not judge the producer", _swap(connection_order.fault_of_verification, any_producer),
           _GIVEN_UP),
    Mutant("partition: nothing is verified", _producers("must_verify", nothing_is_verified), _GIVEN_UP),
    Mutant("partition: a verification outlives a marker", _producers("end_transaction", verification_outlives_markers),
           _GIVEN_UP),
    Mutant("partition: a marker of an older coordinator is taken", _producers("check_marker", any_coordinator), _MARKERS),
    Mutant("the epoch is raised at each try", _swap(_abort_over, raised_each_time), _GONE),
    Mutant("a fenced producer may go on", _swap(identity.init_at_rest, bump_for_anyone),
           Scenario("", ("ABA+", "I"), loses="I", timeouts=1)),
    # What the model can't find
    Mutant("partition: a marker of an older epoch is taken", _producers("check_marker", any_marker_epoch), None,
           "markers of an older producer epoch are older than a marker of the same coordinator, or of an older one"),
    Mutant("partitions that are being appended are verified", _swap(participants.verify, verify_unborn), None,
           "a batch is only sent after its AddPartitions was answered, and an older batch has another epoch"),
    Mutant("a failed abort lowers the epoch again", _swap(_refuse_decision, failed_decision_lowers_the_epoch), None,
           "the raised epoch was in memory alone: the producer goes on"),
    Mutant("the serial of markers is not compared", _swap(_take_markers, any_serial), None,
           "within one incarnation no outcome is on the way when the next markers go out"),
    Mutant("what waits is not released", lambda: on_machine("release", release_nothing), None,
           "it is answered when its time is over, and comes again: that costs time alone"),
    Mutant("Complete is never written", _cell(table.ROWS, CompleteTime, _S.COMPLETE_COMMIT, IGNORED), None,
           "a coordinator that loads Prepare sends its markers again"),
    Mutant("a late EndTxn of the other kind is told NONE", _swap(ending.end_again, end_always_agrees), None,
           "clients that want something else the second time are not in the model"),
    Mutant("a parked request never has to go", _swap(parking.end_wait, lambda *_what: None), None,
           "what it waits for always ends in the model"),
)  # fmt: skip

assert len({one.name for one in MUTANTS}) == len(MUTANTS)
