"""The end of a round of the cluster campaign: a fresh client reads everything, groups' offsets, and the files of every replica.

Used by: `cluster_round.py`, when no fault is on any more and nothing is written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from headrace.client.cluster import Cluster
from headrace.errors import HeadraceError
from headrace.log.names import STRAY_SUFFIX
from headrace.log.state.checkpoints import PARTITION_METADATA_FILE
from tests.chaos import payload
from tests.chaos.cluster_stage import LOST_PAGES, ClusterStage
from tests.chaos.cluster_topics import MOVING, OFFSETS_TOPIC, PARTITIONS, TOPIC, TOPICS
from tests.chaos.history import FRESH, NO_OFFSET, Committed, Poll, Record
from tests.chaos.judge import Anomaly
from tests.chaos.key_judge import Kept
from tests.chaos.load import CLIENT
from tests.chaos.replica_logs import (
    Keys,
    Stored,
    ends,
    from_common_start,
    judge_keys_of,
    judge_replicas,
    read_keys,
    read_replicas,
)

READ_S = 60.0
AGREE_S = 30.0
ASK_S = 5.0
GONE_S = 60.0  # a stray directory waits for log.segment.delete.delay.ms, and for the next check of its node

OF_A_PARTITION = re.compile(r".+-\d+(\.[0-9a-f]+-(delete|stray|future))?$")


def end_offsets(
    stage: ClusterStage,
    topic: str = TOPIC,
    partitions: int = PARTITIONS,
    anomalies: list[Anomaly] | None = None,
) -> dict[int, int]:
    """Of a topic, by partition, as `offsets` has them. raises TimeoutError"""
    return {number: end for number, (_start, end) in offsets(stage, topic, partitions, anomalies).items()}


def offsets(
    stage: ClusterStage, topic: str, partitions: int, anomalies: list[Anomaly] | None = None
) -> dict[int, tuple[int, int]]:
    """Log start and end of a topic, by partition. raises TimeoutError

    anomalies   where those go that are not answered in READ_S, together; they are left out then
    """
    consumer = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": FRESH, **CLIENT})
    deadline = time.monotonic() + READ_S
    found: dict[int, tuple[int, int]] = {}
    try:
        for number in range(partitions):
            place = TopicPartition(topic, number)
            try:
                found[number] = _asked(lambda p=place: consumer.get_watermark_offsets(p, timeout=5), deadline)  # type: ignore[misc]
            except TimeoutError as failure:
                if anomalies is None:
                    raise
                anomalies.append(Anomaly("not-served", f"{topic}-{number} has no end at the end: {failure}"))
    finally:
        consumer.close()
    return found


def _asked(question: Callable[[], tuple[int, int]], deadline: float) -> tuple[int, int]:
    while True:
        try:
            return question()
        except KafkaException as failure:
            if time.monotonic() > deadline:
                raise TimeoutError(str(failure)) from None
            time.sleep(0.1)


def read_everything(
    stage: ClusterStage, topic: str = TOPIC, partitions: int = PARTITIONS, generation: int = 0
) -> list[Anomaly]:
    """By a fresh client, into the history."""
    began = time.monotonic()
    records = []
    anomalies: list[Anomaly] = []
    for message in _read(stage, topic, partitions, anomalies):
        records.append(Record(message.partition(), message.offset(), payload.decode(message.value())))
    stage.history.add(Poll(FRESH, topic, generation, tuple(records), began, time.monotonic()))
    return anomalies


def read_kept(stage: ClusterStage, topic: str, partitions: int, anomalies: list[Anomaly]) -> list[Kept]:
    """What is left of a compacted topic; what can't be read is an anomaly."""
    return [
        Kept(
            message.partition(),
            message.offset(),
            (message.key() or b"").decode(),
            None if message.value() is None else payload.decode(message.value()),
        )
        for message in _read(stage, topic, partitions, anomalies)
    ]


def _read(stage: ClusterStage, topic: str, partitions: int, anomalies: list[Anomaly]) -> Iterator[Any]:
    """Messages of a whole topic."""
    wanted = offsets(stage, topic, partitions, anomalies)
    consumer = Consumer(
        {
            "bootstrap.servers": stage.bootstrap,
            "group.id": FRESH,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            **CLIENT,
        }
    )
    deadline = time.monotonic() + READ_S
    position = {number: start for number, (start, _end) in wanted.items()}
    left = {number for number, (start, end) in wanted.items() if start < end}
    try:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in left])
        while left and time.monotonic() < deadline:
            for message in consumer.consume(1000, timeout=0.2):
                if message.error() is None:
                    yield message
                elif message.error().code() != KafkaError._PARTITION_EOF:
                    continue
                next_offset = message.offset() + (message.error() is None)
                position[message.partition()] = next_offset
                if next_offset >= wanted[message.partition()][1]:
                    left.discard(message.partition())
    finally:
        consumer.close()
    anomalies += [
        Anomaly("not-served", f"{topic}-{number} can be read up to {position[number]}, its end is {wanted[number][1]}")
        for number in sorted(left)
    ]


def read_group(stage: ClusterStage, group: str) -> list[Anomaly]:
    """The offsets of a group, into the history."""
    consumer = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": group, **CLIENT})
    began = time.monotonic()
    try:
        while True:
            try:
                rows = consumer.committed([TopicPartition(TOPIC, number) for number in range(PARTITIONS)], timeout=5)
                failed = next((row.error for row in rows if row.error is not None), None)
            except KafkaException as failure:
                failed = failure
            if failed is None:
                break
            if time.monotonic() > began + READ_S:
                return [Anomaly("not-served", f"{group} can't be read at the end: {failed}")]
            time.sleep(0.1)
    finally:
        consumer.close()
    for row in rows:
        offset = max(row.offset, NO_OFFSET)
        stage.history.add(Committed(group, TOPIC, 0, row.partition, offset, began, time.monotonic()))
    return []


