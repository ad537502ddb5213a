"""A mirror beside MirrorMaker 2: CPU for each GB, and how late records are: `python -m bench.mirror --megabytes 500`.

CPU: a topic of four partitions, records of 1 KB in batches of the given codec, written before the mirror starts. Ours is
`headrace mirror --once` as a process, start and end included. MirrorMaker's CPU is counted from its first record at the target on,
without the start of its JVM.
The second line is our mirror by key, into a topic with one partition more.
The third line is a consumer and a producer of confluent-kafka that copy the same records one by one.

Lag: records are written at --rate MB/s for --seconds. A consumer at the target says how old each is when it arrives (`bench/paced.py`).
Its own share, and that of the writer (5 ms of linger), is what a consumer at the source sees without a mirror.
One mirror runs after the other, each with a topic of its own, and is left to warm up for --warm-up seconds before its records count.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.mirror_maker import MirrorMaker
from bench.nodes import Headrace, Kafka, Server
from headrace.client import Kafka as Client
from headrace.client.cluster import LATEST, Cluster
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from headrace.node.termination import terminate

TOPIC = "copied"
PACED = "paced"
BY_KEY = "by-key."  # before the name of a topic that is copied by key
PARTITIONS = 4
RECORD_BYTES = 1_000
BATCH_BYTES = 64 << 10
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
DEADLINE_S = 600.0
STOP_S = 30.0
LOOK_S = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")


def fill(bootstrap: str, topic: str, megabytes: int, codec: str) -> int:
    """Write the records; returns how many."""
    count = megabytes * 1_000_000 // RECORD_BYTES
    value = os.urandom(RECORD_BYTES // 2) + bytes(RECORD_BYTES // 2)
    with Client(bootstrap) as kafka:
        kafka.admin().create_topic(topic, partitions=PARTITIONS)
        with kafka.producer(compression=codec, batch_size=BATCH_BYTES) as producer:
            for number in range(count):
                producer.send(topic, value, b"%d" % number, partition=number % PARTITIONS)
    return count


def stored(cluster: Cluster, topic: str) -> int:
    """How many records a topic has; 0 while it is not there."""
    try:
        ends = cluster.offsets({TopicPartition(topic, index): LATEST for index in range(PARTITIONS)})
    except KafkaError:
        return 0
    return sum(ends.values())


def mirror_command(source: str, target: str, topic: str, state: Path) -> list[str]:
    command = [sys.executable, "-m", "headrace.cli.main", "mirror", "--from", source, "--to", target]
    return [*command, "--whitelist", topic, "--state", str(state)]


def run_mirror(source: str, target: str, topic: str, state: Path) -> None:
    subprocess.run([*mirror_command(source, target, topic, state), "--once"], check=True, stderr=subprocess.DEVNULL)


def run_mirror_by_key(source: str, target: str, topic: str, state: Path) -> None:
    command = mirror_command(source, target, topic, state)
    subprocess.run([*command, "--once", "--name", "by-key", "--prefix", BY_KEY], check=True, stderr=subprocess.DEVNULL)


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
    with Client(target) as kafka:
        kafka.admin().create_topic(f"{TOPIC}-beside", partitions=PARTITIONS)
    arguments = [source, target, TOPIC, str(count), codec, str(PARTITIONS)]
    subprocess.run([sys.executable, "-c", program, *arguments], check=True)


def measured(work: Callable[[], None]) -> tuple[float, float]:
    """(CPU seconds of the children, seconds)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun_s = time.monotonic()
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begun_s


