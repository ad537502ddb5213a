"""Compaction: Headrace's cleaner and Apache Kafka's over the same segments, each by its own account of the time.

    python -m bench.compaction [--records 1000000] [--keys 200000] [--batch 100] [--codec 0] [--rounds 1]

Each server makes a topic, stops, finds the same segments in its directory, and starts again: what it compacts is equal byte
for byte. Time is that of the pass alone, as the cleaner logs it (Kafka: "log of ... cleaned"; Headrace: "log compacted"); CPU and
memory are not compared, because Kafka's JVM does other things meanwhile. What is left has to be the same records.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.nodes import Headrace, Kafka, Server  # noqa: E402
from headrace.log.state.checkpoints import CLEANER_OFFSET_FILE, read_offset_checkpoint  # noqa: E402
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records  # noqa: E402

TOPIC = "compacted"
SEGMENT_BYTES = 64 << 20
SETTINGS = {"log.cleaner.backoff.ms": "100", "log.cleaner.enable": "true"}
TOPIC_SETTINGS = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.0001",
    "segment.bytes": str(SEGMENT_BYTES),
}
DEADLINE_S = 600
# Kafka says how long a pass took, in its log only.
LOG4J = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
THEIR_TIME = re.compile(r"[\d,.]+ MB of log processed in ([\d,.]+) seconds")
OUR_TIME = re.compile(r"log compacted partition=compacted-0 .* ms=(\d+)")


def write_log(directory: Path, records: int, keys: int, batch_records: int, codec: int) -> int:
    """Segments of random keys, a tenth of them deletes, and a short one that stays active; returns the rolled bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    chance = random.Random(7)
    now_ms = int(time.time() * 1000)
    offset = total = size = 0
    segment: list[bytes] = []

    def write_segment() -> None:
        base = int.from_bytes(segment[0][:8], "big")
        (directory / f"{base:020d}.log").write_bytes(b"".join(segment))
        segment.clear()

    while offset < records:
        rows = [
            (b"key-%08d" % chance.randrange(keys), None if chance.random() < 0.1 else os.urandom(50) + b"v" * 50)
            for _ in range(batch_records)
        ]
        batch = build_batch(rows, base_offset=offset, timestamp_ms=now_ms, codec=codec)
        if size + len(batch) > SEGMENT_BYTES:
            write_segment()
            size = 0
        segment.append(batch)
        size += len(batch)
        total += len(batch)
        offset += batch_records
    write_segment()
    segment.append(build_batch([(b"active", b"1")], base_offset=offset, timestamp_ms=now_ms))
    write_segment()
    return total


def compact_with(server: Server, source: Path, end_offset: int) -> tuple[float, dict[bytes, tuple[int, bytes]]]:
    """Seconds of the pass, and what is left: key -> (offset, value)."""
    from confluent_kafka.admin import AdminClient, NewTopic

    server.start()
    try:
        admin = AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 1, 1, config=TOPIC_SETTINGS)])[TOPIC].result()
        server.stop_broker()
        log_dir = server.directory / "logs"
        partition = log_dir / f"{TOPIC}-0"
        for path in partition.glob("0*"):
            path.unlink()
        for path in source.iterdir():
            shutil.copy(path, partition)
        os.sync()
        server.start_broker()
        deadline = time.monotonic() + DEADLINE_S
        while end_offset not in read_offset_checkpoint(log_dir / CLEANER_OFFSET_FILE).values():
            if time.monotonic() > deadline:
                raise SystemExit(f"{server.name}: not compacted within {DEADLINE_S} s")
            time.sleep(0.1)
        server.stop_broker()
        said = (server.directory / "broker.log").read_text()
        return _seconds(server, said), _left(partition)
    finally:
        server.stop()


def _seconds(server: Server, said: str) -> float:
    if server.name == "headrace":
        return sum(int(found) for found in OUR_TIME.findall(said)) / 1000
    return sum(float(found.replace(",", "")) for found in THEIR_TIME.findall(said))


def _left(partition: Path) -> dict[bytes, tuple[int, bytes]]:
    left = {}
    for path in sorted(partition.glob("*.log")):
        for _position, _header, batch in iterate_batches(path.read_bytes()):
            left.update((record.key, (record.offset, record.value)) for record in iterate_records(batch))
    return left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--codec", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print MB/s of both servers as JSON in the last line")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        work = Path(name)
        (work / "log4j.properties").write_text(LOG4J)
        os.environ["JAVA_TOOL_OPTIONS"] = f"-Dlog4j.configuration=file:{work / 'log4j.properties'}"
        size = write_log(work / "source", given.records, given.keys, given.batch, given.codec)
        end_offset = -(-given.records // given.batch) * given.batch
        times: dict[str, list[float]] = {"headrace": [], "kafka": []}
        for number in range(given.rounds):
            left = {}
            for kind in (Headrace, Kafka):
                server = kind(work / f"{kind.name}-{number}", SETTINGS)
                seconds, left[kind.name] = compact_with(server, work / "source", end_offset)
                times[kind.name].append(seconds)
                print(
                    f"{kind.name:10} {size / 1e6:8.0f} MB {seconds:8.2f} s {size / 1e6 / seconds:8.0f} MB/s", flush=True
                )
                shutil.rmtree(server.directory)
            if left["headrace"] != left["kafka"]:
                raise SystemExit(f"what is left differs: {len(left['headrace'])} and {len(left['kafka'])} keys")
        ours, theirs = (statistics.median(times[name]) for name in ("headrace", "kafka"))
        if given.json:
            print(json.dumps({"headrace": size / 1e6 / ours, "kafka": size / 1e6 / theirs}))
            return
        print(f"{given.records} records, {given.keys} keys, batches of {given.batch}, codec {given.codec}: "
              f"{size / 1e6 / ours:.0f} MB/s, Kafka {size / 1e6 / theirs:.0f} MB/s, ratio {theirs / ours:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
