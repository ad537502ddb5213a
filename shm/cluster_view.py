"""What the controller last knew of the cluster: one snapshot, two buffers, every process maps it.

Runs in: the controller writes; all others read. The snapshot is compact JSON, a line for each topic behind one for
the rest: a topic whose line stands in the last view too is neither encoded nor decoded again, and stays the same
object, so that whoever follows views need not look at it. That of version v lies in buffer v & 1, so that one word
commits it:

    bytes into the idle buffer  ->  its length, its crc32  ->  version

A reader takes version, copies, takes version again: while it stands, nobody wrote to its buffer. It tries a
bounded number of times. The CRC is for damage, not for races. A controller killed anywhere before the last
store leaves the last snapshot whole; the region outlives it, and its successor reads that snapshot back and
keeps the slots.

The view is the desired state of this node's replicas, the partition table the actual one
(docs/architecture.md).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.errors import HeadraceError
from headrace.shm.layout import (
    VIEW_BUFFERS,
    VIEW_CRC,
    VIEW_DESCRIPTOR_WORDS,
    VIEW_LENGTH,
    VIEW_VERSION,
)
from headrace.shm.region import Region

NO_SETTINGS: dict[str, str] = {}
TopicId = int  # of a TopicView: `id(view)`, while it is held

READ_TRIES_MAX = 100  # a try fails only where the controller published twice while one copy was made


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


class DeletedTopic(NamedTuple):
    """A topic that is no more: deleted, or another one has taken its name. What is absent elsewhere is unknown, not deleted."""

    name: str
    topic_id: str


class ReleasedTopic(NamedTuple):
    """A topic that ZooKeeper lost and nobody deleted: not served, but its name is taken and its files stay."""

    name: str
    topic_id: str
    replicas: tuple[tuple[int, ...], ...]  # by partition


class ClusterView(NamedTuple):
    """`deleted` stands here until every partition worker has followed it; no topic of such a name is in `topics` meanwhile."""

    version: int
    cluster_id: str
    controller_id: int  # -1: none known
    brokers: dict[int, BrokerView]
    topics: dict[str, TopicView]
    doomed: tuple[DoomedReplica, ...] = ()
    cluster_settings: dict[str, str] = NO_SETTINGS  # changed for all nodes while they run (/config/brokers/<default>)
    node_settings: dict[str, str] = NO_SETTINGS  # the same, for this node alone
    deleted: tuple[DeletedTopic, ...] = ()
    released: tuple[ReleasedTopic, ...] = ()


EMPTY_VIEW = ClusterView(0, "", -1, {}, {}, ())


def encode_view(view: ClusterView, known: Mapping[TopicId, bytes] | None = None) -> bytes:
    """The snapshot as lines of JSON: named tuples become lists in field order.

    known   lines of topics, by the object's id, that were encoded before
    """
    known = known or {}
    brokers, departing = list(view.brokers.values()), _departing(view)
    settings = (view.cluster_settings, view.node_settings)
    head = _line([view.version, view.cluster_id, view.controller_id, brokers, departing, *settings, view.released])
    return b"\n".join([head, *(known.get(id(topic)) or _line(topic) for topic in view.topics.values())])


def decode_view(data: bytes, known: Mapping[bytes, TopicView] | None = None) -> ClusterView:
    """The inverse of `encode_view`.

    known   topics by their line, which need no decoding
    """
    known = known or {}
    head, *lines = data.split(b"\n")
    version, cluster_id, controller_id, brokers, departing, of_cluster, of_node, released = json.loads(head)
    topics = [known.get(line) or _topic(json.loads(line)) for line in lines]
    return ClusterView(
        version,
        cluster_id,
        controller_id,
        {fields[0]: BrokerView(*fields) for fields in brokers},
        {topic.name: topic for topic in topics},
        tuple(DoomedReplica(topic, *fields) for topic, _ids, replicas in departing for fields in replicas),
        of_cluster,
        of_node,
        tuple(DeletedTopic(topic, topic_id) for topic, ids, _replicas in departing for topic_id in ids),
        tuple(ReleasedTopic(name, topic_id, tuple(map(tuple, replicas))) for name, topic_id, replicas in released),
    )


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()  # line breaks in texts are escaped


def _departing(view: ClusterView) -> list[tuple[str, list[str], list[tuple[int, ...]]]]:
    """A topic's name once: it takes no more room here than before it was deleted, so that a view always fits."""
    found: dict[str, tuple[str, list[str], list[tuple[int, ...]]]] = {}
    for replica in view.doomed:
        found.setdefault(replica.topic, (replica.topic, [], []))[2].append(replica[1:])
    for name, topic_id in view.deleted:
        found.setdefault(name, (name, [], []))[1].append(topic_id)
    return list(found.values())


