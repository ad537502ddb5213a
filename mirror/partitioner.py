"""Which target partition a record goes to, and by which rule a topic is copied. Pure.

    keep   partition p of the source into partition p of the target
    key    by the hash of the key, as Kafka's Java clients do. A record without a key goes by its place in the source: runs of KEYLESS_RUN
           offsets, one target partition after the other. So it goes there again whenever it is read again

With `auto` a topic is copied by `keep` where the target has as many partitions as the source, or can grow to that. It is copied by `key`
where the target has another number that may not change, or where the sources of one mirror have different numbers. What was decided is
in the journal: a topic that was begun by one rule goes on by it.

Source: Kafka `BuiltInPartitioner.partitionForKey`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from headrace.client.partitioner import partition_of

KEEP: Final = "keep"
KEY: Final = "key"
AUTO: Final = "auto"
KEYLESS_RUN: Final = 128  # offsets of the source: some records for each batch


def target_partition(key: bytes | None, partition: int, offset: int, count: int) -> int:
    """Where a record of a source partition goes, of `count` target partitions."""
    if key is None:
        return (offset // KEYLESS_RUN + partition) % count
    return partition_of(key, count)


def choose(setting: str, count: int, target_count: int, others: Iterable[int]) -> str:
    """KEEP or KEY, for a topic that was not copied yet.

    count          partitions at the source
    target_count   partitions at the target; 0: the topic is not there
    others         partitions of the topic at the other sources that have it
    returns        KEEP also where the target has to grow; where it refuses that, KEY is right
    """
    if setting != AUTO:
        return setting
    if any(other != count for other in others):
        return KEY
    return KEEP if target_count <= count else KEY
