"""Clients in Python beside each other: CPU of the client for each record of 100 bytes, on one node of ours.

    python -m bench.clients [--records 300000] [--rounds 5] [--only produce,consume,...] [--json]

Each measurement is a process of its own; the clients take turns, the order alternates, what counts is the median of user and system
time, all threads included (librdkafka's are its work). Topics have one partition; consumers read what was written before.

    produce            one `send` for each record, its outcome is not read before the flush
    produce, told      a delivery for each record: a callback, or what `send` returned is asked for
    produce, many      `send_many` of a list, beside `produce` of confluent-kafka for each record: it has no call for many
    produce, keys      the same with a key for each record, to eight partitions
    produce, table     `send_many` of an Arrow table, beside `produce` for each record of a list
    consume            one record after the other
    consume, batches   lists of 500
    asyncio            aiokafka's `send` and `async for` beside ours
    import             of the client, CPU in ms
    first producer     the same and a producer made, which is not connected
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from bench.nodes import Headrace, write_byte_code

VALUE = b"x" * 100
LIST = 500
# load -> (clients, ours first; aim of ours to the first peer)
LOADS: dict[str, tuple[tuple[str, ...], float]] = {
    "produce": (("headrace", "confluent", "kafka-python"), 0.5),
    "produce-told": (("headrace", "confluent", "kafka-python"), 0.7),
    "produce-many": (("headrace", "confluent"), 0.1),
    "produce-keys": (("headrace", "confluent"), 0.15),
    "produce-table": (("headrace", "confluent"), 0.1),
    "consume": (("headrace", "confluent", "kafka-python"), 0.5),
    "consume-batches": (("headrace", "confluent", "kafka-python"), 0.6),
    "aio-produce": (("headrace", "aiokafka"), 0.15),
    "aio-consume": (("headrace", "aiokafka"), 0.15),
}
IMPORT_AIM_MS = 80.0
IMPORTS = {
    "import": {
        "headrace": "from headrace.client import Kafka",
        "confluent": "import confluent_kafka",
        "aiokafka": "import aiokafka",
    },
    "first-producer": {
        "headrace": "from headrace.client import Kafka; made = Kafka('127.0.0.1:9').producer()",
        "confluent": "from confluent_kafka import Producer; made = Producer({'bootstrap.servers': '127.0.0.1:9', 'log_level': 0})",
    },
}
KEYS = [b"key %d" % index for index in range(1_000)]
PURE_SHARE = 5  # pure clients get a fifth of the records: they need as long for these

Run = Callable[[str, str, int], Callable[[], None]]  # bootstrap, topic, records -> what is measured


def headrace_produce(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    from headrace.client import Kafka

    producer = Kafka(bootstrap).producer()
    producer.send(topic, VALUE).result(30)

    def run() -> None:
        send = producer.send
        for _ in range(records):
            send(topic, VALUE)
        producer.flush(60)

    return run


def headrace_produce_told(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    from headrace.client import Kafka

    producer = Kafka(bootstrap).producer()
    producer.send(topic, VALUE).result(30)

    def run() -> None:
        send = producer.send
        told = 0
        sent = [send(topic, VALUE) for _ in range(records)]
        producer.flush(60)
        for delivery in sent:
            told += delivery.exception() is None
        assert told == records

    return run


def headrace_produce_many(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    from headrace.client import Kafka

    producer = Kafka(bootstrap).producer()
    producer.send(topic, VALUE).result(30)
    values = [VALUE] * records

    def run() -> None:
        producer.send_many(topic, values)
        producer.flush(60)

    return run


def headrace_produce_keys(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    from headrace.client import Kafka

    producer = Kafka(bootstrap).producer()
    producer.send(topic, VALUE).result(30)
    values = [VALUE] * records
    keys = (KEYS * (records // len(KEYS) + 1))[:records]

    def run() -> None:
        producer.send_many(topic, values, keys)
        producer.flush(60)

    return run


def headrace_produce_table(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    import pyarrow

    from headrace.client import Kafka

    producer = Kafka(bootstrap).producer()
    producer.send(topic, VALUE).result(30)
    table = pyarrow.table({"value": pyarrow.array([VALUE] * records, pyarrow.binary())})

    def run() -> None:
        producer.send_many(topic, table)
        producer.flush(60)

    return run


def headrace_consume(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    from headrace.client import Kafka

    consumer = Kafka(bootstrap).consumer(topic, start="earliest")
    consumer.poll(30, 1)

    def run() -> None:
        left = records - 1
        for record in consumer:
            assert record.value is not None
            left -= 1
            if not left:
                break

    return run


def headrace_consume_batches(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    from headrace.client import Kafka

    consumer = Kafka(bootstrap).consumer(topic, start="earliest")
    consumer.poll(30, 1)

    def run() -> None:
        left = records - 1
        while left:
            left -= len(consumer.poll(1.0, LIST))

    return run


def confluent_producer(bootstrap: str, topic: str) -> object:
    import confluent_kafka

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    producer.produce(topic, VALUE)
    producer.flush()
    return producer


def confluent_produce(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    producer: object = confluent_producer(bootstrap, topic)

    def run() -> None:
        produce, poll = producer.produce, producer.poll  # type: ignore[attr-defined]
        for index in range(records):
            produce(topic, VALUE)
            if not index % 10_000:
                poll(0)
        producer.flush()  # type: ignore[attr-defined]

    return run


def confluent_produce_keys(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    producer: object = confluent_producer(bootstrap, topic)

    def run() -> None:
        produce, poll = producer.produce, producer.poll  # type: ignore[attr-defined]
        for index in range(records):
            produce(topic, VALUE, KEYS[index % len(KEYS)])
            if not index % 10_000:
                poll(0)
        producer.flush()  # type: ignore[attr-defined]

    return run


def confluent_produce_told(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    producer: object = confluent_producer(bootstrap, topic)

    def run() -> None:
        told = 0

        def on_delivery(error: object, _message: object) -> None:
            nonlocal told
            told += error is None

        produce, poll = producer.produce, producer.poll  # type: ignore[attr-defined]
        for index in range(records):
            produce(topic, VALUE, on_delivery=on_delivery)
            if not index % 1_000:
                poll(0)
        producer.flush()  # type: ignore[attr-defined]
        assert told == records

    return run


def confluent_consumer(bootstrap: str, topic: str) -> object:
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    while consumer.poll(1.0) is None:
        pass
    return consumer


def confluent_consume(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    consumer = confluent_consumer(bootstrap, topic)

    def run() -> None:
        poll = consumer.poll  # type: ignore[attr-defined]
        left = records - 1
        while left:
            message = poll(1.0)
            if message is not None:
                assert message.value() is not None
                left -= 1

    return run


def confluent_consume_batches(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    consumer = confluent_consumer(bootstrap, topic)

    def run() -> None:
        left = records - 1
        while left:
            left -= len(consumer.consume(min(LIST, left), 1.0))  # type: ignore[attr-defined]

    return run


def kafka_python_produce(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    import kafka

    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=5, batch_size=256 << 10)
    producer.send(topic, VALUE).get(30)

    def run() -> None:
        for _ in range(records):
            producer.send(topic, VALUE)
        producer.flush()

    return run


def kafka_python_produce_told(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    import kafka

    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=5, batch_size=256 << 10)
    producer.send(topic, VALUE).get(30)

    def run() -> None:
        sent = [producer.send(topic, VALUE) for _ in range(records)]
        producer.flush()
        assert all(future.succeeded() for future in sent)

    return run


def kafka_python_consume(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    import kafka

    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None)
    consumer.assign([kafka.TopicPartition(topic, 0)])
    consumer.seek_to_beginning()

    def run() -> None:
        left = records
        for _record in consumer:
            left -= 1
            if not left:
                break

    return run


def kafka_python_consume_batches(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    import kafka

    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None)
    consumer.assign([kafka.TopicPartition(topic, 0)])
    consumer.seek_to_beginning()

    def run() -> None:
        left = records
        while left > 0:
            left -= sum(map(len, consumer.poll(1000, LIST).values()))

    return run


def headrace_aio_produce(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    from headrace.aio import Kafka

    async def measured() -> float:
        async with Kafka(bootstrap) as kafka, kafka.producer() as producer:
            await (await producer.send(topic, VALUE))
            began = cpu_s()
            for _ in range(records):
                await producer.send(topic, VALUE)
            await producer.flush()
            return cpu_s() - began

    return lambda: report(asyncio.run(measured()))


def headrace_aio_consume(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    from headrace.aio import Kafka

    async def measured() -> float:
        async with Kafka(bootstrap) as kafka, kafka.consumer(topic, start="earliest") as consumer:
            left, began = records, 0.0
            async for record in consumer:
                if left == records:
                    began = cpu_s()
                assert record.value is not None
                left -= 1
                if not left:
                    break
            return cpu_s() - began

    return lambda: report(asyncio.run(measured()))


def aiokafka_produce(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    import aiokafka

    async def measured() -> float:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=5, max_batch_size=256 << 10
        )
        await producer.start()
        await producer.send_and_wait(topic, VALUE)
        began = cpu_s()
        for _ in range(records):
            await producer.send(topic, VALUE)
        await producer.flush()
        spent = cpu_s() - began
        await producer.stop()
        return spent

    return lambda: report(asyncio.run(measured()))


def aiokafka_consume(bootstrap: str, topic: str, records: int) -> Callable[[], None]:
    import aiokafka

    async def measured() -> float:
        consumer = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None
        )
        await consumer.start()
        left, began = records, 0.0
        async for record in consumer:
            if left == records:
                began = cpu_s()
            assert record.value is not None
            left -= 1
            if not left:
                break
        spent = cpu_s() - began
        await consumer.stop()
        return spent

    return lambda: report(asyncio.run(measured()))


RUNS: dict[tuple[str, str], Run] = {
    ("produce", "headrace"): headrace_produce,
    ("produce", "confluent"): confluent_produce,
    ("produce", "kafka-python"): kafka_python_produce,
    ("produce-told", "headrace"): headrace_produce_told,
    ("produce-told", "confluent"): confluent_produce_told,
    ("produce-told", "kafka-python"): kafka_python_produce_told,
    ("produce-many", "headrace"): headrace_produce_many,
    ("produce-many", "confluent"): confluent_produce,
    ("produce-keys", "headrace"): headrace_produce_keys,
    ("produce-keys", "confluent"): confluent_produce_keys,
    ("produce-table", "headrace"): headrace_produce_table,
    ("produce-table", "confluent"): confluent_produce,
    ("consume", "headrace"): headrace_consume,
    ("consume", "confluent"): confluent_consume,
    ("consume", "kafka-python"): kafka_python_consume,
    ("consume-batches", "headrace"): headrace_consume_batches,
    ("consume-batches", "confluent"): confluent_consume_batches,
    ("consume-batches", "kafka-python"): kafka_python_consume_batches,
    ("aio-produce", "headrace"): headrace_aio_produce,
    ("aio-produce", "aiokafka"): aiokafka_produce,
    ("aio-consume", "headrace"): headrace_aio_consume,
    ("aio-consume", "aiokafka"): aiokafka_consume,
}


def cpu_s() -> float:
    """Of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def report(seconds: float) -> None:
    print(f"cpu_s={seconds}", flush=True)


