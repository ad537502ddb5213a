"""What a record costs an asyncio program: headrace.aio beside aiokafka, against one node, in the same run.

    python -m bench.aio_clients [--records 300000] [--bootstrap HOST:PORT]

CPU time of the client's process for each record of 100 bytes, each client in a process of its own, in turn; the median of ROUNDS. The
ratio is what counts, the times are those of this machine. Without --bootstrap it starts a node.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROUNDS = 3
VALUE = b"v" * 100
PARTITIONS = 4


async def produce_with_headrace(bootstrap: str, topic: str, count: int) -> float:
    from headrace.aio import Kafka

    async with Kafka(bootstrap).producer() as producer:
        await (await producer.send(topic, VALUE))
        began = time.process_time()
        for _ in range(count):
            await producer.send(topic, VALUE)
        await producer.flush()
        return time.process_time() - began


async def produce_many_with_headrace(bootstrap: str, topic: str, count: int) -> float:
    from headrace.aio import Kafka

    values = [VALUE] * count
    async with Kafka(bootstrap).producer() as producer:
        await (await producer.send(topic, VALUE))
        began = time.process_time()
        await producer.send_many(topic, values)
        await producer.flush()
        return time.process_time() - began


async def produce_with_aiokafka(bootstrap: str, topic: str, count: int) -> float:
    from aiokafka import AIOKafkaProducer

    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=5, max_batch_size=256 << 10
    ) as producer:
        await producer.send_and_wait(topic, VALUE)
        began = time.process_time()
        for _ in range(count):
            await producer.send(topic, VALUE)
        await producer.flush()
        return time.process_time() - began


async def consume_with_headrace(bootstrap: str, topic: str, count: int) -> float:
    from headrace.aio import Kafka

    async with Kafka(bootstrap).consumer(topic, start="earliest") as consumer:
        seen = 0
        began = 0.0
        async for _record in consumer:
            if not seen:
                began = time.process_time()
            seen += 1
            if seen == count:
                break
        return time.process_time() - began


async def consume_batches_with_headrace(bootstrap: str, topic: str, count: int) -> float:
    from headrace.aio import Kafka

    async with Kafka(bootstrap).consumer(topic, start="earliest") as consumer:
        seen = 0
        began = 0.0
        async for batch in consumer.batches(5_000):
            if not seen:
                began = time.process_time()
            seen += len(batch)
            if seen >= count:
                break
        return time.process_time() - began


async def consume_with_aiokafka(bootstrap: str, topic: str, count: int) -> float:
    from aiokafka import AIOKafkaConsumer

    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        seen = 0
        began = 0.0
        async for _record in consumer:
            if not seen:
                began = time.process_time()
            seen += 1
            if seen == count:
                break
        return time.process_time() - began


RUNS = {
    "produce": (produce_with_headrace, produce_with_aiokafka),
    "produce, send_many": (produce_many_with_headrace, produce_with_aiokafka),
    "consume, async for": (consume_with_headrace, consume_with_aiokafka),
    "consume, batches": (consume_batches_with_headrace, consume_with_aiokafka),
}


def measured(name: str, bootstrap: str, topic: str, count: int) -> float:
    """Seconds of CPU of a run in a process of its own."""
    command = [sys.executable, "-m", "bench.aio_clients", "--run", name, "--bootstrap", bootstrap]
    command += ["--topic", topic, "--records", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def create_topic(bootstrap: str) -> str:
    from headrace.client.admin import Admin, NewTopic
    from headrace.client.cluster import Cluster

    topic = f"aio-bench-{uuid.uuid4().hex[:8]}"
    with Cluster(bootstrap) as cluster:
        failed = Admin(cluster).create_topics([NewTopic(topic, PARTITIONS, 1)])
    assert not failed[topic], failed
    return topic


def compare(bootstrap: str, count: int) -> None:
    print(f"{'':22}{'headrace.aio':>14}{'aiokafka':>12}{'ratio':>8}   us of CPU for each of {count} records")
    peers: dict[str, float] = {}
    for what, runs in RUNS.items():
        times = []
        for run in runs:
            if run.__name__ not in peers:
                topic = create_topic(bootstrap)
                if what.startswith("consume"):
                    measured("produce_many_with_headrace", bootstrap, topic, count)
                found = [measured(run.__name__, bootstrap, topic, count) for _ in range(ROUNDS)]
                peers[run.__name__] = statistics.median(found) / count * 1e6
            times.append(peers[run.__name__])
        print(f"{what:22}{times[0]:14.2f}{times[1]:12.2f}{times[0] / times[1]:8.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]  # it has one
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--bootstrap")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--topic", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        print(asyncio.run(globals()[given.run](given.bootstrap, given.topic, given.records)))
        return
    if given.bootstrap:
        compare(given.bootstrap, given.records)
        return
    from bench.nodes import Headrace

    with tempfile.TemporaryDirectory() as directory:
        node = Headrace(Path(directory))
        try:
            node.start()
            compare(node.bootstrap, given.records)
        finally:
            node.stop()


if __name__ == "__main__":
    main()
