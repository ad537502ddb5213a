"""Which target partition a record goes to, and which rule a topic is copied by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.partitioner import partition_in_python
from headrace.mirror.partitioner import AUTO, KEEP, KEY, KEYLESS_RUN, choose, target_partition


@given(st.binary(max_size=20), st.integers(0, 5), st.integers(0, 2**40), st.integers(1, 50))
def test_a_key_goes_where_a_java_producer_sends_it(key, partition, offset, count):
    assert target_partition(key, partition, offset, count) == partition_in_python(key, count)


def test_records_without_a_key_go_by_their_place_in_runs_to_all_partitions():
    runs = [
        {target_partition(None, 2, first + index, 5) for index in range(KEYLESS_RUN)}
        for first in range(0, 5 * KEYLESS_RUN, KEYLESS_RUN)
    ]
    assert runs == [{2}, {3}, {4}, {0}, {1}]


@pytest.mark.parametrize(
    ("target_count", "others", "expected"),
    [
        (0, (), KEEP),  # it is created
        (3, (), KEEP),
        (2, (), KEEP),  # it grows
        (5, (), KEY),
        (3, (3, 3), KEEP),
        (3, (2,), KEY),
        (0, (2,), KEY),
    ],
)
def test_auto_keeps_partitions_where_both_sides_can_have_the_same(target_count, others, expected):
    assert choose(AUTO, 3, target_count, others) == expected
    assert choose(KEEP, 3, target_count, others) == KEEP
    assert choose(KEY, 3, target_count, others) == KEY
