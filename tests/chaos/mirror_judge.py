"""What a mirror has to leave, judged record by record, in memory that does not grow with the records.

    records       each record of each source once, in order, with its key, headers and timestamp
    translation   each offset of a source is translated to the offset where its record is
    source        the records that were acknowledged are there, and numbers grow: else the campaign or a broker is wrong, not the mirror
    groups        one that read a part of the source gets exactly the next record at the target

Each partition of the target is read once beside the same partition of all sources; a value's letter says from which source it is.

Used by: the mirror's campaign.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.client.admin import Admin
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.client.records import RawRecord
from headrace.ids import TopicPartition
from headrace.mirror.journal import Journal
from headrace.mirror.translation import Translation
from tests.chaos.mirror_load import Load, number_of

WAIT_S = 60.0
GROUP_WAIT_S = 120.0
POLL_S = 0.5
POLL_RECORDS = 100

Ends = Mapping[TopicPartition, int]


@dataclass(slots=True)
class Verdict:
    """What was found.

    wrong      nothing where all is right
    records    each compared, and its offset translated
    switched   partitions in which a group went on at the next record
    """

    wrong: list[str] = field(default_factory=list)
    records: int = 0
    switched: int = 0


@dataclass(slots=True)
class Source:
    """A source as it is judged.

    moved   offsets up to which the group has read
    """

    bootstrap: str
    letter: str
    ends: Ends
    moved: Ends = field(default_factory=dict)
    cluster_id: str = ""
    translations: Mapping[int, Translation] = field(default_factory=dict)
    following: dict[int, RawRecord] = field(default_factory=dict)  # by partition, the first that the group has not read

    @property
    def group(self) -> str:
        return f"moved-{self.letter}"

    @property
    def done_group(self) -> str:
        return f"done-{self.letter}"


def ends_of(bootstrap: str, topic: str) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Where each partition of a topic begins and ends."""
    with Cluster(bootstrap, patience_s=WAIT_S) as cluster:
        cluster.retried(lambda: cluster.refresh([topic]), {topic})
        names = [name for name in cluster.partitions if name.topic == topic]
        return cluster.offsets(dict.fromkeys(names, EARLIEST)), cluster.offsets(dict.fromkeys(names, LATEST))


