"""Apache Kafka's own programs for tests of brokers: each is run to its end and judged by what it says.

VerifiableProducer and VerifiableConsumer, TransactionalMessageCopier, ClientCompatibilityTest, ReplicaVerificationTool, and
LogCompactionTester; all from Maven, by `bench/peers/pom.xml`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from bench.peers import jars
from tests.foreign.suite import FAILED, PASSED, Broker, Outcome, Suite, shortened, watched

MESSAGES = 20_000
TOOL_DEADLINE_S = 180
CONSUMER_QUIET_S = 60
COMPACTED_MESSAGES = 100_000
COMPACTION_S = 20  # its --sleep, which it takes for seconds whatever its help says


class ToolFailed(Exception):
    """A program that did not say what it should; carries what it said."""


class KafkaTools(Suite):
    name = "kafka-tools"
    settings: ClassVar[dict[str, str]] = {
        "log.segment.bytes": "1048576",  # so that there is something to clean
        "log.cleaner.backoff.ms": "1000",
        "log.cleaner.min.cleanable.ratio": "0.1",
    }

    def bring(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        jars("foreign")

    def run(self, broker: Broker, output: Path) -> list[Outcome]:
        tools = _Tools(broker, output)
        checks: dict[str, Callable[[], None]] = {
            "VerifiableProducer": tools.verifiable_producer,
            "VerifiableProducer.lz4": tools.compressing_producer,
            "VerifiableConsumer": tools.verifiable_consumer,
            "TransactionalMessageCopier": tools.copier,
            "ClientCompatibilityTest": tools.compatibility,
            "ReplicaVerificationTool": tools.replica_verification,
            "LogCompactionTester": tools.compaction,
            "LogCompactionTester.deletes": tools.compaction_with_deletes,
        }
        return [_judged(name, check) for name, check in checks.items()]


def _judged(name: str, check: Callable[[], None]) -> Outcome:
    try:
        check()
    except ToolFailed as failure:
        return Outcome(name, FAILED, shortened(str(failure)))
    return Outcome(name, PASSED)


class _Tools:
    """The programs against one broker; topics are named by the run."""

    def __init__(self, broker: Broker, output: Path) -> None:
        self._bootstrap = broker.bootstrap
        self._brokers = broker.count
        self._output = output
        self._java = ["java", "-Xmx512m", "-cp", ":".join(map(str, jars("foreign")))]
        self._topic = f"verifiable-{os.getpid()}-{int(time.time())}"

    def verifiable_producer(self) -> None:
        self._produce(self._topic)

    def compressing_producer(self) -> None:
        """It allows itself no retries, so it can't be idempotent: trogdor is."""
        settings = self._output.with_name("producer.properties")
        settings.write_text("compression.type=lz4\nlinger.ms=5\n")
        self._produce(f"{self._topic}-lz4", "--producer.config", str(settings))

    def verifiable_consumer(self) -> None:
        """It reads what the first producer wrote, commits, and never stops: SIGTERM when all is there."""
        said = self._output.with_name("verifiable-consumer.out")
        command = [*self._java, "org.apache.kafka.tools.VerifiableConsumer", "--bootstrap-server", self._bootstrap]
        command += ["--topic", self._topic, "--group-id", f"{self._topic}-group", "--reset-policy", "earliest"]
        with open(said, "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + CONSUMER_QUIET_S
            count = 0
            while count < MESSAGES and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.2)
                count = sum(event.get("count", 0) for event in _events(said, "records_consumed"))
            process.send_signal(signal.SIGTERM)
            process.wait(CONSUMER_QUIET_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if count != MESSAGES:
            raise ToolFailed(f"{count} of {MESSAGES} records: {_tail(said)}")
        if [event for event in _events(said, "offsets_committed") if not event["success"]]:
            raise ToolFailed(f"a commit failed: {_tail(said)}")

    def copier(self) -> None:
        arguments = ["--broker-list", self._bootstrap, "--input-topic", self._topic, "--input-partition", "0"]
        arguments += ["--output-topic", f"{self._topic}-copy", "--transactional-id", f"{self._topic}-copier"]
        arguments += ["--transaction-size", "500", "--consumer-group", f"{self._topic}-copier"]
        said = self._run("org.apache.kafka.tools.TransactionalMessageCopier", *arguments)
        if '"remaining":0' not in said.replace(" ", ""):
            raise ToolFailed(said[-600:])

    def compatibility(self) -> None:
        arguments = ["--topic", f"{self._topic}-compatibility", "--bootstrap-server", self._bootstrap]
        arguments += ["--num-cluster-nodes", str(self._brokers), "--expect-record-too-large-exception", "False"]
        for feature in (
            "offsets-for-times", "cluster-id", "create-topics", "describe-acls", "describe-configs", "idempotent-producer"
        ):  # fmt: skip
            arguments += [f"--{feature}-supported", "True"]
        self._run("org.apache.kafka.tools.ClientCompatibilityTest", *arguments)

    def replica_verification(self) -> None:
        """It never ends by itself: a report without a lag is a good one."""
        said = self._output.with_name("replica-verification.out")
        said.unlink(missing_ok=True)
        command = [*self._java, "org.apache.kafka.tools.ReplicaVerificationTool", "--broker-list", self._bootstrap]
        command += ["--topics-include", f"{self._topic}.*", "--report-interval-ms", "2000", "--time", "-2"]
        watched(command, self._output.parent, said, 20)
        lags = [int(lag) for lag in re.findall(r"max lag is (-?\d+) for", said.read_text(errors="replace"))]
        if not lags or max(lags) > 0:
            raise ToolFailed(f"lags {lags}: {_tail(said)}")

    def compaction(self) -> None:
        self._compact("--percent-deletes", "0")

    def compaction_with_deletes(self) -> None:
        self._compact("--percent-deletes", "20", "--compression-type", "zstd")

    def _compact(self, *options: str) -> None:
        """It writes keys several times, waits while the broker cleans, reads, and compares both in files."""
        arguments = ["--bootstrap-server", self._bootstrap, "--messages", str(COMPACTED_MESSAGES), "--topics", "1"]
        said = self._run("kafka.tools.LogCompactionTester", *arguments, "--sleep", str(COMPACTION_S), *options)
        if "Data verification is completed" not in said:
            raise ToolFailed(said[-600:])

    def _produce(self, topic: str, *options: str) -> None:
        arguments = ["--bootstrap-server", self._bootstrap, "--topic", topic, "--max-messages", str(MESSAGES)]
        said = self._run("org.apache.kafka.tools.VerifiableProducer", *arguments, "--acks", "-1", *options)
        events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        acknowledged = sum(event.get("name") == "producer_send_success" for event in events)
        if acknowledged != MESSAGES:
            raise ToolFailed(f"{acknowledged} of {MESSAGES} acknowledged: {said[-600:]}")

    def _run(self, program: str, *arguments: str) -> str:
        """What a program printed. raises ToolFailed, where it failed or did not end"""
        said = self._output.with_name(f"{program.rpartition('.')[2]}.out")
        said.unlink(missing_ok=True)
        code = watched([*self._java, program, *arguments], self._output.parent, said, TOOL_DEADLINE_S)
        if code != 0:
            raise ToolFailed(f"{'did not end' if code is None else f'exit {code}'}: {_tail(said)}")
        return said.read_text(errors="replace")


def _events(path: Path, name: str) -> list[dict]:
    """Lines of JSON of one kind that a program has printed so far."""
    found = []
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("{") and line.endswith("}"):
            event = json.loads(line)
            if event.get("name") == name:
                found.append(event)
    return found


def _tail(path: Path) -> str:
    return path.read_text(errors="replace")[-600:]
