"""Which worker owns a partition, what a slot's key tells apart, and where Kafka looks for a group's coordinator."""

from collections import Counter

import pytest

from headrace.ids import TopicPartition, coordinator_partition, owner_of, partition_key
from headrace.limits import KEPT_KEY_LENGTH_MAX


def test_a_partitions_directory_is_its_text():
    assert str(TopicPartition("a.b-c", 7)) == "a.b-c-7"


def test_partitions_of_a_topic_are_dealt_out_to_the_workers_in_turn():
    assert Counter(owner_of("clicks", partition, 3) for partition in range(30)) == {0: 10, 1: 10, 2: 10}
    assert {owner_of("clicks", partition, 1) for partition in range(30)} == {0}


def test_a_topic_made_again_has_another_key():
    keys = {
        partition_key(topic, partition, topic_id)
        for topic in ("t", "t1")
        for partition in (0, 1, 11)
        for topic_id in ("", "id1", "id2")
    }
    assert len(keys) == 18
    assert all(0 <= key < 1 << 32 for key in keys)


# `"...".hashCode()` of Java, its absolute value modulo 50; the last two are the hash whose absolute value is none
@pytest.mark.parametrize(
    ("key", "partition"),
    [
        ("", 0),
        ("g", 103 % 50),
        ("hello", 99162322 % 50),
        ("polygenelubricants", 0),
        ("polygenelubricantt", 2147483647 % 50),
        ("ä", 228 % 50),
        ("😀", (31 * 0xD83D + 0xDE00) % 50),
    ],
)
def test_a_group_lies_where_kafka_looks_for_it(key, partition):
    assert coordinator_partition(key, 50) == partition


def test_a_name_too_long_to_be_kept_lies_at_the_same_place():
    key = "k" * (KEPT_KEY_LENGTH_MAX + 1)
    code = 0
    for letter in key:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    code = code - (1 << 32) if code >> 31 else code
    assert coordinator_partition(key, 50) == abs(code) % 50
