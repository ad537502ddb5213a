"""The end of a round: a fresh client reads everything, the files of forgotten topics are looked at, the stopped node's logs verified.

Used by: the campaign, and the machine crash.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.chaos import payload
from tests.chaos.history import FRESH, NO_OFFSET, Committed, History
from tests.chaos.judge import Anomaly
from tests.chaos.key_judge import Kept
from tests.chaos.raw_client import Fetched, RawClient, raw_client, until
from tests.chaos.running_node import Node
from tests.chaos.stage import Orphan
from tests.chaos.topic_clients import TopicClient, add_poll

READ_S = 30.0  # for one partition, with its retries
VERIFY_TIMEOUT_S = 300.0
TOLD_MAX = 5


def read_topic(node: Node, history: History, topic: str, generation: int, partitions: int) -> list[Anomaly]:
    """Everything of a topic, into the history; what could not be read is an anomaly."""
    anomalies = []
    with raw_client(lambda: node.port) as raw:
        for partition in range(partitions):
            began = time.monotonic()
            try:
                found = until(lambda p=partition: read_all(raw, topic, p), READ_S)  # type: ignore[misc]
            except TimeoutError as failure:
                anomalies.append(Anomaly("not-served", f"{topic}-{partition} can't be read at the end: {failure}"))
                continue
            add_poll(history, FRESH, topic, generation, partition, found, began)
    return anomalies


def read_all(raw: RawClient, topic: str, partition: int) -> list[Fetched]:
    return [one for some in raw.read_all(topic, partition) for one in some]


def read_keys(node: Node, topic: str, partitions: int) -> list[Kept]:
    """What is left of a compacted topic. raises TimeoutError"""
    with raw_client(lambda: node.port) as raw:
        return [
            Kept(
                partition,
                one.offset,
                (one.key or b"").decode(),
                None if one.value is None else payload.decode(one.value),
            )
            for partition in range(partitions)
            for one in until(lambda p=partition: read_all(raw, topic, p), READ_S)  # type: ignore[misc]
        ]


def read_groups(node: Node, history: History, clients: Iterable[TopicClient]) -> list[Anomaly]:
    """The offsets of the groups of these clients, into the history."""
    anomalies = []
    with raw_client(lambda: node.port) as raw:
        for client in clients:
            for partition in range(client.partitions):
                began = time.monotonic()
                try:
                    offset = until(lambda c=client, p=partition: raw.committed(c.group, c.topic, p), READ_S)  # type: ignore[misc]
                except TimeoutError as failure:
                    anomalies.append(Anomaly("not-served", f"{client.group} can't be read at the end: {failure}"))
                    break
                history.add(
                    Committed(
                        client.group,
                        client.topic,
                        client.generation,
                        partition,
                        max(offset, NO_OFFSET),
                        began,
                        time.monotonic(),
                    )
                )
    return anomalies


def look_at_orphans(node: Node, orphans: Sequence[Orphan]) -> list[Anomaly]:
    """A topic that ZooKeeper forgot was deleted by nobody: its records lie where they lay."""
    anomalies = []
    for orphan in orphans:
        name = f"{orphan.topic}-0"
        directories = [path for log_dir in node.log_dirs for path in log_dir.glob(f"{name}*")]
        kept = b"".join(file.read_bytes() for path in directories for file in sorted(path.glob("*.log")))
        missing = [value for value in orphan.values if payload.encode(value) not in kept]
        if missing:
            text = f"{orphan.topic}: {len(missing)} of {len(orphan.values)} acknowledged records are in no file"
            anomalies.append(Anomaly("deleted-unasked", text))
        elif any(path.name.endswith("-delete") for path in directories):
            anomalies.append(Anomaly("deleted-unasked", f"{orphan.topic}: on its way out, {directories[0].name}"))
    return anomalies


def verify_logs(node: Node) -> list[Anomaly]:
    """`headrace verify` over the directories of a node that stopped."""
    anomalies = []
    for log_dir in node.log_dirs:
        done = subprocess.run(
            [sys.executable, "-m", "headrace.cli.main", "verify", "--quiet", "--processes", "1", str(log_dir)],
            capture_output=True,
            text=True,
            timeout=VERIFY_TIMEOUT_S,
        )
        if done.returncode:
            lines = done.stdout.strip().splitlines()
            anomalies.append(Anomaly("verify", f"{log_dir.name}: {'; '.join(lines[:TOLD_MAX])} {done.stderr[-200:]}"))
    return anomalies


def left_in_shm(node: Node) -> list[str]:
    """Regions of the node that are still there."""
    prefix = f"{node.region_prefix}-"
    return [name for name in os.listdir(node.path(Path("/dev/shm"))) if name.startswith(prefix)]
