"""The partition worker: sole writer of the logs of its partition-leader group.

Runs in: one process per group, forked by the supervisor. A duty cycle:

    peers changed? -> view moved? logs to open? -> ISRs -> answers of other nodes -> append from the rings
                   -> append what leaders sent -> tell -> groups -> expire -> tell -> flush answers -> ask other nodes
                   -> park on the doorbell

    tell   the waiters for a replica that moved: fetches, produces, coordinators; the controller, of roles (`replica_events.py`)

It never blocks on anything but the disk and its own doorbell and sockets. Logs are opened a few in a cycle: what is open is served
meanwhile.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.clock import Clock, SystemClock
from headrace.limits import IDLE_WAIT_MAX_MS, TIMED_WAIT_MAX_MS
from headrace.runtime import duty_cycle
from headrace.runtime.mailbox import Mailbox
from headrace.runtime.peers import Peers
from headrace.runtime.poller import Poller
from headrace.shm.messages import VIEW_FOLLOWED, RequestKind
from headrace.shm.seat import Seat
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.append import Appender
from headrace.workers.partition.coordination.coordinator_host import CoordinatorHost
from headrace.workers.partition.coordination.group_requests import GroupRequests
from headrace.workers.partition.coordination.groups import Groups
from headrace.workers.partition.coordination.known_topics import KnownTopics
from headrace.workers.partition.coordination.marker_writes import MarkerWrites
from headrace.workers.partition.coordination.transaction_host import TransactionHost
from headrace.workers.partition.intake import Intake
from headrace.workers.partition.produce_purgatory import ProducePurgatory
from headrace.workers.partition.producer_description import ProducerDescription
from headrace.workers.partition.replicas.ahead_logs import AheadLogs
from headrace.workers.partition.replicas.log_dir_moves import LogDirMoves
from headrace.workers.partition.replicas.log_epochs import LogEpochs
from headrace.workers.partition.replicas.new_replicas import NewReplicas
from headrace.workers.partition.replicas.opened_logs import OpenedLogs
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.replicas import Replicas
from headrace.workers.partition.replication.fetch_options import FetchOptions
from headrace.workers.partition.replication.fetchers import Fetchers
from headrace.workers.partition.replication.isr import IsrKeeper
from headrace.workers.partition.replication.record_deletions import RecordDeletions
from headrace.workers.partition.replication.throttle import Throttle
from headrace.workers.partition.unverified_batches import UnverifiedBatches
from headrace.workers.partition.upkeep import Upkeep

TICK_INTERVAL_MS: Final = 50


class PartitionWorker(duty_cycle.Process):
    """One partition worker's state, and its part of the duty cycle.

    poller   of its process; None: it speaks to no other node
    """

    def __init__(self, seat: Seat, clock: Clock, poller: Poller | None = None) -> None:
        self._seat = seat
        self._clock = clock
        index = seat.process_id - seat.wiring.network_count
        self._answers = Answers(seat)
        self._purgatory = ProducePurgatory(self._answers)
        self._replicas = Replicas(seat, index, clock)
        self._live = self._replicas.live
        self._deletions = RecordDeletions()
        self._topics = KnownTopics()
        self._groups = CoordinatorHost(
            Groups(seat), self._topics, seat, self._answers, self._replicas.by_slot, clock.now_ms()
        )
        self._transactions = TransactionHost(seat, self._topics, self._answers, self._replicas.by_slot, clock)
        self._hosts: tuple[CoordinatorHost[Any], ...] = (self._groups, self._transactions.host)
        self._markers = MarkerWrites(self._replicas.by_slot, self._hosts, clock)
        self._moves = LogDirMoves(self._replicas, clock)
        self._upkeep = Upkeep(self._replicas.by_slot, self._moves.is_moving, self._deletions, self._live)
        group_requests = GroupRequests(self._groups)
        handlers = {
            **self._upkeep.handlers(),
            **group_requests.handlers(),
            **self._transactions.handlers(),
            **self._markers.handlers(),
            **self._moves.handlers(),
            **NewReplicas(self._replicas).handlers(),
            **LogEpochs(self._replicas.by_slot).handlers(),
            **ProducerDescription(self._replicas.by_slot).handlers(),
        }
        self._mailbox = Mailbox(seat, handlers)
        self._opened = OpenedLogs(
            self._replicas.by_slot,
            self._mailbox,
            seat.wiring.controller_id,
            self._replicas.trust,
            self._replicas.make_missing,
        )
        self._ahead = AheadLogs(
            self._replicas.by_slot, self._mailbox, seat.wiring.controller_id, self._replicas.take_role_again
        )
        self._poller = poller
        self._peers: Peers | None = None
        self._fetchers: Fetchers | None = None
        if poller is not None:
            self._peers = Peers(poller, clock, seat.doorbell.force)
            options = FetchOptions.from_settings(seat.wiring.settings, index)
            self._fetchers = Fetchers(
                options, self._peers, clock, self._moves.follow_cut, seat.partitions.rows, _throttle_of(seat)
            )
        verifier = self._transactions.connect(self._mailbox, self._markers, self._peers)
        unverified = None
        if seat.wiring.settings["transaction.partition.verification.enable"]:
            group_requests.use(verifier.ask)
            unverified = UnverifiedBatches(verifier.ask)
        self._appender = Appender(seat, self._replicas, self._answers, self._purgatory, unverified)
        self._isr = IsrKeeper(
            self._replicas.by_slot, self._live, self._mailbox, seat.wiring.controller_id, self._deletions.check
        )
        self._intake = Intake(seat, self._answers, self._appender, self._mailbox, self._isr)
        self._moved = self._replicas.moved
        self._moved.observe_ends(self._isr.note_end)
        self._moved.observe_ends(self._answers.wake_followers)
        self._moved.observe(self._answers.wake_fetches)
        self._moved.observe(self._purgatory.complete, self._purgatory.waiting)
        for host in self._hosts:
            self._moved.observe(host.moved, host.waiting)
        self._moved.observe(self._markers.check, self._markers.waiting)
        self._moved.observe(self._deletions.check, self._deletions.waiting)
        self._moved.observe_roles(self._isr.follow_role)
        if self._fetchers is not None:
            self._moved.observe(self._fetchers.note_moved, self._fetchers)
            self._moved.observe_roles(self._fetchers.follow_role)
        for host in self._hosts:
            self._moved.observe_roles(host.follow_role)
        self._moved.observe_roles(self._markers.follow_role)
        self._moved.observe_roles(self._note_role)
        self._view_version = 0
        self._followed_version = 0
        self._has_news = False  # for the controller: rows have moved
        self._is_closing = False
        self._next_tick_ms = 0

    def do_work(self) -> int:
        """One cycle; 0 lets the loop sleep."""
        seat = self._seat
        now_ms = self._clock.now_ms()
        monotonic_ms = self._clock.monotonic_ns() // 1_000_000
        self._live.now_ms = monotonic_ms
        for host in self._hosts:
            host.turn(now_ms, monotonic_ms)
        if seat.view.version() != self._view_version:
            self._follow_view()
        elif self._replicas.has_unopened and not self._is_closing:
            self._open_some()
        done = self._isr.do_work() + self._replicas.sync_some() + self._replicas.reopen_some()
        done += 0 if self._poller is None else self._poller.dispatch()
        done += self._intake.do_work(now_ms, monotonic_ms)
        done += self._upkeep.do_work()
        if self._fetchers is not None:
            done += self._fetchers.do_work(now_ms)
            self._replicas.failures.spend(monotonic_ms)
        done += self._moved.tell()
        done += self._groups.do_work() + self._transactions.do_work(monotonic_ms)
        done += self._appender.append_verified(now_ms, monotonic_ms)
        self._note_followed()
        if not self._replicas.has_unopened:
            done += self._moves.do_work()
        self._purgatory.expire(monotonic_ms)
        if monotonic_ms >= self._next_tick_ms:
            self._next_tick_ms = monotonic_ms + TICK_INTERVAL_MS
            self._appender.expire(monotonic_ms)
            self._opened.tell(monotonic_ms)
            self._ahead.add(self._moved.take_ahead())
            self._ahead.tell(monotonic_ms)
            self._deletions.expire(monotonic_ms)
            self._markers.expire()
            self._replicas.tick(monotonic_ms)
        done += self._moved.tell()
        done += self._replicas.has_unopened and not self._is_closing
        if self._has_news:
            self._tell_controller()
        done += self._answers.write(self._mailbox.written)
        self._mailbox.flush()  # and the answers: a sleeper is woken once for both
        if self._peers is not None:
            done += self._peers.turn()
        return done

    def peers_changed(self, process_ids: frozenset[int]) -> None:
        """Processes that died wait for no answers any more."""
        for process_id in process_ids:
            self._answers.forget(process_id)
            self._appender.forget(process_id)
            self._purgatory.forget(process_id)
            self._mailbox.forget(process_id)

    def _note_followed(self) -> None:
        """Say which view was acted on to the end: all logs are open, what goes is gone, and groups have forgotten what is deleted."""
        if self._followed_version == self._view_version:
            return
        if self._replicas.has_unopened or self._replicas.has_owed:
            return
        if not all(host.has_followed for host in self._hosts):
            return
        self._followed_version = self._view_version
        self._seat.set_followed(self._view_version)
        self._has_news = True

    def _tell_controller(self) -> None:
        """Answers may wait there for the rows that are published now, and deletions for the view that was followed."""
        body = VIEW_FOLLOWED.pack(self._followed_version)
        self._has_news = not self._mailbox.tell(self._seat.wiring.controller_id, RequestKind.FOLLOWED, body)

    def sleep_bound_ms(self) -> int:
        """How long the loop may sleep when there was nothing to do."""
        bound_ms = self._groups.sleep_bound_ms(TIMED_WAIT_MAX_MS if self._has_timed() else IDLE_WAIT_MAX_MS)
        bound_ms = self._transactions.sleep_bound_ms(bound_ms)
        if self._fetchers is not None and self._peers is not None:
            bound_ms = self._peers.sleep_bound_ms(self._fetchers.sleep_bound_ms(bound_ms))
        return bound_ms

    def _has_timed(self) -> bool:
        """Whether something will be due that is checked in each cycle."""
        return bool(
            self._purgatory.waiting
            or self._deletions.waiting
            or self._markers.waiting
            or self._isr.has_failed
            or self._replicas.has_flush_times
        )

    def is_ready(self) -> bool:
        """Whether everything that a view wants is open, and each log that is missing was judged by the controller process."""
        return self._view_version > 0 and not self._replicas.has_unopened and not self._replicas.has_awaited

    def drain(self) -> bool:
        """Open, move and fetch nothing more; what lies in the rings is answered."""
        self._is_closing = True
        if self._fetchers is not None:
            self._fetchers.close()
        self._moves.close()
        return True

    def close(self) -> bool:
        """Flush and close the logs; returns whether all of them were closed cleanly."""
        if self._peers is not None:
            self._peers.close_all()
        return self._replicas.close()

    def _follow_view(self) -> None:
        version = self._seat.view.version()
        view, changes = self._seat.view.follow()
        has_new_brokers = self._live.follow(view.brokers)
        if self._fetchers is not None:
            self._fetchers.follow(view)
        self._replicas.follow(view, changes)
        self._note_opened()
        if has_new_brokers:
            self._isr.follow_brokers()
            self._deletions.check_all()
        gone = self._topics.follow(view, changes)
        for host in self._hosts:
            host.follow(gone, changes)
        self._transactions.follow(view)
        self._view_version = version

    def _open_some(self) -> None:
        """Some more of the logs that the view wants open; requests for the others wait no longer than for these."""
        self._replicas.open_some()
        self._note_opened()

    def _note_opened(self) -> None:
        """Roles are followed before any request is taken. Copies move on when all that the view wants is open."""
        for host in self._hosts:  # opening logs took its time
            host.turn(self._clock.now_ms(), self._clock.monotonic_ns() // 1_000_000)
        self._moved.tell()
        self._opened.add(self._replicas.take_opened())
        monotonic_ms = self._clock.monotonic_ns() // 1_000_000
        self._opened.tell(monotonic_ms)
        self._ahead.add(self._moved.take_ahead())
        self._ahead.tell(monotonic_ms)
        self._has_news = True
        if not self._replicas.has_unopened:
            self._moves.resume()

    def _note_role(self, _replica: Replica) -> None:
        """The controller may wait for its row."""
        self._has_news = True


def _throttle_of(seat: Seat) -> Throttle:
    settings, table = seat.wiring.settings, seat.processes
    others = [table.counters(one) for one in seat.wiring.partition_ids if one != seat.process_id]
    return Throttle(settings["broker.id"], settings["follower.replication.throttled.rate"], seat.counters, others)


def run(seat: Seat, clock: Clock | None = None) -> int:
    """Work until SIGTERM; the exit code tells the supervisor whether every log was closed cleanly."""
    clock = clock or SystemClock()
    return duty_cycle.run(seat, clock, lambda poller, _stop: PartitionWorker(seat, clock, poller))
