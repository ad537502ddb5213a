"""Trogdor, Apache Kafka's workload generator: its bench of producing and consuming, its round trip, its storm of connections.

An agent executes one specification and ends, so no coordinator is needed. A specification passes where its task says that it
succeeded and moved as many records as it was told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.peers import jars
from tests.foreign.suite import FAILED, PASSED, Broker, Outcome, Suite, shortened, watched

WORKLOADS = "org.apache.kafka.trogdor.workload"
NODE = "node0"
MESSAGES = 50_000
TASK_MS = 90_000
STORM_MS = 10_000
SUCCEEDED = "Task succeeded with status "


class Trogdor(Suite):
    name = "trogdor"

    def bring(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        jars("foreign")

    def run(self, broker: Broker, output: Path) -> list[Outcome]:
        return [self._execute(name, wanted, spec, output) for name, wanted, spec in _specifications(broker.bootstrap)]

    def _execute(self, name: str, wanted: dict[str, int], spec: dict[str, Any], output: Path) -> Outcome:
        platform = output.with_name("agent.json")
        platform.write_text(
            json.dumps(
                {
                    "platform": "org.apache.kafka.trogdor.basic.BasicPlatform",
                    "nodes": {NODE: {"hostname": "localhost", "trogdor.agent.port": 0}},
                }
            )
        )
        said = output.with_name(f"{name}.out")
        said.unlink(missing_ok=True)
        command = [
            "java",
            "-Xmx512m",
            "-cp",
            ":".join(map(str, jars("foreign"))),
            "org.apache.kafka.trogdor.agent.Agent",
        ]
        command += ["--agent.config", str(platform), "--node-name", NODE, "--exec", json.dumps(spec)]
        code = watched(command, output.parent, said, 2 * TASK_MS / 1000)
        printed = said.read_text(errors="replace")
        _before, succeeded, status = printed.partition(SUCCEEDED)
        if code != 0 or not succeeded:
            return Outcome(name, FAILED, shortened(f"exit {code}: {printed[-600:]}"))
        numbers = dict(_numbers(json.loads(status)))
        short = {key: numbers.get(key) for key, count in wanted.items() if numbers.get(key, -1) < count}
        return Outcome(name, FAILED if short else PASSED, shortened(f"{short} of {wanted}") if short else "")


def _numbers(status: Any) -> Iterator[tuple[str, int]]:
    """Each number of a status, however deep it stands."""
    if isinstance(status, dict):
        for key, value in status.items():
            if isinstance(value, int):
                yield key, value
            yield from _numbers(value)


def _specifications(bootstrap: str) -> Iterator[tuple[str, dict[str, int], dict[str, Any]]]:
    """(name, what its status has to reach, specification); the consumers read what the producers before them wrote."""
    common = {"startMs": 0, "durationMs": TASK_MS, "bootstrapServers": bootstrap, "maxMessages": MESSAGES}
    benched = {"targetMessagesPerSec": 20_000, "activeTopics": _topics("trogdor-bench[1-3]", 4)}
    yield (
        "ProduceBench",
        {"totalSent": MESSAGES},
        {**common, **benched, "class": f"{WORKLOADS}.ProduceBenchSpec", "producerNode": NODE, "inactiveTopics": {}},
    )
    idempotent = {"enable.idempotence": "true", "compression.type": "zstd"}
    yield (
        "ProduceBench.idempotent",
        {"totalSent": MESSAGES},
        {
            **common,
            "class": f"{WORKLOADS}.ProduceBenchSpec",
            "producerNode": NODE,
            "targetMessagesPerSec": 20_000,
            "activeTopics": _topics("trogdor-idempotent[1-2]", 3),
            "inactiveTopics": {},
            "producerConf": idempotent,
        },
    )
    yield (
        "ProduceBench.transactions",
        {"totalSent": MESSAGES, "transactionsCommitted": 1},
        {
            **common,
            "class": f"{WORKLOADS}.ProduceBenchSpec",
            "producerNode": NODE,
            "targetMessagesPerSec": 20_000,
            "activeTopics": _topics("trogdor-transactions[1-2]", 3),
            "inactiveTopics": {},
            "transactionGenerator": {"type": "uniform", "messagesPerTransaction": 500},
        },
    )
    consumed = {"class": f"{WORKLOADS}.ConsumeBenchSpec", "consumerNode": NODE, "activeTopics": ["trogdor-bench[1-3]"]}
    yield (
        "ConsumeBench.group",
        {"totalMessagesReceived": MESSAGES},
        {**common, **consumed, "targetMessagesPerSec": 20_000, "consumerGroup": "trogdor"},
    )
    yield (
        "RoundTrip",
        {"totalUniqueSent": MESSAGES, "totalReceived": MESSAGES},
        {
            **common,
            "class": f"{WORKLOADS}.RoundTripWorkloadSpec",
            "clientNode": NODE,
            "targetMessagesPerSec": 10_000,
            "activeTopics": _topics("trogdor-round-trip[1-2]", 3),
        },
    )
    for action in ("CONNECT", "FETCH_METADATA"):
        yield (
            f"ConnectionStress.{action.lower()}",
            {"totalConnections": 100},
            {
                "class": f"{WORKLOADS}.ConnectionStressSpec",
                "startMs": 0,
                "durationMs": STORM_MS,
                "clientNode": NODE,
                "bootstrapServers": bootstrap,
                "targetConnectionsPerSec": 100,
                "numThreads": 4,
                "action": action,
            },
        )


def _topics(pattern: str, partitions: int) -> dict[str, dict[str, int]]:
    return {pattern: {"numPartitions": partitions, "replicationFactor": 1}}
