"""Our client under faults, by seed: `python -m tests.chaos.client_campaign --faults 1000 --seed 7` (`make client-chaos`).

Three nodes over the ZooKeeper in Python (`headrace.testing`); two writers with idempotence, each record to a partition of its choice; three
readers in one cooperative group, at least once. At random moments a node or one of its processes is killed, a node is stopped for a
while, connections are cut, the nodes' leaders move (a node that comes back takes its partitions again), a client is killed, stopped, or
forks. A client that died begins again as another one.

Judged at the end, when the faults have stopped:

    each acknowledged record is in the log, at the offset that the writer was told
    no record is there twice, and those of a life are in the order of their numbers in each partition
    what is in the log was read, each record (at least once), and nothing else was
    a forked child was refused, and no writer saw a delivery fail
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from headrace.client import Kafka
from headrace.errors import HeadraceError
from headrace.testing.cluster import KafkaCluster
from tests.support import children

TOPIC = "work"
GROUP = "readers"
PARTITIONS = 6
NODES = 3
WRITERS, READERS = 2, 3
PAUSE_S = (0.1, 0.8)
FROZEN_S = (0.2, 3.0)
SETTLE_S = 180.0
FAULTS = (
    "kill-node", "kill-partition", "kill-network", "kill-controller", "freeze-node", "cut", "kill-writer", "freeze-writer", "fork-writer",
    "kill-reader", "stop-reader", "freeze-reader", "cut-client",
)  # fmt: skip


class Client:
    """A writer or a reader, one life after the other."""

    def __init__(self, kind: str, number: int, bootstrap: str, directory: Path) -> None:
        self.kind = kind
        self.number = number
        self.life = 0
        self._bootstrap = bootstrap
        self._directory = directory
        self.journals: list[tuple[str, Path]] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self.life += 1
        name = f"{self.kind[0]}{self.number}.{self.life}"
        journal = self._directory / f"{name}.journal"
        journal.touch()
        self.journals.append((name, journal))
        own = [str(PARTITIONS), name] if self.kind == "writer" else [GROUP]
        command = [
            sys.executable,
            "-m",
            "tests.chaos.client_process",
            self.kind,
            self._bootstrap,
            TOPIC,
            *own,
            str(journal),
        ]
        with open(self._directory / "clients.log", "ab") as log:
            self.process = children.start(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def end(self, number: int, seconds: float) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(seconds)


def run(faults: int, seed: int, directory: Path) -> list[str]:
    """Anomalies; an empty list: none."""
    chance = random.Random(seed)
    done: Counter[str] = Counter()
    with KafkaCluster(NODES, {"min.insync.replicas": "2", "offsets.topic.replication.factor": "3"}) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=NODES)
        bootstrap = cluster.bootstrap_servers
        writers = [Client("writer", number, bootstrap, directory) for number in range(WRITERS)]
        readers = [Client("reader", number, bootstrap, directory) for number in range(READERS)]
        try:
            for _ in range(faults):
                time.sleep(chance.uniform(*PAUSE_S))
                kind = chance.choice(FAULTS)
                with contextlib.suppress(ProcessLookupError):
                    _fault(kind, cluster, chance, writers, readers)
                done[kind] += 1
                for client in [*writers, *readers]:
                    if client.process is not None and client.process.poll() is not None:
                        client.start()
            anomalies = _settle(cluster, writers, readers)
        finally:
            for client in [*writers, *readers]:
                if client.process is not None and client.process.poll() is None:
                    client.process.kill()
                    client.process.wait()
    print(
        f"seed={seed} faults={sum(done.values())} ({' '.join(f'{kind}={count}' for kind, count in sorted(done.items()))})"
    )
    return anomalies


def _fault(
    kind: str, cluster: KafkaCluster, chance: random.Random, writers: list[Client], readers: list[Client]
) -> None:
    node = chance.randrange(NODES)
    writer, reader = chance.choice(writers), chance.choice(readers)
    frozen_s = chance.uniform(*FROZEN_S)
    if kind == "kill-node":
        cluster.kill("node", node=node)
        time.sleep(frozen_s)
        cluster.restart(node)
    elif kind.startswith("kill-") and kind.removeprefix("kill-") in ("partition", "network", "controller"):
        cluster.kill(kind.removeprefix("kill-"), node=node)
    elif kind == "freeze-node":
        cluster.pause(node)
        time.sleep(frozen_s)
        cluster.resume(node)
    elif kind == "cut":
        cluster.cut()
    elif kind == "cut-client":
        cluster.cut(chance.choice([writer, reader]).pid)
    elif kind == "kill-writer":
        writer.end(signal.SIGKILL, 10)
    elif kind == "kill-reader":
        reader.end(signal.SIGKILL, 10)
    elif kind == "stop-reader":
        reader.end(signal.SIGTERM, 60)
    elif kind == "fork-writer":
        os.kill(writer.pid, signal.SIGUSR1)
    else:
        client = writer if kind == "freeze-writer" else reader
        os.kill(client.pid, signal.SIGSTOP)
        time.sleep(frozen_s)
        os.kill(client.pid, signal.SIGCONT)


def _settle(cluster: KafkaCluster, writers: list[Client], readers: list[Client]) -> list[str]:
    """Let everything come to its end, and judge."""
    for node in range(NODES):
        cluster.wait_ready(node)
    anomalies = []
    for writer in writers:
        try:
            writer.end(signal.SIGTERM, SETTLE_S)
        except subprocess.TimeoutExpired:
            anomalies.append(f"writer {writer.number} did not end within {SETTLE_S:g} s after the faults")
    log = {(row.partition, row.offset): (row.value or b"").decode() for row in cluster.records(TOPIC)}
    deadline_s = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline_s:
        if set(log) <= set(_read(readers)):
            break
        time.sleep(0.5)
    for reader in readers:
        try:
            reader.end(signal.SIGTERM, SETTLE_S)
        except subprocess.TimeoutExpired:
            anomalies.append(f"reader {reader.number} did not end within {SETTLE_S:g} s")
    acknowledged = _acknowledged(writers, anomalies)
    anomalies += judge(log, acknowledged, _read(readers))
    print(
        f"records={len(log)} acknowledged={len(acknowledged)} lives={sum(client.life for client in [*writers, *readers])}"
    )
    with contextlib.suppress(HeadraceError), Kafka(cluster.bootstrap_servers) as kafka, kafka.admin() as admin:
        print("committed", sum(at.offset for at in admin.committed(GROUP).values()), "of", len(log))
    return anomalies


def _read(readers: list[Client]) -> dict[tuple[int, int], str]:
    found = {}
    for reader in readers:
        for _name, journal in reader.journals:
            for line in _lines(journal):
                if line.startswith("r "):
                    _r, partition, offset, value = line.split(" ", 3)
                    found[int(partition), int(offset)] = value
    return found


def _acknowledged(writers: list[Client], anomalies: list[str]) -> dict[tuple[int, int], str]:
    """What writers were told, by place; a place that is not known (a retry of what was stored) is left to the values."""
    found = {}
    for writer in writers:
        for name, journal in writer.journals:
            for line in _lines(journal):
                if line.startswith("a "):
                    _a, partition, number, offset = line.split(" ")
                    key = (int(partition), int(offset)) if int(offset) >= 0 else (int(partition), -1 - len(found))
                    found[key] = f"{name}:{number}"
                elif line.startswith("f "):
                    anomalies.append(f"{name}: a delivery failed: {line}")
                elif line.startswith("K"):
                    anomalies.append(f"{name}: a forked child could use the producer")
    return found


def judge(
    log: dict[tuple[int, int], str], acknowledged: dict[tuple[int, int], str], read: dict[tuple[int, int], str]
) -> list[str]:
    """What is wrong. Values are LIFE:NUMBER."""
    anomalies = []
    there = Counter(log.values())
    anomalies += [f"{value} is there {count} times" for value, count in there.items() if count > 1]
    for (partition, offset), value in acknowledged.items():
        if value not in there:
            anomalies.append(f"{value} was acknowledged for partition {partition}, and is lost")
        elif offset >= 0 and log.get((partition, offset)) != value:
            anomalies.append(
                f"{value} was acknowledged at {partition}@{offset}, where {log.get((partition, offset))} is"
            )
    last: dict[tuple[int, str], int] = {}
    for partition, offset in sorted(log):
        life, _colon, number = log[partition, offset].partition(":")
        if int(number) <= last.get((partition, life), -1):
            anomalies.append(f"{life}:{number} comes after {last[partition, life]} in partition {partition}")
        last[partition, life] = int(number)
    anomalies += [f"{value} at {place} was not read" for place, value in log.items() if place not in read]
    anomalies += [
        f"{value} was read at {place}, where {log.get(place)} is"
        for place, value in read.items()
        if log.get(place) != value
    ]
    return anomalies


def _lines(journal: Path) -> list[str]:
    text = journal.read_text()
    return text[: text.rfind("\n") + 1].splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="headrace-client-chaos-"))
    began_s = time.monotonic()
    anomalies = run(options.faults, options.seed, directory)
    print(f"{time.monotonic() - began_s:.0f} s; anomalies: {len(anomalies) or 'none'}")
    for anomaly in anomalies[:20]:
        print("  ", anomaly)
    if anomalies:
        print(f"journals are kept in {directory}")
        raise SystemExit(1)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
