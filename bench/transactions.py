"""Transactions by clients of others: Headrace beside Apache Kafka 3.9, the same client against both in turn.

    one          1 librdkafka producer, 1 record in each transaction: transactions/s, ms of a commit (median, 99th)
    many         PRODUCERS of them, in processes of PER_PROCESS threads: the same, and server CPU for each
    perf         Kafka's own ProducerPerformance, 1 KB records, --transaction-duration-ms 100: MB/s; beside the same
                 without transactions against Headrace
    init         initTransactions after a producer was killed with a transaction open: ms
    aborted      read_committed over a partition in which 30% of the transactions were aborted, beside
                 read_uncommitted of the same server: the ratio of their rates
    load         IDS transactional ids, the broker stopped and started: ms until an id of each partition is served

Each server has one broker, replication factor 1 and min.insync.replicas 1 of `__transaction_state`. Each round runs both, in
alternating order, after a warm-up of WARM_S of the part's own load. The aims are those of the brief of transactions.

Run by hand: `python -m bench.transactions --rounds 3` (15 minutes), `--only one,many`, `--quick`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.nodes import Headrace, Kafka, Server
from bench.page_cache import PageCache
from bench.peers import jars
from bench.rounds import Rounds

TOPIC = "bench"
PARTITIONS = 8
PRODUCERS, PER_PROCESS = 32, 8
WARM_S = 10.0
CLIENT_S = 60
ABORTED_SHARE = 0.3
READ_TRANSACTIONS = 3_000
SETTINGS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}
Figures = dict[str, float]
# row -> (figure, aim, whether less is better); the ratio is Headrace's over Kafka's
AIMS: dict[str, tuple[float, bool]] = {
    "one tx/s": (2.5, False),
    "one commit p50 ms": (0.5, True),
    "one commit p99 ms": (0.4, True),
    "many tx/s": (2.0, False),
    "many CPU us/tx": (0.5, True),
    "perf MB/s": (1.3, False),
    "init ms": (0.2, True),
    "aborted share": (0.95, False),
    "load ms": (0.5, True),
}


def transact(bootstrap: str, name: str, seconds: float, took_ms: list[float]) -> int:
    """One producer's transactions of one record, for so long; returns how many."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(CLIENT_S)
    partition = hash(name) % PARTITIONS
    count, until = 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        producer.begin_transaction()
        producer.produce(TOPIC, b"x" * 100, partition=partition)
        begun = time.perf_counter()
        producer.commit_transaction(CLIENT_S)
        took_ms.append((time.perf_counter() - begun) * 1000)
        count += 1
    return count


