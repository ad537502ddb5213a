"""An old client: requests of old versions, message sets by kafka-python's encoder, answers by its decoder."""

import time

from kafka.record.legacy_records import LegacyRecordBatch, LegacyRecordBatchBuilder

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_set import iterate_entries
from tests.support.waiting import DEADLINE_S

NOW_MS = 1_700_000_000_000


class OldClient:
    """Whole requests in the version that a test names."""

    def __init__(self, host, port):
        self.connection = Connection(host, port)

    def produce(self, version, topic, data, acks=1):
        request = messages.ProduceRequest
        one = request.TopicProduceData(topic, [request.PartitionProduceData(0, data)])
        message = request(acks=acks, timeout_ms=5_000, topic_data=[one])
        deadline = time.monotonic() + DEADLINE_S
        while True:
            answer = self.connection.request(ApiKey.PRODUCE, version, message)
            result = answer.responses[0].partition_responses[0]
            if result.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER or time.monotonic() > deadline:
                return result

    def fetch(self, version, topic, offset=0, limit=1 << 20, max_bytes=1 << 25):
        request = messages.FetchRequest
        wanted = request.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=limit)
        message = request(
            max_wait_ms=0, max_bytes=max_bytes, topics=[request.FetchTopic(topic=topic, partitions=[wanted])]
        )
        return self.connection.request(ApiKey.FETCH, version, message).responses[0].partitions[0]

    def offsets(self, topic, timestamp, count):
        request = messages.ListOffsetsRequest
        wanted = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp, max_num_offsets=count)
        message = request(replica_id=-1, topics=[request.ListOffsetsTopic(topic, [wanted])])
        return self.connection.request(ApiKey.LIST_OFFSETS, 0, message).topics[0].partitions[0].old_style_offsets


def old_set(records, magic, codec=0):
    builder = LegacyRecordBatchBuilder(magic, codec, batch_size=1 << 30)
    for offset, (key, value) in enumerate(records):
        builder.append(offset, NOW_MS + offset, key, value)
    return bytes(builder.build())


def read_old(data):
    """(magic, offset, timestamp, key, value) of each record, by kafka-python."""
    found = []
    for position, size, magic in iterate_entries(data):
        batch = LegacyRecordBatch(bytes(data[position : position + size]), magic)
        assert batch.validate_crc()
        found += [(magic, one.offset, one.timestamp, one.key, one.value) for one in batch]
    return found


def entries(data):
    return [data[position : position + size] for position, size, _magic in iterate_entries(data)]
