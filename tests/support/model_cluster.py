"""Brokers of a model: logs in memory that all of them share, a leader for each partition, and what can be wrong with that.

    broker.is_up            it is reached
    broker.view             what it says in Metadata: may be older than the truth until `cluster.tell`
    cluster.move(name)      another broker leads
    cluster.failures        (api key) -> error codes that come instead of the next answers
    broker.versions         what it serves: a broker of an old release

Producers are checked as `ProducerStateManager` does: the last five batches of each are known, a sequence that does not follow is refused,
a producer that is not known may begin anywhere. Fetch sessions are those of KIP-227: a partition is answered where it has something.
"""

from __future__ import annotations

import copy
import struct
from collections import defaultdict
from typing import Any

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_set import iterate_entries, iterate_entry_records
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.record_batch import MAGIC_V2, iterate_records, parse_header
from tests.support.model_group import ModelGroups
from tests.support.model_transactions import KEYS, ModelTransactions

VERSIONS = {
    ApiKey.PRODUCE: (0, 11),
    ApiKey.FETCH: (0, 16),
    ApiKey.LIST_OFFSETS: (0, 7),
    ApiKey.METADATA: (0, 12),
    ApiKey.OFFSET_COMMIT: (0, 8),
    ApiKey.OFFSET_FETCH: (0, 7),
    ApiKey.FIND_COORDINATOR: (0, 4),
    ApiKey.JOIN_GROUP: (0, 9),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.API_VERSIONS: (0, 3),
    ApiKey.INIT_PRODUCER_ID: (0, 4),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 3),
    ApiKey.ADD_OFFSETS_TO_TXN: (0, 4),
    ApiKey.END_TXN: (0, 4),
    ApiKey.TXN_OFFSET_COMMIT: (0, 4),
}
BATCHES_KEPT = 5


class Log:
    """A partition: batches as they were stored.

    epochs   (leader epoch, its first offset)
    """

    def __init__(self, leader, topic_id):
        self.leader = leader
        self.epoch = 0
        self.topic_id = topic_id
        self.batches = []  # (base offset, next offset, bytes)
        self.start = 0
        self.end = 0
        self.epochs = [(0, 0)]
        self.producers = {}  # id -> (epoch, [(sequence, count, offset)])

    def append(self, data):
        """The base offset. `data` is a batch, or a set of an old format."""
        base = self.end
        count = 0
        for position, size, magic in iterate_entries(memoryview(data)):
            entry = data[position : position + size]
            if magic >= MAGIC_V2:
                kept = bytearray(entry)
                struct.pack_into(">q", kept, 0, self.end)
                struct.pack_into(">i", kept, 12, self.epoch)
                count = parse_header(memoryview(kept)).last_offset - self.end + 1
            else:
                count = len(list(iterate_entry_records(memoryview(entry))))
                kept = bytearray(entry)
                struct.pack_into(">q", kept, 0, self.end + count - 1)
            self.batches.append((self.end, self.end + count, bytes(kept)))
            self.end += count
        return base

    def read(self, offset, size_max):
        """Whole batches from the one that has an offset, at least one."""
        found, size = [], 0
        for _base, next_offset, data in self.batches:
            if next_offset > offset and (not found or size + len(data) <= size_max):
                found.append(data)
                size += len(data)
            elif found:
                break
        return b"".join(found)

    def truncate(self, offset):
        self.batches = [batch for batch in self.batches if batch[1] <= offset]
        self.end = self.batches[-1][1] if self.batches else self.start
        self.epochs = [(epoch, first) for epoch, first in self.epochs if first <= self.end]

    def end_of(self, epoch):
        """(the largest epoch at or below it, its end)"""
        known = [(one, first) for one, first in self.epochs if one <= epoch]
        if not known:
            return -1, -1
        later = [first for one, first in self.epochs if one > epoch]
        return known[-1][0], min(later, default=self.end)

    def values(self):
        return [
            record.value for _base, _next, data in self.batches for record in iterate_entry_records(memoryview(data))
        ]


