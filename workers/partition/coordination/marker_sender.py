"""The markers that transaction coordinators of this worker want written, on their way to whoever leads the partitions.

Runs in: a partition worker, in its cycle.

    send -> by destination: this worker | another worker of the node (WRITE_MARKERS) | another node (WriteTxnMarkers)
         -> one request in flight a destination, with all that waits for it; slow partitions have their own (`marker_lanes.py`)
         -> its errors, each decided (`_FATES`) -> MarkersWritten, MarkersRefused

    no leader, or not known who   it is looked for again, at the next view or after RETRY_MS, then up to RETRY_MAX_MS
    the topic was deleted         no marker is needed. One that is merely not in the view is waited for, and so is a partition
                                  that its topic lacks: a restored ZooKeeper shows fewer as well
    the answer is lost            all is sent again: a marker that is there changes nothing

What is not decided is not given up: an unknown error is tried again, with a line of the log a minute. A job that was dropped, or that a
later one replaced, hears of nothing.

Bound: what waits is bounded by the partitions of transactions.
Source: Kafka `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final

from headrace.backoff import pause_after
from headrace.errors import BadFrame, ErrorCode
from headrace.limits import LOGGED_ID_LENGTH_MAX, MARKER_ANSWER_MS
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.control_record import EndMarker
from headrace.runtime.mailbox import Mailbox
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers
from headrace.shm.cluster_view import ClusterView, PartitionView
from headrace.shm.messages import MARKER, MARKER_RESULT, ReplyStatus, RequestKind
from headrace.shm.seat import Seat
from headrace.workers.coordinators.transaction.effects import DropMarkers, SendMarkers
from headrace.workers.coordinators.transaction.events import MarkersRefused, MarkersWritten
from headrace.workers.coordinators.transaction.transaction import TopicIndex
from headrace.workers.partition.coordination.leader_ways import LeaderWays, Node, Worker
from headrace.workers.partition.coordination.marker_lanes import Entry, Flight, Job, MarkerLanes
from headrace.workers.partition.coordination.marker_writes import MarkerWrites

RETRY_MS: Final = 100
RETRY_MAX_MS: Final = 1_000
FAILURES_TOLD: Final = 100  # after so many in a row, and so many again, it is said
TOLD_MS: Final = 60_000
CLIENT_ID: Final = "headrace-transactions"

_E: Final = ErrorCode
_log: Final = logging.getLogger(__name__)


class Fate(Enum):
    """What an error means for a marker."""

    DONE = "done"
    AGAIN = "again"
    LEFT = "left"  # to a later coordinator


_FATES: Final[dict[ErrorCode, Fate]] = {
    _E.NONE: Fate.DONE,
    _E.UNSUPPORTED_FOR_MESSAGE_FORMAT: Fate.DONE,  # a log of an old format has no transactions
    _E.UNSUPPORTED_VERSION: Fate.DONE,
    **dict.fromkeys(
        (
            _E.NOT_LEADER_OR_FOLLOWER,
            _E.UNKNOWN_TOPIC_OR_PARTITION,
            _E.NOT_ENOUGH_REPLICAS,
            _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            _E.REQUEST_TIMED_OUT,
            _E.KAFKA_STORAGE_ERROR,
            _E.NETWORK_EXCEPTION,  # the answer is lost
            _E.COORDINATOR_LOAD_IN_PROGRESS,
        ),
        Fate.AGAIN,
    ),
    _E.INVALID_PRODUCER_EPOCH: Fate.LEFT,
    _E.TRANSACTION_COORDINATOR_FENCED: Fate.LEFT,
}


class MarkerSender:
    """One worker's.

    on_event      called with (partition of `__transaction_state`, event) for its coordinator
    epoch_of      leader epoch of such a partition, that goes with each marker; -1: it is not led here
    """

    def __init__(
        self,
        seat: Seat,
        mailbox: Mailbox,
        writes: MarkerWrites,
        peers: Peers | None,
        on_event: Callable[[int, Any], None],
        epoch_of: Callable[[int], int],
        version: int,
    ) -> None:
        self._mailbox = mailbox
        self._writes = writes
        self._on_event = on_event
        self._epoch_of = epoch_of
        self._version = version
        self._ways = LeaderWays(seat, peers, PeerOptions(client_id=CLIENT_ID))
        self._deleted: frozenset[str] = frozenset()
        self._jobs: dict[Job, SendMarkers] = {}
        self._left: dict[Job, dict[TopicIndex, int]] = {}  # of each job: what is not written, and its failures in a row
        self._due: dict[Entry, None] = {}  # to be sent
        self._lanes = MarkerLanes()  # on their way to it
        self._later: list[tuple[int, Entry]] = []  # a heap: to be sent at that time, or with the next view
        self._told: dict[str, int] = {}  # what was logged, when
        self._now_ms = 0
        self._written: dict[Job, set[TopicIndex]] = {}
        self._refused: dict[Job, ErrorCode] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether something is to be looked at again soon."""
        return bool(self._later) or self._lanes.is_waiting

    def follow(self, view: ClusterView, deleted: frozenset[str]) -> None:
        """Leaders may be others."""
        self._ways.follow(view)
        self._deleted = deleted
        self._due.update(dict.fromkeys(self._lanes.take_all()))
        self._due.update(dict.fromkeys([entry for _due_ms, entry in self._later]))
        self._later.clear()

    def send(self, effect: SendMarkers) -> None:
        """Write these; what becomes of them is told by `on_event`, later."""
        job = (effect.state_partition, effect.serial)
        self._jobs[job] = effect
        self._left[job] = dict.fromkeys(effect.partitions, 0)
        self._due.update(dict.fromkeys((job, place) for place in effect.partitions))

    def drop(self, effect: DropMarkers) -> None:
        """What was not written is not wanted any longer."""
        self._forget((effect.state_partition, effect.serial))

    def _forget(self, job: Job) -> None:
        self._jobs.pop(job, None)
        self._left.pop(job, None)

    def do_work(self, monotonic_ms: int) -> int:
        """Send what is due, and report what became of markers; returns the work done."""
        self._now_ms = monotonic_ms
        while self._later and self._later[0][0] <= monotonic_ms:
            self._due[heappop(self._later)[1]] = None
        done = self._sort_due() if self._due else 0
        return done + self._send() + self._report()

    def _sort_due(self) -> int:
        """Everything that is due goes to the lane of its leader, or is written here; returns how much of it is done with."""
        due, self._due = self._due, {}
        done = 0
        for entry in due:
            job, place = entry
            if job not in self._jobs:
                continue
            target, partition = self._ways.leader_of(*place)
            if target is None or partition is None:
                if place[0] in self._deleted:
                    self._settle(entry, _E.NONE)
                    done += 1
                else:
                    self._put_off(entry, "no leader")
            elif target == self._ways.here:
                done += 1
                self._writes.write(partition.slot, partition.key, self._marker_of(job), partial(self._settle, entry))
            else:
                self._lanes.put(target, entry, partition)
        return done

    def _send(self) -> int:
        """What has a free lane; returns how much was sent."""
        done = 0
        for lane, waiting in self._lanes.ready(self._now_ms):
            pairs = [pair for pair in waiting if pair[0][0] in self._jobs]
            if not pairs:
                continue
            done += len(pairs)
            target = lane[0]
            flight = self._lanes.sent(lane, [entry for entry, _partition in pairs], self._now_ms)
            is_sent = (
                self._ask_worker(target, flight, pairs)
                if isinstance(target, Worker)
                else self._ask_node(target, flight)
            )
            if not is_sent:
                self._lanes.answered(flight, self._now_ms)
                for entry in flight.entries:
                    self._put_off(entry, "not sent")
        return done

    def _marker_of(self, job: Job) -> EndMarker:
        effect = self._jobs[job]
        return EndMarker(effect.producer_id, effect.epoch, self._epoch_of(job[0]), not effect.is_commit)

    # To workers of this node

    def _ask_worker(self, target: Worker, flight: Flight, pairs: list[tuple[Entry, PartitionView]]) -> bool:
        rows = []
        for (job, _place), partition in pairs:
            marker = self._marker_of(job)
            rows.append(
                MARKER.pack(
                    max(partition.slot, 0), partition.key, marker.producer_id, marker.coordinator_epoch, marker.epoch,
                    marker.is_abort,
                )
            )  # fmt: skip

        def on_reply(status: ReplyStatus, body: memoryview) -> None:
            self._lanes.answered(flight, self._now_ms)
            errors = [row[0] for row in MARKER_RESULT.iter_unpack(body)] if status is ReplyStatus.ANSWERED else []
            self._take(flight.entries, errors)

        return self._mailbox.ask(target.process_id, RequestKind.WRITE_MARKERS, b"".join(rows), on_reply)

    def _take(self, entries: list[Entry], errors: list[int]) -> None:
        """What a request's markers got; no errors: the answer is lost."""
        is_answered = len(errors) == len(entries)
        for number, entry in enumerate(entries):
            self._settle(entry, _error_of(errors[number]) if is_answered else _E.NETWORK_EXCEPTION)

    # To other nodes

    def _ask_node(self, target: Node, flight: Flight) -> bool:
        peer = self._ways.peer(target)
        if peer is None:
            return False
        by_job: dict[Job, list[TopicIndex]] = {}
        for job, place in flight.entries:
            by_job.setdefault(job, []).append(place)
        request = messages.WriteTxnMarkersRequest(
            markers=[self._wire_marker(job, places) for job, places in by_job.items()]
        )

        def on_reply(outcome: Outcome, body: memoryview) -> None:
            self._lanes.answered(flight, self._now_ms)
            self._take_response(flight.entries, body if outcome is Outcome.ANSWERED else None)

        return peer.ask(ApiKey.WRITE_TXN_MARKERS, self._version, request, on_reply, MARKER_ANSWER_MS)

    def _wire_marker(self, job: Job, places: list[TopicIndex]) -> messages.WriteTxnMarkersRequest.WritableTxnMarker:
        by_topic: dict[str, list[int]] = {}
        for topic, index in places:
            by_topic.setdefault(topic, []).append(index)
        marker = self._marker_of(job)
        row = messages.WriteTxnMarkersRequest.WritableTxnMarkerTopic
        return messages.WriteTxnMarkersRequest.WritableTxnMarker(
            producer_id=marker.producer_id,
            producer_epoch=marker.epoch,
            transaction_result=not marker.is_abort,
            topics=[row(name=topic, partition_indexes=indexes) for topic, indexes in by_topic.items()],
            coordinator_epoch=marker.coordinator_epoch,
        )

    def _take_response(self, entries: list[Entry], body: memoryview | None) -> None:
        found: dict[tuple[int, str, int], int] = {}
        try:
            response = None if body is None else decode_response(ApiKey.WRITE_TXN_MARKERS, self._version, body)
        except BadFrame as failure:
            _log.error("answer to markers refused reason=%s", failure)
            response = None
        for marker in () if response is None else response.markers:
            for topic in marker.topics:
                for row in topic.partitions:
                    found[marker.producer_id, topic.name, row.partition_index] = row.error_code
        for entry in entries:
            job, (topic_name, index) = entry
            effect = self._jobs.get(job)
            if effect is not None:
                code = found.get((effect.producer_id, topic_name, index), int(_E.NETWORK_EXCEPTION))
                self._settle(entry, _error_of(code))

    # Outcomes

    def _settle(self, entry: Entry, error: ErrorCode) -> None:
        """What became of one marker; reported at the end of the cycle's work."""
        job, place = entry
        if job not in self._jobs or place not in self._left[job]:
            return
        fate = _FATES.get(error)
        if fate is Fate.DONE:
            self._written.setdefault(job, set()).add(place)
            self._left[job].pop(place, None)
        elif fate is Fate.LEFT:
            self._refused[job] = error
        else:
            if error is _E.REQUEST_TIMED_OUT:
                self._lanes.note_slow(place)
            self._put_off(entry, error.name, is_told=fate is None)

    def _put_off(self, entry: Entry, reason: str, *, is_told: bool = False) -> None:
        """All that is tried again, after a longer time with each failure in a row."""
        job, place = entry
        failures = self._left[job][place] = self._left[job][place] + 1
        heappush(self._later, (self._now_ms + pause_after(failures, RETRY_MS, RETRY_MAX_MS), entry))
        if is_told or failures % FAILURES_TOLD == 0:
            self._tell(entry, reason)

    def _tell(self, entry: Entry, reason: str) -> None:
        """One line a minute for each reason."""
        (job, place), told_ms = entry, self._told.get(reason)
        if told_ms is not None and self._now_ms - told_ms < TOLD_MS:
            return
        self._told[reason] = self._now_ms
        _log.error(
            "marker not written, retrying transactional_id=%s partition=%s-%d reason=%s markers=%d",
            self._jobs[job].transactional_id[:LOGGED_ID_LENGTH_MAX], *place, reason, len(self._later),
        )  # fmt: skip

    def _report(self) -> int:
        """Events for coordinators: from here, and not from within what they wanted."""
        written, self._written = self._written, {}
        refused, self._refused = self._refused, {}
        for job, places in written.items():
            effect = self._jobs.get(job)
            if effect is not None:
                if not self._left[job]:
                    self._forget(job)
                self._on_event(job[0], MarkersWritten(effect.transactional_id, job[1], frozenset(places)))
        for job, error in refused.items():
            effect = self._jobs.get(job)
            self._forget(job)
            if effect is not None:
                self._on_event(job[0], MarkersRefused(effect.transactional_id, job[1], error))
        return len(written) + len(refused)


def _error_of(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return _E.UNKNOWN_SERVER_ERROR
