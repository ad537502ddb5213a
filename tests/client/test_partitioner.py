import random
from types import SimpleNamespace

import kafka.partitioner.default as oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.client import partitioner
from headrace.client.partitioner import StickyPartitions, murmur2_in_python, partition_in_python
from tests.support import walkers


@pytest.fixture(scope="module", params=["kernel", "python"])
def form(request):
    """(murmur2, partition_of) of either form."""
    if request.param == "python":
        return murmur2_in_python, partition_in_python
    kernel = walkers.built()
    if isinstance(kernel, str):
        pytest.skip(kernel)
    return kernel.murmur2, kernel.partition_of


@given(st.binary(max_size=100))
def test_keys_hash_as_other_clients_hash_them(form, key):
    assert form[0](key) == oracle.murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=100), st.integers(1, 50))
def test_keys_go_where_other_clients_send_them(form, key, count):
    cluster = SimpleNamespace(
        topics=lambda: {"t"},
        partitions_for_topic=lambda _topic: set(range(count)),
        available_partitions_for_topic=lambda _topic: set(range(count)),
    )
    assert form[1](key, count) == oracle.DefaultPartitioner().partition("t", key, key, None, None, cluster)


# what Kafka's own UtilsTest has, with the sign taken off
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
}


@pytest.mark.parametrize("key", KNOWN, ids=lambda key: key.decode()[:8])
def test_keys_hash_as_javas_client_hashes_them(form, key):
    assert form[0](key) == KNOWN[key] & 0xFFFFFFFF
    assert form[0](bytearray(key)) == form[0](memoryview(b"<" + key)[1:]) == form[0](key)


def test_a_topic_without_partitions_is_refused(form):
    for count in (0, -1):
        with pytest.raises(ValueError, match=f"count: {count} is not a number of partitions"):
            form[1](b"key", count)


def test_a_key_that_is_text_is_refused(form):
    with pytest.raises(TypeError):
        form[0]("text")


def test_the_names_of_the_module_are_of_one_form():
    assert partitioner.partition_of(b"key", 7) == partition_in_python(b"key", 7)
    assert partitioner.murmur2(b"key") == murmur2_in_python(b"key")


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