def cpu_s(pid: int) -> float:
    """Of one process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def catch_up(maker: MirrorMaker, target: str, topic: str, count: int) -> tuple[float, float]:
    """(CPU seconds, seconds) from the first record at the target to the last one, that had to be copied from there on."""
    with Cluster(target) as cluster:
        deadline_s = time.monotonic() + DEADLINE_S
        first_s = first_cpu_s = 0.0
        first = 0
        while (found := stored(cluster, topic)) < count:
            maker.check()
            if time.monotonic() > deadline_s:
                raise SystemExit(f"MirrorMaker has copied {found} of {count} records in {DEADLINE_S:g} s: {maker.log}")
            if found and not first:
                first, first_s, first_cpu_s = found, time.monotonic(), cpu_s(maker.pid)
            time.sleep(LOOK_S)
        share = count / (count - first)  # the first look found some already
        return (cpu_s(maker.pid) - first_cpu_s) * share, (time.monotonic() - first_s) * share


@contextmanager
def our_mirror(source: str, target: str, topic: str, state: Path) -> Iterator[None]:
    command = mirror_command(source, target, topic, state)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        terminate(process, STOP_S)


@contextmanager
def their_mirror(source: str, target: str, topic: str, state: Path, codec: str) -> Iterator[MirrorMaker]:
    maker = MirrorMaker(state, source, target, topic, PARTITIONS, codec)
    maker.start()
    try:
        yield maker
    finally:
        maker.stop()


def lag_ms(source: str, target: str, topic: str, given: argparse.Namespace) -> tuple[int, int, int, int]:
    """(p50, p99, most, records), of a mirror that runs."""
    with Client(source) as kafka, kafka.producer() as producer:
        producer.send(topic, b"the first record").result()
    with Cluster(target) as cluster:
        deadline_s = time.monotonic() + DEADLINE_S
        while not stored(cluster, topic):
            if time.monotonic() > deadline_s:
                raise SystemExit(f"nothing of {topic} has come to the target")
            time.sleep(LOOK_S)
    module = [sys.executable, "-m", "bench.paced"]
    total_s = given.warm_up + given.seconds + STOP_S  # the reader ends first
    writer = subprocess.Popen([*module, "produce", source, topic, str(given.rate), str(total_s)])
    try:
        time.sleep(given.warm_up)
        command = [*module, "consume", target, topic, str(given.seconds)]
        read = subprocess.run(command, check=True, capture_output=True, text=True)
    finally:
        terminate(writer, STOP_S)
    p50, p99, most, records = map(int, read.stdout.split("ready\n")[1].split())
    return p50, p99, most, records


def compare(servers: list[Server], directory: Path, given: argparse.Namespace) -> None:
    source, target = (server.bootstrap for server in servers)
    gigabytes = given.megabytes / 1000
    count = fill(source, TOPIC, given.megabytes, given.codec)
    state = directory / "ours"
    ours_s, ours_wall_s = measured(lambda: run_mirror(source, target, TOPIC, state))
    print(
        f"mirror              {ours_s / gigabytes:6.2f} CPU s/GB  {given.megabytes / ours_wall_s:7.1f} MB/s  codec={given.codec}"
    )
    with Client(target) as kafka, kafka.admin() as admin:
        admin.create_topic(BY_KEY + TOPIC, partitions=PARTITIONS + 1)
    key_s, key_wall_s = measured(lambda: run_mirror_by_key(source, target, TOPIC, directory / "by key"))
    print(f"mirror by key       {key_s / gigabytes:6.2f} CPU s/GB  {given.megabytes / key_wall_s:7.1f} MB/s")
    beside_s, beside_wall_s = measured(lambda: run_copy(source, target, count, given.codec))
    print(f"consumer, producer  {beside_s / gigabytes:6.2f} CPU s/GB  {given.megabytes / beside_wall_s:7.1f} MB/s")
    print(
        f"ratio of CPU        {ours_s / beside_s:6.2f} of consumer and producer; by key {key_s / beside_s:.2f}",
        flush=True,
    )
    fill(source, f"{TOPIC}-maker", given.megabytes, given.codec)
    with their_mirror(source, target, f"{TOPIC}-maker", directory / "theirs", given.codec) as maker:
        theirs_s, theirs_wall_s = catch_up(maker, target, f"{TOPIC}-maker", count)
    print(
        f"MirrorMaker 2       {theirs_s / gigabytes:6.2f} CPU s/GB  {given.megabytes / theirs_wall_s:7.1f} MB/s  from its first record on"
    )
    print(f"ratio of CPU        {ours_s / theirs_s:6.2f} of MirrorMaker 2; by key {key_s / theirs_s:.2f}", flush=True)
    with Client(source) as kafka, kafka.admin() as admin:
        for name in ("none", "ours", "theirs"):
            admin.create_topic(f"{PACED}-{name}", partitions=PARTITIONS)
    none = lag_ms(source, source, f"{PACED}-none", given)
    print(f"no mirror           lag p50 {none[0]} ms, p99 {none[1]} ms, most {none[2]} ms: read where it was written")
    with our_mirror(source, target, f"{PACED}-ours", directory / "lag"):
        ours = lag_ms(source, target, f"{PACED}-ours", given)
    print(
        f"mirror              lag p50 {ours[0]} ms, p99 {ours[1]} ms, most {ours[2]} ms, {ours[3]} records at {given.rate:g} MB/s"
    )
    with their_mirror(source, target, f"{PACED}-theirs", directory / "their-lag", given.codec):
        theirs = lag_ms(source, target, f"{PACED}-theirs", given)
    print(f"MirrorMaker 2       lag p50 {theirs[0]} ms, p99 {theirs[1]} ms, most {theirs[2]} ms, {theirs[3]} records")
    added = [max(1, one[1] - none[1]) for one in (ours, theirs)]
    print(f"ratio of p99        {ours[1] / theirs[1]:6.2f}; of what each adds to no mirror {added[0] / added[1]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--codec", choices=CODECS, default="lz4")
    parser.add_argument("--rate", type=float, default=10.0, help="MB/s")
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--warm-up", type=float, default=30.0)
    parser.add_argument("--servers", choices=("headrace", "kafka"), default="headrace", help="servers of both clusters")
    given = parser.parse_args()
    kind = Headrace if given.servers == "headrace" else Kafka
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        servers: list[Server] = [kind(directory / name) for name in ("source", "target")]
        try:
            for server in servers:
                server.start()
            compare(servers, directory, given)
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()
