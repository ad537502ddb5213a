"""What a streaming query with a sink is doing now, seen from outside: its checkpoint, and the ends of the topic that it writes.

    offsets/N is there, commits/N is not    micro-batch N is under way
    the topic's ends move meanwhile         its tasks have written some rows, and not all

Used by: `sink_campaign.py`, to kill whom in mid-write.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from headrace.client.cluster import LATEST, Cluster
from headrace.client.connection import ConnectionFailed
from headrace.errors import KafkaError
from headrace.ids import TopicPartition

LOOK_S = 0.003

Ends = dict[TopicPartition, int]


class SinkWatch:
    """Of one query and its topic.

    wait_s   a micro-batch that long without a row is a failure
    """

    def __init__(self, cluster: Cluster, topic: str, checkpoint: Path, wait_s: float) -> None:
        self._cluster = cluster
        self._topic = topic
        self._checkpoint = checkpoint
        self._wait_s = wait_s
        self.ends: Ends = {}  # as they were last seen

    def under_way(self) -> int | None:
        """The number of the micro-batch that has begun and is not committed; None where there is none."""
        try:
            begun = [int(one.name) for one in (self._checkpoint / "offsets").iterdir() if one.name.isdecimal()]
        except FileNotFoundError:
            return None
        newest = max(begun, default=None)
        return None if newest is None or (self._checkpoint / "commits" / str(newest)).exists() else newest

    def wait_written(self, rows: int, is_alive: Callable[[], bool]) -> int | None:
        """Until a micro-batch has written so many rows since it was first seen here, and is not committed; its number.

        A micro-batch that is committed before has been too small, and of the next one half as many are waited for. Where nobody
        writes any more, None. raises   AssertionError
        """
        batch, floor = None, 0
        deadline_s = time.monotonic() + self._wait_s
        while is_alive():
            assert time.monotonic() < deadline_s, f"nothing is written of micro-batch {batch}"
            now, written = self.under_way(), self.look()
            if now is None or written is None:
                time.sleep(LOOK_S)
            elif now != batch:
                rows = rows if batch is None else max(1, rows // 2)
                batch, floor = now, written
            elif written - floor >= rows and self.under_way() == batch:
                return batch
            else:
                time.sleep(LOOK_S)
        return None

    def look(self) -> int | None:
        """Rows in the topic, and `ends`; None while its node does not say."""
        try:
            if not self.ends:
                self._cluster.refresh([self._topic])
                self.ends = {name: 0 for name in self._cluster.partitions if name.topic == self._topic}
            self.ends = self._cluster.offsets(dict.fromkeys(self.ends, LATEST))
        except (ConnectionFailed, KafkaError):
            return None
        return sum(self.ends.values())
