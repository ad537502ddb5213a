"""Which brokers hold which replicas of new partitions: pure functions.

The first replicas go round the brokers from a start; the others follow theirs with a shift that grows by one at each round, so
that no pair of brokers shares everything. Where brokers have racks, the round alternates between racks, and the replicas of a
partition are on as many racks as there are, or each on another one:

    racks     a: 0, 5   b: 3, 4   c: 1, 2
    round     0, 3, 1, 5, 4, 2
    replicas  0,3,1   3,1,5   1,5,4   5,4,2   4,2,0   2,0,3   then shifted:  0,4,2 ...

Runs in: the controller process; start and shift are drawn by the caller.

Source: Kafka `AdminUtils.assignReplicasToBrokers`; KIP-36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.errors import ErrorCode, KafkaError

Racks = Mapping[int, str | None]  # of live brokers, by id


def place_replicas(
    racks: Racks, partitions: int, factor: int, start: int, shift: int, first: int = 0
) -> tuple[tuple[int, ...], ...]:
    """Replicas of each of so many partitions.

    racks          at least `factor` brokers
    start, shift   0 <= value < len(racks)
    first          number of the first partition: those before are there already
    raises         KafkaError INVALID_REPLICA_ASSIGNMENT, where some brokers have a rack and others have none
    """
    assert 1 <= factor <= len(racks)
    numbers = range(first, first + partitions)
    if not any(racks.values()):
        return _place(sorted(racks), numbers, factor, start, shift)
    return _place_on_racks(_whole(racks), numbers, factor, start, shift)


def without_racks(racks: Racks) -> Racks:
    """The same brokers, whose racks are not looked at."""
    return dict.fromkeys(racks)


def has_all_racks(racks: Racks) -> bool:
    """Whether every broker has a rack, or none."""
    return len({bool(rack) for rack in racks.values()}) <= 1


def alternated(racks: Mapping[int, str]) -> list[int]:
    """Brokers in the order of a round: one of each rack, then the next ones."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    rows = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, rows))
    return [row[place] for place in range(longest) for row in rows if place < len(row)]


def _place(brokers: Sequence[int], numbers: range, factor: int, start: int, shift: int) -> tuple[tuple[int, ...], ...]:
    count = len(brokers)
    rows = []
    for number in numbers:
        if number and number % count == 0:
            shift += 1
        leader = (number + start) % count
        others = (brokers[_follower(leader, shift, place, count)] for place in range(factor - 1))
        rows.append((brokers[leader], *others))
    return tuple(rows)


def _place_on_racks(
    racks: Mapping[int, str], numbers: range, factor: int, start: int, shift: int
) -> tuple[tuple[int, ...], ...]:
    brokers = alternated(racks)
    count, rack_count = len(brokers), len(set(racks.values()))
    rows = []
    for number in numbers:
        if number and number % count == 0:
            shift += 1
        leader = (number + start) % count
        row = [brokers[leader]]
        used = {racks[row[0]]}
        place = 0
        while len(row) < factor:
            broker = brokers[_follower(leader, shift * rack_count, place, count)]
            place += 1
            rack = racks[broker]
            if broker not in row and (rack not in used or len(used) == rack_count):
                row.append(broker)
                used.add(rack)
        rows.append(tuple(row))
    return tuple(rows)


def _follower(leader: int, shift: int, place: int, count: int) -> int:
    """Index of a replica that is not the first."""
    return (leader + 1 + (shift + place) % (count - 1)) % count


def _whole(racks: Racks) -> dict[int, str]:
    whole = {broker: rack for broker, rack in racks.items() if rack}
    if len(whole) < len(racks):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"some live brokers have a rack, and {sorted(racks.keys() - whole.keys())} have none: set broker.rack on all of"
            f" them, or assign the replicas yourself",
        )
    return whole
