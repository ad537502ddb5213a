"""What a node still owes of what it acknowledged."""

import pytest

from headrace.ids import TopicPartition
from tests.chaos.ledger import Ledger

T = TopicPartition("t", 0)


@pytest.fixture
def ledger():
    ledger = Ledger()
    ledger.acknowledge(T, 0, ["a", "b", "c"])
    ledger.acknowledge(T, 3, ["d"])
    return ledger


def test_all_that_was_acknowledged_is_owed(ledger):
    assert not ledger.judge(T, {0: "a", 1: "b", 2: "c", 3: "d", 4: "more"})
    (gone,) = ledger.judge(T, {0: "a", 3: "d"})
    assert gone.kind == "lost-write"
    assert "2 acknowledged records are gone, the first at 1, the last at 2" in gone.text


def test_another_value_at_an_offset_is_another_anomaly(ledger):
    (other,) = ledger.judge(T, {0: "a", 1: "x", 2: "c", 3: "d"})
    assert other.kind == "inconsistent-offsets"
    assert "b at 1 is x" in other.text


def test_what_the_disk_lost_and_what_was_deleted_is_not_owed(ledger):
    assert ledger.cut(T, 2) == 2
    assert ledger.trim(T, 1) == 1
    assert not ledger.judge(T, {1: "b", 2: "anything"})
    assert ledger.end(T) == 2


def test_what_is_acknowledged_after_a_loss_is_owed(ledger):
    ledger.cut(T, 2)
    ledger.acknowledge(T, 2, ["new"])
    (other,) = ledger.judge(T, {0: "a", 1: "b", 2: "c", 3: "d"})
    assert "new at 2 is c" in other.text


def test_a_partition_of_which_nothing_is_known(ledger):
    assert ledger.end(TopicPartition("t", 1)) == 0
    assert len(ledger) == 4
