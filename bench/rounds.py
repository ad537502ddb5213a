"""A B B A: the same measurement of both servers in turn, each on a full page cache; the order alternates, since what comes second meets
the first one's leavings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.nodes import Server
from bench.page_cache import PageCache

LEAST = 1.0  # aim of a row without one of its own: no worse than Apache Kafka


@dataclass(frozen=True)
class Rounds:
    """How often, how long, and the page cache that is filled before each."""

    count: int
    seconds: float
    page_cache: PageCache

    def run(self, servers: list[Server], measure: Callable[[Server], Any]) -> dict[str, list[Any]]:
        """The results by server."""
        results: dict[str, list[Any]] = {server.name: [] for server in servers}
        for index in range(self.count):
            for server in servers if index % 2 == 0 else reversed(servers):
                self.page_cache.fill()
                results[server.name].append(measure(server))
        return results
