"""What a handler may use: the seat, the view, the routes, the files, and the ways to the other processes.

Runs in: a network worker. Handlers are functions `handle(context, exchange, body)`; they answer the exchange
at once, or leave it with one of the ledgers here (produce, admin, fetch purgatory) that answers it later.
"""

from __future__ import annotations

from headrace.clock import Clock
from headrace.ids import BrokerId
from headrace.limits import DESCRIPTORS_RESERVED
from headrace.log.open_segments import OpenSegments, segments_within
from headrace.settings import Settings
from headrace.shm.cluster_view import BrokerView, ClusterView
from headrace.shm.seat import Seat
from headrace.topic_defaults import TopicDefaults
from headrace.workers.network.admin_ledger import AdminLedger
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.fetch_purgatory import FetchPurgatory
from headrace.workers.network.partition_files import PartitionFiles
from headrace.workers.network.peer_notices import PeerNotices
from headrace.workers.network.produce_ledger import ProduceLedger
from headrace.workers.network.ring_sender import RingSender
from headrace.workers.network.routes import Routes


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
        self.view: ClusterView = seat.view.read()
        self.view_version = -1
        self._topic_names: dict[bytes, str] | None = None  # by id; made once an id is asked for
        self.routes = Routes(wiring.network_count, wiring.partition_count, self.topic_defaults)
        connections_max = self.settings["max.connections"]  # the kernel may give them all to one worker
        open_segments = OpenSegments(segments_within(descriptors - DESCRIPTORS_RESERVED - connections_max))
        self.files = PartitionFiles(wiring.log_dirs, seat.partitions, open_segments)
        self.sender = RingSender(seat)
        self.produce = ProduceLedger()
        self.admin = AdminLedger(seat, self.sender)
        self.fetches = FetchPurgatory(seat.partitions, seat.process_id)
        self.transaction_notices = PeerNotices()  # of transactional producers that were refused
        self.heavy_requests = 0  # of this cycle (`opening_budget.py`)
        self.now_ms = clock.monotonic_ns() // 1_000_000  # of this cycle; for deadlines and idle times, no date

    def follow_view(self) -> bool:
        """Read the cluster view again where its version moved."""
        version = self.seat.view.version()
        if version == self.view_version:
            return False
        self.view = self.seat.view.read()
        self.view_version = version
        self._topic_names = None
        self.topic_defaults.follow(self.view.cluster_settings, self.view.node_settings)
        self.routes.follow(self.view)
        self.files.follow(self.view)
        return True

    def topic_of_id(self, topic_id: bytes) -> str | None:
        """The name of a topic, None where the view has no such id."""
        if self._topic_names is None:
            self._topic_names = {bytes.fromhex(topic.topic_id): topic.name for topic in self.view.topics.values()}
        return self._topic_names.get(topic_id)

    def brokers(self) -> list[BrokerView]:
        """Live brokers in order of their ids."""
        return [self.view.brokers[node_id] for node_id in sorted(self.view.brokers)]

    def forward_to_controller(self, exchange: Exchange, body: memoryview) -> None:
        """Hand a request to the controller process; its response body is the answer as it stands."""
        self.admin.forward(exchange, body)
