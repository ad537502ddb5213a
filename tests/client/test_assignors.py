from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from headrace.client.assignors import (
    ASSIGNORS,
    assign_range,
    assign_round_robin,
    decode_assignment,
    encode_assignment,
)
from headrace.errors import BadFrame
from headrace.ids import TopicPartition

TOPICS = ["a", "b", "c"]
subscriptions = st.dictionaries(
    st.sampled_from(["m0", "m1", "m2", "m3"]), st.lists(st.sampled_from(TOPICS), min_size=1, unique=True), min_size=1
)
counts = st.fixed_dictionaries({topic: st.integers(0, 7) for topic in TOPICS})


def test_range_gives_consecutive_partitions_topic_by_topic():
    found = assign_range({"m0": ["a", "b"], "m1": ["a", "b"]}, {"a": 3, "b": 1})
    assert found == {
        "m0": [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)],
        "m1": [TopicPartition("a", 2)],
    }


def test_round_robin_deals_all_partitions_in_turn():
    found = assign_round_robin({"m0": ["a", "b"], "m1": ["a", "b"]}, {"a": 3, "b": 1})
    assert found == {
        "m0": [TopicPartition("a", 0), TopicPartition("a", 2)],
        "m1": [TopicPartition("a", 1), TopicPartition("b", 0)],
    }


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
@given(subscriptions, counts)
def test_every_partition_goes_to_one_member_that_wants_it(name, wanted, partitions):
    found = ASSIGNORS[name](wanted, partitions)
    assert found.keys() == wanted.keys()
    given_out = [partition for share in found.values() for partition in share]
    subscribed = {topic for topics in wanted.values() for topic in topics}
    assert sorted(given_out) == sorted(
        TopicPartition(topic, index) for topic in subscribed for index in range(partitions[topic])
    )
    for member, share in found.items():
        assert {partition.topic for partition in share} <= set(wanted[member])


@given(st.integers(1, 5), counts)
def test_members_of_one_subscription_get_what_kafka_python_gives_them(members, partitions):
    wanted = {f"m{index}": TOPICS for index in range(members)}
    if not all(partitions.values()):
        return  # the oracle knows no topics without partitions
    for assign, oracle in ((assign_range, RangePartitionAssignor), (assign_round_robin, RoundRobinPartitionAssignor)):
        assert {member: sorted(share) for member, share in assign(wanted, partitions).items()} == _asked(
            oracle, wanted, partitions
        )


def _asked(oracle, wanted, partitions):
    cluster = SimpleNamespace(partitions_for_topic=lambda topic: set(range(partitions[topic])))
    members = [
        SimpleNamespace(member_id=member, group_instance_id=None, metadata=oracle.metadata(topics))
        for member, topics in wanted.items()
    ]
    return {
        member: sorted(TopicPartition(*name) for name in share.partitions())
        for member, share in oracle.assign(cluster, members).items()
    }


@given(st.sets(st.tuples(st.sampled_from(TOPICS), st.integers(0, 100))))
def test_assignments_come_back(partitions):
    names = [TopicPartition(*name) for name in partitions]
    assert decode_assignment(encode_assignment(names)) == sorted(names)


def test_a_later_version_is_read_as_far_as_we_know_it():
    names = [TopicPartition("t", 3)]
    later = b"\x00\x09" + encode_assignment(names)[2:] + b"more"
    assert decode_assignment(later) == names


def test_nothing_is_an_empty_assignment():
    assert decode_assignment(b"") == []


@pytest.mark.parametrize("data", [b"\x00", b"\xff\xff\x00", b"\x00\x00\x7f\xff\xff\xff"])
def test_nonsense_is_a_bad_frame(data):
    with pytest.raises(BadFrame):
        decode_assignment(data)
