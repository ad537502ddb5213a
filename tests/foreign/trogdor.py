"""Trogdor, Apache Kafka's workload generator: its bench of producing and consuming, its round trip, its storm of connections.

An agent executes one specification and ends, so no coordinator is needed. A specification passes where its task says that it
succeeded and moved as many records as it was told. The scenarios (`tests/scenarios`) execute some, too.
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

Spec = dict[str, Any]
Topics = dict[str, dict[str, Any]]


class Trogdor(Suite):
    name = "trogdor"

    def bring(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        jars("foreign")

    def run(self, broker: Broker, output: Path) -> list[Outcome]:
        return [_judged(name, wanted, spec, output) for name, wanted, spec in _specifications(broker)]


def execute(spec: Spec, said: Path, deadline_s: float) -> tuple[int | None, dict[str, int], str]:
    """Have an agent execute a specification; what it prints goes to `said`.

    returns   its exit code, None: it did not end; the numbers of its status, empty where it did not succeed; what it printed
    """
    platform = said.with_name("agent.json")
    nodes = {NODE: {"hostname": "localhost", "trogdor.agent.port": 0}}
    platform.write_text(json.dumps({"platform": "org.apache.kafka.trogdor.basic.BasicPlatform", "nodes": nodes}))
    said.unlink(missing_ok=True)
    command = ["java", "-Xmx512m", "-cp", ":".join(map(str, jars("foreign")))]
    command += ["org.apache.kafka.trogdor.agent.Agent", "--agent.config", str(platform)]
    command += ["--node-name", NODE, "--exec", json.dumps(spec)]
    code = watched(command, said.parent, said, deadline_s)
    printed = said.read_text(errors="replace")
    _before, succeeded, status = printed.partition(SUCCEEDED)
    return code, dict(_numbers(json.loads(status))) if succeeded else {}, printed


def round_trip(bootstrap: str, topics: Topics, messages: int, a_second: int, **more: Any) -> Spec:
    """Records that are sent until each has come back."""
    return {
        **_common("RoundTripWorkload", bootstrap, messages, a_second, topics, more.pop("task_ms", 4 * TASK_MS)),
        "clientNode": NODE,
        **more,
    }


def produce_bench(bootstrap: str, topics: Topics, messages: int, a_second: int, **more: Any) -> Spec:
    return {
        **_common("ProduceBench", bootstrap, messages, a_second, topics, more.pop("task_ms", 4 * TASK_MS)),
        "producerNode": NODE,
        "inactiveTopics": {},
        **more,
    }


def consume_bench(bootstrap: str, topics: list[str], messages: int, a_second: int, **more: Any) -> Spec:
    return {
        **_common("ConsumeBench", bootstrap, messages, a_second, topics, more.pop("task_ms", 4 * TASK_MS)),
        "consumerNode": NODE,
        **more,
    }


def _common(
    workload: str, bootstrap: str, messages: int, a_second: int, topics: Topics | list[str], task_ms: int
) -> Spec:
    return {
        "class": f"{WORKLOADS}.{workload}Spec",
        "startMs": 0,
        "durationMs": task_ms,
        "bootstrapServers": bootstrap,
        "maxMessages": messages,
        "targetMessagesPerSec": a_second,
        "activeTopics": topics,
    }


def _judged(name: str, wanted: dict[str, int], spec: Spec, output: Path) -> Outcome:
    code, numbers, printed = execute(spec, output.with_name(f"{name}.out"), 2 * TASK_MS / 1000)
    if code != 0 or not numbers:
        return Outcome(name, FAILED, shortened(f"exit {code}: {printed[-600:]}"))
    short = {key: numbers.get(key) for key, count in wanted.items() if numbers.get(key, -1) < count}
    return Outcome(name, FAILED if short else PASSED, shortened(f"{short} of {wanted}") if short else "")


def _numbers(status: Any) -> Iterator[tuple[str, int]]:
    """Each number of a status, however deep it stands."""
    if isinstance(status, dict):
        for key, value in status.items():
            if isinstance(value, int):
                yield key, value
            yield from _numbers(value)


def _specifications(broker: Broker) -> Iterator[tuple[str, dict[str, int], Spec]]:
    """(name, what its status has to reach, specification); the consumers read what the producers before them wrote."""
    bootstrap = broker.bootstrap

    def topics(pattern: str, partitions: int) -> Topics:
        return {pattern: {"numPartitions": partitions, "replicationFactor": broker.replication_factor}}

    common = (MESSAGES, 20_000)
    bench, idempotent = topics("trogdor-bench[1-3]", 4), topics("trogdor-idempotent[1-2]", 3)
    yield (
        "ProduceBench",
        {"totalSent": MESSAGES},
        produce_bench(bootstrap, bench, *common, task_ms=TASK_MS),
    )
    settings = {"enable.idempotence": "true", "compression.type": "zstd"}
    yield (
        "ProduceBench.idempotent",
        {"totalSent": MESSAGES},
        produce_bench(bootstrap, idempotent, *common, task_ms=TASK_MS, producerConf=settings),
    )
    generator = {"type": "uniform", "messagesPerTransaction": 500}
    transactional = topics("trogdor-transactions[1-2]", 3)
    yield (
        "ProduceBench.transactions",
        {"totalSent": MESSAGES, "transactionsCommitted": 1},
        produce_bench(bootstrap, transactional, *common, task_ms=TASK_MS, transactionGenerator=generator),
    )
    yield (
        "ConsumeBench.group",
        {"totalMessagesReceived": MESSAGES},
        consume_bench(bootstrap, ["trogdor-bench[1-3]"], *common, task_ms=TASK_MS, consumerGroup="trogdor"),
    )
    yield (
        "RoundTrip",
        {"totalUniqueSent": MESSAGES, "totalReceived": MESSAGES},
        round_trip(bootstrap, topics("trogdor-round-trip[1-2]", 3), MESSAGES, 10_000, task_ms=TASK_MS),
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
