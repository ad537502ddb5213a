"""CPU of a mirror for each GB, between two nodes on this machine: `python -m bench.mirror --megabytes 500`.

One topic of four partitions, records of 1 KB in batches of the given codec, written before the mirror starts. What is measured is
`headrace mirror --once` as a process, start and end included. The beside-line is a consumer and a producer of confluent-kafka that copy the
same records one by one, as a mirror without passing on would.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.nodes import Headrace
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from headrace.client.producer_options import CODECS

TOPIC = "copied"
PARTITIONS = 4
RECORD_BYTES = 1_000
BATCH_BYTES = 64 << 10


def fill(bootstrap: str, megabytes: int, codec: str) -> int:
    """Write the records; returns how many."""
    count = megabytes * 1_000_000 // RECORD_BYTES
    value = os.urandom(RECORD_BYTES // 2) + bytes(RECORD_BYTES // 2)
    with Cluster(bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(TOPIC, PARTITIONS)]) == {TOPIC: None}
    with Kafka(bootstrap) as kafka, kafka.producer(compression=codec, batch_size=BATCH_BYTES) as producer:
        for number in range(count):
            producer.send(TOPIC, value, partition=number % PARTITIONS)
    return count


def run_mirror(source: str, target: str, directory: Path) -> None:
    command = [sys.executable, "-m", "headrace.cli.main", "mirror", "--from", source, "--to", target]
    subprocess.run(
        [*command, "--once", "--whitelist", TOPIC, "--state", str(directory)], check=True, stderr=subprocess.DEVNULL
    )


def run_copy(source: str, target: str, count: int, codec: str) -> None:
    """A consumer and a producer of librdkafka, in a process of its own."""
    program = """
import sys
from confluent_kafka import Consumer, Producer, TopicPartition
source, target, topic, count, codec, partitions = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": source, "group.id": "bench", "enable.auto.commit": False})
consumer.assign([TopicPartition(topic, index, 0) for index in range(int(partitions))])
producer = Producer({"bootstrap.servers": target, "compression.type": codec, "enable.idempotence": True,
                     "queue.buffering.max.messages": 100000, "linger.ms": 5})
left = int(count)
while left:
    for message in consumer.consume(10000, 1):
        while True:
            try:
                producer.produce(topic + "-beside", message.value(), message.key(), message.partition(),
                                 timestamp=message.timestamp()[1], headers=message.headers() or [])
                break
            except BufferError:
                producer.poll(0.01)
        left -= 1
    producer.poll(0)
producer.flush()
consumer.close()
"""
    with Cluster(target) as cluster:
        assert Admin(cluster).create_topics([NewTopic(f"{TOPIC}-beside", PARTITIONS)]) == {f"{TOPIC}-beside": None}
    arguments = [source, target, TOPIC, str(count), codec, str(PARTITIONS)]
    subprocess.run([sys.executable, "-c", program, *arguments], check=True)


def measured(work, *arguments) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """(CPU seconds of the children, seconds)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    work(*arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--codec", choices=sorted(CODECS), default="lz4")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        servers = [Headrace(directory / name) for name in ("source", "target")]
        try:
            for server in servers:
                server.start()
            source, target = (server.bootstrap for server in servers)
            count = fill(source, given.megabytes, given.codec)
            cpu_s, wall_s = measured(run_mirror, source, target, directory)
            beside_s, beside_wall_s = measured(run_copy, source, target, count, given.codec)
        finally:
            for server in servers:
                server.stop()
    gigabytes = given.megabytes / 1000
    print(
        f"mirror              {cpu_s / gigabytes:6.2f} CPU s/GB  {given.megabytes / wall_s:7.1f} MB/s  codec={given.codec}"
    )
    print(f"consumer, producer  {beside_s / gigabytes:6.2f} CPU s/GB  {given.megabytes / beside_wall_s:7.1f} MB/s")
    print(f"ratio of CPU        {cpu_s / beside_s:6.2f}")


if __name__ == "__main__":
    main()
