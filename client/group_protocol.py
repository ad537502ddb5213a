"""What members of a group and its leader tell each other: subscriptions, assignments, and the assignors by name.

A subscription is written as of v3 and read as of any version: fields are only ever added. The sticky assignors send what they had as
user data besides, for leaders that know no later form.

Source: Kafka `ConsumerProtocol`, `ConsumerPartitionAssignor`; KIP-54, KIP-429, KIP-792.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.client.assignors import ASSIGNORS, decode_assignment, encode_assignment
from headrace.client.sticky_assignor import (
    Claim,
    assign_cooperative,
    assign_sticky,
    decode_sticky_data,
    encode_sticky_data,
)
from headrace.errors import BadFrame
from headrace.ids import NO_GENERATION, TopicPartition
from headrace.protocol import messages
from headrace.protocol.codec import decode_struct, encode_struct

SUBSCRIPTION_VERSION: Final = 3
Member = tuple[str, str | None, bytes]  # member id, instance id, subscription
_VERSION: Final = struct.Struct(">h")
_GENERATION: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Protocol:
    """An assignor.

    is_cooperative   what stays is not revoked
    """

    name: str
    is_cooperative: bool = False
    is_sticky: bool = False

    def topics(self, members: Sequence[Member]) -> list[str]:
        """All topics that members subscribe to. raises BadFrame"""
        return sorted({topic for _id, _instance, data in members for topic in claim_of(self, data).topics})


PROTOCOLS: Final = {
    protocol.name: protocol
    for protocol in (
        Protocol("range"),
        Protocol("roundrobin"),
        Protocol("sticky", is_sticky=True),
        Protocol("cooperative-sticky", is_cooperative=True, is_sticky=True),
    )
}


def protocol_named(name: str) -> Protocol:
    """raises   ValueError, for an unknown assignor"""
    if name not in PROTOCOLS:
        raise ValueError(f"partition.assignment.strategy: {name!r} is not one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def subscription_of(
    protocol: Protocol,
    topics: Sequence[str],
    owned: Sequence[TopicPartition],
    last: Sequence[TopicPartition],
    generation: int,
    rack: str | None,
) -> bytes:
    """A member's part of a JoinGroup request.

    owned        not revoked before the join
    last         the last assignment, of `generation`
    """
    kind = messages.ConsumerProtocolSubscription
    by_topic: dict[str, list[int]] = {}
    for name in sorted(owned):
        by_topic.setdefault(name.topic, []).append(name.partition)
    data: bytes | None = None
    if protocol.name == "sticky":
        data = encode_sticky_data(last, generation)
    elif protocol.is_cooperative:
        data = _GENERATION.pack(generation)
    subscription = kind(
        topics=sorted(topics),
        user_data=data,
        owned_partitions=[kind.TopicPartition(topic, indexes) for topic, indexes in by_topic.items()],
        generation_id=generation,
        rack_id=rack,
    )
    return _VERSION.pack(SUBSCRIPTION_VERSION) + encode_struct(
        "ConsumerProtocolSubscription", SUBSCRIPTION_VERSION, subscription
    )


def claim_of(protocol: Protocol, data: bytes) -> Claim:
    """What a member says. raises BadFrame"""
    if len(data) < _VERSION.size:
        raise BadFrame(f"ConsumerProtocolSubscription of {len(data)} bytes")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise BadFrame(f"ConsumerProtocolSubscription of version {version}")
    found = decode_struct(
        "ConsumerProtocolSubscription", min(version, SUBSCRIPTION_VERSION), memoryview(data)[_VERSION.size :]
    )
    owned = [TopicPartition(row.topic, index) for row in found.owned_partitions for index in row.partitions]
    generation = found.generation_id
    user_data = bytes(found.user_data or b"")
    if protocol.name == "sticky" and user_data:
        told, told_generation = decode_sticky_data(user_data)
        if not owned:
            owned, generation = told, told_generation
        elif generation == NO_GENERATION:
            generation = told_generation
    elif protocol.is_cooperative and generation == NO_GENERATION and len(user_data) >= _GENERATION.size:
        (generation,) = _GENERATION.unpack_from(user_data)
    return Claim(tuple(found.topics), tuple(owned), generation)


def assign(protocol: Protocol, members: Sequence[Member], counts: Mapping[str, int]) -> dict[str, bytes]:
    """The assignment of each member by its id, as SyncGroup carries it. raises BadFrame

    counts   partitions of each topic
    """
    # static members are ordered by their instance ids, which outlive their member ids
    ids = {(instance or member): member for member, instance, _data in members}
    claims = {(instance or member): claim_of(protocol, data) for member, instance, data in members}
    if protocol.is_cooperative:
        shares = assign_cooperative(claims, counts)
    elif protocol.is_sticky:
        shares = assign_sticky(claims, counts)
    else:
        shares = ASSIGNORS[protocol.name]({name: claim.topics for name, claim in claims.items()}, counts)
    return {ids[name]: encode_assignment(share) for name, share in shares.items()}


def assignment_of(data: bytes) -> list[TopicPartition]:
    """Our partitions in order. raises BadFrame"""
    return decode_assignment(data)
