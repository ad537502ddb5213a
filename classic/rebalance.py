"""The rebalancing of a group whose members agree by ZooKeeper alone: each computes the same assignment from the same snapshot. Pure.

For each topic T of member C, in nine steps:

    1-3   P: the partitions of T, sorted; S: the streams of all members that subscribe to T, sorted
    4-6   N = |P| / |S|; the first |P| mod |S| streams take one more, so that none is left over
    7     stream i takes its N (or N + 1) neighbours
    8     release what C owns and is no longer assigned, or all
    9     claim what is assigned; a claim that another member still holds fails the attempt

An attempt that fails releases every claim that it made, waits, and takes a new snapshot. After `retries_max` attempts
the caller is informed, and a timer tries on: a group whose members stop for a while heals without a change in
ZooKeeper.

Streams sort by their names C-S, as text. Partitions sort by number, and brokers play no part: that is what 0.8.2 does, and members of
both have to agree. For 0.7, `sorted_by_broker` keeps a broker's partitions side by side.

Source: Kafka 0.8.2 `RangeAssignor`, `ZookeeperConsumerConnector.rebalance`; the documentation's "Consumer rebalancing algorithm".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headrace.ids import TopicPartition

Owners = dict[TopicPartition, str]  # by partition: the stream C-S


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What ZooKeeper had at one time.

    members      streams by topic, by member; of filters the topics that exist
    partitions   numbers by topic
    """

    members: Mapping[str, Mapping[str, int]]
    partitions: Mapping[str, tuple[int, ...]]


def stream_name(consumer_id: str, stream: int) -> str:
    return f"{consumer_id}-{stream}"


def member_of(stream: str) -> str:
    """The member of an owner's name."""
    return stream.rpartition("-")[0]


def sorted_by_broker(leaders: Mapping[int, int]) -> list[tuple[int, int]]:
    """(broker, partition) in order, of leaders by partition: partitions of one broker are neighbours."""
    return sorted((broker, partition) for partition, broker in leaders.items())


def assign(snapshot: Snapshot) -> Owners:
    """The stream of every partition that some member subscribes to."""
    streams: dict[str, list[str]] = {}
    for member, topics in snapshot.members.items():
        for topic, count in topics.items():
            streams.setdefault(topic, []).extend(stream_name(member, number) for number in range(count))
    owners: Owners = {}
    for topic, names in streams.items():
        names.sort(key=_java_order)
        partitions = sorted(snapshot.partitions.get(topic, ()))
        each, extra = divmod(len(partitions), len(names))
        for place, name in enumerate(names):
            first = each * place + min(place, extra)
            for partition in partitions[first : first + each + (place < extra)]:
                owners[TopicPartition(topic, partition)] = name
    return owners


def assigned_to(consumer_id: str, snapshot: Snapshot) -> Owners:
    """What one member is to own."""
    return {name: stream for name, stream in assign(snapshot).items() if member_of(stream) == consumer_id}


def _java_order(name: str) -> bytes:
    """Java compares text by UTF-16 units, Python by code points."""
    return name.encode("utf-16-be", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Plan:
    """One attempt: first all releases, then all claims."""

    releases: tuple[TopicPartition, ...]
    claims: tuple[tuple[TopicPartition, str], ...]


def plan(owned: Mapping[TopicPartition, str], wanted: Mapping[TopicPartition, str]) -> Plan:
    """What leads from what a member owns to what it is assigned; a partition that changes its stream is released and claimed."""
    releases = tuple(sorted(name for name, stream in owned.items() if wanted.get(name) != stream))
    claims = tuple(sorted((name, stream) for name, stream in wanted.items() if owned.get(name) != stream))
    return Plan(releases, claims)


@dataclass(frozen=True, slots=True)
class Retry:
    """What follows a failed attempt.

    releases      claims that the attempt made
    wait_ms       until the next attempt
    is_reported   the attempts of this rebalance are used up: ConsumerRebalanceFailed
    """

    releases: tuple[TopicPartition, ...]
    wait_ms: float
    is_reported: bool


def after_failure(
    claimed: Iterable[TopicPartition], tries: int, retries_max: int, backoff_ms: int, chance: float
) -> Retry:
    """
    tries    attempts made, >= 1
    chance   0.0 <= chance < 1.0: members that failed against each other come back at different times
    """
    assert tries >= 1
    return Retry(tuple(sorted(claimed)), backoff_ms * (0.5 + chance), tries >= retries_max)


def audit(owned: Mapping[TopicPartition, str], found: Mapping[TopicPartition, str | None]) -> list[TopicPartition]:
    """Partitions that a member reads without owning them in ZooKeeper: `found` has another stream, or None."""
    return sorted(name for name, stream in owned.items() if found.get(name) != stream)
