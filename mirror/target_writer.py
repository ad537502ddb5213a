"""Produce requests to the target: up to CLIENT_IN_FLIGHT_MAX in flight to each leader, one batch for a partition in each.

A leader answers in the order in which it was asked, so a partition's batches are acknowledged in order. After a failure of one, what was
sent after it is waited for; then all that is not acknowledged is sent again, with the same sequences. Others go on meanwhile.

Source: Kafka `Sender`; KIP-98.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from headrace.client.cluster import Cluster, error_of
from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import CLIENT_IN_FLIGHT_MAX
from headrace.mirror.appender import ACKS_ALL, APPEND_TIMEOUT_MS, PRODUCE_VERSIONS, records_for
from headrace.mirror.identity import DATA_EPOCH
from headrace.mirror.lane import Outgoing, Queue
from headrace.mirror.partition_copy import CopyState, Outlet
from headrace.mirror.passage import stamped
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

REQUEST_BYTES = 8 << 20
ANSWER_EXTRA_S = 5.0
REFRESH_PAUSE_S = 0.2

Sent = dict[TopicPartition, tuple[Outlet, Queue, Outgoing]]


class _Request(NamedTuple):
    batches: Sent
    deadline_s: float


class _Line(NamedTuple):
    """A leader's connection, and what is in flight on it."""

    connection: Connection
    requests: deque[_Request]


