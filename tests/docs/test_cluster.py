"""The table of what must not happen in a cluster: each row has a test that is there, or says why there is none."""

import re

import pytest

from tests.support.named_tests import TESTS, absent

LINES = (TESTS / "cluster.md").read_text().splitlines()
ROW = re.compile(r"\| (?P<what>[^|]+) \| (?:`(?P<path>[\w/]+\.py)::(?P<name>\w+)`|none: (?P<reason>[^|]+)) \|")
HEAD = re.compile(r"\| [^|]+ \| held by \|")
SECTIONS = [
    "Hazards of replication and control",
    "Versions between brokers",
    "ZooKeeper",
    "The controller's order, and its answers",
    "Replication",
    "Reassignment",
    "State machines, each cell",
]
WORDS_MAX = 14
# rows of the first table of hazards, by the numbers that they go by
HAZARDS = [
    "KAFKA-1211", "KAFKA-6361", "KAFKA-7415", "KAFKA-7128", "KAFKA-14704", "KAFKA-9835", "KAFKA-7395", "KAFKA-6082",
    "KAFKA-2729", "KAFKA-7165", "KAFKA-6879", "KAFKA-7235", "KAFKA-9539", "KAFKA-9672", "KAFKA-8836", "KAFKA-14617",
    "KIP-966", "KAFKA-9307", "KAFKA-9144", "KAFKA-7190", "KAFKA-14402", "KAFKA-10545", "KAFKA-12835", "KAFKA-13972",
    "KAFKA-14144", "KAFKA-14154", "KAFKA-10314", "KAFKA-15583", "KAFKA-13225", "RP-30285", "KAFKA-10794", "KAFKA-15221",
]  # fmt: skip


def rows():
    return [line for line in LINES if line.startswith("| ") and not HEAD.fullmatch(line)]


def test_each_row_has_a_test_that_is_there_or_a_reason():
    found = {line: ROW.fullmatch(line) for line in rows()}
    assert [line for line, row in found.items() if row is None] == []
    named = [(row["path"], row["name"]) for row in found.values() if row["path"]]
    assert absent(named) == []
    assert len(named) > 120


def test_no_row_stands_twice_and_each_is_read_at_a_glance():
    what = [ROW.fullmatch(line)["what"] for line in rows()]
    assert [one for one in what if what.count(one) > 1 or len(one.split()) > WORDS_MAX] == []
    assert [line.removeprefix("## ") for line in LINES if line.startswith("## ")] == SECTIONS


@pytest.mark.parametrize("number", HAZARDS)
def test_each_hazard_has_a_row(number):
    assert any(re.match(rf"\| {number}\b", line) for line in rows())
