"""Recovery of an unclean log: Headrace against Apache Kafka 3.9, each on its own copy of the same files.

    python -m bench.recovery [--mib 512] [--partitions 4] [--rounds 3] [--batch-records 150] [--cold]

The files are written once and linked into both brokers' directories, without indexes, snapshots, checkpoints and
clean-shutdown markers: every batch of every segment has to be read, and the end offsets are compared with what was
written. Both start A B A B. What counts is what each broker's own log says of the time it took to load its logs (of
several partition workers the slowest), and the CPU time of an unclean start less that of a clean one over the same
logs: neither JVM nor imports are recovery. `--cold` drops the page cache before.

The aim: at most 0.5 x Kafka's time. 5 GB (--mib 5120) is the size the issue asks for.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.nodes import Headrace, Kafka, Server  # noqa: E402
from headrace.client.cluster import LATEST, Cluster  # noqa: E402
from headrace.client.connection import Connection  # noqa: E402
from headrace.clock import SystemClock  # noqa: E402
from headrace.ids import TopicPartition  # noqa: E402
from headrace.log.config import LogConfig  # noqa: E402
from headrace.log.recovery.log_loader import LogCheckpoint  # noqa: E402
from headrace.log.writing.log_environment import LogEnvironment  # noqa: E402
from headrace.log.writing.partition_log import PartitionLog  # noqa: E402
from headrace.protocol import messages  # noqa: E402
from headrace.protocol.apis import ApiKey  # noqa: E402
from headrace.protocol.record_batch import build_batch  # noqa: E402

TOPIC = "unclean"
VALUE_BYTES = 100
SEGMENT_BYTES = 256 << 20
AIM = 0.5
LOADED = {
    "headrace": re.compile(r"logs opened count=\d+ recovered_bytes=\d+ duration_ms=(\d+)"),
    "kafka": re.compile(r"Loaded \d+ logs in (\d+)ms"),
}
LOG4J = """log4j.rootLogger=WARN, out
log4j.logger.kafka.log.LogManager=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%m%n
"""


def write_logs(directory: Path, partitions: int, total_bytes: int, batch_records: int) -> tuple[int, list[int]]:
    """Logs as a crash leaves them: (their bytes, where each ends)."""
    clock = SystemClock()
    now_ms = clock.now_ms()
    template = build_batch([(b"key", os.urandom(VALUE_BYTES))] * batch_records, timestamp_ms=now_ms)
    written, ends = 0, []
    for index in range(partitions):
        name = TopicPartition(TOPIC, index)
        log = PartitionLog.open(
            directory / str(name),
            name,
            LogConfig(segment_bytes=SEGMENT_BYTES),
            LogCheckpoint(is_clean=True),
            LogEnvironment(clock),
        )
        while log.size_bytes < total_bytes // partitions:
            log.append_as_leader([memoryview(bytearray(template)) for _ in range(64)], 0, now_ms)
        log.flush()
        written += log.size_bytes
        ends.append(log.log_end_offset)
        log.abandon()
    return written, ends


def create_topic(server: Server, partitions: int) -> None:
    """The topic, so that both know its partitions; its files are replaced afterwards."""
    host, _, port = server.bootstrap.rpartition(":")
    request = messages.CreateTopicsRequest
    topic = request.CreatableTopic(
        name=TOPIC, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
    )
    connection = Connection(host, int(port))
    answer = connection.request(ApiKey.CREATE_TOPICS, 4, request(topics=[topic], timeout_ms=30_000))
    connection.close()
    if answer.topics[0].error_code not in (0, 36):
        raise SystemExit(f"{server.name}: topic not created, error {answer.topics[0].error_code}")


def lay_out(server: Server, logs: Path) -> None:
    """The state of a crash: the logs, hard-linked, no index, no snapshot, no checkpoint, no marker."""
    target = server.directory / "logs"
    for name in (
        ".kafka_cleanshutdown",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
    ):
        (target / name).unlink(missing_ok=True)
    for source in logs.iterdir():
        place = target / source.name
        place.mkdir(exist_ok=True)
        for path in place.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        for path in source.glob("*.log"):
            os.link(path, place / path.name)


def loaded_s(server: Server, log_start: int) -> float:
    """Seconds that a start spent on its logs, by the broker's own log after a position."""
    text = (server.directory / "broker.log").read_text()[log_start:]
    found = LOADED[server.name].findall(text)
    if not found:
        raise SystemExit(f"{server.name}: its log does not tell how long the logs took: {text[-2000:]}")
    return max(map(int, found)) / 1000


