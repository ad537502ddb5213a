"""A campaign of kills: SIGKILL spread over the roles of a node, under load with acks=all, and the judgement at its end.

Runs in: a test or `make chaos` (`python tests/chaos/campaign.py --kills 1000 --seed 7`). It starts its own
ZooKeeper and its own node in a directory and ends only those, by pid.

    producers (2 confluent-kafka, one idempotent)  ->  node  <-  killer: every `pause_s` one SIGKILL, roles in
    turn every value is unique; each delivery report is ok (with its offset), or unknown

    judged at the end by a fresh consumer that reads everything:
      lost-write            an acknowledged value that is not at its offset
      inconsistent-offsets  two values at one offset
      duplicate             one value at two offsets (idempotent producer only)
    and besides: the znode of the node outlives a kill of the controller process, nothing is left in /dev/shm after
    the clean stop. A run that killed too little or acknowledged too little failed.

    measured after each kill, over all partitions:
      serves again          a record on a new connection is acknowledged: the node's part
      clients went on       one of each producer's own is: librdkafka's reconnects and timers besides

Source: Jepsen's Kafka workload; hazards, "How delivery is judged".
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

import children
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from waiting import DEADLINE_S

from headrace.client.connection import Connection
from headrace.errors import HeadraceError
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch
from headrace.shm.region import region_prefix

TOPIC = "chaos"
PARTITIONS = 4
ROLES = ("network", "partition", "controller", "housekeeper", "supervisor")
IN_FLIGHT_MAX = 200
SERVES_DEADLINE_S = 60.0


@dataclass
class Verdict:
    """What a campaign saw."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    unknown: int = 0
    lost: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    inconsistent: list[str] = field(default_factory=list)
    serves_ms: dict[str, list[float]] = field(default_factory=dict)
    went_on_ms: dict[str, list[float]] = field(default_factory=dict)
    znode_survived: int = 0
    znode_lost: int = 0
    left_in_shm: list[str] = field(default_factory=list)
    exit_code: int | None = None

    def faults(self, kills_wanted: int, acknowledged_wanted: int) -> list[str]:
        """Why this run failed; empty where it passed."""
        checks = [
            (sum(self.kills.values()) < kills_wanted, f"only {sum(self.kills.values())} kills fired"),
            (self.acknowledged < acknowledged_wanted, f"only {self.acknowledged} records acknowledged"),
            (bool(self.lost), f"lost-write: {self.lost[:5]} ({len(self.lost)} in all)"),
            (bool(self.duplicates), f"duplicate: {self.duplicates[:5]} ({len(self.duplicates)} in all)"),
            (bool(self.inconsistent), f"inconsistent-offsets: {self.inconsistent[:5]}"),
            (self.znode_lost > 0, f"znode lost by {self.znode_lost} kills of the controller"),
            (bool(self.left_in_shm), f"left in /dev/shm: {self.left_in_shm[:5]}"),
            (_is_late(self.serves_ms), "did not serve again within the deadline after a kill"),
            (self.exit_code != 0, f"clean stop ended with {self.exit_code}"),
        ]
        return [text for failed, text in checks if failed]

    def summary(self) -> str:
        lines = [f"seed={self.seed} kills={dict(self.kills)} acknowledged={self.acknowledged} unknown={self.unknown}"]
        for role in self.serves_ms:
            lines.append(
                f"after a kill of {role}: serves again {_spread(self.serves_ms[role])}; "
                f"clients went on {_spread(self.went_on_ms[role])}; n={len(self.serves_ms[role])}"
            )
        lines.append(
            f"lost={len(self.lost)} duplicates={len(self.duplicates)} inconsistent={len(self.inconsistent)} "
            f"znode survived={self.znode_survived} lost={self.znode_lost} left in shm={len(self.left_in_shm)}"
        )
        return "\n".join(lines)


def _is_late(times_ms: dict[str, list[float]]) -> bool:
    return any(max(times) >= SERVES_DEADLINE_S * 1000 for times in times_ms.values())


def _spread(times_ms: list[float]) -> str:
    ordered = sorted(times_ms)
    return f"median {ordered[len(ordered) // 2]:.0f} ms, worst {ordered[-1]:.0f} ms"