def read_a_part(source: Source, topic: str) -> None:
    """A member of a group reads from the middle on, some records of each partition, and leaves; another group has read all."""
    with Cluster(source.bootstrap, patience_s=WAIT_S) as cluster:
        admin = Admin(cluster)
        admin.alter_group_offsets(source.group, {name: end // 2 for name, end in source.ends.items()})
        admin.alter_group_offsets(source.done_group, source.ends)
        names = [name for name, end in source.ends.items() if end]
        _first_records(source.bootstrap, topic, source.group, names, source.letter)
        source.moved = admin.group_offsets(source.group)


def judge(target: str, topic: str, sources: Sequence[Source], loads: Sequence[Load]) -> Verdict:
    """After the mirror has caught up. Reads everything."""
    verdict = Verdict()
    _read_journal(target, topic, sources)
    starts, ends = ends_of(target, topic)
    for name in sorted(ends):
        _judge_partition(verdict, target, name, starts[name], ends[name], sources)
    for source, load in zip(sources, loads, strict=True):
        there = sum(source.ends.values())
        if there < load.acknowledged or (not load.failures and there != load.acknowledged):
            verdict.wrong.append(
                f"source {source.letter} has {there} records, {load.acknowledged} were acknowledged, {load.failures} chunks failed"
            )
    if not verdict.wrong:
        for source in sources:
            _judge_groups(verdict, target, topic, source)
    return verdict


def _read_journal(target: str, topic: str, sources: Sequence[Source]) -> None:
    for source in sources:
        with Cluster(source.bootstrap, patience_s=WAIT_S) as cluster:
            cluster.retried(lambda cluster=cluster: cluster.refresh([]), set())  # type: ignore[misc]
            source.cluster_id = cluster.cluster_id or source.bootstrap
    with Cluster(target, patience_s=WAIT_S) as cluster:
        cluster.refresh(None)
        journal = Journal(cluster, lambda lane: lane.topic == topic, lambda: 0, "")
        journal.read()
    for source in sources:
        source.translations = {
            lane.partition: notes.translation
            for lane, notes in journal.lanes.items()
            if lane.source == source.cluster_id
        }


def _records(kafka: Kafka, name: TopicPartition, start: int, end: int) -> Iterator[RawRecord]:
    return itertools.chain.from_iterable(read_ranges(kafka, {name: start}, {name: end}))


def _judge_partition(
    verdict: Verdict, target: str, name: TopicPartition, start: int, end: int, sources: Sequence[Source]
) -> None:
    """Read it beside the same partition of the sources; the first thing that is wrong ends it."""
    with Kafka(target) as kafka:
        clients = [Kafka(source.bootstrap) for source in sources]
        olds = [
            _records(client, name, 0, source.ends.get(name, 0)) for client, source in zip(clients, sources, strict=True)
        ]
        lanes = {
            source.letter.encode(): (source, old, source.translations.get(name.partition))
            for source, old in zip(sources, olds, strict=True)
        }
        numbers = dict.fromkeys(lanes, -1)
        try:
            for new in _records(kafka, name, start, end):
                letter = new.value[:1] if new.value else b""
                if letter not in lanes:
                    verdict.wrong.append(f"{name} has a record of no source at offset {new.offset}")
                    return
                source, old_records, translation = lanes[letter]
                old = next(old_records, None)
                complaint = complaint_about(old, new, numbers[letter], translation)
                if complaint or old is None:
                    verdict.wrong.append(f"{name}, source {source.letter}: {complaint}")
                    return
                assert old.value is not None
                numbers[letter] = number_of(old.value)
                verdict.records += 1
                if old.offset >= source.moved.get(name, 0) and name.partition not in source.following:
                    source.following[name.partition] = old
            for source, old_records, _translation in lanes.values():
                left = sum(1 for _record in old_records)
                if left:
                    verdict.wrong.append(
                        f"{name}, source {source.letter}: the last {left} records are not at the target"
                    )
        finally:
            for client in clients:
                client.close()


def complaint_about(old: RawRecord | None, new: RawRecord, before: int, translation: Translation | None) -> str:
    """What is wrong with a record of the target; empty: nothing. `before` is the number of the one before it."""
    assert new.value is not None
    copied = number_of(new.value)
    if old is None:
        return f"offset {new.offset} of the target has number {copied}, the source has no more records"
    assert old.value is not None
    number = number_of(old.value)
    if number <= before:
        return f"offset {old.offset} of the source has number {number}, after number {before}"
    if number != copied:
        what = "is there again" if copied <= before else f"comes, number {number} is lost or comes later"
        return f"offset {new.offset} of the target: number {copied} {what} (source offset {old.offset})"
    if (old.timestamp_ms, old.key, old.value, old.headers) != (new.timestamp_ms, new.key, new.value, new.headers):
        return f"offset {old.offset} of the source differs at offset {new.offset} of the target: {old} {new}"
    found = translation.translate(old.offset) if translation is not None else None
    if found != new.offset:
        return f"offset {old.offset} of the source is at offset {new.offset} of the target, translated to {found}"
    return ""


def _judge_groups(verdict: Verdict, target: str, topic: str, source: Source) -> None:
    """What the groups have at the target, and what a member gets there."""
    with Cluster(target, patience_s=WAIT_S) as cluster:
        carried = Admin(cluster).group_offsets(source.group)
        done = Admin(cluster).group_offsets(source.done_group)
    for offsets, wanted in ((carried, source.moved), (done, source.ends)):
        for name, offset in wanted.items():
            translated = source.translations[name.partition].translate(offset)
            if offsets.get(name) != translated:
                verdict.wrong.append(
                    f"a group at offset {offset} of {name} in source {source.letter} was carried to {offsets.get(name)}, "
                    f"that is {translated} at the target"
                )
    if verdict.wrong:
        return
    names = [TopicPartition(topic, partition) for partition in sorted(source.following)]
    found = _first_records(target, topic, source.group, names, source.letter)
    for name in names:
        wanted_record, record = source.following[name.partition], found.get(name)
        if record is None or record.value != wanted_record.value:
            verdict.wrong.append(f"group {source.group} in {name}: {wanted_record} comes next, it got {record}")
        else:
            verdict.switched += 1


def _first_records(
    bootstrap: str, topic: str, group: str, names: Sequence[TopicPartition], letter: str
) -> dict[TopicPartition, RawRecord]:
    """What a member of a group gets first of a source, in each of these partitions. It has read some more when it leaves."""
    found: dict[TopicPartition, RawRecord] = {}
    deadline_s = time.monotonic() + GROUP_WAIT_S
    with (
        Kafka(bootstrap) as kafka,
        kafka.consumer(topic, group=group, start="none") as consumer,
    ):
        while len(found) < len(names) and time.monotonic() < deadline_s:
            for record in consumer.poll(POLL_S, POLL_RECORDS):
                if record.value and record.value[:1] == letter.encode():
                    found.setdefault(record.topic_partition, record)
                    consumer.pause(record.topic_partition)
        consumer.commit()
    return found
