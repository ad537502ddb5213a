"""A member of a group in a process of its own, to be killed: says what it read and what it was told is committed.

    python group_member.py CLIENT BOOTSTRAP TOPIC GROUP        a line of JSON for each step, on standard output

Every line has the monotonic time, which all processes of a machine share.
"""

import asyncio
import json
import os
import sys
import time

SESSION_MS = 6_000


def say(**fields):
    """One line, in one write: a kill leaves whole lines."""
    os.write(1, (json.dumps({"t": time.monotonic_ns(), **fields}) + "\n").encode())


def run_confluent(bootstrap, topic, group, assignor="range"):
    from confluent_kafka import Consumer, KafkaException

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 500,
            "partition.assignment.strategy": assignor,
        }
    )
    consumer.subscribe([topic])
    while True:
        messages = [one for one in consumer.consume(50, timeout=0.2) if not one.error()]
        if not messages:
            continue
        say(read=[[one.partition(), one.offset()] for one in messages])
        try:
            rows = consumer.commit(asynchronous=False)
            say(committed={row.partition: row.offset for row in rows if row.error is None and row.offset >= 0})
        except KafkaException as failure:
            say(refused=str(failure))


def run_headrace(bootstrap, topic, group, assignor="range"):
    from headrace.client import CommitFailed, Kafka

    consumer = Kafka(bootstrap).consumer(
        topic, group=group, start="earliest", auto_commit_interval_ms=3_600_000, assignors=assignor, session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=500, max_poll_records=50,
    )  # fmt: skip
    ends = {}
    while True:
        records = consumer.poll(0.2)
        ends = {name: end for name, end in ends.items() if name in consumer.assignment}
        if records:
            say(read=[[record.partition, record.offset] for record in records])
            ends[records[-1].topic_partition] = records[-1].offset + 1
        if not ends:
            continue
        try:
            consumer.commit(ends)
            say(committed={name.partition: end for name, end in ends.items()})
            ends = {}
        except CommitFailed as failure:
            say(refused=str(failure))


def run_kafka_python(bootstrap, topic, group):
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=500,
        partition_assignment_strategy=_range_of_kafka_python(),
    )
    while True:
        found = consumer.poll(timeout_ms=200, max_records=50)
        rows = [[record.partition, record.offset] for records in found.values() for record in records]
        if not rows:
            continue
        say(read=rows)
        try:
            ends = {each.partition: records[-1].offset + 1 for each, records in found.items()}
            consumer.commit()
            say(committed=ends)
        except KafkaError as failure:
            say(refused=str(failure))


def _range_of_kafka_python():
    from kafka.coordinator.assignors.range import RangePartitionAssignor

    return [RangePartitionAssignor]


async def run_aiokafka(bootstrap, topic, group):
    import aiokafka
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.errors import KafkaError

    consumer = aiokafka.AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=500,
        partition_assignment_strategy=[RangePartitionAssignor],
    )
    await consumer.start()
    while True:
        found = await consumer.getmany(timeout_ms=200, max_records=50)
        rows = [[record.partition, record.offset] for records in found.values() for record in records]
        if not rows:
            continue
        say(read=rows)
        try:
            ends = {each: records[-1].offset + 1 for each, records in found.items()}
            await consumer.commit(ends)
            say(committed={each.partition: end for each, end in ends.items()})
        except KafkaError as failure:
            say(refused=str(failure))


if __name__ == "__main__":
    client, *arguments = sys.argv[1:]
    if client == "confluent":
        run_confluent(*arguments)
    elif client == "headrace":
        run_headrace(*arguments)
    elif client == "kafka-python":
        run_kafka_python(*arguments)
    else:
        asyncio.run(run_aiokafka(*arguments))
