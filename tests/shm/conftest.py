"""Regions and fabrics that are gone again after the test, whatever it did."""

import os
import uuid
from pathlib import Path

import pytest

from headrace.settings import Settings
from headrace.shm import layout
from headrace.shm.fabric import Fabric
from headrace.shm.region import SHM_DIRECTORY, Region, sweep


class Names:
    """Region names that only this test has."""

    def __init__(self) -> None:
        self.prefix = f"headrace-test-{uuid.uuid4().hex[:12]}"
        self._count = 0

    def __call__(self) -> str:
        self._count += 1
        return f"/{self.prefix}-{self._count}"

    def left(self) -> list[str]:
        return sorted(name for name in os.listdir(SHM_DIRECTORY) if name.startswith(self.prefix))


@pytest.fixture
def names():
    names = Names()
    yield names
    sweep(names.prefix)


@pytest.fixture
def new_ring_region(names):
    """A function that makes the region of a ring; the one made before goes, so that thousands can be had."""
    made = []

    def make(capacity: int = layout.RING_CAPACITY_MIN) -> Region:
        if made:
            made[-1].unlink()
        made.append(Region.create(names(), layout.ring_region_bytes(capacity)))
        return made[-1]

    return make


ARENA_BYTES = 1 << 18


def small_settings(log_dir: Path, network_workers: int = 1, partition_workers: int = 1) -> Settings:
    return Settings(
        {
            "log.dirs": str(log_dir),
            "headrace.network.workers": str(network_workers),
            "headrace.partition.workers": str(partition_workers),
            "headrace.request.ring.bytes": "65536",
            "headrace.receive.arena.bytes": str(ARENA_BYTES),
            "message.max.bytes": "16384",
            "headrace.partitions.max": "64",
            "headrace.cluster.partitions.max": "64",
        }
    )


@pytest.fixture
def new_fabric(tmp_path):
    """A function that makes a fabric of a few processes, small rings and 64 rows; the last one is taken down."""
    made = []

    def make(network_workers: int = 1, partition_workers: int = 1) -> Fabric:
        made.append(Fabric.create(small_settings(tmp_path, network_workers, partition_workers)))
        return made[-1]

    yield make
    if made:
        made[-1].destroy()