def child(load: str, client: str, bootstrap: str, topic: str, records: int) -> None:
    """Measure, and say it on standard output."""
    run = RUNS[load, client](bootstrap, topic, records)
    if load.startswith("aio"):
        run()
        return
    began = cpu_s()
    run()
    report(cpu_s() - began)
    sys.stdout.flush()
    import os

    os._exit(0)  # what clients do at their end is not measured


def measure(load: str, client: str, bootstrap: str, topic: str, records: int) -> float:
    """Microseconds of CPU for each record."""
    if client in ("kafka-python", "aiokafka"):
        records //= PURE_SHARE
    command = [sys.executable, "-m", "bench.clients", "--child", load, client, bootstrap, topic, str(records)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("cpu_s=")]
    return float(line.removeprefix("cpu_s=")) / records * 1e6


def import_ms(statement: str) -> float:
    """CPU of an import in a fresh process, without the interpreter's own start."""
    code = (
        "import os, resource\n"
        "def cpu_ms():\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    return 1000 * (used.ru_utime + used.ru_stime)\n"
        f"began = cpu_ms()\n{statement}\nprint(cpu_ms() - began, flush=True)\nos._exit(0)"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def fill(bootstrap: str, topic: str, records: int) -> None:
    """Records to consume."""
    from headrace.client import Kafka

    with Kafka(bootstrap) as kafka, kafka.producer() as producer:
        producer.send_many(topic, [VALUE] * records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join([*LOADS, *IMPORTS]))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        load, client, bootstrap, topic, records = options.child
        child(load, client, bootstrap, topic, int(records))
        return
    chosen = options.only.split(",")
    unknown = [name for name in chosen if name not in LOADS and name not in IMPORTS]
    if unknown:
        parser.error(f"--only: {unknown[0]!r} is not one of {', '.join([*LOADS, *IMPORTS])}")
    write_byte_code()  # as pip does where it installs
    rows = []
    with tempfile.TemporaryDirectory(prefix="headrace-bench-clients-") as directory:
        node = Headrace(Path(directory) / "node")
        node.start()
        try:
            from headrace.client import Kafka

            with Kafka(node.bootstrap) as kafka, kafka.admin() as admin:
                admin.create_topic("produced", 1, 1)
                admin.create_topic("spread", 8, 1)
                admin.create_topic("consumed", 1, 1)
            fill(node.bootstrap, "consumed", options.records)
            for load in [name for name in chosen if name in LOADS]:
                clients, aim = LOADS[load]
                figures: dict[str, list[float]] = {client: [] for client in clients}
                for index in range(options.rounds):
                    for client in clients if index % 2 == 0 else reversed(clients):
                        topic = "consumed" if "consume" in load else "spread" if load == "produce-keys" else "produced"
                        figures[client].append(measure(load, client, node.bootstrap, topic, options.records))
                rows.append(row(load, figures, aim))
        finally:
            node.stop()
    for load in [name for name in chosen if name in IMPORTS]:
        found = {
            client: statistics.median([import_ms(statement) for _ in range(options.rounds)])
            for client, statement in IMPORTS[load].items()
        }
        is_met = found["headrace"] < IMPORT_AIM_MS
        rows.append({"load": load, "unit": "ms", **found, "aim_ms": IMPORT_AIM_MS, "is_met": is_met})
    for one in rows:
        print(
            json.dumps(one) if options.json else " ".join(f"{key}={_shown(value)}" for key, value in one.items()),
            flush=True,
        )


def row(load: str, figures: dict[str, list[float]], aim: float) -> dict[str, object]:
    """Medians in microseconds a record, and ours to the first peer's."""
    found = {client: statistics.median(some) for client, some in figures.items()}
    peer = list(found)[1]
    ratio = found["headrace"] / found[peer]
    ratios = [ours / theirs for ours, theirs in zip(figures["headrace"], figures[peer], strict=True)]
    return {
        "load": load, "unit": "us", **found, "ratio": ratio, "least": min(ratios), "most": max(ratios), "aim": aim, "is_met": ratio <= aim,
    }  # fmt: skip


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    start_s = time.monotonic()
    main()
