"""One batch into a partition, waited for: what the journal and the origins are written with.

The batch carries a producer id of the mirror's own, so a retry is stored once. A target before Kafka 0.11 has no batches of v2: it gets a
set of v1, and a retry may store it twice.
"""

from __future__ import annotations

from headrace.client.cluster import Cluster, error_of
from headrace.client.connection import Connection
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.mirror.passage import as_message_set, without_zstd
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

ACKS_ALL = -1
PRODUCE_VERSIONS = (2, 9)
VERSION_OF_BATCHES = 3  # of Produce: batches of v2, and with them sequences
VERSION_OF_ZSTD = 7
APPEND_TIMEOUT_MS = 30_000


def append(cluster: Cluster, name: TopicPartition, batch: bytearray) -> int:
    """The offset at which a stamped batch lies now.

    raises   KafkaError that is not retriable, at once; after its retries what the last try raised
    """
    return cluster.retried(lambda: _append_once(cluster, name, batch), {name.topic})


def is_idempotent(connection: Connection) -> bool:
    """Whether a broker compares sequences (Kafka 0.11 and later)."""
    return connection.version(ApiKey.PRODUCE, *PRODUCE_VERSIONS) >= VERSION_OF_BATCHES


def records_for(version: int, batch: bytearray) -> bytes | bytearray:
    """A batch in the form that a version of Produce carries."""
    if version < VERSION_OF_BATCHES:
        return as_message_set(batch)[0]
    return batch if version >= VERSION_OF_ZSTD else without_zstd(batch)


def _append_once(cluster: Cluster, name: TopicPartition, batch: bytearray) -> int:
    kind = messages.ProduceRequest
    connection = cluster.connection(cluster.leader(name))
    version = connection.version(ApiKey.PRODUCE, *PRODUCE_VERSIONS)
    row = kind.PartitionProduceData(name.partition, records_for(version, batch))
    request = kind(
        transactional_id=None,
        acks=ACKS_ALL,
        timeout_ms=APPEND_TIMEOUT_MS,
        topic_data=[kind.TopicProduceData(name.topic, [row])],
    )
    answer = connection.request(ApiKey.PRODUCE, version, request)
    result = answer.responses[0].partition_responses[0]
    if result.error_code:
        failure = error_of(result.error_code, result.error_message or str(name))
        if failure.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, str(name))  # a topic that was created just now
        raise failure
    return int(result.base_offset)
