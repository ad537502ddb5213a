"""Z5: the rebalancing algorithm, over every small group."""

import itertools
import random

import pytest

from headrace.classic.rebalance import (
    Snapshot,
    after_failure,
    assign,
    assigned_to,
    audit,
    member_of,
    plan,
    sorted_by_broker,
    stream_name,
)
from headrace.ids import TopicPartition


def one_topic(members, partitions):
    return Snapshot({name: {"t": count} for name, count in members.items()}, {"t": tuple(range(partitions))})


@pytest.mark.parametrize("partitions", range(8))
@pytest.mark.parametrize(
    "counts", [counts for size in range(1, 4) for counts in itertools.product(range(1, 4), repeat=size)]
)
def test_each_partition_has_one_owner_and_none_is_left_over(partitions, counts):
    members = {f"m{place}": count for place, count in enumerate(counts)}
    snapshot = one_topic(members, partitions)
    owners = assign(snapshot)
    assert sorted(owners) == [TopicPartition("t", number) for number in range(partitions)]
    each, extra = divmod(partitions, sum(counts))
    sizes = [
        sum(owner == stream_name(name, number) for owner in owners.values())
        for name in members
        for number in range(members[name])
    ]
    assert sizes == [each + (place < extra) for place in range(sum(counts))]
    parts = [assigned_to(name, snapshot) for name in members]
    assert sum(map(len, parts)) == partitions
    assert {name: owner for part in parts for name, owner in part.items()} == owners
    in_order = [owners[TopicPartition("t", number)] for number in range(partitions)]
    assert in_order == sorted(in_order), "neighbours"


def test_every_pair_of_subscriptions_to_two_topics():
    choices = [{}, {"a": 1}, {"b": 2}, {"a": 1, "b": 1}]
    for first, second, a, b in itertools.product(choices, choices, range(4), range(4)):
        snapshot = Snapshot({"m0": first, "m1": second}, {"a": tuple(range(a)), "b": tuple(range(b))})
        owners = assign(snapshot)
        wanted = {*first, *second}
        expected = {
            TopicPartition(topic, number)
            for topic, count in (("a", a), ("b", b))
            if topic in wanted
            for number in range(count)
        }
        assert owners.keys() == expected
        for name, owner in owners.items():
            assert name.topic in {"m0": first, "m1": second}[member_of(owner)]


def test_streams_sort_as_text_like_java():
    owners = assign(one_topic({"m": 11}, 11))
    assert owners[TopicPartition("t", 1)] == "m-1"
    assert owners[TopicPartition("t", 2)] == "m-10"
    supplementary, private = "\U00010000", "\ue000"  # units d800 dc00 and e000: Java has the first one first
    owners = assign(one_topic({private: 1, supplementary: 1}, 2))
    assert owners[TopicPartition("t", 0)] == f"{supplementary}-0"


def test_partitions_of_one_broker_are_neighbours():
    assert sorted_by_broker({0: 2, 1: 1, 2: 2, 3: 1}) == [(1, 1), (1, 3), (2, 0), (2, 2)]


def test_a_plan_releases_what_is_lost_and_claims_what_is_new():
    a, b, c = (TopicPartition("t", number) for number in range(3))
    found = plan({a: "m-0", b: "m-0"}, {b: "m-1", c: "m-0"})
    assert found.releases == (a, b)
    assert found.claims == ((b, "m-1"), (c, "m-0"))
    assert plan({a: "m-0"}, {a: "m-0"}) == plan({}, {})


def test_a_failed_attempt_releases_its_claims_and_waits_by_chance():
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    first = after_failure([b, a], 1, 2, 2000, 0.0)
    assert (first.releases, first.wait_ms, first.is_reported) == ((a, b), 1000, False)
    last = after_failure([], 2, 2, 2000, 0.75)
    assert (last.wait_ms, last.is_reported) == (2500, True)


def test_an_audit_finds_what_is_read_without_being_owned():
    a, b, c = (TopicPartition("t", number) for number in range(3))
    assert audit({a: "m-0", b: "m-0", c: "m-0"}, {a: "m-0", b: None, c: "x-0"}) == [b, c]


class Registry:
    """Owner nodes, and members that act on snapshots which may be old, in any order."""

    def __init__(self):
        self.owners = {}
        self.held = {}

    def attempt(self, member, snapshot):
        held = self.held[member]
        wanted = assigned_to(member, snapshot)
        todo = plan(held, wanted)
        for name in todo.releases:
            assert self.owners.pop(name) == held.pop(name)
        claimed = []
        for name, stream in todo.claims:
            if name in self.owners:
                for one in after_failure(claimed, 1, 4, 1, 0.0).releases:
                    assert self.owners.pop(one) == held.pop(one)
                return False
            self.owners[name] = held[name] = stream
            claimed.append(name)
        return True


@pytest.mark.parametrize("seed", range(200))
def test_groups_that_change_settle_with_one_owner_each(seed):
    chance = random.Random(seed)
    registry = Registry()
    partitions = {topic: tuple(range(chance.randint(0, 5))) for topic in ("a", "b")}
    numbers = itertools.count()
    for _step in range(6):
        for _change in range(chance.randint(1, 2)):
            if registry.held and chance.random() < 0.4:
                gone = chance.choice(sorted(registry.held))
                for name in registry.held.pop(gone):
                    del registry.owners[name]
            else:
                registry.held[f"m{chance.randint(0, 9)}-{next(numbers)}"] = {}
        old = Snapshot({name: {"a": 1, "b": 2} for name in list(registry.held)[:-1]}, partitions)
        new = Snapshot({name: {"a": 1, "b": 2} for name in registry.held}, partitions)
        for member in chance.sample(sorted(registry.held), len(registry.held)):
            registry.attempt(member, chance.choice((old, new)))
        for _round in range(4):
            for member in chance.sample(sorted(registry.held), len(registry.held)):
                registry.attempt(member, new)
        assert registry.owners == assign(new), f"seed {seed}"
