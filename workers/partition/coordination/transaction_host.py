"""Transactions in a partition worker: the host of their coordinators, their requests, their markers, their producer ids.

Runs in: a partition worker, in its cycle. What it needs of others is given in two steps, since the mailbox is made of all
handlers: `handlers` first, `connect` then.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.clock import Clock
from headrace.ids import NO_EPOCH
from headrace.protocol.broker_versions import inter_broker
from headrace.runtime.mailbox import Handler, Mailbox
from headrace.runtime.peers import Peers
from headrace.shm.cluster_view import ClusterView
from headrace.shm.seat import Seat
from headrace.workers.coordinators.transaction.transaction_coordinator import TransactionCoordinator
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.coordination.coordinator_host import CoordinatorHost
from headrace.workers.partition.coordination.known_topics import KnownTopics
from headrace.workers.partition.coordination.marker_sender import MarkerSender
from headrace.workers.partition.coordination.marker_writes import MarkerWrites
from headrace.workers.partition.coordination.producer_id_stock import ProducerIdStock
from headrace.workers.partition.coordination.transaction_requests import TransactionRequests
from headrace.workers.partition.coordination.transactions import Transactions
from headrace.workers.partition.coordination.verifier import Verifier
from headrace.workers.partition.replicas.replica import Replica

RETRY_WAIT_MS: Final = 20  # of the worker's sleep while something is to be sent again


class TransactionHost:
    """One worker's.

    host   of the coordinators
    """

    def __init__(
        self, seat: Seat, topics: KnownTopics, answers: Answers, replicas: dict[int, Replica], clock: Clock
    ) -> None:
        self._seat = seat
        self._topics = topics
        self._kind = Transactions(seat, clock)
        self.host: CoordinatorHost[TransactionCoordinator] = CoordinatorHost(
            self._kind, topics, seat, answers, replicas, clock.now_ms()
        )
        self._sender: MarkerSender | None = None
        self._stock: ProducerIdStock | None = None
        self._verifier: Verifier | None = None
        self._requests = TransactionRequests(self.host, topics)

    def handlers(self) -> dict[int, Handler]:
        """Of its requests, by api key."""
        return self._requests.handlers()

    def connect(self, mailbox: Mailbox, writes: MarkerWrites, peers: Peers | None) -> Verifier:
        """The ways out of this worker. returns   what verifies batches that begin transactions in this worker's partitions"""
        wiring = self._seat.wiring
        has_compact_markers = inter_broker(wiring.settings["inter.broker.protocol.version"]).has_topic_ids  # both: 2.8
        version = 1 if has_compact_markers else 0
        self._sender = MarkerSender(self._seat, mailbox, writes, peers, self._take, self._epoch_of, version)
        self._stock = ProducerIdStock(mailbox, wiring.controller_id)
        self._kind.use(self._sender, self._stock)
        self._verifier = Verifier(self._seat, mailbox, peers, self._requests.verify)
        return self._verifier

    def follow(self, view: ClusterView) -> None:
        """Leaders may be others, topics may be gone."""
        if self._sender is not None:
            self._sender.follow(view, self._topics.deleted)
        if self._verifier is not None:
            self._verifier.follow(view)

    def do_work(self, monotonic_ms: int) -> int:
        """One cycle's part; returns the work done."""
        if self._sender is None or self._stock is None or self._verifier is None:
            return 0
        if self.host.by_partition:
            self._stock.refill(monotonic_ms)
        done = self.host.do_work() + self._verifier.do_work(monotonic_ms)
        sent = self._sender.do_work(monotonic_ms)
        return done + sent + (self.host.do_work() if sent else 0)

    def sleep_bound_ms(self, most_ms: int) -> int:
        """How long the worker may sleep before something is due here."""
        bound_ms = self.host.sleep_bound_ms(most_ms)
        waiting = [one for one in (self._sender, self._verifier) if one is not None and one.is_waiting]
        return min(bound_ms, RETRY_WAIT_MS) if waiting else bound_ms

    def _take(self, state_partition: int, event: Any) -> None:
        hosted = self.host.by_partition.get(state_partition)
        if hosted is not None:
            self.host.step(hosted, event)

    def _epoch_of(self, state_partition: int) -> int:
        hosted = self.host.by_partition.get(state_partition)
        return NO_EPOCH if hosted is None else hosted.replica.leader_epoch
