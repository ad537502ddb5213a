"""What the end of a target partition has of ours: read back after a start, as far as the high watermark.

What a leader has and has not replicated may still be lost, so it is waited for where the leader says how far it got (DescribeProducers,
Kafka 2.8 and later). A log that ends below the journal's position lost records that were acknowledged.

Source: KIP-664; docs/decisions/055.
"""

from __future__ import annotations

import time
from functools import partial

from headrace.client.cluster import EARLIEST, LATEST, Cluster, error_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import MIRROR_TAIL_WAIT_S
from headrace.mirror.identity import ordinal_of
from headrace.mirror.passage import digest_of
from headrace.mirror.recovery import Stored
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_set import iterate_headers
from headrace.protocol.record_batch import MAGIC_V2, SEQUENCE_MASK

PAUSE_S = 0.2


class TargetLost(HeadraceError):
    """The target no longer has what it acknowledged."""


def read_tail(cluster: Cluster, name: TopicPartition, producer_id: int, ordinal: int, target: int) -> list[Stored]:
    """Our batches from a position on, in order.

    raises   TargetLost; KafkaError, ConnectionFailed
    """
    deadline_s = time.monotonic() + MIRROR_TAIL_WAIT_S
    while True:
        end = cluster.offsets({name: LATEST})[name]
        if end >= target:
            stored = _read(cluster, name, producer_id, ordinal, target, end)
            next_ordinal = stored[-1].ordinal + stored[-1].records if stored else ordinal
            known = cluster.retried(partial(_last_sequence, cluster, name, producer_id), {name.topic})
            if known is None or (known + 1) & SEQUENCE_MASK == next_ordinal & SEQUENCE_MASK:
                return stored
            complaint = f"its leader knows of sequence {known}, the log has {next_ordinal} records"
        else:
            complaint = f"it ends at offset {end}"
        if time.monotonic() > deadline_s:
            raise TargetLost(
                f"{name} of the target lost records that it had acknowledged: {complaint}, {ordinal} records had been copied up to "
                f"offset {target}"
            )
        time.sleep(PAUSE_S)


def _read(
    cluster: Cluster, name: TopicPartition, producer_id: int, ordinal: int, target: int, end: int
) -> list[Stored]:
    start = max(target, cluster.offsets({name: EARLIEST})[name])
    stored: list[Stored] = []
    near = ordinal
    for data in cluster.fetch(name, start, end):
        for header, batch in iterate_headers(data):
            if header.magic != MAGIC_V2 or header.producer_id != producer_id or header.base_offset < start:
                continue
            near = ordinal_of(header.base_sequence, near)
            stored.append(
                Stored(near, header.last_offset_delta + 1, header.base_offset, partial(digest_of, bytes(batch)))
            )
    return stored


def _last_sequence(cluster: Cluster, name: TopicPartition, producer_id: int) -> int | None:
    """None: the leader does not know the producer, or can't be asked."""
    kind = messages.DescribeProducersRequest
    connection = cluster.connection(cluster.leader(name))
    try:
        version = connection.version(ApiKey.DESCRIBE_PRODUCERS, 0, 0)
    except KafkaError:
        return None
    request = kind(topics=[kind.TopicRequest(name.topic, [name.partition])])
    row = connection.request(ApiKey.DESCRIBE_PRODUCERS, version, request).topics[0].partitions[0]
    if row.error_code == ErrorCode.INVALID_REQUEST:
        return None
    if row.error_code:
        raise error_of(row.error_code, f"producers of {name}")
    return next((one.last_sequence for one in row.active_producers if one.producer_id == producer_id), None)


def digest_at(cluster: Cluster, name: TopicPartition, offset: int, count: int) -> str:
    """The digest of the batch that begins at an offset; empty where another one lies there. raises   KafkaError, ConnectionFailed"""
    for data in cluster.fetch(name, offset, offset + 1, bytes_max=1):
        for header, batch in iterate_headers(data):
            if header.base_offset == offset and header.last_offset_delta + 1 == count:
                return digest_of(bytes(batch))
    return ""
