"""A broker of one process and no log of its own: it answers from %020d.log files built by `build_batch`.

A `FileLog` is a log directory with its `meta.properties`; a `FakeBroker` serves it on a socket, misbehaves as
told (`fail`, `drop_connections`), and counts what it was asked.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.log.names import path_of, segment_bases
from headrace.log.state.leader_epochs import end_offset_for
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.protocol.frames import parse_request_header
from headrace.protocol.message_set import iterate_entries, iterate_entry_records, old_header
from headrace.protocol.record_batch import (
    MAGIC_V2,
    build_batch,
    compute_crc,
    parse_header,
)

CLUSTER_ID = "fake-cluster"
SERVED = {
    ApiKey.PRODUCE: (0, 9),
    ApiKey.INIT_PRODUCER_ID: (0, 4),
    ApiKey.FETCH: (4, 12),
    ApiKey.LIST_OFFSETS: (0, 7),
    ApiKey.METADATA: (0, 12),
    ApiKey.API_VERSIONS: (0, 3),
    ApiKey.DESCRIBE_LOG_DIRS: (0, 4),
    ApiKey.LIST_GROUPS: (0, 5),
    ApiKey.FIND_COORDINATOR: (0, 3),
    ApiKey.OFFSET_COMMIT: (2, 8),
    ApiKey.OFFSET_FETCH: (2, 7),
    ApiKey.DESCRIBE_PRODUCERS: (0, 0),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 4),
}
FLEXIBLE_FROM = {
    ApiKey.PRODUCE: 9,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 6,
    ApiKey.METADATA: 9,
    ApiKey.INIT_PRODUCER_ID: 2,
    ApiKey.DESCRIBE_LOG_DIRS: 2,
    ApiKey.LIST_GROUPS: 3,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.OFFSET_COMMIT: 8,
    ApiKey.OFFSET_FETCH: 6,
    ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 4,
}


_STORED = -1  # the last batch of its producer, once more


class FileLog:
    """A log directory on disk, written batch by batch."""

    def __init__(self, directory: Path, broker_id: int = 0, cluster_id: str = CLUSTER_ID) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "meta.properties").write_text(f"version=0\nbroker.id={broker_id}\ncluster.id={cluster_id}\n")
        self.ends: dict[TopicPartition, int] = {}
        self.starts: dict[TopicPartition, int] = {}
        self.internal: set[str] = set()
        self._segments: dict[TopicPartition, Path] = {}

    def create(self, topic: str, partition: int = 0) -> TopicPartition:
        """An empty partition."""
        name = TopicPartition(topic, partition)
        self.partition_directory(name).mkdir()
        self.ends[name] = self.starts[name] = 0
        self.roll(name)
        return name

    def append(self, name: TopicPartition, records: list[Any], **batch: Any) -> None:
        """One batch at the end of the active segment."""
        if name not in self.ends:
            self.create(*name)
        base_offset = self.ends[name]
        data = build_batch(records, base_offset=base_offset, leader_epoch=0, **batch)
        self.append_bytes(name, data)
        self.ends[name] = base_offset + int.from_bytes(data[23:27], "big") + 1

    def append_batch(self, name: TopicPartition, data: bytes) -> None:
        """A batch as a producer sends it."""
        stamped = self.ends[name].to_bytes(8, "big") + data[8:]
        self.append_bytes(name, stamped)
        self.ends[name] += int.from_bytes(data[23:27], "big") + 1

    def append_bytes(self, name: TopicPartition, data: bytes) -> None:
        """Bytes as they are, behind the end offset."""
        with open(self._segments[name], "ab") as file:
            file.write(data)

    def roll(self, name: TopicPartition) -> None:
        """Go on in a new segment."""
        self._segments[name] = path_of(self.partition_directory(name), self.ends[name], ".log")
        self._segments[name].touch()

    def cut(self, name: TopicPartition, offset: int) -> None:
        """The log loses its batches from `offset` on, which begins one; it has one segment."""
        self.rewrite(name, b"".join(data for header, data in self.batches(name) if header.base_offset < offset))
        self.ends[name] = offset

    def rewrite(self, name: TopicPartition, data: bytes) -> None:
        """Other bytes for its one segment, as a compaction leaves them."""
        self._segments[name].write_bytes(data)

    def partition_directory(self, name: TopicPartition) -> Path:
        return self.directory / str(name)

    def batches(self, name: TopicPartition) -> list[tuple[Any, bytes]]:
        """(header, bytes) of all whole batches and entries of old formats."""
        directory = self.partition_directory(name)
        data = b"".join(path_of(directory, base, ".log").read_bytes() for base in segment_bases(directory))
        entries = [(data[position : position + size], magic) for position, size, magic in iterate_entries(data)]
        return [(parse_header(entry) if magic == MAGIC_V2 else old_header(entry, 0), entry) for entry, magic in entries]

    def records(self, name: TopicPartition) -> list[Any]:
        """All records, read by the plain reader: what a scan is compared with."""
        return [
            record
            for header, batch in self.batches(name)
            if not header.is_control and header.base_offset < self.ends[name]
            for record in iterate_entry_records(batch)
        ]


class FakeBroker:
    """Serves a FileLog on 127.0.0.1; a context manager.

    fail               (api key, error code) -> answers left that carry the error instead
    drop_connections   requests left whose connection is closed unanswered
    lose_answers       produce requests left that are carried out and whose connection is closed then
    batch_bytes_max    a larger batch is MESSAGE_TOO_LARGE
    leaders            partition -> node id of its leader, where that is not this broker
    aborted            (producer id, first offset) of aborted transactions, told with every fetch
    topic_ids          topic -> its id as 32 hex digits, of those that have one
    stable             partition -> last stable offset, where a transaction is open
    committed          (group, partition) -> (offset, metadata)
    committed_epochs   the same -> the leader epoch committed with it
    epochs             partition -> [(leader epoch, its first offset)], of those that have epochs
    leader_epochs      partition -> the leader's epoch, where it is not the last of these
    described_max      producers told by one answer, beyond those of its first partition with some
    takes_unknown_producers   with any sequence, as since KIP-360
    asked              requests by api key
    """

    def __init__(self, log: FileLog, node_id: int = 0, tells_directories: bool = True, port: int = 0) -> None:
        self.log = log
        self.node_id = node_id
        self.fail: dict[tuple[int, int], int] = {}
        self.drop_connections = 0
        self.lose_answers = 0
        self.batch_bytes_max = 1 << 30
        self.leaders: dict[TopicPartition, int] = {}
        self.aborted: list[tuple[int, int]] = []
        self.topic_ids: dict[str, str] = {}
        self.stable: dict[TopicPartition, int] = {}
        self.committed: dict[tuple[str, TopicPartition], tuple[int, str]] = {}
        self.committed_epochs: dict[tuple[str, TopicPartition], int] = {}
        self.epochs: dict[TopicPartition, list[tuple[int, int]]] = {}
        self.leader_epochs: dict[TopicPartition, int] = {}
        self.takes_unknown_producers = False
        self.described_max = 1 << 30
        self._sequences: dict[tuple[int, TopicPartition], tuple[int, int]] = {}  # epoch, the next one
        self._stored: dict[tuple[int, TopicPartition], tuple[int, int, int, int]] = {}  # the last batch, and its offset
        self._producer_ids = itertools.count(77)
        self._appending = threading.Lock()
        self.asked: Counter[int] = Counter()
        self._tells_directories = tells_directories
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self._connections: set[socket.socket] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def is_idle(self) -> bool:
        """Whether nobody is connected: all that was asked is done."""
        return not self._connections

    def __enter__(self) -> FakeBroker:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _peer = self._listener.accept()
            except OSError:
                return
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while head := stream.read(4):
                    frame = memoryview(stream.read(struct.unpack(">i", head)[0]))
                    if self.drop_connections:
                        self.drop_connections -= 1
                        return
                    answer = self._answer(frame)
                    if self.lose_answers and frame[:2] == b"\0\0":
                        self.lose_answers -= 1
                        return
                    if answer is not None:
                        connection.sendall(answer)
        except OSError:
            pass
        finally:
            self._connections.discard(connection)

    def _answer(self, frame: memoryview) -> bytes | None:
        header = parse_request_header(frame)
        api_key, version = ApiKey(header.api_key), header.api_version
        self.asked[api_key] += 1
        request = decode_request(api_key, version, frame[header.body_position :])
        error = self._error_due(api_key)
        response = getattr(self, f"_{api_key.name.lower()}")(request, error)
        if api_key == ApiKey.PRODUCE and request.acks == 0:
            return None
        body = encode_response(api_key, version, response)
        tags = b"\0" if version >= FLEXIBLE_FROM.get(api_key, 99) else b""
        answer = struct.pack(">i", header.correlation_id) + tags + body
        return struct.pack(">i", len(answer)) + answer

    def _error_due(self, api_key: int) -> int:
        for (key, code), left in self.fail.items():
            if key == api_key and left:
                self.fail[key, code] -= 1
                return code
        return 0

    def _api_versions(self, _request: Any, _error: int) -> Any:
        kind = messages.ApiVersionsResponse
        return kind(api_keys=[kind.ApiVersion(key, low, high) for key, (low, high) in SERVED.items()])

    def _metadata(self, request: Any, error: int) -> Any:
        kind = messages.MetadataResponse
        names = sorted({name.topic for name in self.log.ends})
        if request.topics is not None:
            names = [topic.name for topic in request.topics]
        topics = []
        for topic in names:
            partitions = [
                kind.MetadataResponsePartition(
                    partition_index=name.partition,
                    leader_id=self.leaders.get(name, self.node_id),
                    leader_epoch=self.leader_epoch(name),
                    replica_nodes=[self.node_id],
                    isr_nodes=[self.node_id],
                )
                for name in sorted(self.log.ends)
                if name.topic == topic
            ]
            code = error or (0 if partitions else 3)
            topics.append(
                kind.MetadataResponseTopic(
                    error_code=code,
                    name=topic,
                    topic_id=bytes.fromhex(self.topic_ids.get(topic, "00" * 16)),
                    is_internal=topic in self.log.internal,
                    partitions=partitions,
                )
            )
        broker = kind.MetadataResponseBroker(node_id=self.node_id, host="127.0.0.1", port=self.port)
        return kind(brokers=[broker], cluster_id=CLUSTER_ID, controller_id=self.node_id, topics=topics)

    def _list_offsets(self, request: Any, error: int) -> Any:
        kind = messages.ListOffsetsResponse
        return kind(
            topics=[
                kind.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        self._listed(
                            TopicPartition(topic.name, row.partition_index), row, request.isolation_level, error
                        )
                        for row in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _listed(self, name: TopicPartition, row: Any, isolation_level: int | None, error: int) -> Any:
        """In both forms: v0 has a list of offsets."""
        offset = self._offset_at(name, row.timestamp, isolation_level or 0)
        return messages.ListOffsetsResponse.ListOffsetsPartitionResponse(
            partition_index=name.partition,
            error_code=error,
            old_style_offsets=[offset],
            offset=offset,
            leader_epoch=self.leader_epoch(name),
        )

    def _offset_at(self, name: TopicPartition, timestamp: int, isolation_level: int) -> int:
        if timestamp == -1:
            return self.stable.get(name, self.log.ends[name]) if isolation_level else self.log.ends[name]
        if timestamp == -2:
            return self.log.starts[name]
        return next((record.offset for record in self.log.records(name) if record.timestamp_ms >= timestamp), -1)

    def leader_epoch(self, name: TopicPartition) -> int:
        known = self.epochs.get(name)
        return self.leader_epochs.get(name, known[-1][0] if known else -1)

    def _offset_for_leader_epoch(self, request: Any, error: int) -> Any:
        kind = messages.OffsetForLeaderEpochResponse
        topics = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                name = TopicPartition(topic.topic, row.partition)
                epoch, end = end_offset_for(self.epochs.get(name, []), row.leader_epoch, self.log.ends[name])
                is_fenced = row.current_leader_epoch not in (-1, self.leader_epoch(name))
                code = error or (ErrorCode.FENCED_LEADER_EPOCH if is_fenced else 0)
                rows.append(kind.EpochEndOffset(code, row.partition, epoch, end))
            topics.append(kind.OffsetForLeaderTopicResult(topic.topic, rows))
        return kind(topics=topics)

    def _produce(self, request: Any, error: int) -> Any:
        kind = messages.ProduceResponse
        topics = []
        for topic in request.topic_data:
            rows = []
            for data in topic.partition_data:
                name = TopicPartition(topic.name, data.index)
                with self._appending:
                    base_offset, code = self.log.ends.get(name, -1), error or self._refusal(name, data.records)
                    if code == _STORED:
                        base_offset, code = self._stored[parse_header(data.records).producer_id, name][3], 0
                    elif not code:
                        self.log.append_batch(name, bytes(data.records))
                rows.append(kind.PartitionProduceResponse(index=data.index, error_code=code, base_offset=base_offset))
            topics.append(kind.TopicProduceResponse(name=topic.name, partition_responses=rows))
        return kind(responses=topics)

    def _refusal(self, name: TopicPartition, data: memoryview) -> int:
        if name not in self.log.ends:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if len(data) > self.batch_bytes_max:
            return ErrorCode.MESSAGE_TOO_LARGE
        header = parse_header(data)
        if compute_crc(data) != header.crc:
            return ErrorCode.CORRUPT_MESSAGE
        if header.producer_id >= 0:
            place = (header.producer_epoch, header.base_sequence, header.record_count)
            if self._stored.get((header.producer_id, name), ())[:3] == place:
                return _STORED
            epoch, due = self._sequences.get((header.producer_id, name), (header.producer_epoch, 0))
            if header.producer_epoch < epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH
            if header.producer_epoch > epoch:
                due = 0
            if not due and header.base_sequence and self.takes_unknown_producers:
                due = header.base_sequence
            if not due and header.base_sequence:
                return ErrorCode.UNKNOWN_PRODUCER_ID
            if header.base_sequence < due:
                return ErrorCode.DUPLICATE_SEQUENCE_NUMBER
            if header.base_sequence > due:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            self._sequences[header.producer_id, name] = (header.producer_epoch, due + header.record_count)
            self._stored[header.producer_id, name] = (*place, self.log.ends[name])
        return 0

    def forget_producers(self) -> None:
        self._sequences.clear()
        self._stored.clear()

    def _describe_producers(self, request: Any, error: int) -> Any:
        kind = messages.DescribeProducersResponse
        topics = []
        told = 0
        for topic in request.topics:
            rows = []
            for index in topic.partition_indexes:
                states = [
                    kind.ProducerState(producer_id=producer_id, producer_epoch=epoch, last_sequence=due - 1)
                    for (producer_id, name), (epoch, due) in self._sequences.items()
                    if name == (topic.name, index)
                ]
                if told and told + len(states) > self.described_max:
                    rows.append(
                        kind.PartitionResponse(index, ErrorCode.INVALID_REQUEST, "request fewer partitions at a time")
                    )
                    continue
                told += len(states)
                rows.append(kind.PartitionResponse(partition_index=index, error_code=error, active_producers=states))
            topics.append(kind.TopicResponse(name=topic.name, partitions=rows))
        return kind(topics=topics)

    def _find_coordinator(self, _request: Any, error: int) -> Any:
        return messages.FindCoordinatorResponse(
            error_code=error, node_id=self.node_id, host="127.0.0.1", port=self.port
        )

    def _offset_commit(self, request: Any, error: int) -> Any:
        kind = messages.OffsetCommitResponse
        topics = []
        for topic in request.topics:
            for row in topic.partitions:
                if not error:
                    name = TopicPartition(topic.name, row.partition_index)
                    self.committed[request.group_id, name] = (row.committed_offset, row.committed_metadata)
                    self.committed_epochs[request.group_id, name] = row.committed_leader_epoch
            rows = [kind.OffsetCommitResponsePartition(row.partition_index, error) for row in topic.partitions]
            topics.append(kind.OffsetCommitResponseTopic(topic.name, rows))
        return kind(topics=topics)

    def _offset_fetch(self, request: Any, error: int) -> Any:
        kind = messages.OffsetFetchResponse
        topics: dict[str, list[Any]] = {}
        for (group, name), (offset, metadata) in self.committed.items():
            if group == request.group_id:
                epoch = self.committed_epochs.get((group, name), -1)
                row = kind.OffsetFetchResponsePartition(name.partition, offset, epoch, metadata, error)
                topics.setdefault(name.topic, []).append(row)
        return kind(error_code=error, topics=[kind.OffsetFetchResponseTopic(*one) for one in topics.items()])

    def _init_producer_id(self, _request: Any, error: int) -> Any:
        kind = messages.InitProducerIdResponse
        if error:
            return kind(error_code=error)
        return kind(producer_id=next(self._producer_ids), producer_epoch=0)

    def _fetch(self, request: Any, error: int) -> Any:
        kind = messages.FetchResponse
        topics = []
        for topic in request.topics:
            rows = [self._fetch_one(topic.topic, wanted, error) for wanted in topic.partitions]
            topics.append(kind.FetchableTopicResponse(topic=topic.topic, partitions=rows))
        return kind(responses=topics)

    def _fetch_one(self, topic: str, wanted: Any, error: int) -> Any:
        kind = messages.FetchResponse
        name = TopicPartition(topic, wanted.partition)
        if not self.log.starts[name] <= wanted.fetch_offset <= self.log.ends[name]:
            error = error or ErrorCode.OFFSET_OUT_OF_RANGE
        data = b""
        for header, batch in self.log.batches(name):
            if header.last_offset >= wanted.fetch_offset and header.base_offset < self.log.ends[name]:
                data += batch
                if len(data) >= wanted.partition_max_bytes:  # the batch at the limit is cut, unless it is the first
                    data = data[: max(wanted.partition_max_bytes, len(batch) if data == batch else 0)]
                    break
        return kind.PartitionData(
            partition_index=name.partition,
            error_code=error,
            high_watermark=self.log.ends[name],
            aborted_transactions=[kind.AbortedTransaction(*entry) for entry in self.aborted],
            records=None if error else data,
        )

    def _list_groups(self, _request: Any, error: int) -> Any:
        """One group; beside an error none, as while groups are loaded."""
        kind = messages.ListGroupsResponse
        rows = [] if error else [kind.ListedGroup(group_id="billing", protocol_type="consumer", group_state="Empty")]
        return kind(error_code=error, groups=rows)

    def _describe_log_dirs(self, _request: Any, error: int) -> Any:
        kind = messages.DescribeLogDirsResponse
        if not self._tells_directories:
            return kind(results=[])
        topics = [
            kind.DescribeLogDirsTopic(
                name=name.topic, partitions=[kind.DescribeLogDirsPartition(partition_index=name.partition)]
            )
            for name in sorted(self.log.ends)
        ]
        result = kind.DescribeLogDirsResult(error_code=error, log_dir=str(self.log.directory), topics=topics)
        return kind(results=[result])
