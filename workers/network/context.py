"""What a handler may use: the seat, the view, the routes, the files, and the ways to the other processes.

Runs in: a network worker. Handlers are functions `handle(context, exchange, body)`; they answer the exchange
at once, or leave it with one of these (produce ledger, forwarder, fetch purgatory) that answers it later.
"""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from random import Random
from typing import Final

from headrace.clock import Clock
from headrace.errors import HeadraceError
from headrace.ids import BrokerId
from headrace.limits import CONTROL_SILENT_MS_MAX, DESCRIPTORS_RESERVED
from headrace.log.reading.open_segments import OpenSegments, segments_within
from headrace.log_rate_limit import OncePerInterval
from headrace.runtime.failed_directory import report_failed
from headrace.runtime.mailbox import Mailbox
from headrace.settings import RACK_AWARE_SELECTOR, Settings
from headrace.shm.cluster_view import BrokerView, Changes, ClusterView
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat
from headrace.topic_defaults import TopicDefaults
from headrace.workers.network.connections.broker_addresses import BrokerAddresses
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.fetch.epoch_files import EpochFiles
from headrace.workers.network.fetch.fetch_purgatory import FetchPurgatory
from headrace.workers.network.fetch.fetch_sessions import FetchSessions, TopicKey
from headrace.workers.network.fetch.leader_throttle import LeaderThrottle
from headrace.workers.network.fetch.look_ups import LookUp, LookUps
from headrace.workers.network.fetch.partition_files import PartitionFiles
from headrace.workers.network.forwarding.broker_requests import BrokerRequests
from headrace.workers.network.forwarding.forwarder import Forwarder
from headrace.workers.network.forwarding.topic_creations import TopicCreations
from headrace.workers.network.produce.produce_ledger import ProduceLedger
from headrace.workers.network.produce.ring_sender import RingSender
from headrace.workers.network.routes import Route, Routes

_log: Final = logging.getLogger(__name__)


