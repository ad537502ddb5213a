import random
from types import SimpleNamespace

import kafka.partitioner.default as oracle
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.partitioner import StickyPartitions, murmur2, partition_of


@given(st.binary(max_size=100))
def test_keys_hash_as_other_clients_hash_them(key):
    assert murmur2(key) == oracle.murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=100), st.integers(1, 50))
def test_keys_go_where_other_clients_send_them(key, count):
    cluster = SimpleNamespace(
        topics=lambda: {"t"},
        partitions_for_topic=lambda _topic: set(range(count)),
        available_partitions_for_topic=lambda _topic: set(range(count)),
    )
    assert partition_of(key, count) == oracle.DefaultPartitioner().partition("t", key, key, None, None, cluster)


def test_records_without_a_key_stay_until_told_to_move_on():
    sticky = StickyPartitions(random.Random(1))
    first = sticky.current("t", (0, 1, 2))
    assert {sticky.current("t", (0, 1, 2)) for _ in range(20)} == {first}
    sticky.move_on("t", (0, 1, 2))
    assert sticky.current("t", (0, 1, 2)) != first


def test_a_partition_that_lost_its_leader_is_left():
    sticky = StickyPartitions(random.Random(1))
    first = sticky.current("t", (0, 1))
    assert sticky.current("t", (1 - first,)) == 1 - first
    sticky.move_on("t", (1 - first,))
    assert sticky.current("t", (1 - first,)) == 1 - first
