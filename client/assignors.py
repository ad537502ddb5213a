"""Who gets which partitions of a group's topics: pure functions, and the encoding that members and leader use.

    range        each topic by itself: consecutive partitions, the first members get one more
    roundrobin   all partitions of all topics in turn, one per member

Members are in order of their ids (of their instance ids, where static), so that every leader computes the same result.

Source: Kafka `RangeAssignor`, `RoundRobinAssignor`, `ConsumerProtocol`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.errors import BadFrame
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.codec import decode_struct, encode_struct

ASSIGNMENT_VERSION = 1
KNOWN_VERSION_MAX = 3

Subscriptions = Mapping[str, Sequence[str]]  # member id -> topics
Assignment = dict[str, list[TopicPartition]]  # by member id
Assignor = Callable[[Subscriptions, Mapping[str, int]], Assignment]


def assign_range(subscriptions: Subscriptions, counts: Mapping[str, int]) -> Assignment:
    """counts   partitions of each topic"""
    found: Assignment = {member: [] for member in subscriptions}
    for topic in sorted({topic for topics in subscriptions.values() for topic in topics}):
        members = sorted(member for member, topics in subscriptions.items() if topic in topics)
        each, extra = divmod(counts.get(topic, 0), len(members))
        first = 0
        for index, member in enumerate(members):
            last = first + each + (index < extra)
            found[member] += [TopicPartition(topic, partition) for partition in range(first, last)]
            first = last
    return found


def assign_round_robin(subscriptions: Subscriptions, counts: Mapping[str, int]) -> Assignment:
    """counts   partitions of each topic"""
    found: Assignment = {member: [] for member in subscriptions}
    members = sorted(subscriptions)
    turn = 0
    for topic in sorted({topic for topics in subscriptions.values() for topic in topics}):
        for partition in range(counts.get(topic, 0)):
            while topic not in subscriptions[members[turn % len(members)]]:
                turn += 1
            found[members[turn % len(members)]].append(TopicPartition(topic, partition))
            turn += 1
    return found


ASSIGNORS: dict[str, Assignor] = {"range": assign_range, "roundrobin": assign_round_robin}


def encode_assignment(partitions: Sequence[TopicPartition]) -> bytes:
    kind = messages.ConsumerProtocolAssignment
    topics: dict[str, list[int]] = {}
    for name in sorted(partitions):
        topics.setdefault(name.topic, []).append(name.partition)
    rows = [kind.TopicPartition(topic, indexes) for topic, indexes in topics.items()]
    return _with_version(
        "ConsumerProtocolAssignment", ASSIGNMENT_VERSION, kind(assigned_partitions=rows, user_data=None)
    )


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """The partitions in order; none of no bytes, as a coordinator sends to a member that the leader left out. raises BadFrame"""
    if not data:
        return []
    rows = decode_struct("ConsumerProtocolAssignment", *_split("ConsumerProtocolAssignment", data)).assigned_partitions
    return sorted(TopicPartition(row.topic, partition) for row in rows for partition in row.partitions)


def _with_version(name: str, version: int, message: Any) -> bytes:
    return struct.pack(">h", version) + encode_struct(name, version, message)


def _split(name: str, data: bytes) -> tuple[int, memoryview]:
    """(version, the rest). A later version is read as the last one that we know: fields are only ever added."""
    if len(data) < 2:
        raise BadFrame(f"{name} of {len(data)} bytes")
    (version,) = struct.unpack_from(">h", data)
    if version < 0:
        raise BadFrame(f"{name} of version {version}")
    return min(version, KNOWN_VERSION_MAX), memoryview(data)[2:]
