"""Which core each worker is pinned to: a pure function of settings and counts.

Each kind goes round its own cores in turn. Where only `headrace.worker.cpus` is set, it is divided: network workers
take its first cores and partition workers its last ones, each kind in proportion to its count, so that they share
a core only where there is but one. The controller and the housekeeper are not pinned.
"""

from __future__ import annotations

import os
from typing import Final

from headrace.errors import ConfigError, NotAvailable
from headrace.settings import CPU_KEYS, Settings, parse_cpus

NETWORK_KEY: Final = "headrace.network.worker.cpus"
PARTITION_KEY: Final = "headrace.partition.worker.cpus"
BOTH_KEY: Final = "headrace.worker.cpus"


def placement(settings: Settings) -> dict[int, int]:
    """process id -> core, of the workers that are pinned."""
    network_count, partition_count = settings["headrace.network.workers"], settings["headrace.partition.workers"]
    network_cpus, partition_cpus = _divided(settings, network_count, partition_count)
    if (text := settings[NETWORK_KEY]) is not None:
        network_cpus = parse_cpus(text, NETWORK_KEY)
    if (text := settings[PARTITION_KEY]) is not None:
        partition_cpus = parse_cpus(text, PARTITION_KEY)
    places = {}
    for first, count, cpus in ((0, network_count, network_cpus), (network_count, partition_count, partition_cpus)):
        if cpus:
            places.update({first + index: cpus[index % len(cpus)] for index in range(count)})
    return places


def check_cpus(settings: Settings) -> None:
    """raises ConfigError, for a core that the machine has not; NotAvailable, for one that is not ours now"""
    configured = os.sysconf("SC_NPROCESSORS_CONF")
    usable = os.sched_getaffinity(0)
    for key in CPU_KEYS:
        text = settings[key]
        if text is None:
            continue
        for core in parse_cpus(text, key):
            if core in usable:
                continue
            reason = f"core {core} can't be used, only {sorted(usable)} (sched_getaffinity)"
            if core >= configured:
                raise ConfigError(key, text, f"{reason}; the machine has {configured}")
            raise NotAvailable(f"{key}={text}: {reason}")


def _divided(settings: Settings, network_count: int, partition_count: int) -> tuple[list[int], list[int]]:
    """The cores of `headrace.worker.cpus` by kind."""
    text = settings[BOTH_KEY]
    if text is None:
        return [], []
    cpus = parse_cpus(text, BOTH_KEY)
    if len(cpus) == 1:
        return cpus, cpus
    share = max(1, round(len(cpus) * partition_count / (network_count + partition_count)))
    cut = len(cpus) - min(share, partition_count, len(cpus) - 1)
    return cpus[:cut], cpus[cut:]