def compare_replicas(stage: ClusterStage) -> list[Anomaly]:
    """Every replica of every partition, from its files, once they agree or don't within AGREE_S of when this began."""
    compacted = {OFFSETS_TOPIC, *(one.name for one in TOPICS if one.is_compacted)}
    anomalies = []
    deadline = time.monotonic() + AGREE_S
    for topic in stage.state.topics() or ():
        for partition, replicas in sorted(stage.state.assignment(topic).items()):
            held = {node.number: node.log_dirs for node in stage.nodes if node.number in replicas}
            compare = _compare_keys if topic in compacted else _compare_batches
            while (found := compare(held, topic, partition)) and time.monotonic() < deadline:
                time.sleep(0.2)
            anomalies += found
            stage.notes["replicas compared"] += len(held)
    return anomalies


def _compare_batches(held: dict[int, Sequence[Path]], topic: str, partition: int) -> list[Anomaly]:
    found = read_replicas(held, topic, partition)
    if len(ends(found)) > 1:
        return [Anomaly("replicas-differ", f"{topic}-{partition}: their ends are {_ends(found)}")]
    return judge_replicas(f"{topic}-{partition}", from_common_start(found))


def _compare_keys(held: dict[int, Sequence[Path]], topic: str, partition: int) -> list[Anomaly]:
    found: dict[int, Keys | str] = {}
    for broker, log_dirs in held.items():
        try:
            found[broker] = read_keys(log_dirs, topic, partition)
        except (HeadraceError, OSError) as failure:  # segments may be replaced by compacted ones at this moment
            found[broker] = f"{type(failure).__name__}: {failure}"
    return judge_keys_of(f"{topic}-{partition}", found)


def _ends(found: Mapping[int, list[Stored] | str]) -> dict[int, str]:
    return {broker: str(one[-1:]) if not isinstance(one, str) else one for broker, one in found.items()}


def find_left_over(stage: ClusterStage) -> list[Anomaly]:
    """Directories that nobody removes: of no replica that there is on that node, or on their way out for too long.

    Those of a replica that was moved away stay where its node, or the controller, was away when it was to be deleted: ZooKeeper does
    not say any more that it is, as with Kafka. They are counted. So are segments behind a hole that a loss of power left: a node puts
    them aside and says so (docs/decisions/006).
    """
    topics = stage.state.topics()
    if topics is None:
        return [Anomaly("campaign", "ZooKeeper does not say which topics there are")]
    wanted: dict[int, set[str]] = {node.number: set() for node in stage.nodes}
    for topic in topics:
        for number, replicas in stage.state.assignment(topic).items():
            for broker in replicas:
                wanted[broker].add(f"{topic}-{number}")
    deadline = time.monotonic() + GONE_S
    while True:
        left = [
            f"node {node.number}: {path.name}"
            for node in stage.nodes
            for log_dir in node.log_dirs
            for path in sorted(log_dir.iterdir())
            if path.is_dir() and OF_A_PARTITION.match(path.name) and path.name not in wanted[node.number]
        ]
        if time.monotonic() > deadline or all(f": {MOVING.name}-" in one and "." not in one for one in left):
            break
        time.sleep(0.5)
    moved = {f"node {node.number}: {MOVING.name}-{index}" for node in stage.nodes for index in range(MOVING.partitions)}
    stage.notes["files of replicas that were moved away while their node was away"] += len(moved & set(left))
    left = [one for one in left if one not in moved]
    if stage.notes[LOST_PAGES]:
        segments = {
            f"node {node.number}: {path.name}"
            for node in stage.nodes
            for log_dir in node.log_dirs
            for path in log_dir.iterdir()
            if is_of_segments(path)
        }
        stage.notes["segments put aside after a loss of power"] += len(segments & set(left))
        left = [one for one in left if one not in segments]
    return [Anomaly("left-over", f"{len(left)} directories of deleted replicas: {left[:4]}")] if left else []


def is_of_segments(path: Path) -> bool:
    """Whether a directory has segments that were put aside, and not a whole replica, which says what topic it is of."""
    return path.name.endswith(STRAY_SUFFIX) and path.is_dir() and not (path / PARTITION_METADATA_FILE).exists()


def told_otherwise(stage: ClusterStage, topics: Sequence[str]) -> list[str]:
    """What nodes' Metadata says of leaders and ISRs of these topics, where ZooKeeper had something else before it was asked, and has."""
    found = []
    for node in stage.nodes:
        before = {
            TopicPartition(topic, index): stage.state.partition(topic, index)
            for topic in topics
            for index in stage.state.assignment(topic)
        }
        try:
            with Cluster(node.bootstrap, timeout_s=ASK_S) as cluster:
                cluster.refresh(list(topics))
                told = {TopicPartition(*place): one for place, one in cluster.partitions.items()}
        except (HeadraceError, OSError) as failure:
            found.append(f"node {node.number}: {failure}")
            continue
        for place, state in before.items():
            one = told.get(place)
            if state is not None and one is not None and (one.leader, set(one.isr)) == (state.leader, set(state.isr)):
                continue
            if state == stage.state.partition(place.topic, place.partition):  # else leaders have just moved
                found.append(f"node {node.number}: {place.topic}-{place.partition} is {one}; ZooKeeper has {state}")
    return found
