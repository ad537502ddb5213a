"""Kills of the partition workers that host coordinators, under commits and rebalances, and the judgement at the end.

Runs in: a test or `make chaos` (`python -m tests.chaos.group_campaign --kills 100 --seed 7`). It starts its own
ZooKeeper and its own node in a directory and ends only those, by pid.

    producer  ->  topic  ->  members of one group: they read, commit after each batch, and one after the other
                             leaves and comes back
    committers: groups that only store offsets, each commit one higher than the last

    judged:
      lost-commit     an acknowledged commit above what the group has at the end
      went-back       a committed offset that is read below one acknowledged before
      unprocessed     a record that was acknowledged to the producer and that no member saw
      stood-still     after a kill, no member committed within the session timeout

Source: the issue of consumer groups; hazards, "How delivery is judged".
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.chaos.campaign import kill_parser, run_judged
from tests.chaos.running_node import Node, started_node
from tests.support.waiting import DEADLINE_S

TOPIC = "work"
GROUP = "workers"
PARTITIONS = 6
MEMBERS = 3
COMMITTERS = 3
SESSION_MS = 6_000
STAND_STILL_S = SESSION_MS / 1000 + 4.0  # a session, and what a rebalance takes behind it
DRAIN_S = DEADLINE_S
SETTINGS = {
    "group.initial.rebalance.delay.ms": "100",
    "offsets.topic.num.partitions": "8",
    "offsets.topic.segment.bytes": "65536",
}
CLIENT = {
    "retry.backoff.ms": 50,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "socket.timeout.ms": 5_000,
    "log_level": 0,
}


@dataclass
class GroupVerdict:
    """What a campaign saw."""

    seed: int
    kills: int = 0
    commits: int = 0
    refused: int = 0
    rebalances: int = 0
    produced: int = 0
    lost: list[str] = field(default_factory=list)
    went_back: list[str] = field(default_factory=list)
    unprocessed: list[str] = field(default_factory=list)
    stood_still: list[str] = field(default_factory=list)
    recovery_ms: list[float] = field(default_factory=list)

    def faults(self, kills_wanted: int, commits_wanted: int) -> list[str]:
        """Why this run failed; empty where it passed."""
        checks = [
            (self.kills < kills_wanted, f"only {self.kills} kills fired"),
            (self.commits < commits_wanted, f"only {self.commits} commits acknowledged"),
            (bool(self.lost), f"lost-commit: {self.lost[:5]}"),
            (bool(self.went_back), f"went-back: {self.went_back[:5]}"),
            (bool(self.unprocessed), f"unprocessed: {self.unprocessed[:5]} ({len(self.unprocessed)} in all)"),
            (bool(self.stood_still), f"stood-still: {self.stood_still[:5]}"),
        ]
        return [text for failed, text in checks if failed]

    def summary(self) -> str:
        times = sorted(self.recovery_ms) or [0.0]
        return (
            f"seed={self.seed} kills={self.kills} commits={self.commits} refused={self.refused} produced={self.produced} "
            f"assignments={self.rebalances}\n"
            f"a member commits again: median {times[len(times) // 2]:.0f} ms, worst {times[-1]:.0f} ms\n"
            f"lost={len(self.lost)} went back={len(self.went_back)} unprocessed={len(self.unprocessed)} "
            f"stood still={len(self.stood_still)}"
        )


class Ledger:
    """Acknowledged commits: the highest for each (group, partition), and when the last one came."""

    def __init__(self, verdict: GroupVerdict) -> None:
        self.highest: dict[tuple[str, int], int] = {}
        self.last_ok_s = 0.0
        self._verdict = verdict
        self._lock = threading.Lock()

    def acknowledged(self, group: str, partition: int, offset: int) -> None:
        with self._lock:
            self._verdict.commits += 1
            known = self.highest.get((group, partition), -1)
            if group == GROUP and offset < known:
                self._verdict.went_back.append(f"{group}-{partition}: {offset} acknowledged after {known}")
            self.highest[group, partition] = max(known, offset)
            if group == GROUP:
                self.last_ok_s = time.monotonic()

    def refused(self) -> None:
        with self._lock:
            self._verdict.refused += 1

    def read(self, group: str, partition: int, offset: int, floor: int) -> None:
        if offset < floor:
            self._verdict.went_back.append(f"{group}-{partition}: read {offset} after {floor} was acknowledged")


class Worker(ABC):
    """Something that runs in a thread until it is stopped."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    @abstractmethod
    def run(self) -> None:
        """Until `stopping` is set."""