class Node:
    """A node started from a properties file; its port stays the same over restarts."""

    def __init__(self, directory: Path, zookeeper: str, workers: int, settings: str = "") -> None:
        self.directory = directory
        self._settings = settings  # further lines for the properties file
        self.properties = directory / "server.properties"
        self.log_path = directory / "node.log"
        self.zookeeper = zookeeper
        self._workers = workers
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.properties.write_text(
            f"broker.id=7\nlisteners=PLAINTEXT://127.0.0.1:{self.port}\nlog.dirs={self.directory / 'logs'}\n"
            f"zookeeper.connect={self.zookeeper}\nzookeeper.session.timeout.ms=18000\n"
            f"headrace.network.workers={self._workers}\nheadrace.partition.workers={self._workers}\n"
            f"log.segment.bytes=4194304\n{self._settings}"
        )
        with open(self.log_path, "a") as log:
            self.process = children.start(
                [sys.executable, "-m", "headrace.cli.main", "start", str(self.properties)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("ready "):
                self.port = int(line.split("bootstrap=")[1].split()[0].rpartition(":")[2])
                return
        tail = "\n".join(self.log_path.read_text().splitlines()[-20:])
        raise RuntimeError(f"node not ready; its log ends with:\n{tail}")

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def children(self) -> dict[str, list[int]]:
        """Pids of the node's processes by role, from their names."""
        assert self.process is not None
        found: dict[str, list[int]] = {"supervisor": [self.process.pid]}
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        try:
            pids = [int(text) for text in Path(path).read_text().split()]
        except OSError:
            return found
        for pid in pids:
            try:
                name = Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
            for role in ROLES:
                if name.startswith(f"hr-{role[:9]}"):
                    found.setdefault(role, []).append(pid)
        return found

    def stop(self) -> int:
        assert self.process is not None
        return children.end(self.process)


@contextmanager
def started_node(directory: Path, topic: str, partitions: int, workers: int, settings: str = "") -> Iterator[Node]:
    """A node with one topic, and its ZooKeeper, in a directory."""
    zookeeper = EmbeddedZooKeeper(directory / "zookeeper")
    node: Node | None = None
    try:
        zookeeper.start()
        node = Node(directory, zookeeper.connect, workers, settings)
        node.start()
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(DEADLINE_S)
        yield node
    finally:
        if node is not None and node.process is not None:
            node.stop()
        zookeeper.stop()


class Load:
    """One producer in a thread: unique values, acks=all, every outcome written down."""

    def __init__(self, name: str, bootstrap: str, idempotent: bool) -> None:
        self.name = name
        self.idempotent = idempotent
        self.acknowledged: dict[str, tuple[int, int]] = {}
        self.unknown: set[str] = set()
        self.last_ok = [0.0] * PARTITIONS
        self._in_flight = 0
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": idempotent,
                "linger.ms": 2,
                "message.timeout.ms": 60_000,
                "socket.timeout.ms": 5_000,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 100,  # its default of a second would be what "serves again" measures
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "topic.metadata.refresh.fast.interval.ms": 50,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._producer.flush(60)

    def abandon(self) -> None:
        """No word more of it, where the campaign broke off."""
        self._stop.set()
        self._producer.purge()

    def _run(self) -> None:
        for number in itertools.count():
            if self._stop.is_set():
                return
            while self._in_flight >= IN_FLIGHT_MAX and not self._stop.is_set():
                self._producer.poll(0.01)
            value = f"{self.name}-{number}"
            self._in_flight += 1
            self._producer.produce(
                TOPIC,
                value.encode(),
                partition=number % PARTITIONS,
                on_delivery=lambda error, message, value=value: self._delivered(value, error, message),
            )
            self._producer.poll(0)
            if number % 50 == 0:
                time.sleep(0.005)

    def _delivered(self, value: str, error: object, message: object) -> None:
        self._in_flight -= 1
        if error is not None:
            self.unknown.add(value)
            return
        self.acknowledged[value] = (message.partition(), message.offset())  # type: ignore[attr-defined]
        self.last_ok[message.partition()] = time.monotonic()  # type: ignore[attr-defined]


def read_everything(bootstrap: str) -> dict[tuple[int, int], str]:
    """Every record of the topic by (partition, offset), read by a fresh consumer up to the end offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "judge",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
        }
    )
    ends = {
        partition: consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=DEADLINE_S)[1]
        for partition in range(PARTITIONS)
    }
    consumer.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in ends])
    seen: dict[tuple[int, int], str] = {}
    position = dict.fromkeys(ends, 0)
    deadline = time.monotonic() + 300
    while any(position[partition] < end for partition, end in ends.items()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"read stalled at {position}, ends are {ends}")
        for message in consumer.consume(10_000, timeout=1.0):
            if message.error():
                raise KafkaException(message.error())
            place = (message.partition(), message.offset())
            seen[place] = message.value().decode()
            position[message.partition()] = message.offset() + 1
    consumer.close()
    return seen


def serves(port: int, partition: int) -> bool:
    """Whether a record is acknowledged on a connection of its own."""
    request = messages.ProduceRequest
    data = request.PartitionProduceData(partition, build_batch([(None, b"probe")], timestamp_ms=1))
    message = request(acks=-1, timeout_ms=1000, topic_data=[request.TopicProduceData(TOPIC, [data])])
    try:
        connection = Connection("127.0.0.1", port, timeout_s=2.0)
        try:
            answer = connection.request(ApiKey.PRODUCE, 8, message)
        finally:
            connection.close()
    except HeadraceError:
        return False
    return not answer.responses[0].partition_responses[0].error_code


def judge(verdict: Verdict, loads: list[Load], seen: dict[tuple[int, int], str]) -> None:
    """Compare what was acknowledged with what is there."""
    idempotent = tuple(load.name for load in loads if load.idempotent)
    places: dict[str, tuple[int, int]] = {}
    for place, value in seen.items():
        if value in places and value.startswith(idempotent):
            verdict.duplicates.append(f"{value} at {places[value]} and {place}")
        places[value] = place
    taken: dict[tuple[int, int], str] = {}
    for load in loads:
        verdict.acknowledged += len(load.acknowledged)
        verdict.unknown += len(load.unknown)
        for value, place in load.acknowledged.items():
            if seen.get(place) != value:
                verdict.lost.append(f"{value} acknowledged at {place}, there is {seen.get(place)!r}")
            if place in taken:
                verdict.inconsistent.append(f"{place}: {taken[place]} and {value}")
            taken[place] = value


def run_campaign(
    directory: Path, kills: int, seed: int, pause_s: float = 0.25, workers: int = 2, quiet: bool = False
) -> Verdict:
    """Run one campaign in a directory."""
    chance = random.Random(seed)
    verdict = Verdict(seed)
    loads: list[Load] = []
    try:
        with started_node(directory, TOPIC, PARTITIONS, workers) as node:
            loads = [Load("idem", node.bootstrap, True), Load("plain", node.bootstrap, False)]
            for load in loads:
                load.start()
            time.sleep(1.0)
            for number in range(kills):
                role = ROLES[number % len(ROLES)] if number % 25 < 20 else chance.choice(ROLES[:4])
                _kill_one(node, role, chance, verdict, loads)
                if not quiet and (number + 1) % 25 == 0:
                    done = sum(len(load.acknowledged) for load in loads)
                    print(f"kills {number + 1}/{kills} acknowledged {done}", flush=True)
                time.sleep(chance.uniform(0.2, 1.0) * pause_s)
            for load in loads:
                load.stop()
            judge(verdict, loads, read_everything(node.bootstrap))
            verdict.exit_code = node.stop()
            prefix = f"{region_prefix(7, node.directory / 'logs')}-"
            verdict.left_in_shm = [name for name in os.listdir("/dev/shm") if name.startswith(prefix)]
    finally:
        for load in loads:
            load.abandon()
    return verdict


def keep_or_remove(directory: Path, faults: list[str]) -> None:
    """The directory of a campaign that failed is kept for a look."""
    for fault in faults:
        print(f"FAILED: {fault}")
    if faults:
        print(f"kept for a look: {directory}", file=sys.stderr)
    else:
        shutil.rmtree(directory, ignore_errors=True)


def _kill_one(node: Node, role: str, chance: random.Random, verdict: Verdict, loads: list[Load]) -> None:
    pids = node.children().get(role)
    if not pids:
        return  # it is being restarted; the verdict counts what fired
    pid = chance.choice(pids)
    owner_before = _registration(node.zookeeper) if role == "controller" and verdict.kills[role] % 10 == 0 else None
    killed_at = time.monotonic()
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    verdict.kills[role] += 1
    if role == "supervisor":
        assert node.process is not None
        node.process.wait()
        node.start()
    deadline = killed_at + SERVES_DEADLINE_S
    for partition in range(PARTITIONS):
        while not serves(node.port, partition) and time.monotonic() < deadline:
            time.sleep(0.002)
    verdict.serves_ms.setdefault(role, []).append((time.monotonic() - killed_at) * 1000)
    while time.monotonic() < deadline and not all(
        max(load.last_ok[partition] for load in loads) > killed_at for partition in range(PARTITIONS)
    ):
        time.sleep(0.005)
    verdict.went_on_ms.setdefault(role, []).append((time.monotonic() - killed_at) * 1000)
    if owner_before is not None:
        time.sleep(1.0)
        if _registration(node.zookeeper) == owner_before:
            verdict.znode_survived += 1
        else:
            verdict.znode_lost += 1


def _registration(zookeeper: str) -> tuple[int, int] | None:
    """(creation zxid, ephemeral owner) of the node's znode."""
    from kazoo.client import KazooClient

    client = KazooClient(hosts=zookeeper)
    client.start(timeout=DEADLINE_S)
    try:
        stat = client.exists("/brokers/ids/7")
        return (stat.czxid, stat.ephemeralOwner) if stat else None
    finally:
        client.stop()
        client.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Kill the processes of a node under load and judge what was acknowledged.",
        epilog="example: python tests/chaos/campaign.py --kills 1000 --seed 7",
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--pause", type=float, default=0.25, help="mean pause between kills in seconds")
    parser.add_argument("--workers", type=int, default=2, help="network and partition workers each")
    parser.add_argument("--json", type=Path, help="also write the verdict here")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    verdict = run_campaign(directory, arguments.kills, arguments.seed, arguments.pause, arguments.workers)
    print(verdict.summary())
    faults = verdict.faults(int(arguments.kills * 0.9), arguments.kills * 5)
    keep_or_remove(directory, faults)
    if arguments.json:
        arguments.json.write_text(json.dumps({"summary": verdict.summary(), "faults": faults}, indent=1))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
