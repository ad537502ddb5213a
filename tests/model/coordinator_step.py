"""The step function of the search: the real transaction coordinator, from a hashable state to a hashable state.

A bundle is all that one incarnation of a coordinator has in memory:

    transaction   the real `Transaction`, slot by slot; None: no such id
    timers        (serial, deadline, kind): what its host would hand back
    jobs          (serial, epoch, is commit, partitions left): what its marker sender would still write
    outcomes      (serial, partition): markers that are written, and the coordinator does not know it yet
    appending     the value of the record that is being appended; None: none is

Bundles are interned: a state of the search has their numbers. A step is done once for each bundle and event, since it is pure.
Time stands at 0. A timer comes up at a time by which whatever of its kind began at 0 is due, since deadlines are only ever compared
with that.
"""

from typing import Any, NamedTuple

from headrace.errors import ErrorCode
from headrace.protocol.record_batch import build_batch, parse_header
from headrace.workers.coordinators.coordinator import Appended, AppendFailed, AppendLate, Loaded, Unloaded
from headrace.workers.coordinators.effects import Answer, Append, CancelTimer, LogLine, SetTimer
from headrace.workers.coordinators.transaction import events
from headrace.workers.coordinators.transaction.config import TransactionConfig
from headrace.workers.coordinators.transaction.effects import DropMarkers, SendMarkers
from headrace.workers.coordinators.transaction.ending import COMPLETE_DELAY_MS
from headrace.workers.coordinators.transaction.machine import PARK_MS
from headrace.workers.coordinators.transaction.records import key_of
from headrace.workers.coordinators.transaction.transaction import Transaction
from headrace.workers.coordinators.transaction.transaction_coordinator import TransactionCoordinator

ID = "orders"
TIMEOUT_MS = 60_000
DATE_MS = 5_000_000
PRODUCER_IDS = (1000, 2000, 3000)

COMMIT, FAIL, LATE = "commit", "fail", "late"  # what becomes of an append

_SLOTS = tuple(name for name in Transaction.__slots__ if name not in ("pending", "outstanding", "parked"))
_DUE_MS = {"TransactionTime": TIMEOUT_MS, "ParkTime": PARK_MS, "CompleteTime": COMPLETE_DELAY_MS}
_TIMERS = {kind.__name__: kind for kind in (events.TransactionTime, events.ParkTime, events.CompleteTime)}


class Bundle(NamedTuple):
    transaction: Any
    timers: tuple = ()
    jobs: tuple = ()
    outcomes: tuple = ()
    appending: Any = None


class Step(NamedTuple):
    """bundle    afterwards, by number
    answers   (ticket, message), in order
    wants     (name of the record's kind, ticket of its request or None) of an append that was begun
    """

    bundle: int
    answers: tuple
    wants: Any


class Broken(Exception):
    """The tables raised: an assertion, or an event that has no cell."""