class Member(Worker):
    """A member of the group: reads, commits what it read, leaves now and then, comes back."""

    def __init__(self, name: str, bootstrap: str, ledger: Ledger, seen: set[bytes], verdict: GroupVerdict) -> None:
        super().__init__()
        self._name = name
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": GROUP,
            "client.id": name,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 500,
            "partition.assignment.strategy": "range",
            **CLIENT,
        }
        self._ledger = ledger
        self._seen = seen
        self._verdict = verdict
        self.leaves = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            consumer = Consumer(self._settings)
            consumer.subscribe([TOPIC], on_assign=self._assigned)
            while not self.stopping.is_set() and not self.leaves.is_set():
                self._work(consumer)
            self.leaves.clear()
            consumer.close()

    def _assigned(self, _consumer: Consumer, _partitions: object) -> None:
        self._verdict.rebalances += 1

    def _work(self, consumer: Consumer) -> None:
        messages = [one for one in consumer.consume(200, timeout=0.2) if not one.error()]
        if not messages:
            return
        positions: dict[int, int] = {}
        for one in messages:
            self._seen.add(one.value())
            positions[one.partition()] = one.offset() + 1
        offsets = [TopicPartition(TOPIC, partition, offset) for partition, offset in positions.items()]
        try:
            for row in consumer.commit(offsets=offsets, asynchronous=False):
                if row.error is None:
                    self._ledger.acknowledged(GROUP, row.partition, row.offset)
                else:
                    self._ledger.refused()
        except KafkaException:
            self._ledger.refused()


class Committer(Worker):
    """A group of its own that only stores offsets, one higher each time, and reads them back."""

    def __init__(self, name: str, bootstrap: str, ledger: Ledger) -> None:
        super().__init__()
        self._name = name
        self._ledger = ledger
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": name, "enable.auto.commit": False, **CLIENT}
        )

    def run(self) -> None:
        offset = 0
        while not self.stopping.is_set():
            offset += 1
            partition = offset % PARTITIONS
            try:
                rows = self._consumer.commit(offsets=[TopicPartition(TOPIC, partition, offset)], asynchronous=False)
                for row in rows:
                    if row.error is None:
                        self._ledger.acknowledged(self._name, partition, offset)
                    else:
                        self._ledger.refused()
                if offset % 20 == 0:
                    floor = self._ledger.highest.get((self._name, partition), -1)
                    (found,) = self._consumer.committed([TopicPartition(TOPIC, partition)], timeout=5)
                    self._ledger.read(self._name, partition, found.offset, floor)
            except KafkaException:
                self._ledger.refused()
        self._consumer.close()


