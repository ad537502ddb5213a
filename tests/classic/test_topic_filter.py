"""H3: which topics a whitelist and a blacklist allow."""

import pytest

from headrace.classic.registry import BLACK_LIST, STATIC, WHITE_LIST, Registration
from headrace.classic.topic_filter import Blacklist, Whitelist, streams_of
from headrace.errors import ConfigError


def test_a_whitelist_matches_whole_names():
    wanted = Whitelist("click.*, view")
    assert [name for name in ("click", "clicks", "aclick", "view", "views") if wanted.is_allowed(name)] == [
        "click",
        "clicks",
        "view",
    ]


def test_a_blacklist_is_the_rest():
    assert [name for name in ("click", "clicks", "view") if Blacklist("click.*").is_allowed(name)] == ["view"]


def test_internal_topics_are_left_out_unless_asked_for():
    assert not Whitelist(".*").is_allowed("__consumer_offsets")
    assert Whitelist(".*").is_allowed("__consumer_offsets", exclude_internal=False)


def test_an_invalid_regex_is_refused():
    with pytest.raises(ConfigError, match=r"'\(' for topic filter: not a regex"):
        Whitelist("(")


def test_streams_of_a_registration():
    topics = ["a", "b", "__consumer_offsets"]
    assert streams_of(Registration({"z": 2}, STATIC), topics) == {"z": 2}
    assert streams_of(Registration({".*": 2}, WHITE_LIST), topics) == {"a": 2, "b": 2}
    assert streams_of(Registration({"a": 3}, BLACK_LIST), topics) == {"b": 3}
