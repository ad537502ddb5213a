"""How much a micro-batch reads: shares by lag, nobody starves, nothing beyond the end."""

import json
import random

import pytest

from headrace.ids import TopicPartition
from headrace.spark.stream_offsets import epochs_from_json, from_json, lag_of, prorated, to_json

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_the_json_is_the_connectors_and_always_in_one_order():
    many = {TopicPartition("a", number): number for number in (10, 9, 0)}
    assert json.dumps(to_json({B0: 1, **many})) == '{"a": {"0": 0, "9": 9, "10": 10}, "b": {"0": 1}}'
    assert from_json(json.loads('{"a":{"0":23,"1":42},"b":{"0":7}}')) == {A0: 23, A1: 42, B0: 7}


def test_leader_epochs_go_beside_the_offsets_in_a_topic_without_partitions():
    text = json.dumps(to_json({A0: 23, A1: 42, B0: 7}, {A0: 3, B0: 0}))
    assert text == (
        '{"a": {"0": 23, "1": 42}, "b": {"0": 7}, "leader epochs {\\"a\\": {\\"0\\": 3}, \\"b\\": {\\"0\\": 0}}": {}}'
    )
    found = json.loads(text)
    assert from_json(found) == {A0: 23, A1: 42, B0: 7}
    assert epochs_from_json(found) == {A0: 3, B0: 0}
    # as the connector reads it: Serialization.read[Map[String, Map[Int, Long]]], flattened
    assert {(topic, int(part)): at for topic, parts in found.items() for part, at in parts.items()} == {
        ("a", 0): 23,
        ("a", 1): 42,
        ("b", 0): 7,
    }
    assert epochs_from_json({"a": {"0": 23}}) == {}
    assert to_json({A0: 1}, {}) == {"a": {"0": 1}}


@pytest.mark.parametrize("found", [{"offset": 5}, {"a": {"x": 1}}, [1], {"a": {"0": None}}, 7])
def test_a_checkpoint_of_another_source_is_refused(found):
    with pytest.raises(ValueError, match="belongs to another source"):
        from_json(found)


# what KafkaMicroBatchStream.rateLimit gives: sizes of the lag, limit -> sizes that are read
SHARES = [
    ([100, 100], 10, [5, 5]),
    ([90, 10], 10, [9, 1]),
    ([1000, 1], 10, [9, 1]),  # the small one has one, though its share is less
    ([10, 10, 10], 10, [3, 3, 3]),
    ([1, 1, 1, 1], 2, [1, 1, 1, 1]),
    ([100, 0], 10, [10, 0]),
    ([5, 5], 100, [5, 5]),
    ([0, 0], 10, [0, 0]),
    ([2**62, 2**61], 2**62, [2**63 // 3, 2**62 // 3]),
]


@pytest.mark.parametrize(("sizes", "limit", "wanted"), SHARES)
def test_each_partition_has_its_share_of_the_limit(sizes, limit, wanted):
    starts = {TopicPartition("a", number): 7 * number for number in range(len(sizes))}
    ends = {name: start + size for (name, start), size in zip(starts.items(), sizes, strict=True)}
    found = prorated(limit, starts, ends)
    assert [found[name] - starts[name] for name in starts] == pytest.approx(wanted, rel=1e-9)


def test_whatever_the_lag_everything_is_read_in_the_end():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    lots = random.Random(seed)
    starts = {TopicPartition("a", number): lots.randrange(1000) for number in range(20)}
    ends = {name: start + lots.choice([0, 1, 50, 5000]) for name, start in starts.items()}
    for _ in range(2000):
        after = prorated(100, starts, ends)
        assert all(starts[name] <= after[name] <= ends[name] for name in ends)
        assert lag_of(starts, after) <= 100 + len(ends)
        if after == ends:
            return
        assert after != starts
        starts = after
    raise AssertionError("not read to the end")


def test_a_partition_that_went_back_is_no_lag():
    assert lag_of({A0: 10, A1: 5}, {A0: 4, A1: 9}) == 4
    assert prorated(2, {A0: 10, A1: 5}, {A0: 4, A1: 9}) == {A0: 4, A1: 7}