class TargetWriter:
    """Of one process. It uses a `Cluster` of its own.

    may_send       asked before a batch is taken: the claim of the partition is fresh
    on_stored      a batch is in the target, at this offset
    on_refused     it never will be, or not there
    on_failure     it could not be sent or was not answered; it is sent again
    """

    def __init__(
        self,
        cluster: Cluster,
        may_send: Callable[[Outlet], bool],
        on_stored: Callable[[Outlet, Outgoing, int], None],
        on_refused: Callable[[Outlet, Outgoing, KafkaError], None],
        on_failure: Callable[[Outlet, HeadraceError], None],
    ) -> None:
        self._cluster = cluster
        self._may_send = may_send
        self._on_stored = on_stored
        self._on_refused = on_refused
        self._on_failure = on_failure
        self._lines: dict[int, _Line] = {}
        self._refresh_at_s: float | None = 0.0
        self._turn = 0

    def connections(self) -> list[tuple[int, Connection]]:
        return [(node_id, line.connection) for node_id, line in self._lines.items() if line.requests]

    @property
    def is_idle(self) -> bool:
        return not any(line.requests for line in self._lines.values())

    def send(self, copies: Iterable[Outlet], now_s: float) -> int:
        """Send what can be sent; returns the number of batches."""
        ready = []
        for copy in copies:
            if (
                copy.state is CopyState.COPYING
                and copy.lane is not None
                and not copy.lane.is_idle
                and now_s >= copy.due_s
            ):
                self._mend(copy)
                if not copy.is_broken:
                    ready.append(copy)
        if not ready:
            return 0
        if self._refresh_at_s is not None and now_s >= self._refresh_at_s and not self._refresh(ready, now_s):
            return 0
        first = self._turn % len(ready)  # of several that write to one target partition, each comes first at times
        by_leader: dict[int, list[Outlet]] = {}
        for copy in ready[first:] + ready[:first]:
            try:
                by_leader.setdefault(self._cluster.leader(copy.target), []).append(copy)
            except KafkaError:
                copy.due_s = now_s + REFRESH_PAUSE_S
                self._refresh_soon(now_s)
        count = sum(self._send_to(node_id, some, now_s) for node_id, some in by_leader.items())
        self._turn += bool(count)
        return count

    def _mend(self, copy: Outlet) -> None:
        """All that was sent after a failure is answered: begin again with the first that is not acknowledged."""
        if copy.is_broken and not copy.in_flight:
            assert copy.lane is not None
            copy.lane.rewind()
            copy.is_broken = False

    def _send_to(self, node_id: int, copies: list[Outlet], now_s: float) -> int:
        count = 0
        while True:
            line = self._lines.get(node_id)
            if line is not None and len(line.requests) >= CLIENT_IN_FLIGHT_MAX:
                return count
            batches = self._next_batches(copies)
            if not batches:
                return count
            count += len(batches)
            if not self._send_batches(node_id, batches, now_s):
                return count

    def _next_batches(self, copies: list[Outlet]) -> Sent:
        batches: Sent = {}
        size = 0
        for copy in copies:
            lane = copy.lane
            if lane is None or copy.is_broken or copy.target in batches or not self._may_send(copy):
                continue
            outgoing = lane.next_batch()
            if outgoing is None:
                continue
            if not outgoing.is_stamped:
                stamped(outgoing.piece.batch, lane.producer_id, DATA_EPOCH, lane.sequence_of(outgoing))
                outgoing.is_stamped = True
            batches[copy.target] = (copy, lane, outgoing)
            copy.in_flight += 1
            size += len(outgoing.piece.batch)
            if size >= REQUEST_BYTES:
                break
        return batches

    def _send_batches(self, node_id: int, batches: Sent, now_s: float) -> bool:
        kind = messages.ProduceRequest
        try:
            connection = self._cluster.connection(node_id)
            line = self._lines.get(node_id)
            if line is None or line.connection is not connection:
                if line is not None:
                    self._lost(line, ConnectionFailed(f"{line.connection.address}: closed"), now_s)
                line = self._lines[node_id] = _Line(connection, deque())
            version = connection.version(ApiKey.PRODUCE, *PRODUCE_VERSIONS)
            topics: dict[str, list[messages.ProduceRequest.PartitionProduceData]] = {}
            for name, (_copy, _lane, outgoing) in batches.items():
                row = kind.PartitionProduceData(name.partition, records_for(version, outgoing.piece.batch))
                topics.setdefault(name.topic, []).append(row)
            request = kind(
                transactional_id=None,
                acks=ACKS_ALL,
                timeout_ms=APPEND_TIMEOUT_MS,
                topic_data=[kind.TopicProduceData(topic, rows) for topic, rows in topics.items()],
            )
            connection.send(ApiKey.PRODUCE, version, request)
        except (ConnectionFailed, KafkaError) as failure:
            self._fail(batches, failure, now_s)
            return False
        line.requests.append(_Request(batches, now_s + APPEND_TIMEOUT_MS / 1000 + ANSWER_EXTRA_S))
        return True

    def receive(self, node_id: int, now_s: float) -> None:
        """The answers of a leader that are here or have begun to arrive."""
        line = self._lines[node_id]
        while line.requests:
            request = line.requests.popleft()
            try:
                answer: messages.ProduceResponse = line.connection.receive(ANSWER_EXTRA_S)
            except (ConnectionFailed, BadFrame) as failure:
                self._fail(request.batches, failure, now_s)
                self._lost(line, failure, now_s)
                return
            self._take(request.batches, answer, now_s)
            if line.connection.fileno() < 0 or not line.connection.has_begun_response:
                return

    def _take(self, batches: Sent, answer: messages.ProduceResponse, now_s: float) -> None:
        left = dict(batches)
        for topic in answer.responses:
            for row in topic.partition_responses:
                sent = left.pop(TopicPartition(topic.name, row.index), None)
                if sent is None:
                    continue
                copy, lane, outgoing = sent
                copy.in_flight -= 1
                if copy.lane is not lane or copy.is_broken:
                    continue
                if not row.error_code:
                    self._on_stored(copy, outgoing, row.base_offset)
                    continue
                failure = error_of(row.error_code, row.error_message or str(copy.target))
                is_retriable = failure.code.retriable and failure.code is not ErrorCode.CORRUPT_MESSAGE
                if is_retriable:
                    self._break(copy, failure, now_s)
                else:
                    self._on_refused(copy, outgoing, failure)
        self._fail(left, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "a partition is missing in the response"), now_s)

    def give_up_silent(self, now_s: float) -> None:
        for line in list(self._lines.values()):
            if line.requests and now_s >= line.requests[0].deadline_s:
                line.connection.close()
                self._lost(line, ConnectionFailed(f"{line.connection.address}: no response in time"), now_s)

    def _lost(self, line: _Line, failure: HeadraceError, now_s: float) -> None:
        while line.requests:
            self._fail(line.requests.popleft().batches, failure, now_s)

    def _fail(self, batches: Sent, failure: HeadraceError, now_s: float) -> None:
        for copy, lane, _outgoing in batches.values():
            copy.in_flight -= 1
            if copy.lane is lane:
                self._break(copy, failure, now_s)

    def _break(self, copy: Outlet, failure: HeadraceError, now_s: float) -> None:
        copy.is_broken = True
        copy.due_s = now_s + REFRESH_PAUSE_S
        self._refresh_soon(now_s)
        self._on_failure(copy, failure)

    def _refresh_soon(self, now_s: float) -> None:
        if self._refresh_at_s is None:
            self._refresh_at_s = now_s + REFRESH_PAUSE_S

    def _refresh(self, copies: list[Outlet], now_s: float) -> bool:
        """False: no broker responds."""
        self._refresh_at_s = None
        try:
            with contextlib.suppress(KafkaError):  # of one topic: the others are refreshed
                self._cluster.refresh(sorted({copy.target.topic for copy in copies}))
        except ConnectionFailed as failure:
            self._refresh_at_s = now_s + REFRESH_PAUSE_S
            for copy in copies:
                copy.due_s = self._refresh_at_s
                self._on_failure(copy, failure)
            return False
        return True

    def close(self) -> None:
        self._lines.clear()
        self._cluster.close()
