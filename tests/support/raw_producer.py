"""A transactional producer request by request, and how far a partition is: for what no client would do."""

import time

from headrace.errors import ErrorCode as E
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, build_batch
from tests.support.waiting import wait_until

COMMIT_VERSION = 3
AGAIN = (E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR, E.CONCURRENT_TRANSACTIONS)


class RawProducer:
    """A transactional producer that sends what it is asked to send.

    coordinator, leader, group   connections to the nodes of these
    """

    def __init__(self, name, coordinator, leader=None):
        self.name = name
        self.coordinator, self.leader = coordinator, leader or coordinator
        self.sequence = 0
        request = messages.InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        found = self._retried(ApiKey.INIT_PRODUCER_ID, 4, request)
        self.producer_id, self.epoch = found.producer_id, found.producer_epoch

    def _retried(self, api_key, version, request):
        answers = []

        def is_answered():
            answers[:] = [self.coordinator.request(api_key, version, request)]
            return answers[0].error_code not in AGAIN

        wait_until(is_answered)
        assert answers[0].error_code == E.NONE, E(answers[0].error_code)
        return answers[0]

    def add(self, topic, *partitions):
        row = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))
        request = messages.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[row],
        )

        def is_added():
            (found,) = self.coordinator.request(ApiKey.ADD_PARTITIONS_TO_TXN, 3, request).results_by_topic_v3_and_below
            codes = {one.partition_error_code for one in found.results_by_partition}
            assert codes <= {0, *AGAIN}
            return codes == {0}

        wait_until(is_added)

    def add_offsets(self, group):
        request = messages.AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=self.producer_id, producer_epoch=self.epoch, group_id=group
        )
        self._retried(ApiKey.ADD_OFFSETS_TO_TXN, 3, request)

    def end(self, *, is_commit):
        request = messages.EndTxnRequest(
            transactional_id=self.name, producer_id=self.producer_id, producer_epoch=self.epoch, committed=is_commit
        )
        self._retried(ApiKey.END_TXN, 3, request)

    def produce(self, topic, *partitions, name="", sequence=None, version=9):
        """The errors, by partition. name: '' is the producer's own"""
        sequence = self.sequence if sequence is None else sequence
        records = build_batch(
            [(b"k", b"v")],
            timestamp_ms=time.time_ns() // 1_000_000,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL_BIT,
        )
        rows = [
            messages.ProduceRequest.PartitionProduceData(index=index, records=memoryview(records))
            for index in partitions
        ]
        data = messages.ProduceRequest.TopicProduceData(name=topic, partition_data=rows)
        request = messages.ProduceRequest(
            transactional_id=self.name if name == "" else name, acks=-1, timeout_ms=20_000, topic_data=[data]
        )
        (found,) = self.leader.request(ApiKey.PRODUCE, version, request).responses
        return [E(row.error_code) for row in found.partition_responses]

    def commit_offset(self, group, topic, offset, version=COMMIT_VERSION):
        row = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        topics = [messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=topic, partitions=[row])]
        request = messages.TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=-1,
            member_id="",
            topics=topics,
        )
        (found,) = self.leader.request(ApiKey.TXN_OFFSET_COMMIT, version, request).topics
        return E(found.partitions[0].error_code)


def offsets(connection, topic, partition=0):
    """(last stable offset, high watermark)."""
    found = []
    for isolation in (1, 0):
        row = messages.ListOffsetsRequest.ListOffsetsPartition(
            partition_index=partition, current_leader_epoch=-1, timestamp=-1
        )
        topics = [messages.ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[row])]
        request = messages.ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
        found.append(connection.request(ApiKey.LIST_OFFSETS, 5, request).topics[0].partitions[0].offset)
    return tuple(found)
