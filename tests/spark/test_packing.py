"""Ranges that share a task: every one once, by hosts, even, never fewer tasks than asked for."""

import random
from collections import Counter

from headrace.arrow.offset_range import OffsetRange
from headrace.limits import PACKED_RANGES_MAX
from headrace.spark.packing import RANGE_COST, TASKS_PER_CORE, packed, packed_at_most


def range_of(partition, count, hosts=("a",)):
    return OffsetRange("clicks", partition, 0, count, "", "", tuple((n, host, "/d") for n, host in enumerate(hosts)))


def weight(task):
    return sum(one.end - one.start + RANGE_COST for one in task)


def test_few_ranges_have_a_task_each():
    ranges = [range_of(number, 10) for number in range(8)]
    assert packed(ranges, 2) == [[one] for one in ranges]
    assert packed([], 2) == []


def test_four_hundred_small_partitions_make_some_tasks_a_core():
    tasks = packed([range_of(number, 100) for number in range(400)], 2)
    assert 2 * TASKS_PER_CORE <= len(tasks) <= 2 * TASKS_PER_CORE + 1
    assert max(map(len, tasks)) <= 50
    assert [one.partition for task in tasks for one in task] == list(range(400))


def test_a_large_range_is_alone_and_the_others_share():
    tasks = packed([range_of(0, 10**7), *(range_of(number, 100) for number in range(1, 100))], 2)
    assert [one.partition for one in tasks[0]] == [0]
    assert len(tasks) == 2


def test_hosts_are_not_mixed():
    ranges = [range_of(number, 100, (("a", "b"), ("b", "a"), ("c",))[number % 3]) for number in range(90)]
    tasks = packed(ranges, 1)
    assert all(len({frozenset(host for _i, host, _d in one.replicas) for one in task}) == 1 for task in tasks)
    assert any(len({one.replicas for one in task}) == 2 for task in tasks), "the order of replicas is no difference"


def test_never_fewer_tasks_than_asked_for_nor_more_ranges_in_one_than_the_bound():
    dice = random.Random(2)
    for _ in range(60):
        sizes = [dice.choice([0, 1, 100, 10**6]) for _ in range(dice.randrange(1, 300))]
        ranges = [range_of(number, size, dice.choice([("a",), ("b",)])) for number, size in enumerate(sizes)]
        least = dice.randrange(1, 400)
        tasks = packed(ranges, dice.randrange(1, 9), least)
        assert len(tasks) >= min(least, len(ranges))
        assert Counter(one for task in tasks for one in task) == Counter(ranges)
        assert all(tasks)
    many = packed([range_of(number, 0) for number in range(10 * PACKED_RANGES_MAX)], 1)
    assert max(map(len, many)) <= PACKED_RANGES_MAX


def test_a_thousand_ranges_in_at_most_some_tasks_as_even_as_can_be():
    dice = random.Random(4)
    for most in (1, 3, 8, 999, 1_000, 2_000):
        ranges = [
            range_of(number, dice.choice([1, 100, 10**6]), dice.choice([("a",), ("b",)])) for number in range(1_000)
        ]
        tasks = packed_at_most(ranges, most)
        assert len(tasks) == min(most, 1_000)
        assert Counter(one for task in tasks for one in task) == Counter(ranges)
        assert all(task == sorted(task, key=ranges.index) for task in tasks), "in their order"
        weights = [weight(task) for task in tasks]
        assert max(weights) - min(weights) <= max(weight([one]) for one in ranges)
        assert packed_at_most(list(ranges), most) == tasks, "a task that is repeated has the same ranges"
    assert packed_at_most([], 3) == []
