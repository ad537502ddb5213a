"""A plan that evens out a cluster and moves as little as needed: pure, metadata in, other replicas out.

    1  replicas on brokers that are to have none go to brokers with fewer
    2  brokers with more replicas than their share give to those with fewer, small partitions first, followers before leaders
    3  the first replicas, which lead by preference, are evened out by another order: nothing is copied for that

A share is all replicas by all brokers, rounded either way. A replica never goes where its partition has one, nor where the
partition would be on fewer racks than before. Partitions that are being moved already are counted by where they go, and left alone.

Source: Kafka's `kafka-reassign-partitions --generate` assigns all of it again; this does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from headrace.ids import TopicPartition

Replicas = tuple[int, ...]
Racks = Mapping[int, str | None]


class Move(NamedTuple):
    """A partition with other replicas, or another order of them.

    size_bytes   of what is copied to the added ones in all; None: not reported
    """

    name: TopicPartition
    before: Replicas
    after: Replicas
    size_bytes: int | None

    @property
    def added(self) -> Replicas:
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def removed(self) -> Replicas:
        return tuple(broker for broker in self.before if broker not in self.after)


def plan_moves(
    partitions: Mapping[TopicPartition, Replicas],
    racks: Racks,
    sizes: Mapping[TopicPartition, int],
    fixed: Collection[TopicPartition] = (),
) -> list[Move]:
    """What evens out the cluster, in order of partitions; empty: it is.

    partitions   replicas of each, the preferred leader first
    racks        of the brokers that shall have replicas
    sizes        bytes of a replica, where they are known
    fixed        partitions that stay as they are
    """
    if not racks:
        return []
    wanted = {name: list(row) for name, row in partitions.items()}
    movable = sorted((name for name in wanted if name not in fixed), key=lambda name: (sizes.get(name, 0), name))
    held = Counter(broker for row in wanted.values() for broker in row if broker in racks)
    _drain(wanted, movable, held, racks)
    _even_out(wanted, movable, held, racks)
    _lead_evenly(wanted, sorted(movable), racks)
    moves = []
    for name, before in sorted(partitions.items()):
        after = tuple(wanted[name])
        if after != before:
            copies = len(set(after) - set(before))
            size = sizes.get(name) if copies else 0
            moves.append(Move(name, before, after, None if size is None else size * copies))
    return moves


def _drain(
    wanted: Mapping[TopicPartition, list[int]], movable: Iterable[TopicPartition], held: Counter[int], racks: Racks
) -> None:
    """Move away what is on brokers that are not to have any."""
    for name in movable:
        row = wanted[name]
        for place, broker in enumerate(row):
            if broker in racks:
                continue
            target = min(_takers(row, broker, racks), key=lambda one: (held[one], one), default=None)
            if target is not None:
                row[place] = target
                held[target] += 1


def _even_out(
    wanted: Mapping[TopicPartition, list[int]], movable: list[TopicPartition], held: Counter[int], racks: Racks
) -> None:
    """Each step takes one replica from a broker that has more to one that has at least two fewer, so that it ends."""
    by_broker: dict[int, list[TopicPartition]] = {broker: [] for broker in racks}
    for name in movable:
        for broker in wanted[name]:
            if broker in racks:
                by_broker[broker].append(name)
    is_moved = True
    while is_moved:
        is_moved = False
        for giver in sorted(racks, key=lambda broker: (-held[broker], broker)):
            for taker in sorted(racks, key=lambda broker: (held[broker], broker)):
                if held[giver] - held[taker] < 2:
                    break
                found = _first_to_move(by_broker[giver], wanted, giver, taker, racks)
                if found is None:
                    continue
                row = wanted[found]
                row[row.index(giver)] = taker
                by_broker[giver].remove(found)
                by_broker[taker].append(found)
                held[giver] -= 1
                held[taker] += 1
                is_moved = True
                break
            if is_moved:
                break


def _first_to_move(
    names: Iterable[TopicPartition],
    wanted: Mapping[TopicPartition, list[int]],
    giver: int,
    taker: int,
    racks: Racks,
) -> TopicPartition | None:
    """The smallest, a follower before a leader."""
    leading = None
    for name in names:
        row = wanted[name]
        if taker in _takers(row, giver, racks):
            if row[0] != giver:
                return name
            leading = leading or name
    return leading


def _lead_evenly(wanted: Mapping[TopicPartition, list[int]], movable: Iterable[TopicPartition], racks: Racks) -> None:
    """Swap the first replica with another one where that one leads at least two fewer."""
    leads = Counter(row[0] for row in wanted.values())
    names = list(movable)
    is_changed = True
    while is_changed:
        is_changed = False
        for name in names:
            row = wanted[name]
            if len(row) < 2:
                continue
            other = min(
                (broker for broker in row[1:] if broker in racks), key=lambda one: (leads[one], one), default=None
            )
            if other is not None and leads[row[0]] - leads[other] >= 2:
                place = row.index(other)
                leads[row[0]] -= 1
                leads[other] += 1
                row[0], row[place] = row[place], row[0]
                is_changed = True


def _takers(row: list[int], giver: int, racks: Racks) -> list[int]:
    """Brokers that may have the replica of another one."""
    others = [broker for broker in row if broker != giver]
    before = len({racks.get(broker) for broker in row})
    return [
        broker
        for broker in racks
        if broker not in row and len({racks.get(one) for one in (*others, broker)}) >= min(before, _rack_count(racks))
    ]


def _rack_count(racks: Racks) -> int:
    return len(set(racks.values()))
