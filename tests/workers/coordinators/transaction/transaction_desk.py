"""A transaction coordinator with a log, a clock and answers in memory."""

import itertools

from headrace.errors import ErrorCode
from headrace.ids import ANY_ORDER
from headrace.protocol.record_batch import build_batch, parse_header
from headrace.runtime.deadlines import Deadlines
from headrace.workers.coordinators.coordinator import Appended, AppendFailed, AppendLate, Loaded, Unloaded
from headrace.workers.coordinators.effects import Answer, Append, CancelTimer, LogLine, SetTimer
from headrace.workers.coordinators.transaction.config import TransactionConfig
from headrace.workers.coordinators.transaction.effects import DropMarkers, SendMarkers
from headrace.workers.coordinators.transaction.events import (
    AddPartitions,
    EndTransaction,
    InitProducer,
    MarkersWritten,
    VerifyPartitions,
)
from headrace.workers.coordinators.transaction.transaction_coordinator import TransactionCoordinator

ID = "orders"
TIMEOUT_MS = 60_000
A, B = ("t", 0), ("t", 1)
NOBODY = (-1, -1)


class Desk:
    """Performs the effects of one coordinator.

    log      (key, value) of every record that is committed, in order
    held     appends whose outcome the test decides, while `holds`
    known    partitions that there are, of topics that were deleted
    markers  what is to be sent and was not dropped; `answers_markers`: it is written at once
    """

    def __init__(self, loading=False, **config):
        self.now_ms = 1_000_000
        self.date_ms = 5_000_000
        self.timers = Deadlines(100_000)
        self.has_timers = True
        self.answers, self.lines, self.log = {}, [], []
        self.held, self.holds, self.error = [], False, ErrorCode.NONE
        self.markers, self.sent, self.answers_markers = {}, [], True
        self.producer_ids = itertools.count(1000)
        self.order = 50
        self.known = set()
        self.config = TransactionConfig(**config)
        self._serials = itertools.count(1)
        self._tickets = itertools.count(1)
        self.start(loading)

    def start(self, loading=False):
        self.coordinator = TransactionCoordinator(
            "state-3",
            3,
            self.config,
            self._serials.__next__,
            lambda: self.has_timers,
            lambda: next(self.producer_ids, None),
            lambda: self.order,
            lambda topic, index: (topic, index) in self.known,
        )
        if not loading:
            self.load()

    def load(self):
        """What the log has is read."""
        if self.log:
            batch = build_batch(self.log, timestamp_ms=self.now_ms)
            self.coordinator.load(parse_header(batch), memoryview(batch))
        self.step(Loaded())

    def fail_over(self):
        """Another coordinator has the partition, and what is in its log."""
        self.step(Unloaded())
        self.timers = Deadlines(100_000)
        self.held.clear()
        self.markers.clear()
        self.start()

    @property
    def transaction(self):
        return self.coordinator.transactions.get(ID)

    @property
    def state(self):
        return self.transaction.state.value if self.transaction else None

    @property
    def producer(self):
        return self.transaction.producer_id, self.transaction.epoch

    # Requests; each returns its ticket

    def init(self, timeout_ms=TIMEOUT_MS, expected=NOBODY, order=ANY_ORDER, name=ID):
        return self.ask(lambda ticket: InitProducer(name, timeout_ms, expected, order, ticket))

    def add(self, *partitions, producer=None, order=ANY_ORDER, name=ID):
        asked = producer or self.producer
        return self.ask(lambda ticket: AddPartitions(name, asked, frozenset(partitions), order, ticket))

    def verify(self, *partitions, producer=None):
        asked = producer or self.producer
        return self.ask(lambda ticket: VerifyPartitions(ID, asked, frozenset(partitions), ticket))

    def end(self, is_commit=True, producer=None, order=ANY_ORDER):
        asked = producer or self.producer
        return self.ask(lambda ticket: EndTransaction(ID, asked, is_commit, order, ticket))

    def ask(self, event_of):
        ticket = next(self._tickets)
        self.step(event_of(ticket))
        return ticket

    def answer(self, ticket):
        """What a request got; None: nothing yet."""
        return self.answers.get(ticket)

    def error_of(self, ticket):
        return self.answers[ticket].error

    # Effects

    def step(self, event):
        for effect in self.coordinator.step(event, self.now_ms, self.date_ms):
            self.perform(effect)

    def perform(self, effect):
        if isinstance(effect, Answer):
            assert effect.ticket not in self.answers, "a request is answered once"
            self.answers[effect.ticket] = effect.message
        elif isinstance(effect, Append):
            if self.holds:
                self.held.append(effect)
            else:
                self.finish(effect, self.error)
        elif isinstance(effect, SetTimer):
            assert self.timers.schedule_as(effect.serial, effect.deadline_ms, effect.event)
        elif isinstance(effect, CancelTimer):
            self.timers.cancel(effect.serial)
        elif isinstance(effect, SendMarkers):
            self.markers[effect.serial] = effect
            self.sent.append(effect)
            if self.answers_markers:
                self.write_markers(effect.serial)
        elif isinstance(effect, DropMarkers):
            self.markers.pop(effect.serial, None)
        else:
            assert isinstance(effect, LogLine), effect
            self.lines.append(effect.text % effect.arguments)

    def finish(self, append, error=ErrorCode.NONE):
        """An append is committed, or not."""
        if error:
            self.step(AppendFailed(append.what, error))
            return
        self.log += append.records
        self.step(Appended(append.what, len(self.log) - 1))

    def finish_held(self, error=ErrorCode.NONE):
        held, self.held = self.held, []
        for append in held:
            self.finish(append, error)

    def be_late(self):
        for append in self.held:
            self.step(AppendLate(append.what))

    def write_markers(self, serial, *partitions):
        """These partitions have theirs; none named: all."""
        sent = self.markers[serial]
        written = frozenset(partitions) or sent.partitions
        self.step(MarkersWritten(sent.transactional_id, serial, written))

    def wait(self, ms):
        """Time passes, and timers come up."""
        end_ms = self.now_ms + ms
        while self.timers.next_ms <= end_ms:
            self.date_ms += self.timers.next_ms - self.now_ms if self.timers.next_ms > self.now_ms else 0
            self.now_ms = max(self.now_ms, self.timers.next_ms)
            due = self.timers.pop_due(self.now_ms)
            if due is None:
                break
            self.step(due[2])
        self.date_ms += end_ms - self.now_ms
        self.now_ms = end_ms
