"""Bytes of record batches that a reader has read, by where they came from.

Runs in: Spark's Python workers, and every process that reads by `headrace.arrow`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """Bytes as they lie in segments, compressed if they are.

    local_bytes    from files on this host
    remote_bytes   fetched over the network
    """

    local_bytes: int = 0
    remote_bytes: int = 0

    def add(self, size_bytes: int, is_remote: bool) -> None:
        if is_remote:
            self.remote_bytes += size_bytes
        else:
            self.local_bytes += size_bytes