class Context:
    """One per network worker.

    descriptors   it may use, all in all
    """

    def __init__(self, seat: Seat, clock: Clock, descriptors: int) -> None:
        wiring = seat.wiring
        self.seat = seat
        self.clock = clock
        self.settings: Settings = wiring.settings
        self.topic_defaults = TopicDefaults(self.settings)  # as of the view
        self.node_id = BrokerId(self.settings["broker.id"])
        self.is_rack_aware = self.settings["replica.selector.class"] == RACK_AWARE_SELECTOR
        self.view: ClusterView = seat.view.read()
        self.view_version = -1
        self.addresses = BrokerAddresses(not self.settings["headrace.broker.requests.any.address"])
        self.broker_requests = BrokerRequests(self)
        self._topic_names: dict[bytes, str] | None = None  # by id; once an id was asked for
        self.routes = Routes(wiring.network_count, wiring.partition_count, self.topic_defaults)
        connections_max = self.settings["max.connections"]  # the kernel may give them all to one worker
        self.look_ups = LookUps()
        segments_max = segments_within(descriptors - DESCRIPTORS_RESERVED - connections_max)
        open_segments = OpenSegments(segments_max, self.look_ups.unindexed)
        self.files = PartitionFiles(self.settings["log.dirs"], seat.partitions, open_segments)
        self.epochs = EpochFiles(self.files, seat.processes)
        self.sender = RingSender(seat)
        self.produce = ProduceLedger()
        self.mailbox = Mailbox(seat)
        self.forwarder = Forwarder(self.mailbox, self.sender, wiring.controller_id)
        self.creations = TopicCreations(self.forwarder, self.node_id)
        self.fetches = FetchPurgatory(seat.partitions, seat.process_id)
        sessions_max = -(-self.settings["max.incremental.fetch.session.cache.slots"] // wiring.network_count)
        self.sessions = FetchSessions(seat.partitions, seat.process_id, sessions_max, Random())
        rate = self.settings["leader.replication.throttled.rate"]
        counters = [seat.processes.counters(each) for each in wiring.network_ids]
        self.throttle = LeaderThrottle(self.node_id, rate, seat.counters, counters)
        self.batch_notices = OncePerInterval()  # of batches that could not be opened
        self.heavy_requests = 0  # of this cycle (`opening_budget.py`, `look_ups.py`)
        self.is_clock_due = False  # a request read files: the time is looked at before the next one
        self.now_ms = clock.monotonic_ns() // 1_000_000  # of this cycle; for deadlines and idle times, no date

    def follow_view(self) -> bool:
        """Read the cluster view again where its version moved."""
        version = self.seat.view.version()
        if version == self.view_version:
            return False
        before, (self.view, changes) = self.view, self.seat.view.follow()
        self.view_version = version
        self._follow_names(before, changes)
        self.topic_defaults.follow(self.view.cluster_settings, self.view.node_settings)
        self.throttle.follow(self.view)
        self.addresses.follow(self.view.brokers, self.now_ms)
        self.routes.follow(self.view, changes)
        self.files.follow(self.view, changes)
        if self.sessions.has_any:
            self.fetches.wake(self.sessions.follow(self._changed_topics(before, changes)))
        return True

    def _changed_topics(self, before: ClusterView, changes: Changes) -> dict[TopicKey, frozenset[int] | None]:
        """Changes by name and by id, of topics that came and went too."""
        changed: dict[TopicKey, frozenset[int] | None] = {}
        for name, indexes in changes.items():
            changed[name] = indexes
            for view in (before, self.view):
                if name in view.topics:
                    changed[bytes.fromhex(view.topics[name].topic_id)] = indexes
        return changed

    def look_up(self, look_up: LookUp) -> None:
        """Answer a request in as many turns as it takes. raises what its `step` raises"""
        self.is_clock_due = True
        if self.look_ups.begin(look_up, self.now_ms):
            self.heavy_requests += 1

    def note_unopened(self, segment: Path, offset: int, failure: HeadraceError) -> None:
        """A batch can't be decoded: no client can read it, and lookups skip it. That is logged once in a while."""
        if self.batch_notices.is_due(str(segment), str(offset), self.now_ms):
            _log.warning(
                "batch can't be decoded, lookups skip it path=%s offset=%d reason=%s", segment, offset, failure
            )

    def note_unread(self, route: Route, failure: Exception) -> None:
        """A look-up in a partition's files failed: where the disk can't read them its log directory failed, in all processes.

        So others lead what lies there; its readers would otherwise stop at that place unnoticed (decision 007). It is the directory
        that was read, which the reader knows, or the failure where there was none yet: another one may have a directory of the same name.
        """
        if isinstance(failure, OSError) and failure.errno == errno.EIO:
            directory = self.files.open_directory(route)
            if directory is None and failure.filename is not None:
                directory = Path(failure.filename)
            if directory is not None:
                self.note_unreadable(directory, failure)

    def note_unreadable(self, directory: Path, failure: Exception) -> None:
        """The same, of a partition's directory."""
        log_dir = directory.parent
        if not isinstance(failure, OSError) or failure.errno != errno.EIO:
            return
        if not self.seat.offline_dirs() & self.seat.wiring.log_dir_bit(str(log_dir)):
            report_failed(self.seat, log_dir, failure)

    def is_control_current(self) -> bool:
        """Whether the controller process is in the cluster: while it is not, others may lead what is led here.

        Nor is it where it has not turned for a while: the whole node may have been stopped, and this process be the first to run again.
        """
        processes, controller_id = self.seat.processes, self.seat.wiring.controller_id
        if processes.state(controller_id) is not ProcessState.READY or processes.away_since_ms(controller_id):
            return False
        silent_ns = self.clock.monotonic_ns() - processes.heartbeat_ns(controller_id)
        return silent_ns <= CONTROL_SILENT_MS_MAX * 1_000_000

    def topic_of_id(self, topic_id: bytes) -> str | None:
        """The name of a topic, None where the view has no such id."""
        if self._topic_names is None:
            self._topic_names = {bytes.fromhex(topic.topic_id): topic.name for topic in self.view.topics.values()}
        return self._topic_names.get(topic_id)

    def _follow_names(self, before: ClusterView, changes: Changes) -> None:
        """The names by id, of topics that came and went."""
        if self._topic_names is None:
            return
        names = [name for name, indexes in changes.items() if indexes is None]
        for name in names:
            if name in before.topics:
                self._topic_names.pop(bytes.fromhex(before.topics[name].topic_id), None)
        for name in names:
            if name in self.view.topics:
                self._topic_names[bytes.fromhex(self.view.topics[name].topic_id)] = name

    def brokers(self) -> list[BrokerView]:
        """Live brokers in order of their ids."""
        return [self.view.brokers[node_id] for node_id in sorted(self.view.brokers)]

    def forward_to_controller(self, exchange: Exchange, body: memoryview) -> None:
        """Forward a request to the controller process; its response body is the answer."""
        self.forwarder.forward(exchange, body)
