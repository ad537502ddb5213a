"""The partition worker: sole writer of the logs of its partition-leader group.

Runs in: one process per group, forked by the supervisor. A duty cycle:

    peers changed? -> view moved? logs to open? -> append from the rings -> groups -> expire -> flush answers -> park on
    the doorbell

It never blocks on anything but the disk and its own doorbell. Logs are opened a few in a cycle: what is open is served
meanwhile.
"""

from __future__ import annotations

import logging
import select

from headrace import exit_codes
from headrace.clock import Clock, SystemClock
from headrace.errors import Fenced
from headrace.limits import IDLE_WAIT_MAX_MS
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat
from headrace.stop_flag import StopFlag
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.append import Appender
from headrace.workers.partition.coordinator_host import CoordinatorHost
from headrace.workers.partition.group_requests import GroupRequests
from headrace.workers.partition.produce_purgatory import ProducePurgatory
from headrace.workers.partition.producer_description import ProducerDescription
from headrace.workers.partition.replica import Replica
from headrace.workers.partition.replica_moves import ReplicaMoves
from headrace.workers.partition.replicas import Replicas
from headrace.workers.partition.requests import Requests
from headrace.workers.partition.upkeep import Upkeep

FLUSH_LOOK_INTERVAL_MS = 50

_log = logging.getLogger(__name__)


class PartitionWorker:
    """One partition worker's state and its duty cycle."""

    def __init__(self, seat: Seat, clock: Clock) -> None:
        self._seat = seat
        self._clock = clock
        node_id = seat.wiring.settings["broker.id"]
        index = seat.process_id - seat.wiring.network_count
        self._answers = Answers(seat)
        self._purgatory = ProducePurgatory(self._answers)
        self._replicas = Replicas(seat, index, clock)
        self._groups = CoordinatorHost(seat, self._answers, self._replicas.by_slot, clock.now_ms())
        self._moves = ReplicaMoves(self._replicas, clock)
        handlers = {
            **Upkeep(self._replicas.by_slot, self._moves.is_moving).handlers(),
            **GroupRequests(self._groups).handlers(),
            **self._moves.handlers(),
            **ProducerDescription(self._replicas.by_slot).handlers(),
        }
        self._requests = Requests(self._answers, handlers)
        self._appender = Appender(seat, node_id, self._replicas, self._answers, self._purgatory, self._requests)
        self._view_version = 0
        self._followed_version = 0
        self._is_closing = False
        self._next_flush_look_ms = 0

    def do_work(self) -> int:
        """One cycle; 0 lets the loop sleep."""
        seat = self._seat
        now_ms = self._clock.now_ms()
        now_ns = self._clock.monotonic_ns()
        monotonic_ms = now_ns // 1_000_000
        seat.beat(now_ns)
        self._groups.turn(now_ms, monotonic_ms)
        for process_id in seat.changed():
            self._answers.forget(process_id)
            self._appender.forget(process_id)
            self._purgatory.forget(process_id)
            self._requests.forget(process_id)
        if seat.view.version() != self._view_version:
            self._follow_view()
        elif self._replicas.has_unopened and not self._is_closing:
            self._open_some()
        done = self._appender.do_work(now_ms, monotonic_ms)
        done += self._groups.do_work()
        self._note_followed()
        done += self._moves.do_work()
        self._purgatory.expire(monotonic_ms)
        if monotonic_ms >= self._next_flush_look_ms:
            self._next_flush_look_ms = monotonic_ms + FLUSH_LOOK_INTERVAL_MS
            self._appender.look(monotonic_ms)
            self._settle(self._replicas.look(now_ms, monotonic_ms))
        done += self._replicas.has_unopened and not self._is_closing
        return done + self._answers.flush()

    def _note_followed(self) -> None:
        """Say which view was acted on to the end: all logs are open, and the groups in them have forgotten what is deleted."""
        if self._followed_version == self._view_version or self._replicas.has_unopened or not self._groups.has_followed:
            return
        self._followed_version = self._view_version
        self._seat.set_followed(self._view_version)

    def sleep_bound_ms(self) -> int:
        """How long the loop may sleep when there was nothing to do."""
        return self._groups.sleep_bound_ms(IDLE_WAIT_MAX_MS)

    def close(self) -> bool:
        """Drain the rings a last time, then flush and close the logs."""
        self._is_closing = True
        self._moves.close()
        for _ in range(1000):
            if not self.do_work():
                break
        return self._replicas.close()

    def _follow_view(self) -> None:
        version = self._seat.view.version()
        view = self._seat.view.read()
        self._settle(self._replicas.follow(view))
        self._groups.follow(view)
        self._view_version = version
        self._note_opened()

    def _open_some(self) -> None:
        """Some more of the logs that the view wants open; whoever uses the others waits no longer than for these."""
        self._settle(self._replicas.open_some())
        self._note_opened()

    def _note_opened(self) -> None:
        """Ready is who has opened what the view wants."""
        if self._replicas.has_unopened:
            return
        self._moves.resume()
        if self._view_version > 0:
            self._seat.set_state(ProcessState.READY)

    def _settle(self, changed: list[Replica]) -> None:
        """Replicas with another role, or none any more: whoever waits for them is told."""
        if not changed:
            return
        self._groups.turn(self._clock.now_ms(), self._clock.monotonic_ns() // 1_000_000)  # opening logs took its time
        for replica in changed:
            self._purgatory.complete(replica)
            for network_worker in replica.waiting_network_workers():
                self._answers.advanced(network_worker, replica.slot)
        self._groups.follow_roles(changed)


def run(seat: Seat, clock: Clock | None = None) -> int:
    """Work until SIGTERM; the exit code tells the supervisor whether every log was closed cleanly."""
    stop = StopFlag()
    doorbell = seat.doorbell
    poll = select.poll()
    poll.register(doorbell.fd, select.POLLIN)
    try:
        worker = PartitionWorker(seat, clock or SystemClock())
        while not stop.is_set:
            if worker.do_work():
                continue
            doorbell.park()
            if not worker.do_work() and not stop.is_set:
                poll.poll(worker.sleep_bound_ms())
            doorbell.unpark()
        seat.set_state(ProcessState.DRAINING)
        is_clean = worker.close()
        seat.set_state(ProcessState.STOPPED)
        return exit_codes.CLEAN if is_clean else exit_codes.FAILED
    except Fenced as reason:
        _log.warning("partition worker fenced process=%d reason=%s", seat.process_id, reason)
        return exit_codes.FAILED