class Writer(Worker):
    """Unique values; which of them were acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self.acknowledged: set[bytes] = set()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 60_000,
                **CLIENT,
            }
        )

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            for _ in range(20):
                number += 1
                self._producer.produce(
                    TOPIC, b"%d" % number, partition=number % PARTITIONS, on_delivery=self._delivered
                )
            self._producer.poll(0)
            self.stopping.wait(0.02)
        self._producer.flush(60)

    def _delivered(self, error: object, message: object) -> None:
        if error is None:
            self.acknowledged.add(message.value())  # type: ignore[attr-defined]


def run_group_campaign(
    directory: Path,
    kills: int,
    seed: int,
    pause_s: float = 0.5,
    workers: int = 2,
    quiet: bool = False,
    stand_still_s: float = STAND_STILL_S,
) -> GroupVerdict:
    """Run one campaign in a directory.

    stand_still_s   how long no member may commit after a kill; the default is a claim about this machine
    """
    verdict = GroupVerdict(seed)
    everyone: list[Worker] = []
    try:
        with started_node(directory, TOPIC, PARTITIONS, workers, SETTINGS) as node:
            _run(node, verdict, kills, random.Random(seed), pause_s, quiet, stand_still_s, everyone)
    finally:
        for one in everyone:
            one.stopping.set()
    return verdict


def _run(
    node: Node,
    verdict: GroupVerdict,
    kills: int,
    chance: random.Random,
    pause_s: float,
    quiet: bool,
    stand_still_s: float,
    everyone: list[Worker],
) -> None:
    ledger, seen = Ledger(verdict), set[bytes]()
    writer = Writer(node.bootstrap)
    members = [Member(f"member-{n}", node.bootstrap, ledger, seen, verdict) for n in range(MEMBERS)]
    committers = [Committer(f"committer-{n}", node.bootstrap, ledger) for n in range(COMMITTERS)]
    everyone += (writer, *members, *committers)
    for one in everyone:
        one.thread.start()
    _wait_for_commit(ledger, time.monotonic(), DEADLINE_S)
    for number in range(kills):
        if number % 5 == 4:
            chance.choice(members).leaves.set()
        pids = node.children().get("partition", [])
        if pids:
            killed_at = time.monotonic()
            try:
                os.kill(chance.choice(pids), signal.SIGKILL)
                verdict.kills += 1
            except ProcessLookupError:
                continue
            took_s = _wait_for_commit(ledger, killed_at, stand_still_s)
            if took_s is None:
                verdict.stood_still.append(f"kill {number}: nothing in {stand_still_s} s")
            else:
                verdict.recovery_ms.append(took_s * 1000)
        if not quiet and (number + 1) % 20 == 0:
            print(f"kills {number + 1}/{kills} commits {verdict.commits}", flush=True)
        time.sleep(chance.uniform(0.2, 1.0) * pause_s)
    for one in (writer, *committers):
        one.stopping.set()
        one.thread.join()
    deadline = time.monotonic() + DRAIN_S
    while not writer.acknowledged <= seen and time.monotonic() < deadline:
        time.sleep(0.1)
    for one in members:
        one.stopping.set()
        one.thread.join()
    verdict.produced = len(writer.acknowledged)
    verdict.unprocessed = sorted(value.decode() for value in writer.acknowledged - seen)
    _judge_commits(node, verdict, ledger)


def _judge_commits(node: Node, verdict: GroupVerdict, ledger: Ledger) -> None:
    """What every group has at the end, read by a client of its own."""
    for group in sorted({group for group, _partition in ledger.highest}):
        consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group, **CLIENT})
        rows = consumer.committed(
            [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)], timeout=DEADLINE_S
        )
        consumer.close()
        for row in rows:
            wanted = ledger.highest.get((group, row.partition), -1)
            if wanted >= 0 and row.offset < wanted:
                verdict.lost.append(f"{group}-{row.partition}: {wanted} acknowledged, {row.offset} there")


def _wait_for_commit(ledger: Ledger, since_s: float, most_s: float) -> float | None:
    """Seconds until a member committed after `since_s`, None where none did."""
    while time.monotonic() < since_s + most_s:
        if ledger.last_ok_s > since_s:
            return ledger.last_ok_s - since_s
        time.sleep(0.01)
    return None


def main() -> int:
    parser = kill_parser(__doc__, kills=100)
    parser.add_argument("--pause", type=float, default=0.5, help="mean pause between kills in seconds")
    parser.add_argument("--workers", type=int, default=2, help="network and partition workers each")
    given = parser.parse_args()

    def play(directory: Path) -> tuple[str, list[str]]:
        verdict = run_group_campaign(directory, given.kills, given.seed, given.pause, given.workers)
        return verdict.summary(), verdict.faults(int(given.kills * 0.9), given.kills * 5)

    return run_judged("headrace-chaos-", given.seed, play)


if __name__ == "__main__":
    sys.exit(main())
