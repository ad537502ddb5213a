"""Names that Kafka's `Topic.validate` lets through, and those that it refuses."""

import pytest

from headrace.limits import TOPIC_NAME_LENGTH_MAX
from headrace.workers.network.topic_names import is_valid_topic_name


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "-", "__consumer_offsets", "x" * TOPIC_NAME_LENGTH_MAX])
def test_letters_digits_and_three_signs_make_a_name(name):
    assert is_valid_topic_name(name)


@pytest.mark.parametrize(
    "name", [None, "", ".", "..", "a/b", "a b", "a\0", "a\n", "\n", "ä", "a:b", "x" * (TOPIC_NAME_LENGTH_MAX + 1)]
)
def test_what_no_directory_or_no_tool_should_meet_is_none(name):
    assert not is_valid_topic_name(name)
