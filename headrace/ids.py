"""Identifiers of the field, and the hash that places a partition on a partition worker.

Every process imports this; nothing here holds state.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Final, NamedTuple, NewType

from headrace.limits import KEPT_KEY_LENGTH_MAX

# Numbers used beside others of other kinds: a type checker tells them apart
BrokerId = NewType("BrokerId", int)
PartitionKey = NewType("PartitionKey", int)  # of `partition_key`; used beside the slot
RequestId = NewType("RequestId", int)  # chosen by a network worker; used beside a process id and an index

NO_KEY: Final = PartitionKey(0)  # of a partition that is not hosted here

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
CLUSTER_METADATA_TOPIC: Final = "__cluster_metadata"  # of KRaft's controllers: no client may create it
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})

NO_EPOCH: Final = -1
NO_LEADER: Final = -1
NO_LOG_START: Final = -1  # of a follower's fetch that compares a batch: its offset does not say what the follower has
NO_GENERATION: Final = -1
NO_TIMESTAMP_MS: Final = -1
NO_PRODUCER_ID: Final = -1
# Of a connection, where orders are not judged (`workers/coordinators/transaction/connection_order.py`)
ANY_ORDER: Final = 1 << 62


class TopicPartition(NamedTuple):
    """A partition of a topic; its directory on disk is `str(self)`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@lru_cache(maxsize=16_384)
def owner_of(topic: str, partition: int, worker_count: int) -> int:
    """Index of the partition worker that owns a partition.

    worker_count   number of partition workers of this node, >= 1
    returns        0 <= index < worker_count; the same on every start of a node with the same count
    """
    assert worker_count >= 1
    return (zlib.crc32(topic.encode()) + partition) % worker_count


def partition_key(topic: str, partition: int, topic_id: str = "") -> PartitionKey:
    """A 32-bit fingerprint that ring messages carry, so that a reused slot is noticed."""
    return PartitionKey(zlib.crc32(f"{topic}\0{partition}\0{topic_id}".encode()))


def coordinator_partition(key: str, partition_count: int) -> int:
    """The partition of an internal topic that a group id or transactional id belongs to.

    source   Kafka `GroupMetadataManager.partitionFor`: Java's `String.hashCode`, its absolute value, modulo
    """
    if len(key) > KEPT_KEY_LENGTH_MAX:
        return _partition_of(key, partition_count)
    return _kept_partition_of(key, partition_count)


def _partition_of(key: str, partition_count: int) -> int:
    code = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(units), 2):
        code = (31 * code + (units[place] << 8 | units[place + 1])) & 0xFFFFFFFF
    if code >= 1 << 31:
        code = (1 << 32) - code
    return (0 if code == 1 << 31 else code) % partition_count


_kept_partition_of: Final = lru_cache(maxsize=16_384)(_partition_of)
