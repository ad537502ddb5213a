"""What the end of a target partition has of ours: read back after a start, as far as the high watermark.

What a leader has and has not replicated may still be lost, so it is waited for where the leader says how far it got (DescribeProducers,
Kafka 2.8 and later). A log that ends below the journal's position lost records that were acknowledged.

Source: KIP-664; docs/decisions/023.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from headrace.client.active_producers import active_producers
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.errors import HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import MIRROR_TAIL_WAIT_S
from headrace.mirror.identity import ordinal_of
from headrace.mirror.passage import digest_of
from headrace.mirror.recovery import Stored
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_set import iterate_headers
from headrace.protocol.record_batch import MAGIC_V2, SEQUENCE_MASK

PAUSE_S = 0.2


class TargetLost(HeadraceError):
    """The target no longer has what it acknowledged."""


class Sought(NamedTuple):
    """Our batches of one producer id, from a position on."""

    producer_id: int
    ordinal: int
    target: int


def read_tail(cluster: Cluster, name: TopicPartition, producer_id: int, ordinal: int, target: int) -> list[Stored]:
    """Our batches from a position on, in order.

    raises   TargetLost; KafkaError, ConnectionFailed
    """
    return read_tails(cluster, {name: Sought(producer_id, ordinal, target)})[name]


def read_tails(cluster: Cluster, wanted: Mapping[TopicPartition, Sought]) -> dict[TopicPartition, list[Stored]]:
    """The same of several partitions of a topic. raises   as `read_tail`"""
    deadline_s = time.monotonic() + MIRROR_TAIL_WAIT_S
    found: dict[TopicPartition, list[Stored]] = {}
    while True:
        complaint = _read_missing(cluster, wanted, found)
        if not complaint:
            return found
        if time.monotonic() > deadline_s:
            raise TargetLost(complaint)
        time.sleep(PAUSE_S)


def _read_missing(
    cluster: Cluster, wanted: Mapping[TopicPartition, Sought], found: dict[TopicPartition, list[Stored]]
) -> str:
    """Read those that are not found yet. returns   what is missing of one of them; empty, if nothing is"""
    left = [name for name in wanted if name not in found]
    ends = cluster.offsets(dict.fromkeys(left, LATEST))
    longer = [name for name in left if ends[name] > wanted[name].target]
    starts = cluster.offsets(dict.fromkeys(longer, EARLIEST)) if longer else {}
    read: dict[TopicPartition, list[Stored]] = {}
    complaint = ""
    for name in left:
        sought = wanted[name]
        if ends[name] < sought.target:
            complaint = _lost(name, sought, f"it ends at offset {ends[name]}")
        elif ends[name] == sought.target:
            read[name] = []
        else:
            read[name] = _read(cluster, name, sought, starts[name], ends[name])
    topics = {name.topic for name in read}
    known = cluster.retried(
        partial(_last_sequences, cluster, {name: wanted[name].producer_id for name in read}), topics
    )
    for name, stored in read.items():
        next_ordinal = stored[-1].ordinal + stored[-1].records if stored else wanted[name].ordinal
        sequence = known.get(name)
        if sequence is None or (sequence + 1) & SEQUENCE_MASK == next_ordinal & SEQUENCE_MASK:
            found[name] = stored
        else:
            text = f"its leader reports sequence {sequence}, but the log has {next_ordinal} records"
            complaint = _lost(name, wanted[name], text)
    return complaint


def _lost(name: TopicPartition, sought: Sought, complaint: str) -> str:
    return (
        f"{name} of the target lost records that it had acknowledged: {complaint}, {sought.ordinal} records had been copied up to "
        f"offset {sought.target}"
    )


def _read(cluster: Cluster, name: TopicPartition, sought: Sought, earliest: int, end: int) -> list[Stored]:
    start = max(sought.target, earliest)
    stored: list[Stored] = []
    near = sought.ordinal
    for data in cluster.fetch(name, start, end):
        for header, batch in iterate_headers(data):
            if header.magic != MAGIC_V2 or header.producer_id != sought.producer_id or header.base_offset < start:
                continue
            near = ordinal_of(header.base_sequence, near)
            stored.append(
                Stored(near, header.last_offset_delta + 1, header.base_offset, partial(digest_of, bytes(batch)))
            )
    return stored


def _last_sequences(cluster: Cluster, producers: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Of each partition the last sequence of a producer, where its leader knows the producer and can be asked."""
    found: dict[TopicPartition, int] = {}
    for node_id, names in cluster.by_leader(producers).items():
        connection = cluster.connection(node_id)
        try:
            connection.version(ApiKey.DESCRIBE_PRODUCERS, 0, 0)
        except KafkaError:  # before Kafka 2.8
            continue
        for name, known in active_producers(connection, names).items():
            for one in known:
                if one.producer_id == producers[name]:
                    found[name] = one.last_sequence
    return found


def digest_at(cluster: Cluster, name: TopicPartition, offset: int, count: int) -> str:
    """The digest of the batch that begins at an offset; empty where another one lies there. raises   KafkaError, ConnectionFailed"""
    for data in cluster.fetch(name, offset, offset + 1, bytes_max=1):
        for header, batch in iterate_headers(data):
            if header.base_offset == offset and header.last_offset_delta + 1 == count:
                return digest_of(bytes(batch))
    return ""
