"""What the controller last knew of the cluster: one snapshot, two buffers, every process maps it.

Runs in: the controller writes; all others read. The snapshot is compact JSON in the buffer that is not
active:

    bytes into the idle buffer  ->  length, crc32  ->  active  ->  version            (version last)

A reader takes version, copies, takes version again and checks the CRC; it tries a bounded number of times.
The region outlives the controller process: its successor reads the last snapshot back and keeps the slots.

The view is the desired state of this node's replicas, the partition table the actual one
(docs/architecture.md).
"""

from __future__ import annotations

import json
import time
import zlib
from typing import Any, NamedTuple

from headrace.errors import HeadraceError
from headrace.shm.layout import VIEW_ACTIVE, VIEW_BUFFERS, VIEW_CRC, VIEW_LENGTH, VIEW_VERSION
from headrace.shm.region import Region

READ_TRIES_MAX = 1_000
RETRY_PAUSE_S = 0.001


class ViewError(HeadraceError):
    """The view can't be read, or does not fit."""


class BrokerView(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None = None


class PartitionView(NamedTuple):
    index: int  # type: ignore[assignment]  # shadows tuple.index, which nobody wants of a partition
    leader: int  # node id, -1: none
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline: tuple[int, ...] = ()
    slot: int = -1  # row of the partition table, -1: not hosted on this node
    key: int = 0  # partition_key() while hosted


class TopicView(NamedTuple):
    name: str
    topic_id: str  # 32 hex digits, or '' for a topic from before ids
    internal: bool
    configs: dict[str, str]  # overrides only
    partitions: tuple[PartitionView, ...]  # by index


class DoomedReplica(NamedTuple):
    """A replica of this node whose files are to go."""

    topic: str
    partition: int
    slot: int
    key: int


class ClusterView(NamedTuple):
    version: int
    cluster_id: str
    controller_id: int  # -1: none known
    brokers: dict[int, BrokerView]
    topics: dict[str, TopicView]
    doomed: tuple[DoomedReplica, ...] = ()


EMPTY_VIEW = ClusterView(0, "", -1, {}, {}, ())


def encode_view(view: ClusterView) -> bytes:
    """The snapshot as JSON: named tuples become lists in field order."""
    return json.dumps(
        [
            view.version,
            view.cluster_id,
            view.controller_id,
            list(view.brokers.values()),
            list(view.topics.values()),
            view.doomed,
        ],
        separators=(",", ":"),
    ).encode()


def decode_view(data: bytes) -> ClusterView:
    """The inverse of `encode_view`."""
    version, cluster_id, controller_id, brokers, topics, doomed = json.loads(data)
    return ClusterView(
        version,
        cluster_id,
        controller_id,
        {fields[0]: BrokerView(*fields) for fields in brokers},
        {fields[0]: _topic(fields) for fields in topics},
        tuple(DoomedReplica(*fields) for fields in doomed),
    )


def _topic(fields: list[Any]) -> TopicView:
    name, topic_id, internal, configs, partitions = fields
    return TopicView(name, topic_id, internal, configs, tuple(_partition(partition) for partition in partitions))


def _partition(fields: list[Any]) -> PartitionView:
    index, leader, leader_epoch, isr, replicas, offline, slot, key = fields
    return PartitionView(index, leader, leader_epoch, tuple(isr), tuple(replicas), tuple(offline), slot, key)


class ClusterViewReader:
    """The reading end."""

    __slots__ = ("_buffer_bytes", "_region", "_words")

    def __init__(self, region: Region) -> None:
        self._region = region
        self._words = region.words
        self._buffer_bytes = (region.size_bytes - VIEW_BUFFERS) // 2 & ~7

    def version(self) -> int:
        """0 until the first publication; one load."""
        return self._words[VIEW_VERSION]

    def read(self) -> ClusterView:
        """The latest snapshot; `EMPTY_VIEW` before the first.

        raises   ViewError, where no consistent copy was had in READ_TRIES_MAX tries
        """
        words = self._words
        for attempt in range(READ_TRIES_MAX):
            version = words[VIEW_VERSION]
            if version == 0:
                return EMPTY_VIEW
            length, crc = words[VIEW_LENGTH], words[VIEW_CRC]
            if length <= self._buffer_bytes:
                start = VIEW_BUFFERS + (words[VIEW_ACTIVE] & 1) * self._buffer_bytes
                data = bytes(self._region.memory[start : start + length])
                if words[VIEW_VERSION] == version and zlib.crc32(data) == crc:
                    return decode_view(data)
            if attempt > 10:
                time.sleep(RETRY_PAUSE_S)
        raise ViewError(f"{self._region.name}: no consistent view in {READ_TRIES_MAX} tries")

    def close(self) -> None:
        self._region.close()


class ClusterViewWriter(ClusterViewReader):
    """The controller's end; it may read its own view back."""

    __slots__ = ()

    def publish(self, view: ClusterView) -> ClusterView:
        """Make a snapshot the current one; its version is set here.

        returns   the view as published
        raises    ViewError, where it does not fit (nothing changed then)
        """
        words = self._words
        version = words[VIEW_VERSION] + 1
        view = view._replace(version=version)
        data = encode_view(view)
        if len(data) > self._buffer_bytes:
            raise ViewError(f"the cluster view needs {len(data)} bytes, the region holds {self._buffer_bytes}")
        idle = 1 - (words[VIEW_ACTIVE] & 1)
        start = VIEW_BUFFERS + idle * self._buffer_bytes
        self._region.memory[start : start + len(data)] = data
        words[VIEW_LENGTH] = len(data)
        words[VIEW_CRC] = zlib.crc32(data)
        words[VIEW_ACTIVE] = idle
        words[VIEW_VERSION] = version
        return view
