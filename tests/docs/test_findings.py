"""The table of findings: each row has a test that is there, or says why there is none."""

import re

from tests.support.named_tests import TESTS, absent

TABLE = TESTS / "findings.md"
REPORTS = [
    "correctness.md", "faults.md", "clients.md", "operator.md, part A", "spark.md",
    "cluster.md", "node.md", "public-reports.md", "spark.md, issue 30",
    "third review", "fourth review", "fifth review", "sixth review", "seventh review",
    "eighth review", "ninth review", "tenth review",
    "client side",
]  # fmt: skip
ROW = re.compile(
    r"\| (?P<number>[^|]+) \| (?P<finding>[^|]+) \| (?:`(?P<path>[\w/]+\.py)::(?P<name>\w+)`|none: (?P<reason>[^|]+)) \|"
)
LINE_CHARACTERS_MAX = 180
WORDS_MAX = 10


def rows():
    lines = TABLE.read_text().splitlines()
    return [line for line in lines if line.startswith("| ") and not line.startswith("| |")]


def test_each_finding_has_a_test_that_is_there_or_a_reason():
    found = {line: ROW.fullmatch(line) for line in rows()}
    assert [line for line, row in found.items() if row is None] == []
    named = [(row["path"], row["name"]) for row in found.values() if row["path"]]
    assert absent(named) == []
    assert len(named) > 100


def test_the_table_is_read_at_a_glance():
    lines = TABLE.read_text().splitlines()
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == REPORTS
    assert [line for line in lines if len(line) > LINE_CHARACTERS_MAX] == []
    assert [row for row in rows() if len(row.split(" | ")[1].split()) > WORDS_MAX] == []
