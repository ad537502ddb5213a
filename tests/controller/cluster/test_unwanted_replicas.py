"""Replicas that nobody wants any more, as the topic's node names them."""

import json

import pytest

from headrace.controller.cluster.unwanted_replicas import FIELD, unwanted_of, with_unwanted
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import TopicAssignment

TOPIC = TopicAssignment("", ((1, 2), (2, 3)), others={"kept": 1})


def test_what_is_named_is_read_again_and_other_fields_stay():
    named = with_unwanted(TOPIC, {1: (4, 5), 0: ()})
    data = znodes.encode_topic(named)
    assert json.loads(data)[FIELD] == {"1": [4, 5]}
    found = znodes.decode_topic("t", data)
    assert unwanted_of(found) == {1: (4, 5)}
    assert with_unwanted(found, {}).others == {"kept": 1}
    assert unwanted_of(with_unwanted(found, {})) == {}


def test_the_last_one_takes_the_field_away():
    bare = TOPIC._replace(others=znodes.NO_FIELDS)
    assert with_unwanted(with_unwanted(bare, {0: (4,)}), {0: ()}) == bare


def test_who_is_wanted_again_is_not_named():
    assert unwanted_of(with_unwanted(TOPIC, {0: (2, 3)})) == {0: (3,)}
    assert unwanted_of(with_unwanted(TOPIC, {0: (2, 1)})) == {}


@pytest.mark.parametrize(
    "field",
    [None, 7, [], "x", {"x": [4]}, {"-1": [4]}, {"9": [4]}, {"0": 4}, {"0": ["4", None, True, 4.5]}, {"²": [4]}],
)
def test_a_field_that_is_none_of_ours_names_nobody(field):
    assert unwanted_of(TOPIC._replace(others={FIELD: field})) == {}