def drive(bootstrap: str, first: int, producers: int, seconds: float) -> None:
    """What a process of `many` does: it prints the milliseconds of its commits."""
    took: list[list[float]] = [[] for _ in range(producers)]
    threads = [
        threading.Thread(target=transact, args=(bootstrap, f"many-{first + number}", seconds, took[number]))
        for number in range(producers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps([ms for one in took for ms in one]))


def part_one(server: Server, seconds: float) -> Figures:
    took: list[float] = []
    begun = time.perf_counter()
    count = transact(server.bootstrap, "one", seconds, took)
    elapsed = time.perf_counter() - begun
    took.sort()
    return {
        "one tx/s": count / elapsed,
        "one commit p50 ms": took[len(took) // 2],
        "one commit p99 ms": took[len(took) * 99 // 100],
    }


def part_many(server: Server, seconds: float) -> Figures:
    cpu_s = server.cpu_s()
    drivers = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.transactions", "--drive", server.bootstrap, str(first), str(PER_PROCESS),
             str(seconds)],
            stdout=subprocess.PIPE, text=True,
        )
        for first in range(0, PRODUCERS, PER_PROCESS)
    ]  # fmt: skip
    took = sorted(ms for one in drivers for ms in json.loads(one.communicate()[0]))
    return {
        "many tx/s": len(took) / seconds,
        "many commit p50 ms": took[len(took) // 2],
        "many commit p99 ms": took[len(took) * 99 // 100],
        "many CPU us/tx": (server.cpu_s() - cpu_s) * 1e6 / len(took),
    }


def perf(server: Server, seconds: float, *extra: str) -> float:
    """MB/s of Kafka's own performance test."""
    done = subprocess.run(
        ["java", "-Xmx512m", "-cp", ":".join(map(str, jars("kafka"))), "org.apache.kafka.tools.ProducerPerformance",
         "--topic", TOPIC, "--num-records", str(int(seconds * 40_000)), "--record-size", "1024", "--throughput", "-1",
         "--producer-props", f"bootstrap.servers={server.bootstrap}", "acks=all", "linger.ms=5", *extra],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    rates = re.findall(r"\(([\d.]+) MB/sec\)", done.stdout)
    if done.returncode or not rates:
        raise SystemExit(f"ProducerPerformance failed: {done.stdout[-500:]} {done.stderr[-1500:]}")
    return float(rates[-1])


def part_perf(server: Server, seconds: float) -> Figures:
    figures = {"perf MB/s": perf(server, seconds, "--transaction-duration-ms", "100", "--transactional-id", "perf")}
    if isinstance(server, Headrace):
        figures["perf without transactions MB/s"] = perf(server, seconds)
    return figures


def part_init(server: Server, _seconds: float) -> Figures:
    """A producer that dies with a transaction open, and the next one with its id."""
    took = []
    for number in range(5):
        script = (
            "import sys, os; from confluent_kafka import Producer\n"
            f"p = Producer({{'bootstrap.servers': {server.bootstrap!r}, 'transactional.id': 'init-{number}'}})\n"
            f"p.init_transactions({CLIENT_S}); p.begin_transaction()\n"
            f"p.produce({TOPIC!r}, b'x'); p.flush({CLIENT_S}); os.kill(os.getpid(), 9)\n"
        )
        subprocess.run([sys.executable, "-c", script], check=False)
        producer = Producer({"bootstrap.servers": server.bootstrap, "transactional.id": f"init-{number}"})
        begun = time.perf_counter()
        producer.init_transactions(CLIENT_S)
        took.append((time.perf_counter() - begun) * 1000)
    return {"init ms": statistics.median(took)}


def part_aborted(server: Server, _seconds: float) -> Figures:
    topic = f"aborted-{time.time_ns()}"
    _create(server, topic, 1)
    producer = Producer({"bootstrap.servers": server.bootstrap, "transactional.id": topic, "linger.ms": 0})
    producer.init_transactions(CLIENT_S)
    for number in range(READ_TRANSACTIONS):
        producer.begin_transaction()
        for _ in range(20):
            producer.produce(topic, b"x" * 1_000, partition=0)
        is_aborted = number % 10 < ABORTED_SHARE * 10
        producer.flush(CLIENT_S)
        (producer.abort_transaction if is_aborted else producer.commit_transaction)(CLIENT_S)
    rates = {level: _read_rate(server, topic, level) for level in ("read_committed", "read_uncommitted")}
    return {"aborted share": rates["read_committed"] / rates["read_uncommitted"]}


def _read_rate(server: Server, topic: str, isolation_level: str) -> float:
    """Offsets a second, the best of three readings of the whole partition."""
    best = 0.0
    for number in range(3):
        consumer = Consumer(
            {"bootstrap.servers": server.bootstrap, "group.id": f"{isolation_level}-{number}",
             "isolation.level": isolation_level, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        )  # fmt: skip
        end = consumer.get_watermark_offsets(TopicPartition(topic, 0), CLIENT_S)[1]
        consumer.assign([TopicPartition(topic, 0, 0)])
        begun = time.perf_counter()
        last = -1
        while last < end - 22:  # the last transaction is committed, and its marker is not given
            for record in consumer.consume(10_000, 1.0):
                if record.error() is None:
                    last = record.offset()
        best = max(best, end / (time.perf_counter() - begun))
        consumer.close()
    return best


def part_load(ids: int) -> Callable[[Server, float], Figures]:
    def run(server: Server, _seconds: float) -> Figures:
        made = subprocess.run(
            [sys.executable, "-m", "bench.transactions", "--make-ids", server.bootstrap, str(ids)], check=False
        )
        if made.returncode:
            raise SystemExit("the ids could not be made")
        server.stop_broker()
        server.start_broker()
        begun = time.perf_counter()
        for number in range(200):  # ids of all partitions, as good as surely
            Producer({"bootstrap.servers": server.bootstrap, "transactional.id": f"id-{number}"}).init_transactions(
                CLIENT_S
            )
        return {"load ms": (time.perf_counter() - begun) * 1000}

    return run


def make_ids(bootstrap: str, count: int) -> None:
    """InitProducerId of so many ids, by hand: a client for each would be the measurement."""
    from headrace.client.connection import Connection
    from headrace.protocol import messages
    from headrace.protocol.apis import ApiKey

    host, _, port = bootstrap.rpartition(":")
    with_topic = Producer({"bootstrap.servers": bootstrap, "transactional.id": "first"})
    with_topic.init_transactions(CLIENT_S)
    connection = Connection(host, int(port))
    for number in range(count):
        request = messages.InitProducerIdRequest(
            transactional_id=f"id-{number}", transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        while connection.request(ApiKey.INIT_PRODUCER_ID, 4, request).error_code:
            time.sleep(0.01)
    connection.close()


def _create(server: Server, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(CLIENT_S)


def measure(only: list[str], rounds: int, seconds: float, ids: int) -> dict[str, dict[str, list[float]]]:
    """row -> server -> its figure in each round."""
    parts: dict[str, Callable[[Server, float], Figures]] = {
        "one": part_one,
        "many": part_many,
        "perf": part_perf,
        "init": part_init,
        "aborted": part_aborted,
        "load": part_load(ids),
    }
    found: dict[str, dict[str, list[float]]] = {}
    directory = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    servers: list[Server] = [Headrace(directory / "headrace", SETTINGS), Kafka(directory / "kafka", SETTINGS)]
    page_cache = PageCache(directory)
    try:
        for server in servers:
            server.start()
            _create(server, TOPIC, PARTITIONS)
            transact(server.bootstrap, "warm", WARM_S, [])
        for name in only:
            run = parts[name]
            results = Rounds(rounds if name != "load" else 1, seconds, page_cache).run(
                servers, lambda server, run=run: run(server, seconds)
            )
            for server_name, rows in results.items():
                for figures in rows:
                    for row, value in figures.items():
                        found.setdefault(row, {}).setdefault(server_name, []).append(value)
            for row in list(found):
                if row.startswith(name):
                    print(line_of(row, found[row]), flush=True)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    return found


def line_of(row: str, by_server: dict[str, list[float]]) -> str:
    """A row of the table: medians, and the ratio beside its aim."""
    medians = {name: statistics.median(values) for name, values in by_server.items()}
    ours, theirs = medians.get("headrace"), medians.get("kafka")
    text = f"{row:32} " + " ".join(f"{name} {value:10.2f}" for name, value in medians.items())
    if ours is None or theirs is None or not theirs:
        return text
    ratio = ours / theirs
    aim, is_less = AIMS.get(row, (0.0, False))
    verdict = "" if not aim else " ok" if (ratio <= aim if is_less else ratio >= aim) else " MISSED"
    return f"{text}   {ratio:6.2f} x" + (f" (aim {'<=' if is_less else '>='} {aim}){verdict}" if aim else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a load in each round")
    parser.add_argument("--ids", type=int, default=20_000, help="of the part `load`")
    parser.add_argument("--only", default="one,many,perf,init,aborted,load", help="parts, by comma")
    parser.add_argument("--quick", action="store_true", help="one round of 3 s")
    parser.add_argument("--drive", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--make-ids", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        bootstrap, first, producers, seconds = options.drive
        drive(bootstrap, int(first), int(producers), float(seconds))
    elif options.make_ids:
        make_ids(options.make_ids[0], int(options.make_ids[1]))
    elif options.quick:
        measure(options.only.split(","), 1, 3.0, options.ids)
    else:
        measure(options.only.split(","), options.rounds, options.seconds, options.ids)


if __name__ == "__main__":
    main()
