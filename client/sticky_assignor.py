"""The sticky assignors: as balanced as subscriptions allow, and as few partitions moved as that needs. Pure.

    sticky               all partitions are revoked at each rebalance, most come back to who had them
    cooperative-sticky   what stays is never revoked: a partition that changes hands is given to nobody in one
                         generation, and to its new owner in the next

A claim counts where the partition exists, its member subscribes to it, and no member of a later generation claims it too; of two
claims of one generation neither counts, as one of them is wrong.

Balance. Partitions that nothing holds go to the least loaded member that may have them, those with the fewest choices first. Then the
most loaded members give to the least loaded, until no two members differ by more than one over what both may have.

Source: KIP-54, KIP-429; Kafka `AbstractStickyAssignor`, `CooperativeStickyAssignor`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.ids import NO_GENERATION, TopicPartition

_COUNT: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class Claim:
    """What a member subscribes to, and says that it has.

    topics       in any order
    owned        of the generation before
    generation   in which it got them; -1: not known
    """

    topics: Sequence[str]
    owned: Sequence[TopicPartition] = ()
    generation: int = NO_GENERATION


def assign_sticky(claims: Mapping[str, Claim], counts: Mapping[str, int]) -> dict[str, list[TopicPartition]]:
    """Partitions by member.

    counts   partitions of each topic
    """
    topics = {member: frozenset(claim.topics) for member, claim in claims.items()}
    found: dict[str, list[TopicPartition]] = {member: [] for member in sorted(claims)}
    holders = _holders(claims, topics, counts)
    candidates: dict[str, list[str]] = {}
    for topic in sorted({topic for names in topics.values() for topic in names}):
        candidates[topic] = [member for member in sorted(claims) if topic in topics[member]]
    free: list[TopicPartition] = []
    for topic, members in candidates.items():
        for index in range(counts.get(topic, 0)):
            name = TopicPartition(topic, index)
            holder = holders.get(name)
            if holder is None:
                free.append(name)
            else:
                found[holder].append(name)
            assert members
    free.sort(key=lambda name: (len(candidates[name.topic]), name))
    for name in free:
        least = min(candidates[name.topic], key=lambda member: (len(found[member]), member))
        found[least].append(name)
    _balance(found, topics)
    return {member: sorted(names) for member, names in found.items()}


def assign_cooperative(claims: Mapping[str, Claim], counts: Mapping[str, int]) -> dict[str, list[TopicPartition]]:
    """The same, without the partitions that another member says it has: these are for the next generation."""
    found = assign_sticky(claims, counts)
    owners: dict[TopicPartition, set[str]] = {}
    for member, claim in claims.items():
        for name in claim.owned:
            owners.setdefault(name, set()).add(member)
    return {
        member: [name for name in names if owners.get(name, {member}) <= {member}] for member, names in found.items()
    }


def _holders(
    claims: Mapping[str, Claim], topics: Mapping[str, frozenset[str]], counts: Mapping[str, int]
) -> dict[TopicPartition, str]:
    best: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in sorted(claims):
        claim = claims[member]
        for name in claim.owned:
            if name.topic not in topics[member] or not 0 <= name.partition < counts.get(name.topic, 0):
                continue
            known = best.get(name)
            if known is None or claim.generation > known[0]:
                best[name] = (claim.generation, member)
            elif claim.generation == known[0]:
                best[name] = (claim.generation, None)
    return {name: member for name, (_generation, member) in best.items() if member is not None}


def _balance(found: dict[str, list[TopicPartition]], topics: Mapping[str, frozenset[str]]) -> None:
    """Move single partitions from more loaded members to less loaded ones. Each move lowers the sum of squares, so it ends."""
    while True:
        moved = False
        for giver in sorted(found, key=lambda member: (-len(found[member]), member)):
            takers = sorted(found, key=lambda member: (len(found[member]), member))
            for taker in takers:
                if len(found[giver]) - len(found[taker]) < 2:
                    break
                given = next((name for name in reversed(found[giver]) if name.topic in topics[taker]), None)
                if given is not None:
                    found[giver].remove(given)
                    found[taker].append(given)
                    moved = True
                    break
        if not moved:
            return


def encode_sticky_data(owned: Sequence[TopicPartition], generation: int) -> bytes:
    """What a member of the sticky assignor sends: the partitions it had, the generation in which it got them."""
    by_topic: dict[str, list[int]] = {}
    for name in sorted(owned):
        by_topic.setdefault(name.topic, []).append(name.partition)
    out = bytearray(_COUNT.pack(len(by_topic)))
    for topic, indexes in by_topic.items():
        text = topic.encode()
        out += _LENGTH.pack(len(text)) + text + _COUNT.pack(len(indexes))
        for index in indexes:
            out += _COUNT.pack(index)
    return bytes(out + _COUNT.pack(generation))


def decode_sticky_data(data: bytes) -> tuple[list[TopicPartition], int]:
    """(partitions, generation; -1: a member before Kafka 2.3 does not say). Nothing of bytes that are not such data."""
    owned: list[TopicPartition] = []
    try:
        (topics,) = _COUNT.unpack_from(data)
        position = _COUNT.size
        if not 0 <= topics <= len(data):
            return [], NO_GENERATION
        for _ in range(topics):
            (length,) = _LENGTH.unpack_from(data, position)
            position += _LENGTH.size
            if length < 0 or position + length > len(data):
                return [], NO_GENERATION
            topic = data[position : position + length].decode("utf-8", "replace")
            position += length
            (count,) = _COUNT.unpack_from(data, position)
            position += _COUNT.size
            if not 0 <= count <= (len(data) - position) // _COUNT.size:
                return [], NO_GENERATION
            for _ in range(count):
                owned.append(TopicPartition(topic, _COUNT.unpack_from(data, position)[0]))
                position += _COUNT.size
        generation = _COUNT.unpack_from(data, position)[0] if len(data) - position >= _COUNT.size else NO_GENERATION
    except struct.error:
        return [], NO_GENERATION
    return owned, generation
