"""Members of ours and of Kafka 0.8.2 in one group in ZooKeeper, killed, stopped, paused beyond their sessions, and topics added, by seed.

Runs in: a test, or `make classic-chaos` (`python -m tests.chaos.classic_campaign --steps 200 --seed 7`). It starts
its own node and ZooKeeper and its own members, and ends only those.

    producer (ours) -> topics of one filter -> 3 members of ours, 2 of Kafka 0.8.2: each prints what it reads

    judged after each step, and at the end:
      not-owned       a partition without an owner, or with one that is not a live member
      doubly-read     a partition that two members of ours read
      skipped         a message that no member has printed

A step is over when each partition is owned by a live member, and by one alone; it has SETTLE_S for it.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headrace.classic import registry
from headrace.classic.producer import KeyedMessage, Producer
from headrace.classic.rebalance import member_of
from headrace.classic.simple_consumer import OffsetRequest, SimpleConsumer
from headrace.classic.zookeeper import ZooKeeper
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from tests.chaos.campaign import run_judged
from tests.conftest import start_node
from tests.support import children

GROUP = "mixed"
REGEX = "work-.*"
OURS, THEIRS = 3, 2
TOPICS_FIRST, TOPICS_ALL = 2, 5
PARTITIONS = 4
STREAMS = 2
MESSAGES = 50  # of each topic in a step
SESSION_MS = 4000
PAUSE_S = 1.75 * SESSION_MS / 1000  # until the session is lost for sure
SETTLE_S = 60.0
DRAIN_S = 60.0
STEPS = ("kill", "stop", "pause", "topic")
CONFIG = {
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "group.id": GROUP,
    "auto.offset.reset": "smallest",
    "auto.commit.interval.ms": "1000",
    "rebalance.backoff.ms": "500",
    "rebalance.max.retries": "20",
}

Read = set[tuple[str, int, int]]


@dataclass
class ClassicVerdict:
    """What a campaign saw."""

    seed: int
    steps: dict[str, int] = field(default_factory=dict)
    messages: int = 0
    prints: int = 0
    settled_s: list[float] = field(default_factory=list)
    not_owned: list[str] = field(default_factory=list)
    doubly_read: list[str] = field(default_factory=list)
    skipped: list[tuple[str, int, int]] = field(default_factory=list)

    def faults(self, steps_wanted: int) -> list[str]:
        """Why this run failed; empty where it passed."""
        checks = [
            (sum(self.steps.values()) < steps_wanted, f"only {self.steps} steps"),
            (bool(self.not_owned), f"not-owned: {self.not_owned[:5]}"),
            (bool(self.doubly_read), f"doubly-read: {self.doubly_read[:5]}"),
            (bool(self.skipped), f"skipped: {self.skipped[:5]} ({len(self.skipped)} in all)"),
        ]
        return [text for failed, text in checks if failed]

    def summary(self) -> str:
        times = sorted(self.settled_s) or [0.0]
        return (
            f"seed={self.seed} steps={self.steps} messages={self.messages} printed={self.prints}\n"
            f"one owner each: median {times[len(times) // 2]:.1f} s, worst {times[-1]:.1f} s\n"
            f"not owned={len(self.not_owned)} doubly read={len(self.doubly_read)} skipped={len(self.skipped)}"
        )


class Member:
    """One process; a thread of ours reads what it prints."""

    def __init__(self, command: list[str], zookeeper: str, name: str, read: Read, log: Path) -> None:
        config = {**CONFIG, "zookeeper.connect": zookeeper, "consumer.id": name}
        text = ";".join(f"{key}={value}" for key, value in config.items())
        self.id = f"{GROUP}_{name}"
        self.prints = 0
        self.owned: list[str] | None = None
        self._read = read
        self._ready = threading.Event()
        with open(log, "a") as errors:
            self.process = children.start(
                [*command, text, REGEX, str(STREAMS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()

    def wait_ready(self) -> None:
        """raises   AssertionError, if it does not join"""
        assert self._ready.wait(SETTLE_S), f"{self.id} did not join"

    def ask_owned(self) -> None:
        """Its answer comes to `owned`."""
        self.owned = None
        assert self.process.stdin is not None
        self.process.stdin.write("?\n")
        self.process.stdin.flush()

    def end(self, number: signal.Signals) -> None:
        """Send a signal, and wait for the end; what was printed before is read."""
        self.process.send_signal(number)
        try:
            self.process.wait(SETTLE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(SETTLE_S)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()

    def _follow(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            words = line.split()
            if words == ["ready"]:
                self._ready.set()
            elif words[:1] == ["owned"]:
                self.owned = words[1:]
            elif len(words) == 3 and line.endswith("\n"):
                self._read.add((words[0], int(words[1]), int(words[2])))
                self.prints += 1


class Campaign:
    """One node, one group."""

    def __init__(self, directory: Path, seed: int, classpath: str) -> None:
        self.verdict = ClassicVerdict(seed)
        self._directory = directory
        self._chance = random.Random(seed)
        self._commands = {
            "ours": [sys.executable, "-m", "tests.chaos.classic_member"],
            "theirs": [
                "java",
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classpath,
                "ClassicMember",
            ],
        }
        self._node = start_node(directory / "node")
        self._read: Read = set()
        self._members: list[tuple[str, Member]] = []
        self._names = 0
        self._topics = 0

    def run(self, steps: int) -> ClassicVerdict:
        node = self._node
        try:
            self._zookeeper = ZooKeeper(node.zookeeper, 10_000, 10_000, lambda: None)
            self._producer = Producer[bytes, bytes]({"broker.list": node.bootstrap, "acks": 1})
            for _ in range(TOPICS_FIRST):
                self._add_topic()
            for kind in ["ours"] * OURS + ["theirs"] * THEIRS:
                self._add(kind)
            self._settle("start")
            for number in range(steps):
                step = self._step()
                self.verdict.steps[step] = self.verdict.steps.get(step, 0) + 1
                self._produce()
                self._settle(f"step {number}, {step}")
                print(f"{number + 1}/{steps} {step} {self.verdict.settled_s[-1]:.1f} s", file=sys.stderr, flush=True)
            self._judge_skipped()
        finally:
            for _kind, member in self._members:
                member.end(signal.SIGTERM)
            self.verdict.prints += sum(member.prints for _kind, member in self._members)
            self._producer.close()
            self._zookeeper.close()
            node.stop()
        return self.verdict

    def _step(self) -> str:
        step = self._chance.choice(STEPS)
        if step == "topic" and self._topics == TOPICS_ALL:
            step = "pause"
        if step == "topic":
            self._add_topic()
            return step
        kind, member = self._members[self._chance.randrange(len(self._members))]
        if step == "pause":
            os.kill(member.process.pid, signal.SIGSTOP)
            self._produce()
            time.sleep(PAUSE_S)
            os.kill(member.process.pid, signal.SIGCONT)
            return f"{step} {kind}"
        self._members.remove((kind, member))
        member.end(signal.SIGKILL if step == "kill" else signal.SIGTERM)
        self.verdict.prints += member.prints
        self._add(kind)
        return f"{step} {kind}"

    def _add(self, kind: str) -> None:
        self._names += 1
        name = f"{kind}-{self._names}"
        log = self._directory / f"{name}.log"
        member = Member(self._commands[kind], self._node.zookeeper, name, self._read, log)
        self._members.append((kind, member))
        member.wait_ready()

    def _add_topic(self) -> None:
        name = f"work-{self._topics}"
        self._topics += 1
        with Cluster(self._node.bootstrap) as cluster:
            assert Admin(cluster).create_topics([NewTopic(name, PARTITIONS)]) == {name: None}

    def _produce(self) -> None:
        for number in range(self._topics):
            self._producer.send(
                [KeyedMessage(f"work-{number}", b"x", str(self._chance.random())) for _ in range(MESSAGES)]
            )

    def _settle(self, what: str) -> None:
        began_s = time.monotonic()
        wrong = self._wrong()
        while wrong and time.monotonic() < began_s + SETTLE_S:
            time.sleep(0.1)
            wrong = self._wrong()
        self.verdict.settled_s.append(time.monotonic() - began_s)
        if wrong:
            print(f"{what}: {wrong[:8]}", file=sys.stderr, flush=True)
            kept = self.verdict.doubly_read if wrong[0].startswith("read") else self.verdict.not_owned
            kept.append(f"{what}: {wrong[0]} ({len(wrong)} in all)")

    def _wrong(self) -> list[str]:
        """What keeps the group from one live owner for each partition, as the registry and members of ours say."""
        live = {member.id for _kind, member in self._members}
        found = []
        names = [(f"work-{topic}", partition) for topic in range(self._topics) for partition in range(PARTITIONS)]
        owners: dict[str, str] = {}
        for topic, partition in names:
            data = self._zookeeper.get(registry.owner_path(GROUP, topic, partition))
            owner = "none" if data is None else member_of(data.decode())
            owners[f"{topic}-{partition}"] = owner
            if owner not in live:
                found.append(f"owner of {topic}-{partition} is {owner}")
        if found:
            return found
        ours = [member for kind, member in self._members if kind == "ours"]
        for member in ours:
            member.ask_owned()
        if not _within(SETTLE_S, lambda: all(member.owned is not None for member in ours)):
            return ["a member of ours does not answer"]
        for member in ours:
            said = [name for name, owner in owners.items() if owner == member.id]
            if sorted(said) != sorted(member.owned or ()):
                found.append(f"read by {member.id}: {member.owned}, its owner nodes: {said}")
        return found

    def _judge_skipped(self) -> None:
        host, port = self._node.address
        with SimpleConsumer(host, port) as asked:
            wanted = {
                (f"work-{topic}", partition, offset)
                for topic in range(self._topics)
                for partition in range(PARTITIONS)
                for offset in range(
                    asked.get_offsets_before(f"work-{topic}", partition, OffsetRequest.LATEST_TIME, 1)[0]
                )
            }
        self.verdict.messages = len(wanted)
        _within(DRAIN_S, lambda: wanted <= self._read)
        self.verdict.skipped = sorted(wanted - self._read)


def _within(wait_s: float, condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.02)
    return True


def classpath_of_members(directory: Path) -> str:
    """The members of Kafka 0.8.2, compiled. raises SystemExit, if mvn can't fetch its jars; CalledProcessError"""
    from bench.peers import jars

    sources = sorted((Path(__file__).parent.parent / "interop" / "members").glob("Classic*.java"))
    libraries = ":".join(map(str, jars("kafka-0.8.2")))
    subprocess.run(["javac", "-cp", libraries, "-d", str(directory), *map(str, sources)], check=True)
    return f"{directory}:{libraries}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()

    def play(directory: Path) -> tuple[str, list[str]]:
        (directory / "members").mkdir()
        verdict = Campaign(directory, given.seed, classpath_of_members(directory / "members")).run(given.steps)
        return verdict.summary(), verdict.faults(given.steps)

    return run_judged("headrace-chaos-", given.seed, play)


if __name__ == "__main__":
    sys.exit(main())