class Broker:
    """One broker: its requests, its fetch sessions."""

    def __init__(self, cluster, node_id):
        self.cluster, self.node_id = cluster, node_id
        self.host, self.port = f"broker{node_id}", 9092
        self.rack = f"rack{node_id}"
        self.is_up = True
        self.asked = []
        self.versions = dict(VERSIONS)
        self.view: Any = {}
        self.sessions = {}  # id -> (epoch, {(topic, partition): row})
        self._session_id = 0

    def handle(self, api_key, version, request, respond, connection):
        code = self.cluster.failure_due(api_key)
        handler = getattr(self, f"_{api_key.name.lower()}", None)
        if api_key in KEYS:
            respond(self.cluster.transactions.handle(self, api_key, version, request, code))
        elif handler is None:
            self.cluster.groups.handle(self, api_key, version, request, respond, code)
        elif api_key is ApiKey.FETCH:
            handler(version, request, respond, code)
        else:
            respond(handler(version, request, code))

    def log_of(self, name):
        """(the log, why it can't be used here)"""
        log = self.cluster.logs.get(name)
        if log is None:
            return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return log, 0 if log.leader == self.node_id else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _api_versions(self, _version, _request, code):
        kind = messages.ApiVersionsResponse
        rows = [kind.ApiVersion(key, low, high) for key, (low, high) in self.versions.items()]
        return kind(error_code=code, api_keys=rows)

    def _metadata(self, version, request, code):
        kind = messages.MetadataResponse
        view = self.view
        brokers = [kind.MetadataResponseBroker(one.node_id, one.host, one.port, one.rack) for one in view.brokers]
        if request.topics is None or (version == 0 and not request.topics):
            names = sorted({name.topic for name in view.logs})
        else:
            names = [row.name for row in request.topics]
        topics = []
        for topic in names:
            rows = [
                kind.MetadataResponsePartition(
                    error_code=0,
                    partition_index=name.partition,
                    leader_id=log.leader,
                    leader_epoch=log.epoch,
                    replica_nodes=sorted(self.cluster.brokers),
                    isr_nodes=sorted(self.cluster.brokers),
                )
                for name, log in sorted(view.logs.items())
                if name.topic == topic
            ]
            topic_id = next((log.topic_id for name, log in view.logs.items() if name.topic == topic), ZERO_UUID)
            topic_id = topic_id if version >= 10 else ZERO_UUID
            failure = code or (0 if rows else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            topics.append(
                kind.MetadataResponseTopic(
                    error_code=failure, name=topic, topic_id=topic_id, partitions=[] if failure else rows
                )
            )
        return kind(brokers=brokers, cluster_id="model", controller_id=0, topics=topics)

    def _init_producer_id(self, _version, request, code):
        if request.transactional_id is not None:
            if not code and self.node_id != self.cluster.transactions.coordinator:
                code = ErrorCode.NOT_COORDINATOR
            code, producer_id, epoch = (code, -1, -1) if code else self.cluster.transactions.init(request)
            return messages.InitProducerIdResponse(error_code=code, producer_id=producer_id, producer_epoch=epoch)
        if not code:
            self.cluster.producer_ids += 1
        return messages.InitProducerIdResponse(
            error_code=code, producer_id=-1 if code else self.cluster.producer_ids, producer_epoch=0
        )

    def _produce(self, version, request, code):
        kind = messages.ProduceResponse
        topics = []
        for topic in request.topic_data:
            rows = []
            for part in topic.partition_data:
                name = TopicPartition(topic.name, part.index)
                failure, offset = code or self.cluster.failure_of(name), -1
                data = bytes(part.records)
                is_transactional = request.transactional_id is not None
                if not failure and is_transactional:
                    failure = self.cluster.transactions.refusal_of_batch(name, data)
                if not failure:
                    end = self.cluster.logs[name].end if name in self.cluster.logs else 0
                    failure, offset = self._append(name, data)
                    if is_transactional and not failure and offset == end:
                        self.cluster.transactions.stored(name, data)
                rows.append(kind.PartitionProduceResponse(index=part.index, error_code=failure, base_offset=offset))
            topics.append(kind.TopicProduceResponse(topic.name, rows))
        return None if request.acks == 0 else kind(responses=topics)

    def _append(self, name, data):
        log, failure = self.log_of(name)
        if failure:
            return failure, -1
        if len(data) > self.cluster.batch_bytes_max:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        if data[16] < MAGIC_V2:
            return 0, log.append(data)
        header = parse_header(memoryview(data))
        list(iterate_records(memoryview(data)))  # its checksum and its records
        if header.producer_id < 0:
            return self._stored(log, data, 0)
        if header.base_sequence < 0:
            return ErrorCode.INVALID_RECORD, -1
        epoch, kept = log.producers.get(header.producer_id, (-1, []))
        if header.producer_epoch > epoch:
            kept = []  # sequences of a newer epoch begin anew
        count = header.last_offset - header.base_offset + 1
        for sequence, size, offset in kept:
            if (sequence, size) == (header.base_sequence, count):
                return 0, offset
        if kept and kept[-1][0] + kept[-1][1] != header.base_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        if not kept and header.base_sequence and not self.cluster.takes_unknown_producers:
            return ErrorCode.UNKNOWN_PRODUCER_ID, -1
        failure, offset = self._stored(log, data, 0)
        kept = [*kept, (header.base_sequence, count, offset)][-BATCHES_KEPT:]
        log.producers[header.producer_id] = (header.producer_epoch, kept)
        late = self.cluster.failure_after_append()
        return (late, -1) if late else (failure, offset)

    def _stored(self, log, data, failure):
        offset = log.append(data)
        self.cluster.wake_fetches()
        return failure, offset

    # Reading

    def _list_offsets(self, version, request, code):
        kind = messages.ListOffsetsResponse
        topics = []
        for topic in request.topics:
            rows = []
            for part in topic.partitions:
                name = TopicPartition(topic.name, part.partition_index)
                log, failure = self.log_of(name)
                failure = (
                    code
                    or self.cluster.failure_of(name)
                    or failure
                    or self._epoch_failure(log, part.current_leader_epoch)
                )
                said = {"error_code": failure}
                if not failure:
                    at = {-1: log.end, -2: log.start}.get(part.timestamp)
                    if at is None:
                        at = self._offset_at(log, part.timestamp)
                    said = {"offset": at, "old_style_offsets": [at] if at >= 0 else [], "leader_epoch": log.epoch}
                rows.append(kind.ListOffsetsPartitionResponse(partition_index=part.partition_index, **said))
            topics.append(kind.ListOffsetsTopicResponse(topic.name, rows))
        return kind(topics=topics)

    def _offset_at(self, log, timestamp):
        for base, _next, data in log.batches:
            for place, record in enumerate(iterate_entry_records(memoryview(data))):
                if record.timestamp_ms >= timestamp:
                    return base + place
        return -1

    def _epoch_failure(self, log, epoch):
        if epoch < 0 or epoch == log.epoch:
            return 0
        return ErrorCode.FENCED_LEADER_EPOCH if epoch < log.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH

    def _offset_for_leader_epoch(self, version, request, code):
        kind = messages.OffsetForLeaderEpochResponse
        topics = []
        for topic in request.topics:
            rows = []
            for part in topic.partitions:
                log, failure = self.log_of(TopicPartition(topic.topic, part.partition))
                failure = code or failure or self._epoch_failure(log, part.current_leader_epoch)
                epoch, end = (-1, -1) if failure else log.end_of(part.leader_epoch)
                rows.append(kind.EpochEndOffset(failure, part.partition, epoch, end))
            topics.append(kind.OffsetForLeaderTopicResult(topic.topic, rows))
        return kind(topics=topics)

    def _fetch(self, version, request, respond, code):
        kind = messages.FetchResponse
        if code:
            respond(kind(error_code=code))
            return
        failure, session_id, wanted = self._session_of(version, request)
        if failure:
            respond(kind(error_code=failure))
            return
        is_full = version < 7 or request.session_epoch <= 0

        def answer(is_over):
            rows = {name: self._fetched(name, row, request, version) for name, row in wanted.items()}
            has_something = any(
                row.records or row.error_code or row.preferred_read_replica >= 0 for row in rows.values()
            )
            if not has_something and not is_over:
                return False
            topics = defaultdict(list)
            for name, row in rows.items():
                has_changed = (
                    row.records
                    or row.error_code
                    or row.diverging_epoch.end_offset >= 0
                    or row.preferred_read_replica >= 0
                )
                if is_full or has_changed:
                    topics[name.topic].append(row)
            responses = [
                kind.FetchableTopicResponse(topic=topic, topic_id=self.cluster.topic_id(topic), partitions=rows)
                for topic, rows in topics.items()
            ]
            respond(kind(session_id=session_id, responses=responses))
            return True

        if not answer(False):
            self.cluster.hold_fetch(request.max_wait_ms / 1000, answer)

    def _session_of(self, version, request):
        """(error, session id, rows by partition)"""
        names = self.cluster.topic_names()
        rows = {}
        for topic in request.topics:
            text = topic.topic if version <= 12 else names.get(topic.topic_id)
            if text is None:
                return ErrorCode.UNKNOWN_TOPIC_ID, 0, {}
            for row in topic.partitions:
                rows[TopicPartition(text, row.partition)] = row
        if version < 7:
            return 0, 0, rows
        if request.session_epoch <= 0:
            self.sessions.pop(request.session_id, None)
            if request.session_epoch < 0 or not self.cluster.has_sessions:
                return 0, 0, rows
            self._session_id += 1
            self.sessions[self._session_id] = [1, rows]
            return 0, self._session_id, rows
        session = self.sessions.get(request.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, {}
        if session[0] != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, {}
        for topic in request.forgotten_topics_data:
            text = topic.topic if version <= 12 else names.get(topic.topic_id)
            for partition in topic.partitions:
                del session[1][TopicPartition(text, partition)]
        session[0] += 1
        session[1].update(rows)
        return 0, request.session_id, session[1]

    def _fetched(self, name, row, request, version):
        kind = messages.FetchResponse
        log = self.cluster.logs.get(name)
        said = {"high_watermark": -1, "records": None}
        reader = self.cluster.readers.get(name, {}).get(request.rack_id) if request.rack_id else None
        is_reader = reader == self.node_id
        if log is None:
            said["error_code"] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif log.leader != self.node_id and not is_reader:
            said["error_code"] = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif (not is_reader and (failure := self._epoch_failure(log, row.current_leader_epoch))) or (
            failure := self.cluster.failure_of(name)
        ):
            said["error_code"] = failure
        elif reader is not None and not is_reader and version >= 11:
            said |= {"preferred_read_replica": reader, "high_watermark": log.end}
        else:
            epoch, end = (
                log.end_of(row.last_fetched_epoch) if row.last_fetched_epoch >= 0 and version >= 12 else (0, log.end)
            )
            if (
                epoch >= 0
                and row.last_fetched_epoch >= 0
                and version >= 12
                and (epoch < row.last_fetched_epoch or end < row.fetch_offset)
            ):
                said["diverging_epoch"] = kind.EpochEndOffset(epoch, end)
            elif not log.start <= row.fetch_offset <= log.end:
                said["error_code"] = ErrorCode.OFFSET_OUT_OF_RANGE
            else:
                data = log.read(row.fetch_offset, row.partition_max_bytes)
                said["records"] = data if version >= 3 else data[: row.partition_max_bytes]
            said |= {"high_watermark": log.end, "log_start_offset": log.start}
        return kind.PartitionData(partition_index=name.partition, **said)


class View:
    """What a broker knows of the cluster."""

    def __init__(self, cluster):
        self.brokers = [broker for broker in cluster.brokers.values() if broker.is_up]
        self.logs = {name: copy.copy(log) for name, log in cluster.logs.items()}


class ModelCluster:
    """Brokers, logs, groups.

    readers   partition -> {rack: the replica that its consumers are sent to}
    """

    def __init__(self, brokers=3, topics=None):
        self.network: Any = None
        self.brokers = {node_id: Broker(self, node_id) for node_id in range(brokers)}
        self.logs = {}
        self.producer_ids = 0
        self.batch_bytes_max = 1 << 30
        self.takes_unknown_producers = True
        self.has_sessions = True
        self.readers = {}
        self.failures = defaultdict(list)
        self.partition_failures = defaultdict(list)
        self.late_failures = []
        self.groups = ModelGroups(self)
        self.transactions = ModelTransactions(self)
        self._topic_ids = 0
        self._held = []
        for topic, count in (topics or {"t": 1}).items():
            self.create(topic, count)
        self.tell()

    def create(self, topic, count):
        self._topic_ids += 1
        topic_id = struct.pack(">qq", 7, self._topic_ids)
        for index in range(count):
            self.logs[TopicPartition(topic, index)] = Log(index % len(self.brokers), topic_id)

    def delete(self, topic):
        for name in [name for name in self.logs if name.topic == topic]:
            del self.logs[name]

    def tell(self, *node_ids):
        """These brokers, or all, know how things are."""
        for node_id in node_ids or self.brokers:
            self.brokers[node_id].view = View(self)

    def move(self, name, leader=None):
        """Another leader, of the next epoch."""
        log = self.logs[name]
        others = [one.node_id for one in self.brokers.values() if one.is_up and one.node_id != log.leader]
        if leader is None and not others:
            return
        log.leader = self.network.random.choice(others) if leader is None else leader
        log.epoch += 1
        log.epochs.append((log.epoch, log.end))
        self.wake_fetches()

    def stop(self, node_id):
        self.brokers[node_id].is_up = False
        self.brokers[node_id].sessions.clear()
        self.network.hang_up(self.brokers[node_id])

    def start(self, node_id):
        self.brokers[node_id].is_up = True

    def at(self, host, port):
        return next((one for one in self.brokers.values() if (one.host, one.port) == (host, port)), None)

    def topic_id(self, topic):
        return next((log.topic_id for name, log in self.logs.items() if name.topic == topic), ZERO_UUID)

    def topic_names(self):
        return {log.topic_id: name.topic for name, log in self.logs.items()}

    def failure_due(self, api_key):
        due = self.failures[api_key]
        return due.pop(0) if due else 0

    def failure_of(self, name):
        due = self.partition_failures[name]
        return due.pop(0) if due else 0

    def failure_after_append(self):
        return self.late_failures.pop(0) if self.late_failures else 0

    def hold_fetch(self, seconds, answer):
        """Until something is written, or time is over."""
        held = [answer]
        self._held.append(held)

        def over():
            if held:
                held.clear()
                answer(True)

        self.network.after(seconds, over)

    def wake_fetches(self):
        held, self._held = self._held, []
        for one in held:
            if one and one[0](False):
                one.clear()
            elif one:
                self._held.append(one)