def start(server: Server) -> tuple[float, float]:
    """Start the broker alone: (seconds for its logs, CPU seconds of its tree until it serves)."""
    path = server.directory / "broker.log"
    log_start = len(path.read_text()) if path.exists() else 0
    server.start_broker()
    return loaded_s(server, log_start), server.cpu_s()


def stop_broker(server: Server) -> None:
    """A clean stop, so that no session of a killed broker holds up the next start."""
    process = server._process
    assert process is not None
    process.terminate()
    process.wait(120)
    server._process = None


def end_offsets(server: Server, partitions: int) -> list[int]:
    """Where each partition ends: what recovery found."""
    names = [TopicPartition(TOPIC, index) for index in range(partitions)]
    with Cluster(server.bootstrap) as cluster:
        found = cluster.offsets(dict.fromkeys(names, LATEST))
    return [found[name] for name in names]


def drop_page_cache(logs: Path) -> None:
    for path in logs.glob("*/*.log"):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(server: Server, logs: Path, partitions: int, wanted: list[int], is_cold: bool) -> dict[str, float]:
    """One recovery and one clean start over what it left."""
    lay_out(server, logs)
    if is_cold:
        drop_page_cache(logs)
    recovery_s, unclean_cpu_s = start(server)
    found = end_offsets(server, partitions)
    if found != wanted:
        raise SystemExit(f"{server.name} recovered up to {found}, written was {wanted}")
    stop_broker(server)
    clean_s, clean_cpu_s = start(server)
    stop_broker(server)
    return {"recovery_s": recovery_s, "clean_s": clean_s, "recovery_cpu_s": unclean_cpu_s - clean_cpu_s}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--mib", type=int, default=512, help="total MiB of log")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--batch-records", type=int, default=150, help="records per batch; 150 records are 16 KiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--threads", type=int, default=1, help="number of partition workers, and of Kafka's recovery threads"
    )
    parser.add_argument("--cold", action="store_true", help="drop the page cache before each recovery")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="headrace-recovery-"))
    (base / "log4j.properties").write_text(LOG4J)
    os.environ["JAVA_TOOL_OPTIONS"] = f"-Dlog4j.configuration=file:{base}/log4j.properties"
    servers: list[Server] = [
        Headrace(base / "headrace", {"headrace.partition.workers": str(given.threads)}),
        Kafka(base / "kafka", {"num.recovery.threads.per.data.dir": str(given.threads)}),
    ]
    results: dict[str, list[dict[str, float]]] = {server.name: [] for server in servers}
    try:
        logs = base / "written"
        size_bytes, wanted = write_logs(logs, given.partitions, given.mib << 20, given.batch_records)
        for server in servers:
            server.start()
            create_topic(server, given.partitions)
            stop_broker(server)
        for _ in range(given.rounds):
            for server in servers:
                results[server.name].append(measure(server, logs, given.partitions, wanted, given.cold))
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(base, ignore_errors=True)
    report = {
        name: {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        for name, rounds in results.items()
    }
    ratio = report["headrace"]["recovery_s"] / report["kafka"]["recovery_s"]
    if given.json:
        print(json.dumps({"mib": size_bytes >> 20, "ratio": ratio, **report}))
        return 0
    cache = "cold" if given.cold else "warm"
    print(
        f"{size_bytes >> 20} MiB, {given.partitions} partitions, batches of {given.batch_records} records, "
        f"{given.threads} at once, {cache} page cache, medians of {given.rounds}"
    )
    for name, one in report.items():
        speed = (size_bytes >> 20) / max(one["recovery_s"], 1e-3)
        print(
            f"{name:9} logs loaded in {one['recovery_s']:6.2f} s ({speed:,.0f} MiB/s), "
            f"{one['clean_s']:5.2f} s after a clean stop; CPU {one['recovery_cpu_s']:.2f} s more"
        )
    print(f"ratio {ratio:.2f}, aim at most {AIM}: {'met' if ratio <= AIM else 'missed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
