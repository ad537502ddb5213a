"""A consumer of chosen partitions, without threads: one fetch is in flight to each leader, for all of its partitions.

A poll returns what has arrived and sends the next fetches, so that the broker works while the caller does. Positions
are the caller's: from offsets (`start_offsets` finds them for times), up to given ends or for ever. Group membership is in
`group_member.py`.

Every batch's checksum is verified. Control batches are skipped, and with read_committed the records of aborted transactions.

Source: Kafka `Fetcher`, `CompletedFetch`; KIP-98 for aborted transactions.
"""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headrace.client.cluster import EARLIEST, FETCH_VERSIONS, LATEST, Cluster, error_of
from headrace.client.connection import Connection, ConnectionFailed, wait_for_answers
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.control_record import ABORT, control_type
from headrace.protocol.message_set import iterate_entries, iterate_entry_records
from headrace.protocol.record_batch import MAGIC_V2, CorruptRecord, Record, compute_crc, iterate_records, parse_header

__all__ = ["Consumer", "Fetched", "Record", "check_range", "start_offsets"]

FETCH_WAIT_MS = 500
FETCH_BYTES = 8 << 20
PARTITION_BYTES = 1 << 20  # of one partition in one fetch; a larger batch comes all the same
RETRY_PAUSE_S = 0.1
GONE_AFTER_S = (
    2.0  # a topic that brokers don't know for this long was deleted; one that is new may not have reached all of them
)
FAILING_MAX_S = 60.0  # a leader or partition that fails for this long ends the poll
ANSWER_EXTRA_S = 10.0  # after FETCH_WAIT_MS

Fetched = tuple[TopicPartition, list[Record]]


class _Request(NamedTuple):
    """A fetch in flight: the offset requested of each partition."""

    connection: Connection
    offsets: dict[TopicPartition, int]
    deadline_s: float


