"""Room for topics that are about to be written: rows of this node, rows and bytes of the cluster view.

Runs in: the controller process. A view that does not fit is not published, and a node that starts then serves nothing at all:
so a topic is not written where there is no room. What is written and not yet published is counted here, by topic; what was
published the writer of the view counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from headrace.controller.cluster.slots import Slots
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import CONFIG_VALUE_LENGTH_MAX
from headrace.settings import DYNAMIC_KEYS
from headrace.shm.cluster_table import ROW_IDS_MAX
from headrace.shm.view_writer import DELETED_REPLICA_BYTES, ROWS_KEY

VIEW_MARGIN_BYTES = 512 * 1024  # for what grows by itself: epochs, lists of offline brokers
JSON_BYTES_PER_CHARACTER_MAX = 6
ID_BYTES_MAX = 5  # of a broker or a row in the view
PARTITION_BYTES_MAX = DELETED_REPLICA_BYTES + 2 * ID_BYTES_MAX

# Changed settings grow by themselves as well: those of all brokers and of this one, each as long as it may be
assert 2 * len(DYNAMIC_KEYS) * JSON_BYTES_PER_CHARACTER_MAX * (CONFIG_VALUE_LENGTH_MAX + 100) < VIEW_MARGIN_BYTES


class Capacity(Protocol):
    """What the writer of the view says of itself."""

    @property
    def rows(self) -> int: ...

    def room_bytes(self) -> int: ...

    def room_rows(self) -> int: ...


class _Reserved(NamedTuple):
    size_bytes: int = 0
    rows: int = 0
    slots: int = 0


class ViewRoom:
    """What is left, less what was promised."""

    def __init__(self, node_id: int, slots: Slots, capacity: Capacity) -> None:
        self._node_id = node_id
        self._slots = slots
        self._capacity = capacity
        self._by_topic: dict[str, _Reserved] = {}
        self._sum = _Reserved()

    def reserve(self, name: str, replicas: Sequence[Sequence[int]], configs: Mapping[str, str] | None = None) -> None:
        """Take room for a topic, or for new partitions of it.

        raises   KafkaError POLICY_VIOLATION, where this node has no rows left for its share, or no room in its view
        """
        here = sum(self._node_id in row for row in replicas)
        if not self._slots.has_room(here + self._sum.slots):
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"{here} more replicas are too many for node {self._node_id} "
                f"(headrace.partitions.max={self._slots.count})",
            )
        if not self._take(name, _Reserved(view_bytes_of(name, replicas, configs or {}), len(replicas), here)):
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"node {self._node_id} has no room for {len(replicas)} more partitions of the cluster in its view: "
                f"{ROWS_KEY}={self._capacity.rows}",
            )

    def reserve_bytes(self, name: str, size_bytes: int) -> None:
        """Take room for what a topic grows by. raises KafkaError POLICY_VIOLATION"""
        if not self._take(name, _Reserved(size_bytes)):
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"node {self._node_id} has no room for more in its view")

    def release(self, name: str) -> None:
        """A topic was published, or nothing was written."""
        known = self._by_topic.pop(name, None)
        if known is not None:
            self._sum = _Reserved(*(whole - part for whole, part in zip(self._sum, known, strict=True)))

    def _take(self, name: str, wanted: _Reserved) -> bool:
        total = _Reserved(*(whole + part for whole, part in zip(self._sum, wanted, strict=True)))
        if total.size_bytes > self._capacity.room_bytes() - VIEW_MARGIN_BYTES:
            return False
        if wanted.rows and total.rows > self._capacity.room_rows():
            return False
        known = self._by_topic.get(name, _Reserved())
        self._by_topic[name] = _Reserved(*(one + more for one, more in zip(known, wanted, strict=True)))
        self._sum = total
        return True


def view_bytes_of(name: str, replicas: Sequence[Sequence[int]], configs: Mapping[str, str]) -> int:
    """What a topic, or new partitions of it, will take in the view; rather more than less."""
    if not replicas:
        return 0
    factor = len(replicas[0])
    ids = ID_BYTES_MAX * factor * (1 if 2 * factor <= ROW_IDS_MAX else 3)  # those that a row can't hold are there again
    of_configs = len(json.dumps(dict(configs)))
    return 80 + len(name) + of_configs + len(replicas) * (PARTITION_BYTES_MAX + ids)
