"""The judge of compacted topics catches each class, and lets what compaction may do pass."""

import pytest

from tests.chaos.history import Outcome
from tests.chaos.key_judge import CLASSES, Kept, Write, judge_keys

OK, UNKNOWN = Outcome.OK, Outcome.UNKNOWN


def write(value, offset, key="k", outcome=OK):
    return Write(0, key, value, outcome, offset)


def kept(*records):
    return [Kept(0, offset, "k", value) for offset, value in records]


WRITES = [write("1", 0), write("2", 3), write("3", 5)]
DELETED = [*WRITES, write(None, 8)]

ANOMALOUS = {
    "key-lost": (WRITES, kept()),
    "key-brought-back": (DELETED, kept((0, "1"), (3, "2"))),
    "key-order": ([*WRITES, write("4", -1, outcome=UNKNOWN)], kept((5, "3"), (6, "1"))),
    "key-changed": (WRITES, kept((5, "x"))),
}

CLEAN = [
    ([], kept()),
    (WRITES, kept((0, "1"), (3, "2"), (5, "3"))),
    (WRITES, kept((5, "3"))),
    (DELETED, kept((8, None))),
    (DELETED, kept((5, "3"), (8, None))),
    (DELETED, kept()),
    ([*WRITES, write("4", -1, outcome=UNKNOWN)], kept((6, "4"))),
    ([*WRITES, write(None, -1, outcome=UNKNOWN)], kept()),
    ([*DELETED, write("4", -1, outcome=UNKNOWN)], kept((9, "4"))),
]


@pytest.mark.parametrize("kind", CLASSES)
def test_each_class_is_caught(kind):
    assert kind in {anomaly.kind for anomaly in judge_keys(*ANOMALOUS[kind])}


def test_an_older_value_in_the_place_of_the_last_is_told():
    assert [one.kind for one in judge_keys(WRITES, kept((3, "2")))] == ["key-lost"]


@pytest.mark.parametrize("number", range(len(CLEAN)))
def test_what_compaction_may_leave_passes(number):
    assert judge_keys(*CLEAN[number]) == []
