"""The end of a round of the cluster campaign: a fresh client reads everything, groups' offsets, and the files of every replica.

Used by: `cluster_round.py`, when no fault is on any more and nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from tests.chaos import payload
from tests.chaos.cluster_stage import PARTITIONS, TOPIC, ClusterStage
from tests.chaos.history import FRESH, NO_OFFSET, Committed, Poll, Record
from tests.chaos.judge import Anomaly
from tests.chaos.load import CLIENT
from tests.chaos.replica_logs import ends, judge_replicas, read_replicas

READ_S = 60.0
AGREE_S = 30.0
GONE_S = 60.0  # a stray directory waits for log.segment.delete.delay.ms, and for the next check of its node
CHURN = "churn-"
OFFSETS_TOPIC = "__consumer_offsets"


def end_offsets(stage: ClusterStage, topic: str = TOPIC, partitions: int = PARTITIONS) -> dict[int, int]:
    """Of a topic, by partition. raises TimeoutError"""
    consumer = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": FRESH, **CLIENT})
    try:
        return {
            number: _asked(lambda p=number: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=5)[1])  # type: ignore[misc]
            for number in range(partitions)
        }
    finally:
        consumer.close()


def _asked(question: object) -> int:
    deadline = time.monotonic() + READ_S
    while True:
        try:
            return int(question())  # type: ignore[operator]
        except KafkaException as failure:
            if time.monotonic() > deadline:
                raise TimeoutError(str(failure)) from None
            time.sleep(0.1)


def read_everything(
    stage: ClusterStage, topic: str = TOPIC, partitions: int = PARTITIONS, generation: int = 0
) -> list[Anomaly]:
    """By a fresh client, into the history."""
    wanted = end_offsets(stage, topic, partitions)
    consumer = Consumer(
        {
            "bootstrap.servers": stage.bootstrap,
            "group.id": FRESH,
            "enable.auto.commit": False,
            "check.crcs": True,
            **CLIENT,
        }
    )
    began = time.monotonic()
    records: list[Record] = []
    position = dict.fromkeys(wanted, 0)
    try:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in wanted])
        while any(position[number] < end for number, end in wanted.items()) and time.monotonic() < began + READ_S:
            for message in consumer.consume(1000, timeout=0.2):
                if not message.error():
                    records.append(Record(message.partition(), message.offset(), payload.decode(message.value())))
                    position[message.partition()] = message.offset() + 1
    finally:
        consumer.close()
    stage.history.add(Poll(FRESH, topic, generation, tuple(records), began, time.monotonic()))
    return [
        Anomaly("not-served", f"{topic}-{number} can be read up to {position[number]}, its end is {end}")
        for number, end in wanted.items()
        if position[number] < end
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
    """Every replica of every partition, from its files, once their ends agree or don't within AGREE_S."""
    log_dirs: dict[int, Sequence[Path]] = {node.number: node.log_dirs for node in stage.nodes}
    anomalies = []
    for topic in (TOPIC, OFFSETS_TOPIC, *(one.topic for one in stage.churned)):
        for partition, replicas in sorted(stage.state.assignment(topic).items()):
            held = {number: log_dirs[number] for number in replicas}
            deadline = time.monotonic() + AGREE_S
            found = read_replicas(held, topic, partition)
            while (len(ends(found)) > 1 or -1 in ends(found)) and time.monotonic() < deadline:
                time.sleep(0.2)
                found = read_replicas(held, topic, partition)
            anomalies += judge_replicas(f"{topic}-{partition}", found)
            stage.notes["replicas compared"] += len(found)
            stage.notes["batches compared"] += sum(len(log) for log in found.values() if not isinstance(log, str))
    return anomalies


def find_left_over(stage: ClusterStage) -> list[Anomaly]:
    """Directories of deleted topics that nobody removes: of no partition that there is, or on their way out for too long."""
    topics = stage.state.topics()
    if topics is None:
        return [Anomaly("campaign", "ZooKeeper does not say which topics there are")]
    wanted = {f"{topic}-{number}" for topic in topics for number in stage.state.assignment(topic)}
    deadline = time.monotonic() + GONE_S
    while True:
        left = [
            f"node {node.number}: {path.name}"
            for node in stage.nodes
            for log_dir in node.log_dirs
            for path in sorted(log_dir.iterdir())
            if path.is_dir() and path.name.startswith(CHURN) and path.name not in wanted
        ]
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    return [Anomaly("left-over", f"{len(left)} directories of deleted topics: {left[:4]}")] if left else []
