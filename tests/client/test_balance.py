import random
from collections import Counter

import pytest

from headrace.client.balance import Move, plan_moves
from headrace.ids import TopicPartition


def name(index, topic="t"):
    return TopicPartition(topic, index)


def partitions_of(*rows):
    return {name(index): tuple(row) for index, row in enumerate(rows)}


def after(partitions, moves):
    return {**partitions, **{move.name: move.after for move in moves}}


def counts(rows, brokers):
    held = Counter(broker for row in rows.values() for broker in row)
    return [held[broker] for broker in brokers]


def test_an_even_cluster_stays_as_it_is():
    partitions = partitions_of((1, 2), (2, 3), (3, 1))
    assert plan_moves(partitions, dict.fromkeys((1, 2, 3)), {}) == []
    assert plan_moves({}, dict.fromkeys((1, 2, 3)), {}) == []
    assert plan_moves(partitions, {}, {}) == []


def test_a_new_broker_gets_its_share_and_no_more_is_moved():
    partitions = partitions_of((1, 2), (2, 1), (1, 2), (2, 1), (1, 2), (2, 1))
    moves = plan_moves(partitions, dict.fromkeys((1, 2, 3)), {})
    assert sum(len(move.added) for move in moves) == 4
    assert counts(after(partitions, moves), (1, 2, 3)) == [4, 4, 4]


def test_small_partitions_and_followers_go_first():
    partitions = partitions_of((1,), (1,), (2,))
    sizes = {name(0): 10, name(1): 5, name(2): 5}
    assert plan_moves(partitions, dict.fromkeys((1, 2, 3)), sizes) == [Move(name(1), (1,), (3,), 5)]
    partitions = partitions_of((1, 2), (2, 1), (1, 2))
    sizes = {name(0): 100, name(1): 7, name(2): 100}
    [first, *_] = [move for move in plan_moves(partitions, dict.fromkeys((1, 2, 3)), sizes) if move.added]
    assert first.name in (name(0), name(1))
    assert first.size_bytes == sizes[first.name] * len(first.added)


def test_leaders_are_evened_out_by_another_order_alone():
    partitions = partitions_of((1, 2, 3), (1, 2, 3), (1, 3, 2))
    moves = plan_moves(partitions, dict.fromkeys((1, 2, 3)), {})
    assert [(move.added, move.removed, move.size_bytes) for move in moves] == [((), (), 0)] * 2
    assert sorted(row[0] for row in after(partitions, moves).values()) == [1, 2, 3]


def test_a_broker_without_a_share_is_emptied():
    partitions = partitions_of((1, 2), (2, 3), (3, 1))
    moves = plan_moves(partitions, dict.fromkeys((1, 2, 4)), {name(1): 9})
    assert counts(after(partitions, moves), (1, 2, 3, 4)) == [2, 2, 0, 2]
    assert {move.name: move.size_bytes for move in moves if move.added} == {name(1): 9, name(2): None}


def test_partitions_that_are_being_moved_stay():
    partitions = partitions_of((1,), (1,), (1,))
    moves = plan_moves(partitions, dict.fromkeys((1, 2)), {}, fixed=[name(0), name(1)])
    assert moves == [Move(name(2), (1,), (2,), None)]


def test_a_partition_is_never_on_fewer_racks():
    racks = {1: "a", 2: "b", 3: "b"}
    partitions = partitions_of((1, 2), (1, 2), (1, 2), (1, 2))
    moves = plan_moves(partitions, racks, {})
    assert all({racks[broker] for broker in row} == {"a", "b"} for row in after(partitions, moves).values())
    assert counts(after(partitions, moves), (1, 2, 3)) == [4, 2, 2]


@pytest.mark.parametrize("seed", range(40))
def test_plans_by_lot(seed):
    chance = random.Random(seed)
    brokers = list(range(chance.randint(2, 7)))
    racks = {broker: f"rack-{broker % 3}" for broker in brokers} if seed % 2 else dict.fromkeys(brokers)
    factor = chance.randint(1, len(brokers))
    partitions = partitions_of(*(chance.sample(brokers, factor) for _ in range(chance.randint(1, 40))))
    moves = plan_moves(partitions, racks, {one: chance.randrange(100) for one in partitions})
    result = after(partitions, moves)
    assert all(len(set(row)) == factor for row in result.values()), seed
    before, held = counts(partitions, brokers), counts(result, brokers)
    if not seed % 2:
        assert max(held) - min(held) <= 1, (seed, held)
        share = sum(before) // len(brokers)
        least = sum(max(0, share - count) for count in before)
        most = sum(max(0, count - share) for count in before)
        assert least <= sum(len(move.added) for move in moves) <= most, seed
    assert max(held) - min(held) <= max(before) - min(before), seed
    assert plan_moves(result, racks, {}) == [], (seed, "done once, it is done")
