"""How large the rings of a boot are: what the settings say, halved until all of it keeps within its bound.

Runs in: the supervisor, before it makes them. Rings come by pairs of processes, so their memory grows with network
workers times partition workers, all of it reserved at the start. What takes the most is halved first, down to what
still works: a request ring that holds a largest batch twice, smaller rings for answers and for the controller.
A `headrace.request.ring.bytes` that is given stays as it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from headrace.errors import ConfigError
from headrace.limits import (
    ANSWER_RING_BYTES,
    ANSWER_RING_BYTES_MIN,
    CLUSTER_VIEW_BYTES_MAX,
    CONTROL_RING_BYTES,
    CONTROL_RING_BYTES_MIN,
    RING_BYTES_MIN,
    SHM_SHARE_OF_DIRECTORY,
    SHM_SHARE_OF_MEMORY,
    UPKEEP_RING_BYTES,
)
from headrace.settings import Settings, request_ring_bytes_min
from headrace.shm import layout

BOUND_KEY = "headrace.shm.bytes.max"
REQUEST_KEY = "headrace.request.ring.bytes"
VIEW_BUFFER_BYTES = CLUSTER_VIEW_BYTES_MAX // 4


@dataclass(frozen=True, slots=True)
class RingSizes:
    """Capacities by kind, powers of two."""

    request: int  # network to partition worker
    answer: int = ANSWER_RING_BYTES  # partition to network worker
    control: int = CONTROL_RING_BYTES  # network worker and controller, either way
    upkeep: int = UPKEEP_RING_BYTES  # housekeeper and partition worker, either way


def ring_sizes(settings: Settings, bound_bytes: int) -> RingSizes:
    """The largest that keep within the bound; the smallest that work, where even these don't.

    raises   ConfigError, where the bound is the operator's own and even the smallest don't keep to it
    """
    sizes = RingSizes(settings[REQUEST_KEY])
    floors = RingSizes(_smallest_request(settings), ANSWER_RING_BYTES_MIN, CONTROL_RING_BYTES_MIN)
    while shm_bytes(settings, sizes) > bound_bytes:
        kinds = [kind for kind in ("request", "answer", "control") if getattr(sizes, kind) > getattr(floors, kind)]
        if not kinds:
            break
        counts = _ring_counts(settings)
        largest = max(kinds, key=lambda kind: counts[kind] * getattr(sizes, kind))
        sizes = replace(sizes, **{largest: getattr(sizes, largest) // 2})
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
        + layout.view_region_bytes(VIEW_BUFFER_BYTES)
        + layout.lag_region_bytes(settings["headrace.lag.rows.max"] * partition)
    )
    counts = _ring_counts(settings)
    return tables + sum(count * layout.ring_region_bytes(getattr(sizes, kind)) for kind, count in counts.items())


def bound_bytes(settings: Settings, directory: str) -> int:
    """What the setting says, or a share of the memory and of the file system that holds the regions."""
    if settings[BOUND_KEY] >= 0:
        return int(settings[BOUND_KEY])
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    filesystem = os.statvfs(directory)
    return min(memory_bytes // SHM_SHARE_OF_MEMORY, filesystem.f_blocks * filesystem.f_frsize // SHM_SHARE_OF_DIRECTORY)


def _ring_counts(settings: Settings) -> dict[str, int]:
    network, partition = settings["headrace.network.workers"], settings["headrace.partition.workers"]
    pairs = network * partition
    return {"request": pairs, "answer": pairs, "control": 2 * network, "upkeep": 2 * partition}


def _smallest_request(settings: Settings) -> int:
    if REQUEST_KEY in settings.explicit:
        return int(settings[REQUEST_KEY])
    least = max(RING_BYTES_MIN, request_ring_bytes_min(settings["message.max.bytes"]))
    return min(1 << (least - 1).bit_length(), int(settings[REQUEST_KEY]))
