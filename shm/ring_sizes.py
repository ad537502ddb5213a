"""How large the rings and arenas of a boot are: what the settings say, halved until all of it keeps within its bound.

Runs in: the supervisor, before it makes them. Rings come by pairs of processes, so their memory grows with network
workers times partition workers, and with the square of these, all of it reserved at the start. Arenas are halved first,
down to none, then what takes the most, down to what still works: a request ring that holds a largest batch twice, smaller rings for
answers and for the controller, two pages between partition workers (docs/decisions/002).
A `headrace.request.ring.bytes` or `headrace.receive.arena.bytes` that is given stays as it is.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, replace
from typing import Final

from headrace.errors import ConfigError
from headrace.limits import (
    ANSWER_RING_BYTES,
    ANSWER_RING_BYTES_MIN,
    ARENA_BYTES_MIN,
    CLUSTER_VIEW_BYTES_MIN,
    CLUSTER_VIEW_BYTES_PER_ROW,
    CONTROL_RING_BYTES,
    CONTROL_RING_BYTES_MIN,
    PEER_RING_BYTES,
    PEER_RING_BYTES_MIN,
    RING_BYTES_MIN,
    SHM_SHARE_OF_DIRECTORY,
    SHM_SHARE_OF_MEMORY,
    UPKEEP_RING_BYTES,
)
from headrace.settings import Settings, request_ring_bytes_min
from headrace.shm import layout

BOUND_KEY: Final = "headrace.shm.bytes.max"
REQUEST_KEY: Final = "headrace.request.ring.bytes"
ARENA_KEY: Final = "headrace.receive.arena.bytes"


@dataclass(frozen=True, slots=True)
class RingSizes:
    """Capacities by kind, powers of two."""

    request: int  # network to partition worker
    answer: int = ANSWER_RING_BYTES  # partition to network worker
    control: int = CONTROL_RING_BYTES  # network worker and controller, either way
    upkeep: int = UPKEEP_RING_BYTES  # housekeeper and partition worker, either way
    peer: int = PEER_RING_BYTES  # partition worker and another one, or the controller, either way
    arena: int = 0  # of a network worker; 0: none


def ring_sizes(settings: Settings, bound_bytes: int) -> RingSizes:
    """The largest that keep within the bound; the smallest that work, where even these don't.

    raises   ConfigError, where the bound is the operator's own and even the smallest don't keep to it
    """
    sizes = RingSizes(settings[REQUEST_KEY], arena=settings[ARENA_KEY])
    floors = RingSizes(
        _smallest_request(settings),
        ANSWER_RING_BYTES_MIN,
        CONTROL_RING_BYTES_MIN,
        peer=PEER_RING_BYTES_MIN,
        arena=settings[ARENA_KEY] if ARENA_KEY in settings.explicit else 0,
    )
    counts = ring_counts(settings)
    while shm_bytes(settings, sizes) > bound_bytes:
        kinds = [kind for kind in counts if getattr(sizes, kind) > getattr(floors, kind)]
        if not kinds:
            break
        largest = "arena" if "arena" in kinds else max(kinds, key=lambda kind: counts[kind] * getattr(sizes, kind))
        half = getattr(sizes, largest) // 2
        sizes = replace(sizes, **{largest: 0 if largest == "arena" and half < ARENA_BYTES_MIN else half})
    least = shm_bytes(settings, sizes)
    if least > bound_bytes and settings[BOUND_KEY] >= 0:
        raise ConfigError(
            BOUND_KEY, settings[BOUND_KEY], f"this node needs {least} bytes: raise it, or start fewer workers"
        )
    return sizes


def shm_bytes(settings: Settings, sizes: RingSizes) -> int:
    """All that a boot reserves in /dev/shm."""
    network, partition = settings["headrace.network.workers"], settings["headrace.partition.workers"]
    tables = (
        layout.process_region_bytes(network + partition + 2)
        + layout.partition_region_bytes(settings["headrace.partitions.max"])
        + view_region_bytes(settings)
        + layout.lag_region_bytes(settings["headrace.lag.rows.max"] * partition)
    )
    return tables + sum(ring_bytes(settings, sizes).values())


def ring_bytes(settings: Settings, sizes: RingSizes) -> dict[str, int]:
    """What the rings of each kind take together, in whole pages."""
    return {
        kind: count * -(-_region_bytes(kind, getattr(sizes, kind)) // mmap.PAGESIZE) * mmap.PAGESIZE
        for kind, count in ring_counts(settings).items()
    }


def cluster_rows(settings: Settings) -> int:
    """Rows of the cluster table: the cluster has no fewer partitions than this node."""
    return int(max(settings["headrace.cluster.partitions.max"], settings["headrace.partitions.max"]))


def view_region_bytes(settings: Settings) -> int:
    """Of the region with the cluster table and the log of what changes seldom."""
    rows = cluster_rows(settings)
    return layout.view_region_bytes(max(CLUSTER_VIEW_BYTES_MIN, CLUSTER_VIEW_BYTES_PER_ROW * rows), rows)


def bound_bytes(settings: Settings, directory: str) -> int:
    """What the setting says, or a share of the memory and of the file system that holds the regions."""
    if settings[BOUND_KEY] >= 0:
        return settings[BOUND_KEY]
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    filesystem = os.statvfs(directory)
    return min(memory_bytes // SHM_SHARE_OF_MEMORY, filesystem.f_blocks * filesystem.f_frsize // SHM_SHARE_OF_DIRECTORY)


def ring_counts(settings: Settings) -> dict[str, int]:
    """Rings by kind, and arenas."""
    network, partition = settings["headrace.network.workers"], settings["headrace.partition.workers"]
    pairs = network * partition
    peers = partition * (partition - 1) + 2 * partition
    return {
        "request": pairs,
        "answer": pairs,
        "control": 2 * network,
        "upkeep": 2 * partition,
        "peer": peers,
        "arena": network,
    }


def _region_bytes(kind: str, size: int) -> int:
    if kind != "arena":
        return layout.ring_region_bytes(size)
    return layout.arena_region_bytes(size) if size else 0


def _smallest_request(settings: Settings) -> int:
    if REQUEST_KEY in settings.explicit:
        return settings[REQUEST_KEY]
    least = max(RING_BYTES_MIN, request_ring_bytes_min(settings["message.max.bytes"]))
    return min(1 << (least - 1).bit_length(), settings[REQUEST_KEY])