class Consumer:
    """A consumer with exclusive use of a `Cluster`.

    positions     the next offset of each partition
    ends          where partitions end; those without are read for ever
    raises        KafkaError from `poll`, with partition and offset: OFFSET_OUT_OF_RANGE, and errors that are not retriable
    """

    def __init__(
        self,
        cluster: Cluster,
        positions: Mapping[TopicPartition, int] | None = None,
        ends: Mapping[TopicPartition, int] | None = None,
        is_read_committed: bool = False,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._is_read_committed = is_read_committed
        self._clock_s = clock_s
        self._requests: dict[int, _Request] = {}  # by node id
        self._failing: dict[TopicPartition, tuple[float, HeadraceError]] = {}  # since when, and why
        self._gone_since_s: float | None = None  # a topic is unknown to the brokers
        self._refresh_at_s: float | None = None  # metadata is to be read again, not before this
        self._failure: HeadraceError | None = None  # of a poll that had found records, for the next one
        self.positions: dict[TopicPartition, int] = {}
        self.ends: dict[TopicPartition, int] = {}
        self.assign(positions or {}, ends or {})

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.close()

    @property
    def is_done(self) -> bool:
        """Whether every partition has reached its end."""
        return all(offset >= self.ends.get(name, offset + 1) for name, offset in self.positions.items())

    def assign(self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> None:
        """Replace the assigned partitions. Responses in flight are discarded."""
        self.positions = dict(positions)
        self.ends = dict(ends)
        self._failing.clear()
        self._failure = None

    def poll(self, wait_s: float = FETCH_WAIT_MS / 1000) -> list[Fetched]:
        """Records that have arrived, by partition in order; an empty list if none do within about `wait_s`.

        raises   KafkaError, CorruptRecord, CompressionError; ConnectionFailed, if a leader was unreachable for too long. Positions
                 have moved past what was returned only: where one partition fails and others have records, these are returned, and the
                 next poll raises
        """
        due, self._failure = self._failure, None
        if due is not None:
            raise due
        self._send_fetches()
        found: list[Fetched] = []
        try:
            for node_id in self._answered(wait_s):
                self._take_answer(node_id, found)
            self._give_up_silent()
            self._send_fetches()
        except HeadraceError as failure:
            if not found:
                raise
            self._failure = failure
        return found

    # Requests

    def _send_fetches(self) -> None:
        """One fetch to each leader that has none in flight and leads a partition with something left to read."""
        now_s = self._clock_s()
        if self._refresh_at_s is not None:
            if now_s < self._refresh_at_s:
                return
            self._refresh(now_s)
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for name, offset in self.positions.items():
            if offset >= self.ends.get(name, offset + 1):
                continue
            try:
                by_leader.setdefault(self._cluster.leader(name), {})[name] = offset
            except KafkaError as failure:
                self._note_failure([name], failure)
        for node_id, offsets in by_leader.items():
            if node_id not in self._requests:
                self._send_fetch(node_id, offsets)

    def _send_fetch(self, node_id: int, offsets: dict[TopicPartition, int]) -> None:
        kind = messages.FetchRequest
        topics: dict[str, list[messages.FetchRequest.FetchPartition]] = {}
        for name, offset in offsets.items():
            row = kind.FetchPartition(
                partition=name.partition, fetch_offset=offset, partition_max_bytes=PARTITION_BYTES
            )
            topics.setdefault(name.topic, []).append(row)
        request = kind(
            max_wait_ms=FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=int(self._is_read_committed),
            session_epoch=-1,
            topics=[kind.FetchTopic(topic=topic, partitions=rows) for topic, rows in topics.items()],
        )
        try:
            connection = self._cluster.connection(node_id)
            connection.send(ApiKey.FETCH, connection.version(ApiKey.FETCH, *FETCH_VERSIONS), request)
        except ConnectionFailed as failure:
            self._note_failure(offsets, failure)
            return
        deadline_s = self._clock_s() + FETCH_WAIT_MS / 1000 + ANSWER_EXTRA_S
        self._requests[node_id] = _Request(connection, offsets, deadline_s)

    def _answered(self, wait_s: float) -> list[int]:
        """Leaders with a response to read."""
        if not self._requests:
            select.select((), (), (), min(wait_s, RETRY_PAUSE_S))  # nothing to read, or not before the next try
            return []
        return wait_for_answers(((node_id, request.connection) for node_id, request in self._requests.items()), wait_s)

    def _give_up_silent(self) -> None:
        now_s = self._clock_s()
        for node_id in [node_id for node_id, request in self._requests.items() if now_s >= request.deadline_s]:
            request = self._requests.pop(node_id)
            request.connection.close()
            self._note_failure(request.offsets, ConnectionFailed(f"{request.connection.address}: no response in time"))

    def _take_answer(self, node_id: int, found: list[Fetched]) -> None:
        """Add its records to `found`, also those before a partition whose error is raised. raises as `poll` does"""
        request = self._requests.pop(node_id)
        try:
            answer: messages.FetchResponse = request.connection.receive()
            if answer.error_code:
                raise error_of(answer.error_code, f"broker {node_id}")
        except (ConnectionFailed, BadFrame, KafkaError) as failure:
            self._note_failure(request.offsets, failure)
            return
        for topic in answer.responses:
            for row in topic.partitions:
                name = TopicPartition(topic.topic, row.partition_index)
                offset = request.offsets.get(name)
                if offset is None or self.positions.get(name) != offset:
                    continue  # reassigned meanwhile
                records = self._take_partition(name, offset, row)
                if records:
                    found.append((name, records))

    # Partitions

    def _take_partition(
        self, name: TopicPartition, offset: int, row: messages.FetchResponse.PartitionData
    ) -> list[Record]:
        if row.error_code:
            failure = error_of(row.error_code, f"{name} at offset {offset}")
            if not failure.code.retriable:
                raise failure
            self._note_failure([name], failure)
            return []
        self._failing.pop(name, None)
        end = self.ends.get(name)
        records: list[Record] = []
        position = offset
        data = memoryview(row.records or b"")
        for last_offset, entry in _readable(name, data, row.aborted_transactions if self._is_read_committed else None):
            if end is not None and position >= end:
                break
            if entry is not None:
                for record in iterate_entry_records(entry):
                    if record.offset >= offset and (end is None or record.offset < end):
                        records.append(record)
            position = max(position, last_offset + 1)
        self.positions[name] = position
        # the largest turn of a partition comes last in the next fetch, so that none starves behind it
        if len(data) >= PARTITION_BYTES:
            self.positions[name] = self.positions.pop(name)
        return records

    def _note_failure(self, names: Iterable[TopicPartition], failure: HeadraceError) -> None:
        """These partitions can't be read now; raises the failure if it is not retriable or has lasted too long."""
        if isinstance(failure, BadFrame) or (isinstance(failure, KafkaError) and not failure.code.retriable):
            raise failure
        now_s = self._clock_s()
        for name in names:
            since_s, _failure = self._failing.setdefault(name, (now_s, failure))
            if now_s - since_s >= FAILING_MAX_S:
                raise failure
        if self._refresh_at_s is None:
            self._refresh_at_s = now_s + RETRY_PAUSE_S

    def _refresh(self, now_s: float) -> None:
        self._refresh_at_s = None
        try:
            self._cluster.refresh(sorted({name.topic for name in self.positions}))
        except (ConnectionFailed, KafkaError) as failure:
            if isinstance(failure, KafkaError) and failure.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._gone_since_s = now_s if self._gone_since_s is None else self._gone_since_s
                if now_s - self._gone_since_s >= GONE_AFTER_S:
                    raise
            self._note_failure(self.positions, failure)
            self._refresh_at_s = now_s + RETRY_PAUSE_S
            return
        self._gone_since_s = None


def start_offsets(cluster: Cluster, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Where to begin for EARLIEST, LATEST or a time in milliseconds; the end, if no record is that late."""
    found = cluster.offsets(dict(wanted))
    late = [name for name, offset in found.items() if offset < 0]
    if late:
        found.update(cluster.offsets(dict.fromkeys(late, LATEST)))
    return found


def check_range(cluster: Cluster, offsets: Mapping[TopicPartition, int]) -> None:
    """raises   KafkaError OFFSET_OUT_OF_RANGE, which names the first partition that does not have its offset"""
    starts = cluster.offsets(dict.fromkeys(offsets, EARLIEST))
    ends = cluster.offsets(dict.fromkeys(offsets, LATEST))
    for name, offset in sorted(offsets.items()):
        if not starts[name] <= offset <= ends[name]:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {name} is out of range: valid offsets are {starts[name]} to {ends[name]}",
            )


def _readable(
    name: TopicPartition, data: memoryview, aborted: Sequence[messages.FetchResponse.AbortedTransaction] | None
) -> Iterator[tuple[int, memoryview | None]]:
    """(last offset, bytes) of each whole entry of a fetch; None in place of bytes whose records are skipped.

    Entries of formats 0 and 1 come as they are: reading their records verifies their checksums.

    aborted   transactions whose records are skipped, None: none
    """
    starts = [(entry.first_offset, entry.producer_id) for entry in aborted or ()]
    heapq.heapify(starts)
    open_aborted: set[int] = set()
    for position, size, magic in iterate_entries(data):
        batch = data[position : position + size]
        if magic < MAGIC_V2:
            yield int.from_bytes(batch[:8], "big"), batch
            continue
        header = parse_header(batch)
        if compute_crc(batch) != header.crc:
            raise CorruptRecord(f"{name}: checksum mismatch in the batch at offset {header.base_offset}")
        while starts and starts[0][0] <= header.last_offset:
            open_aborted.add(heapq.heappop(starts)[1])
        if header.is_control:
            if _is_abort(batch):
                open_aborted.discard(header.producer_id)
            yield header.last_offset, None
        elif header.is_transactional and header.producer_id in open_aborted:
            yield header.last_offset, None
        else:
            yield header.last_offset, batch


def _is_abort(batch: memoryview) -> bool:
    record = next(iterate_records(batch), None)
    return record is not None and control_type(record.key) == ABORT
