"""The coordinator of a model's transactional ids: epochs, what a transaction has, whether it was committed.

    transactions.coordinator   node id; another one: NOT_COORDINATOR
    transactions.ended         (transactional id, partitions, groups, is committed), in order
    transactions.offsets       (group, partition) -> offset, of committed transactions

As `TransactionCoordinator` of Kafka with KIP-360. Batches of a partition that is not in its producer's transaction are refused, as KIP-890
has it; `cluster.aborted` and `cluster.committed` have the values of each partition.
"""

from __future__ import annotations

from collections import defaultdict

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import iterate_records, parse_header

KEYS = frozenset({ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN, ApiKey.TXN_OFFSET_COMMIT})


class Known:
    """One transactional id."""

    def __init__(self, producer_id):
        self.producer_id, self.epoch, self.last_epoch = producer_id, -1, -1
        self.state = "empty"
        self.partitions, self.groups, self.staged = set(), set(), {}


class ModelTransactions:
    def __init__(self, cluster):
        self.cluster = cluster
        self.coordinator = 0
        self.known = {}
        self.ended = []
        self.offsets = {}
        self.members = {}  # group -> (generation, member id) that may commit
        self.open = defaultdict(lambda: defaultdict(list))  # producer id -> partition -> values
        self.committed = defaultdict(list)
        self.aborted = defaultdict(list)

    def init(self, request):
        """(error, producer id, epoch)"""
        name = request.transactional_id
        known = self.known.get(name)
        if known is None:
            self.cluster.producer_ids += 1
            known = self.known[name] = Known(self.cluster.producer_ids)
        expected = request.producer_epoch
        if expected >= 0 and expected == known.last_epoch:
            return 0, known.producer_id, known.epoch
        if expected >= 0 and expected != known.epoch:
            return ErrorCode.PRODUCER_FENCED, -1, -1
        if known.state == "ongoing":
            self._end(name, known, False)
        known.last_epoch, known.epoch = known.epoch, known.epoch + 1
        known.state = "empty"
        return 0, known.producer_id, known.epoch

    def refusal_of(self, broker, request, name, group=None):
        """Why a request is refused, by whom it names."""
        at = self.coordinator if group is None else self.cluster.groups.coordinator
        if broker.node_id != at:
            return ErrorCode.NOT_COORDINATOR
        known = self.known.get(name)
        producer_id = getattr(request, "v3_and_below_producer_id", None) or request.producer_id
        epoch = getattr(request, "v3_and_below_producer_epoch", None)
        epoch = request.producer_epoch if epoch is None else epoch
        if known is None or known.producer_id != producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return ErrorCode.PRODUCER_FENCED if epoch != known.epoch else 0

    def handle(self, broker, api_key, version, request, code):
        return getattr(self, f"_{api_key.name.lower()}")(broker, request, code)

    def _add_partitions_to_txn(self, broker, request, code):
        kind = messages.AddPartitionsToTxnResponse
        name = request.v3_and_below_transactional_id
        known = self.known.get(name)
        if not code and known is None:
            code = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if not code and broker.node_id != self.coordinator:
            code = ErrorCode.NOT_COORDINATOR
        if not code and (known.producer_id, known.epoch) != (
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
        ):
            code = ErrorCode.PRODUCER_FENCED
        topics = []
        for topic in request.v3_and_below_topics:
            rows = [kind.AddPartitionsToTxnPartitionResult(index, code) for index in topic.partitions]
            topics.append(kind.AddPartitionsToTxnTopicResult(topic.name, rows))
            if not code:
                known.state = "ongoing"
                known.partitions |= {TopicPartition(topic.name, index) for index in topic.partitions}
        return kind(results_by_topic_v3_and_below=topics)

    def _add_offsets_to_txn(self, broker, request, code):
        code = code or self.refusal_of(broker, request, request.transactional_id)
        if not code:
            known = self.known[request.transactional_id]
            known.state = "ongoing"
            known.groups.add(request.group_id)
        return messages.AddOffsetsToTxnResponse(error_code=code)

    def _txn_offset_commit(self, broker, request, code):
        kind = messages.TxnOffsetCommitResponse
        code = code or self.refusal_of(broker, request, request.transactional_id, request.group_id)
        member = self.members.get(request.group_id)
        if not code and member is not None and request.member_id and request.member_id != member[1]:
            code = ErrorCode.UNKNOWN_MEMBER_ID
        if not code and member is not None and request.generation_id >= 0 and request.generation_id != member[0]:
            code = ErrorCode.ILLEGAL_GENERATION
        topics = []
        for topic in request.topics:
            rows = [kind.TxnOffsetCommitResponsePartition(row.partition_index, code) for row in topic.partitions]
            topics.append(kind.TxnOffsetCommitResponseTopic(topic.name, rows))
            for row in topic.partitions:
                if not code:
                    name = TopicPartition(topic.name, row.partition_index)
                    self.known[request.transactional_id].staged[request.group_id, name] = row.committed_offset
        return kind(topics=topics)

    def _end_txn(self, broker, request, code):
        name = request.transactional_id
        code = code or self.refusal_of(broker, request, name)
        if not code:
            known = self.known[name]
            wanted = "committed" if request.committed else "aborted"
            if known.state == "ongoing":
                self._end(name, known, request.committed)
            elif known.state != wanted:
                code = ErrorCode.INVALID_TXN_STATE
        return messages.EndTxnResponse(error_code=code)

    def _end(self, name, known, is_committed):
        self.ended.append((name, sorted(known.partitions), sorted(known.groups), is_committed))
        if is_committed:
            self.offsets.update(known.staged)
        for partition, values in self.open.pop(known.producer_id, {}).items():
            (self.committed if is_committed else self.aborted)[partition] += values
        known.state = "committed" if is_committed else "aborted"
        known.partitions, known.groups, known.staged = set(), set(), {}

    def refusal_of_batch(self, name, data):
        """Why a transactional batch is refused; its values count once it is stored."""
        header = parse_header(memoryview(data))
        known = next((one for one in self.known.values() if one.producer_id == header.producer_id), None)
        if known is None or not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        if header.producer_epoch != known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        return 0 if name in known.partitions else ErrorCode.INVALID_TXN_STATE

    def stored(self, name, data):
        header = parse_header(memoryview(data))
        values = [record.value for record in iterate_records(memoryview(data))]
        self.open[header.producer_id][name] += values