class Coordinators:
    """Every incarnation of the coordinator in one search.

    uses_floor   whether a load knows the present order of connections: not in the variants without a floor
    """

    def __init__(self, uses_floor=True):
        self.bundles, self._numbers = [], {}
        self._steps = {}
        self._uses_floor = uses_floor
        self._order = 0
        self._used = set()
        self._producer_id = 0
        self._shared = self._new()
        self._shared.step(Loaded(), 0, DATE_MS)

    def _new(self):
        return TransactionCoordinator(
            "state-0",
            0,
            TransactionConfig(),
            self._new_serial,
            lambda: True,
            self._new_producer_id,
            lambda: self._order,
        )

    def _new_serial(self):
        """The smallest that nothing has: equal states look equal."""
        serial = 1
        while serial in self._used:
            serial += 1
        self._used.add(serial)
        return serial

    def _new_producer_id(self):
        return next(one for one in PRODUCER_IDS if one > self._producer_id)

    def number(self, bundle):
        found = self._numbers.get(bundle)
        if found is None:
            found = self._numbers[bundle] = len(self.bundles)
            self.bundles.append(bundle)
        return found

    # Steps

    def request(self, bundle, request):
        return self._step(bundle, request)

    def timer(self, bundle, timer):
        return self._step(bundle, ("timer", *timer))

    def outcome(self, bundle, fate):
        """COMMIT, FAIL or LATE of the append that is pending."""
        return self._step(bundle, (fate,))

    def markers_written(self, bundle, serial, place, *, is_told=True):
        """not is_told: the coordinator hears of it later"""
        return self._step(bundle, ("written", serial, place, is_told))

    def markers_told(self, bundle, outcome):
        return self._step(bundle, ("told", *outcome))

    def markers_refused(self, bundle, serial, error):
        return self._step(bundle, ("refused", serial, error))

    def load(self, value, order):
        """A new incarnation, from the value of the id's last record; None: it has none."""
        return self._memo(("load", value, order if self._uses_floor else 0), self._load)

    def unload(self, bundle):
        return self._memo(("unload", bundle), self._unload)

    def _memo(self, key, do):
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = do(*key[1:])
        return found

    def _load(self, value, order):
        self._order, self._used = order, set()
        coordinator = self._new()
        if value is not None:
            batch = build_batch([(key_of(ID), value)], timestamp_ms=DATE_MS)
            coordinator.load(parse_header(batch), memoryview(batch))
        return self._settle(coordinator, Bundle(None), self._do(coordinator, Loaded()))

    def _unload(self, bundle):
        coordinator, transaction = self._thaw(self.bundles[bundle])
        what = transaction.pending if transaction is not None else None
        effects = self._do(coordinator, Unloaded())
        if what is not None:
            effects += self._do(coordinator, AppendFailed(what, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        return Step(-1, tuple((one.ticket, one.message) for one in effects if type(one) is Answer), None)

    def _step(self, number, what):
        key = (number, what)
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._make(number, what)
        return found

    def _make(self, number, what):
        bundle = self.bundles[number]
        coordinator, transaction = self._thaw(bundle)
        now_ms = 0
        if not isinstance(what, tuple) or hasattr(what, "_fields"):
            event = what
        elif what[0] == "timer":
            _, serial, now_ms, kind = what
            bundle = bundle._replace(timers=tuple(one for one in bundle.timers if one[0] != serial))
            event = _TIMERS[kind](transaction, serial)
        elif what[0] in (COMMIT, FAIL, LATE):
            if what[0] != LATE:
                bundle = bundle._replace(appending=None)
            if what[0] == COMMIT:
                event = Appended(transaction.pending, 0)
            elif what[0] == FAIL:
                event = AppendFailed(transaction.pending, ErrorCode.NOT_ENOUGH_REPLICAS)
            else:
                event = AppendLate(transaction.pending)
        elif what[0] == "written":
            _, serial, place, is_told = what
            bundle = bundle._replace(jobs=tuple(_without(bundle.jobs, serial, place)))
            if not is_told:
                bundle = bundle._replace(outcomes=tuple(sorted((*bundle.outcomes, (serial, place)))))
                return Step(self.number(bundle), (), None)
            event = events.MarkersWritten(ID, serial, frozenset((place,)))
        elif what[0] == "told":
            _, serial, place = what
            bundle = bundle._replace(outcomes=tuple(one for one in bundle.outcomes if one != (serial, place)))
            event = events.MarkersWritten(ID, serial, frozenset((place,)))
        else:
            _, serial, error = what
            bundle = bundle._replace(jobs=tuple(one for one in bundle.jobs if one[0] != serial))
            event = events.MarkersRefused(ID, serial, error)
        return self._settle(coordinator, bundle, self._do(coordinator, event, now_ms))

    def _do(self, coordinator, event, now_ms=0):
        try:
            return coordinator.step(event, now_ms, DATE_MS)
        except Exception as failure:
            coordinator._machine.released.clear()
            raise Broken(f"{type(event).__name__}: {type(failure).__name__}: {failure}") from failure

    def _settle(self, coordinator, bundle, effects):
        answers, wants = [], None
        timers, jobs, appending = {one[0]: one for one in bundle.timers}, list(bundle.jobs), bundle.appending
        for effect in effects:
            kind = type(effect)
            if kind is Answer:
                answers.append((effect.ticket, effect.message))
            elif kind is Append:
                appending = effect.records[0][1]
                request = getattr(effect.what, "request", None)
                wants = (type(effect.what).__name__, None if request is None else request.ticket)
            elif kind is SetTimer:
                kind = type(effect.event).__name__
                timers[effect.serial] = (effect.serial, _DUE_MS[kind], kind)
            elif kind is CancelTimer:
                timers.pop(effect.serial, None)
            elif kind is SendMarkers:
                jobs.append((effect.serial, effect.producer_id, effect.epoch, effect.is_commit, effect.partitions))
            elif kind is DropMarkers:
                jobs = [one for one in jobs if one[0] != effect.serial]
            else:
                assert kind is LogLine, effect
        frozen = _freeze(coordinator.transactions.get(ID))
        timed = tuple(sorted(timers.values()))
        return Step(self.number(Bundle(frozen, timed, tuple(jobs), bundle.outcomes, appending)), tuple(answers), wants)

    def _thaw(self, bundle):
        """The shared coordinator, as this bundle has it."""
        machine = self._shared._machine
        transaction = None if bundle.transaction is None else _thaw(bundle.transaction)
        machine.transactions = {} if transaction is None else {ID: transaction}
        machine.released.clear()
        machine.park_deadline_ms = 0
        used = {one[0] for one in (*bundle.timers, *bundle.jobs, *bundle.outcomes)}
        if transaction is not None:
            used |= {transaction.timer, transaction.complete_timer, transaction.park_timer, transaction.serial}
            self._producer_id = transaction.producer_id
        else:
            self._producer_id = 0
        self._used = used
        return self._shared, transaction


def _without(jobs, serial, place):
    for job in jobs:
        if job[0] == serial:
            left = job[4] - {place}
            if left:
                yield (*job[:4], left)
        else:
            yield job


def _freeze(transaction):
    if transaction is None:
        return None
    pending = transaction.pending
    return (
        tuple([getattr(transaction, name) for name in _SLOTS]),
        None if pending is None else (type(pending), tuple(pending)[1:]),
        frozenset(transaction.outstanding),
        tuple(transaction.parked),
    )


def _thaw(frozen):
    transaction = Transaction(ID)
    values, pending, outstanding, parked = frozen
    for name, value in zip(_SLOTS, values, strict=True):
        setattr(transaction, name, value)
    if pending is not None:
        transaction.pending = pending[0](transaction, *pending[1])
    transaction.outstanding = set(outstanding)
    transaction.parked.extend(parked)
    return transaction


def slot(bundle, name):
    """One slot of a bundle's transaction."""
    return bundle.transaction[0][_SLOTS.index(name)]