def _topic(fields: list[Any]) -> TopicView:
    name, topic_id, internal, configs, partitions = fields
    return TopicView(name, topic_id, internal, configs, tuple(_partition(partition) for partition in partitions))


def _partition(fields: list[Any]) -> PartitionView:
    index, leader, leader_epoch, isr, replicas, offline, slot, key = fields
    return PartitionView(index, leader, leader_epoch, tuple(isr), tuple(replicas), tuple(offline), slot, key)


class ClusterViewReader:
    """The reading end."""

    __slots__ = ("_buffer_bytes", "_lines", "_region", "_words")

    def __init__(self, region: Region) -> None:
        self._lines: dict[bytes, TopicView] = {}  # of the last view
        self._region = region
        self._words = region.words
        self._buffer_bytes = (region.size_bytes - VIEW_BUFFERS) // 2 & ~7

    def version(self) -> int:
        """0 until the first publication; one load."""
        return self._words[VIEW_VERSION]

    def read(self) -> ClusterView:
        """The latest snapshot; `EMPTY_VIEW` before the first. Topics that did not change are the objects of the last call.

        raises   ViewError, where the snapshot is damaged, or no consistent copy was had in READ_TRIES_MAX tries
        """
        words = self._words
        for _ in range(READ_TRIES_MAX):
            version = words[VIEW_VERSION]
            if version == 0:
                return EMPTY_VIEW
            buffer = version & 1
            length = words[VIEW_LENGTH + buffer * VIEW_DESCRIPTOR_WORDS]
            crc = words[VIEW_CRC + buffer * VIEW_DESCRIPTOR_WORDS]
            start = VIEW_BUFFERS + buffer * self._buffer_bytes
            data = bytes(self._region.memory[start : start + min(length, self._buffer_bytes)])
            if words[VIEW_VERSION] == version:
                return self._checked(data, version, length, crc)
        raise ViewError(f"{self._region.name}: no consistent view in {READ_TRIES_MAX} tries")

    def _checked(self, data: bytes, version: int, length: int, crc: int) -> ClusterView:
        if not data or len(data) != length or zlib.crc32(data) != crc:
            raise ViewError(f"{self._region.name}: view {version} of {length} bytes is damaged")
        view = decode_view(data, self._lines)
        self._lines = dict(zip(data.split(b"\n")[1:], view.topics.values(), strict=True))
        if view.version != version:
            raise ViewError(f"{self._region.name}: view {view.version} where {version} was announced")
        return view

    def close(self) -> None:
        self._region.close()


class ClusterViewWriter(ClusterViewReader):
    """The controller's end; it may read its own view back."""

    __slots__ = ()

    def room_bytes(self) -> int:
        """How much the next view may be longer than this one."""
        version = self._words[VIEW_VERSION]
        length = self._words[VIEW_LENGTH + (version & 1) * VIEW_DESCRIPTOR_WORDS] if version else 0
        return self._buffer_bytes - length

    def publish(self, view: ClusterView) -> ClusterView:
        """Make a snapshot the current one; its version is set here.

        returns   the view as published
        raises    ViewError, where it does not fit (nothing changed then)
        """
        words = self._words
        version = words[VIEW_VERSION] + 1
        view = view._replace(version=version)
        data = encode_view(view, {id(topic): line for line, topic in self._lines.items()})
        if len(data) > self._buffer_bytes:
            raise ViewError(f"the cluster view needs {len(data)} bytes, the region holds {self._buffer_bytes}")
        buffer = version & 1
        start = VIEW_BUFFERS + buffer * self._buffer_bytes
        self._region.memory[start : start + len(data)] = data
        words[VIEW_LENGTH + buffer * VIEW_DESCRIPTOR_WORDS] = len(data)
        words[VIEW_CRC + buffer * VIEW_DESCRIPTOR_WORDS] = zlib.crc32(data)
        words[VIEW_VERSION] = version
        self._lines = dict(zip(data.split(b"\n")[1:], view.topics.values(), strict=True))
        return view
