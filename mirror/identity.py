"""Who a mirror is to the brokers of its target: one producer id for each partition that it copies, the same after every start.

    data     producer id 2^62 + 62 bits of a hash of (mirror, source, topic, partition), epoch 0
             sequence = ordinal of a record among those that were copied from this partition, mod 2^31
    by key   the same, of (mirror, source, topic, partition, target partition), with ordinals for each of them
    journal  producer id 2^62 + 62 bits of a hash of the same and of life // EPOCHS, epoch = life % EPOCHS
             sequence = number of a record in this life

Ids from 2^62 on are never handed out by a cluster (docs/decisions/021). A partition takes a batch only where its sequence comes next:
a compare-and-set on the target's log. In the journal a later life has a higher epoch, which fences the earlier ones.

Source: KIP-98, KIP-360; Kafka `ProducerAppendInfo`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from headrace.ids import TopicPartition
from headrace.protocol.record_batch import SEQUENCE_MASK

OWN_IDS_FROM = 1 << 62
DATA_EPOCH = 0
EPOCHS = 32_000  # of the int16 that an epoch is

assert EPOCHS < 1 << 15


class LaneName(NamedTuple):
    """A partition of a source, in one mirror.

    mirror   name of the mirror
    source   id of the source's cluster, or the name that the settings give to it
    """

    mirror: str
    source: str
    topic: str
    partition: int

    @property
    def source_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} of {self.source}"


def data_producer_id(lane: LaneName) -> int:
    """The producer id of the records that a mirror copies from a partition."""
    return _drawn("data", *lane)


def keyed_producer_id(lane: LaneName, target: int) -> int:
    """The producer id of the records that go from a partition to a target partition by their keys."""
    return _drawn("keyed", *lane, target)


def journal_identity(lane: LaneName, life: int) -> tuple[int, int]:
    """(producer id, epoch) of what a life of the mirror writes to the journal about a partition."""
    return _drawn("journal", *lane, life // EPOCHS), life % EPOCHS


def sequence_of(ordinal: int) -> int:
    return ordinal & SEQUENCE_MASK


def ordinal_of(sequence: int, near: int) -> int:
    """The ordinal of a sequence: the one that is nearest to `near`, 2^30 away at most."""
    span = SEQUENCE_MASK + 1
    distance = (sequence - near) & SEQUENCE_MASK
    return near + (distance if distance < span // 2 else distance - span)


def share_of(lane: LaneName, count: int) -> int:
    """The number of the process that copies a partition, of `count` of them."""
    return _drawn("share", lane.source, lane.topic, lane.partition) % count


def _drawn(*parts: str | int) -> int:
    """A number from 2^62 to 2^63 - 1, the same for the same parts."""
    identity = "\0".join(map(str, parts))
    drawn = int.from_bytes(blake2b(identity.encode(), digest_size=8).digest(), "big")
    return OWN_IDS_FROM | (drawn & (OWN_IDS_FROM - 1))
