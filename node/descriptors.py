"""How many descriptors a process of the node may need, against RLIMIT_NOFILE.

Runs in: the supervisor, before it forks; its children inherit the limit.

Source: the JVM's `MaxFDLimit`, which raises the soft limit to the hard one as well.
"""

from __future__ import annotations

import logging
import resource

from headrace.limits import (
    DESCRIPTORS_PER_LOG,
    DESCRIPTORS_PER_PEER,
    DESCRIPTORS_PER_SEGMENT,
    DESCRIPTORS_RESERVED,
    OPEN_SEGMENTS_MAX,
)
from headrace.settings import Settings

# Of a process without partitions and connections.
_LEAST = DESCRIPTORS_RESERVED + DESCRIPTORS_PER_SEGMENT * OPEN_SEGMENTS_MAX

_log = logging.getLogger(__name__)


def wanted_descriptors(settings: Settings) -> dict[str, int]:
    """Of one process of each kind that has many, when everything is at its bound."""
    logs = -(-settings["headrace.partitions.max"] // settings["headrace.partition.workers"])
    peers = DESCRIPTORS_PER_PEER * (settings["headrace.network.workers"] + settings["headrace.partition.workers"])
    return {
        "network worker": _LEAST + settings["max.connections"],
        "partition worker": _LEAST + peers + DESCRIPTORS_PER_LOG * logs,
    }


def prepare_descriptors(settings: Settings) -> int:
    """Raise the soft limit to the hard one if it is too low, and log what is still too low then.

    WARNING if reading alone may reach the limit, with few partitions and connections; INFO if only as many as the
    settings allow would.

    returns   the soft limit as it is now
    """
    wanted = wanted_descriptors(settings)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < max(wanted.values()) and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    for kind, count in wanted.items():
        if soft < count:
            _log.log(
                logging.WARNING if soft < _LEAST else logging.INFO,
                "descriptors may run out process=%s limit=%d wanted=%d hint=raise LimitNOFILE (ulimit -Hn), or lower %s",
                kind,
                soft,
                count,
                "max.connections" if kind == "network worker" else "headrace.partitions.max",
            )
    return soft
