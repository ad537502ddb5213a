"""The offsets of 0.7's consumers, carried over to the imported topic.

    /consumers/G/offsets/T/B-P     the byte where group G continues in partition P of broker B's log of topic T

A byte becomes the offset of the message that begins there: messages are counted in the source up to it, and in the
topic along the batches that the import wrote, since other writers may have written in between. A byte inside of a
message or of a compressed set stands for its beginning, so that nothing is skipped; one before what is left of the
source for its first message, one beyond its end for the end.

A group never goes backwards: an offset that it has at the imported topic, and that is as far or further, is left as
it is. A group with members is refused by its coordinator; it is reported, and the others are carried over.

The session to ZooKeeper only reads. Partition P of the source is partition P of the topic; with several brokers in
one ZooKeeper each has a log directory of its own, and `--broker-id` says whose this one is.

Source: Kafka 0.7 `ZookeeperConsumerConnector.commitOffsets`, `Partition`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from headrace.classic import registry
from headrace.classic.zookeeper import ZooKeeper
from headrace.client.cluster import Cluster
from headrace.client.offset_store import committed_offsets, store_offsets
from headrace.errors import HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.log.kafka07.log_07 import Damage, Log07
from headrace.migration.import_07_state import PartitionProgress
from headrace.migration.import_topic import ImportTopic

SESSION_MS = 10_000


class GroupOffset(NamedTuple):
    """What became of one offset. reason: why it was not stored; empty: it was."""

    group: str
    partition: int
    byte: int
    offset: int
    reason: str = ""


class ConsumerReport(Protocol):
    """Where results go."""

    def consumer(self, found: GroupOffset) -> None:
        """One offset is stored, or is not."""


def read_offsets_07(connect: str, topic: str, broker_id: int | None) -> dict[str, dict[int, int]]:
    """Bytes by partition, by group. raises HeadraceError, for offsets of several brokers without `broker_id`; ZooKeeperUnavailable"""
    zookeeper = ZooKeeper(connect, SESSION_MS, SESSION_MS, lambda: None)
    try:
        found: dict[int, dict[str, dict[int, int]]] = {}
        for group in zookeeper.children(registry.CONSUMERS) or ():
            for name in zookeeper.children(registry.offsets_path(group, topic)) or ():
                path = registry.offset_path(group, topic, name)
                if "-" not in name:  # a consumer of 0.8 or later
                    continue
                broker, partition = registry.decode_partition_07(name, path)
                data = zookeeper.get(path)
                if data is not None:
                    byte = registry.decode_offset(data, path)
                    found.setdefault(broker, {}).setdefault(group, {})[partition] = byte
    finally:
        zookeeper.close()
    if broker_id is not None:
        return found.get(broker_id, {})
    if len(found) > 1:
        brokers = ", ".join(map(str, sorted(found)))
        raise HeadraceError(
            f"{connect}: groups have offsets of {topic} at brokers {brokers}: set --broker-id to the broker this log belongs to"
        )
    return next(iter(found.values()), {})


def messages_before(log: Log07, bytes_wanted: Iterable[int]) -> dict[int, int]:
    """How many messages come before each byte of a log; those of an entry that the byte is inside of don't."""
    left = sorted(set(bytes_wanted), reverse=True)
    found: dict[int, int] = {}
    count, begun, before = 0, -1, 0  # messages; where the present entry begins; messages before it
    end = 0

    def passed(_damage: Damage) -> None:
        """The import has reported it."""

    for one in log.read(None, passed):
        start = one.place.segment + one.place.position
        if start != begun:
            while left and left[-1] < start:
                byte = left.pop()
                found[byte] = count if byte >= end else before
            begun, before = start, count
        count += 1
        end = one.next_place.segment + one.next_place.position
    for byte in left:
        found[byte] = count if byte >= end else before
    return found


def offsets_of(
    target: ImportTopic, partition: int, row: PartitionProgress, producer_id: int, ordinals: Iterable[int]
) -> dict[int, int]:
    """The offsets of the import's messages by their numbers; that after the last one for the count of all. raises KafkaError"""
    batches = [
        (header.base_offset, header.record_count)
        for header, _batch in target.own_batches(partition, row.first_offset, row.target_end, producer_id)
    ]
    removed = row.count - sum(count for _offset, count in batches)  # by retention, from the start
    found = {}
    for ordinal in ordinals:
        left = max(ordinal - removed, 0)
        offset = row.target_end
        for base, count in batches:
            if left < count:
                offset = base + left
                break
            left -= count
        found[ordinal] = offset
    return found


class ConsumerOffsets07:
    """All groups of one import."""

    def __init__(
        self,
        cluster: Cluster,
        target: ImportTopic,
        logs: Mapping[int, Log07],
        rows: Mapping[int, PartitionProgress],
        producer_id: int,
        report: ConsumerReport,
    ) -> None:
        self._cluster = cluster
        self._target = target
        self._logs = logs
        self._rows = rows
        self._producer_id = producer_id
        self._report = report

    def carry(self, groups: Mapping[str, Mapping[int, int]]) -> bool:
        """Store the groups' offsets; whether all of them are stored, or are as far already. raises KafkaError, ConnectionFailed, OSError"""
        offsets = self._translated(groups)
        is_whole = True
        for group, wanted in sorted(groups.items()):
            is_whole &= self._store(group, wanted, offsets)
        return is_whole

    def _translated(self, groups: Mapping[str, Mapping[int, int]]) -> dict[tuple[int, int], int]:
        """Offsets by (partition, byte)."""
        found = {}
        for partition, log in self._logs.items():
            wanted = {group[partition] for group in groups.values() if partition in group}
            if not wanted:
                continue
            counts = messages_before(log, wanted)
            row = self._rows[partition]
            offsets = offsets_of(self._target, partition, row, self._producer_id, set(counts.values()))
            found.update({(partition, byte): offsets[count] for byte, count in counts.items()})
        return found

    def _store(self, group: str, wanted: Mapping[int, int], offsets: Mapping[tuple[int, int], int]) -> bool:
        try:
            rows = {number: TopicPartition(self._target.topic, number) for number in wanted}
            known = committed_offsets(self._cluster, group, list(rows.values()))
            due, is_whole = {}, True
            for number, byte in sorted(wanted.items()):
                offset = offsets.get((number, byte))
                if offset is None:
                    self._report.consumer(GroupOffset(group, number, byte, -1, "the source has no such partition"))
                    is_whole = False
                elif known.get(rows[number], -1) >= offset:
                    reason = f"the group is at offset {known[rows[number]]} already"
                    self._report.consumer(GroupOffset(group, number, byte, offset, reason))
                else:
                    due[number] = offset
            if due:
                store_offsets(self._cluster, group, {rows[number]: offset for number, offset in due.items()})
            for number, offset in due.items():
                self._report.consumer(GroupOffset(group, number, wanted[number], offset))
            return is_whole
        except KafkaError as failure:
            for number, byte in sorted(wanted.items()):
                self._report.consumer(GroupOffset(group, number, byte, offsets.get((number, byte), -1), str(failure)))
            return False
