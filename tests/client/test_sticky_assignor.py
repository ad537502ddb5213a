"""The sticky assignors by chance: every partition once, balanced, as few moved as can be, and never owned twice in two phases."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.client.group_protocol import (
    PROTOCOLS,
    assign,
    assignment_of,
    claim_of,
    protocol_named,
    subscription_of,
)
from headrace.client.sticky_assignor import (
    Claim,
    assign_cooperative,
    assign_sticky,
    decode_sticky_data,
    encode_sticky_data,
)
from headrace.errors import BadFrame
from headrace.ids import TopicPartition

pytestmark = pytest.mark.slow

TOPICS = "abc"
COUNTS = st.fixed_dictionaries({topic: st.integers(0, 7) for topic in TOPICS})
SUBSCRIPTIONS = st.dictionaries(
    st.sampled_from([f"m{index}" for index in range(6)]),
    st.sets(st.sampled_from(TOPICS), min_size=1).map(sorted),
    min_size=1,
)
HISTORY = st.lists(st.tuples(SUBSCRIPTIONS, COUNTS), min_size=1, max_size=5)


def wanted(subscriptions, counts):
    topics = {topic for names in subscriptions.values() for topic in names}
    return sorted(TopicPartition(topic, index) for topic in topics for index in range(counts[topic]))


def is_balanced(found, subscriptions):
    """No member could give one to another that has at least two fewer."""
    return not any(
        len(found[giver]) - len(found[taker]) >= 2 and any(name.topic in subscriptions[taker] for name in found[giver])
        for giver in found
        for taker in found
    )


@settings(max_examples=300, deadline=None)
@given(HISTORY)
def test_every_partition_once_balanced_and_only_to_who_subscribes(history):
    owned, generation = {}, 0
    for subscriptions, counts in history:
        claims = {
            member: Claim(topics, owned.get(member, ()), generation if member in owned else -1)
            for member, topics in subscriptions.items()
        }
        found = assign_sticky(claims, counts)
        assert sorted(name for names in found.values() for name in names) == wanted(subscriptions, counts)
        assert all(name.topic in subscriptions[member] for member, names in found.items() for name in names)
        assert is_balanced(found, subscriptions)
        assert (
            assign_sticky(
                {member: Claim(claims[member].topics, names, generation + 1) for member, names in found.items()}, counts
            )
            == found
        )
        owned, generation = found, generation + 1


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 6), st.integers(0, 30), st.integers(0, 5))
def test_a_member_that_leaves_moves_its_own_partitions_alone(members, count, gone):
    counts = {"a": count}
    names = [f"m{index}" for index in range(members)]
    before = assign_sticky({name: Claim(["a"]) for name in names}, counts)
    left = [name for index, name in enumerate(names) if index != gone % members]
    after = assign_sticky({name: Claim(["a"], before[name], 1) for name in left}, counts)
    assert all(set(before[name]) <= set(after[name]) for name in left)


@settings(max_examples=200, deadline=None)
@given(HISTORY)
def test_in_two_phases_no_partition_has_two_owners(history):
    owned, generation = {}, 0
    for subscriptions, counts in history:
        owned = {member: owned.get(member, []) for member in subscriptions}
        for _round in range(4):
            generation += 1
            claims = {member: Claim(subscriptions[member], owned[member], generation - 1) for member in subscriptions}
            found = assign_cooperative(claims, counts)
            for member, names in found.items():  # before anything is revoked, others still read what they have
                for other, theirs in owned.items():
                    assert other == member or not set(names) & set(theirs)
            is_stable = all(set(owned[member]) == set(names) for member, names in found.items())
            owned = found
            if is_stable:
                break
        assert is_stable, "it does not come to an end"
        assert sorted(name for names in owned.values() for name in names) == wanted(subscriptions, counts)


def test_of_two_claims_the_later_generation_counts_and_of_one_generation_neither():
    name, counts = TopicPartition("a", 0), {"a": 1}
    claims = {"x": Claim(["a"], [name], 3), "y": Claim(["a"], [name], 4)}
    assert assign_sticky(claims, counts) == {"x": [], "y": [name]}
    equal = {"x": Claim(["a"], [name], 4), "y": Claim(["a"], [name], 4)}
    assert assign_cooperative(equal, counts) == {"x": [], "y": []}


@given(st.lists(st.tuples(st.sampled_from("aä"), st.integers(0, 9)), unique=True), st.integers(-1, 9))
def test_sticky_data_is_read_as_it_was_written(owned, generation):
    names = sorted(TopicPartition(*one) for one in owned)
    assert decode_sticky_data(encode_sticky_data(names, generation)) == (names, generation)


@given(st.binary(max_size=60))
def test_other_bytes_are_no_claim_and_no_crash(data):
    decode_sticky_data(data)
    try:
        claim_of(PROTOCOLS["sticky"], data)
    except BadFrame:
        pass


@given(st.lists(st.text(max_size=20), unique=True), st.sampled_from(sorted(PROTOCOLS)))
def test_subscriptions_come_back_and_a_later_version_is_read_as_far_as_we_know_it(topics, name):
    protocol = PROTOCOLS[name]
    data = subscription_of(protocol, topics, [TopicPartition("a", 1)], [], 3, "r")
    for one in (data, b"\x00\x09" + data[2:] + b"more"):
        assert claim_of(protocol, one) == Claim(tuple(sorted(topics)), (TopicPartition("a", 1),), 3)


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_an_assignment_goes_over_the_wire_by_every_protocol(name):
    protocol = PROTOCOLS[name]
    last = [TopicPartition("a", 0)]
    members = [
        (member, None, subscription_of(protocol, ["a"], last if index == 0 else [], [], 3, None))
        for index, member in enumerate("xyz")
    ]
    assert protocol.topics(members) == ["a"]
    shares = assign(protocol, members, {"a": 5})
    given_out = [one for data in shares.values() for one in assignment_of(data)]
    assert sorted(given_out) == [TopicPartition("a", index) for index in range(5)]
    if protocol.is_sticky:
        assert last[0] in assignment_of(shares["x"])


def test_static_members_keep_their_places_whatever_their_ids_are():
    protocol = PROTOCOLS["range"]

    def shares(ids):
        members = [(ids[name], name, subscription_of(protocol, ["a"], [], [], -1, None)) for name in ("i", "j")]
        found = assign(protocol, members, {"a": 2})
        return {name: found[ids[name]] for name in ("i", "j")}

    assert shares({"i": "1", "j": "2"}) == shares({"i": "9", "j": "8"})


def test_an_unknown_assignor_is_named():
    with pytest.raises(ValueError, match=r"partition\.assignment\.strategy: 'fair'"):
        protocol_named("fair")
