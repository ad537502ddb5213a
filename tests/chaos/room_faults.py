"""Faults of room: /dev/shm full while workers die, the disk of a log directory full for a while, and freed by retention. They need
mounts of the node's own.

Used by: the campaign. What fills a mount is one file, of all the room there is.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from tests.chaos.private_mounts import fill, give_room
from tests.chaos.running_node import WORKERS
from tests.chaos.stage import Fault, Kind, Stage

SHM = Path("/dev/shm")
FULL_MAX_S = 2.0
FREED_S = 30.0
ROOMY_PARTITIONS, ROOMY_RECORDS, ROOMY_RECORD_BYTES = 4, 100, 20_000
ROOMY_SEGMENT_BYTES = 200_000  # a tenth of a partition


class ShmFull(Fault):
    """/dev/shm has no room, and workers are killed; then it has some again."""

    name, weight, kind, is_private = "shm-full", 1.2, Kind.HEAVY, True

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        with _full(stage.node.path(SHM)):
            for _ in range(chance.randint(1, 3)):
                pids = stage.node.children().get(chance.choice(WORKERS))
                if pids:
                    stage.node.signal(chance.choice(pids), signal.SIGKILL)
                time.sleep(chance.uniform(0, FULL_MAX_S / 3))
        return time.monotonic()


class DiskFull(Fault):
    """A log directory has no room for a while; processes may be killed meanwhile, all of them too."""

    name, weight, kind, is_private = "disk-full", 1.0, Kind.HEAVY, True

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        with _full(_bounded(stage)):
            stage.sleep(chance.uniform(0, FULL_MAX_S / 2))
            way = chance.choice(["nothing", "worker", "worker", "controller", "tree"])
            if way == "tree":
                stage.kill_tree()
                stage.node.launch()
            elif way != "nothing":
                pids = stage.node.children().get("controller" if way == "controller" else "partition")
                if pids:
                    stage.node.signal(chance.choice(pids), signal.SIGKILL)
            stage.sleep(chance.uniform(0.2, FULL_MAX_S))
        if stage.node.wait_ready(60.0) != "ready":
            stage.node.start()
        return time.monotonic()


class FullDiskFreed(Fault):
    """A log directory without a byte left, and somebody lowers a topic's retention: its segments have to go, and make room."""

    name, weight, kind, is_private = "disk-full-retention", 0.5, Kind.HEAVY, True
    settings = MappingProxyType({"log.retention.check.interval.ms": "500", "log.segment.delete.delay.ms": "1000"})

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        bounded = _bounded(stage)
        topic = f"roomy-{stage.number()}"
        if not _write_roomy(stage, topic):
            return None
        before = segment_bytes(bounded, topic)
        if before <= ROOMY_PARTITIONS * 2 * ROOMY_SEGMENT_BYTES:
            return None
        now = time.monotonic()
        with _full(bounded):
            stage.sleep(chance.uniform(0, FULL_MAX_S))
            deadline = time.monotonic() + FREED_S
            is_asked = False
            while segment_bytes(bounded, topic) > ROOMY_PARTITIONS * 2 * ROOMY_SEGMENT_BYTES:
                if segment_bytes(bounded, topic) >= before:  # what others give back meanwhile is taken too
                    fill(bounded)
                is_asked = is_asked or _lower_retention(stage, topic)
                if time.monotonic() > deadline:
                    left = segment_bytes(bounded, topic)
                    stage.blame("disk-not-freed", f"{topic}: {left} of {before} bytes are left {FREED_S:.0f} s after")
                    break
                stage.sleep(0.2)
        return now


def segment_bytes(log_dir: Path, topic: str) -> int:
    """Of all partitions of a topic, those on their way out too."""
    total = 0
    for path in log_dir.glob(f"{topic}-*/*.log*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def _bounded(stage: Stage) -> Path:
    return next(path for path in stage.node.log_dirs if path.stat().st_dev != stage.directory.stat().st_dev)


def _write_roomy(stage: Stage, topic: str) -> bool:
    """A topic with some segments in each partition; False where that did not work."""
    admin = AdminClient({"bootstrap.servers": stage.node.bootstrap, "log_level": 0})
    config = {"segment.bytes": str(ROOMY_SEGMENT_BYTES), "file.delete.delay.ms": "1000"}
    try:
        admin.create_topics([NewTopic(topic, ROOMY_PARTITIONS, 1, config=config)], request_timeout=10)[topic].result(20)
    except (KafkaException, TimeoutError):
        return False
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": stage.node.bootstrap, "delivery.timeout.ms": 20_000, "log_level": 0})
    for index in range(ROOMY_PARTITIONS * ROOMY_RECORDS):
        producer.produce(
            topic, os.urandom(ROOMY_RECORD_BYTES), partition=index % ROOMY_PARTITIONS,
            on_delivery=lambda error, _message: failed.append(error) if error is not None else None,
        )  # fmt: skip
        producer.poll(0)
    return not producer.flush(30) and not failed


def _lower_retention(stage: Stage, topic: str) -> bool:
    admin = AdminClient({"bootstrap.servers": stage.node.bootstrap, "log_level": 0})
    entry = ConfigEntry("retention.bytes", str(ROOMY_SEGMENT_BYTES), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("topic", topic, incremental_configs=[entry])
    try:
        for future in admin.incremental_alter_configs([resource], request_timeout=5).values():
            future.result(10)
    except (KafkaException, TimeoutError):
        return False
    return True


@contextmanager
def _full(directory: Path) -> Iterator[None]:
    fill(directory)
    try:
        yield
    finally:
        give_room(directory)


ROOM_FAULTS: list[Fault] = [ShmFull(), DiskFull(), FullDiskFreed()]
