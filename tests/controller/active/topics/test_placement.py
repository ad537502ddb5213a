import random
from collections import Counter

import pytest

from headrace.controller.active.topics.placement import alternated, has_all_racks, place_replicas, without_racks
from headrace.errors import ErrorCode, KafkaError

KAFKAS = {
    0: "rack1",
    1: "rack3",
    2: "rack3",
    3: "rack2",
    4: "rack2",
    5: "rack1",
}  # of the comment in Kafka's AdminUtils


def test_replicas_go_round_the_brokers_and_shift_after_each_round():
    # the example in the comment of Kafka's AdminUtils: 5 brokers, 10 partitions, 3 replicas, from broker 0
    rows = place_replicas(dict.fromkeys(range(5)), 10, 3, start=0, shift=0)
    assert rows == (
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    )


def test_a_round_alternates_between_racks():
    assert alternated(KAFKAS) == [0, 3, 1, 5, 4, 2]
    assert alternated({0: "a", 1: "a", 2: "a", 3: "b"}) == [0, 3, 1, 2]


def test_replicas_on_racks_as_in_kafkas_example():
    rows = place_replicas(KAFKAS, 7, 3, start=0, shift=0)
    assert rows == ((0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3), (0, 4, 2))


def test_one_broker_holds_everything():
    assert place_replicas({7: None}, 3, 1, 0, 0) == ((7,), (7,), (7,))
    assert place_replicas({7: "a"}, 3, 1, 0, 0) == ((7,), (7,), (7,))


@pytest.mark.parametrize("racks", [dict.fromkeys((1, 2, 3)), {1: "a", 2: "b", 3: "a"}])
def test_partitions_that_are_added_go_on_as_in_kafka(racks):
    """The count goes on from those that are there, the shift begins anew."""
    brokers = alternated(racks) if racks[1] else sorted(racks)
    rows = place_replicas(racks, 4, 2, start=1, shift=1, first=2)
    assert [row[0] for row in rows] == [brokers[(number + 1) % 3] for number in range(2, 6)]


def test_some_brokers_without_a_rack_are_refused():
    racks = {1: "a", 2: None, 3: "b"}
    assert not has_all_racks(racks)
    with pytest.raises(KafkaError, match=r"\[2\] have none") as failure:
        place_replicas(racks, 1, 2, 0, 0)
    assert failure.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert has_all_racks(without_racks(racks))
    assert place_replicas(without_racks(racks), 1, 2, 0, 0) == ((1, 2),)


@pytest.mark.parametrize("seed", range(60))
def test_properties_of_placements_by_lot(seed):
    chance = random.Random(seed)
    brokers = sorted(chance.sample(range(1000), chance.randint(1, 12)))
    names = [f"rack-{number}" for number in range(chance.randint(1, 5))]
    racks = {broker: chance.choice(names) for broker in brokers} if seed % 3 else dict.fromkeys(brokers)
    factor, partitions = chance.randint(1, len(brokers)), chance.randint(1, 80)
    start, shift = chance.randrange(len(brokers)), chance.randrange(len(brokers))
    rows = place_replicas(racks, partitions, factor, start, shift)
    assert len(rows) == partitions, seed
    assert all(len(set(row)) == factor and set(row) <= set(brokers) for row in rows), seed
    leaders = Counter(row[0] for row in rows)
    assert max(leaders.values()) - min(leaders[broker] for broker in brokers) <= 1, seed
    if seed % 3:
        count = len(set(racks.values()))
        for row in rows:
            assert len({racks[broker] for broker in row}) == min(count, factor), (seed, row)


@pytest.mark.parametrize("seed", range(10))
def test_replicas_are_even_where_racks_are(seed):
    """As many brokers in each rack, as many replicas as racks, whole rounds: every broker has as many."""
    chance = random.Random(seed)
    width, count = chance.randint(1, 4), chance.randint(2, 4)
    racks = {broker: f"rack-{broker % count}" for broker in range(width * count)}
    rows = place_replicas(racks, width * count * 3, count, chance.randrange(width * count), 0)
    held = Counter(broker for row in rows for broker in row)
    assert len(set(held.values())) == 1, (seed, held)
