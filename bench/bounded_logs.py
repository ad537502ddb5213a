"""Logs of a load keep their last 64 MiB a partition, on both servers, as retention keeps those of a broker in service.

Logs that grow without bound measure something else within seconds: how fast the disk takes dirty pages, and what the first use
of memory costs in a virtual machine (docs/decisions/013, 060). Files that are deleted while they are written give their pages to
those that come after them.
"""

from __future__ import annotations

from typing import Final

BOUNDED_TOPIC: Final = {
    "retention.bytes": str(64 << 20),
    "segment.bytes": str(32 << 20),
    "file.delete.delay.ms": "0",
}
OFTEN_CHECKED: Final = {"log.retention.check.interval.ms": "500"}  # of the server
