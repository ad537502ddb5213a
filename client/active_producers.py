"""What leaders know of producers: the sequence of each one's last batch, replicated or not (DescribeProducers, Kafka 2.8 and later).

Source: KIP-664.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.client.cluster import error_of
from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

ProducerState = messages.DescribeProducersResponse.ProducerState


def active_producers(
    connection: Connection, names: Sequence[TopicPartition]
) -> dict[TopicPartition, Sequence[ProducerState]]:
    """Those of partitions that a broker leads.

    A leader of too many producers answers for some of the partitions (PRODUCERS_DESCRIBED_MAX). It is asked again for the others.

    raises   KafkaError: of a partition; INVALID_REQUEST, where it answers for none; UNSUPPORTED_VERSION, before Kafka 2.8
             ConnectionFailed
    """
    version = connection.version(ApiKey.DESCRIBE_PRODUCERS, 0, 0)
    found: dict[TopicPartition, Sequence[ProducerState]] = {}
    due = list(names)
    while due:
        found |= _answered(connection, version, due)
        left = [name for name in due if name not in found]
        if len(left) == len(due):
            raise error_of(ErrorCode.INVALID_REQUEST, f"producers of {due[0]}")
        due = left
    return found


def _answered(
    connection: Connection, version: int, names: Sequence[TopicPartition]
) -> dict[TopicPartition, Sequence[ProducerState]]:
    """One answer, without the partitions that it refuses as too many."""
    kind = messages.DescribeProducersRequest
    topics: dict[str, list[int]] = {}
    for name in names:
        topics.setdefault(name.topic, []).append(name.partition)
    request = kind(topics=[kind.TopicRequest(topic, partitions) for topic, partitions in topics.items()])
    found: dict[TopicPartition, Sequence[ProducerState]] = {}
    for topic in connection.request(ApiKey.DESCRIBE_PRODUCERS, version, request).topics:
        for row in topic.partitions:
            name = TopicPartition(topic.name, row.partition_index)
            if row.error_code == ErrorCode.INVALID_REQUEST:
                continue
            if row.error_code:
                raise error_of(row.error_code, f"producers of {name}")
            found[name] = row.active_producers
    return found
