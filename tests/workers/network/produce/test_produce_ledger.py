"""What became of each partition of a Produce: settled once, answered with the last one, and no row costs more for the others."""

from types import SimpleNamespace

import pytest

from headrace.errors import ErrorCode
from headrace.shm.messages import RESULT_TEXT_HEADER
from headrace.workers.network.produce.produce_ledger import PendingProduce, ProduceLedger
from tests.support.counted import CountedList, Counter

REFUSED = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
UNKNOWN = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.fixture
def answered():
    return []


def pending_of(topics, answered, refused=None):
    connection = SimpleNamespace(refused={} if refused is None else refused, missing={}, produces=0)
    connection.settle_produce = lambda: None
    exchange = SimpleNamespace(connection=connection)
    count = sum(len(partitions) for _name, partitions in topics)
    return PendingProduce(exchange, topics, count, answered.append, lambda: True)


def test_the_last_result_answers_and_a_second_one_changes_nothing(answered):
    pending = pending_of([("t", [0, 1]), ("u", [5])], answered)
    for index in (2, 0, 0):
        pending.settle(index, (0, 7, -1, 0))
    assert not answered
    pending.settle(1, (UNKNOWN, -1, -1, -1))
    pending.settle(1, (0, 9, -1, 0))
    assert answered == [pending]
    assert [result[0] for result in pending.results] == [0, UNKNOWN, 0]


def test_a_refusal_is_noted_of_the_partition_that_it_is_about(answered):
    refused = {}
    pending = pending_of([("t", [3, 1]), ("u", []), ("v", [7])], answered, refused)
    for index in range(3):
        pending.settle(index, (REFUSED, -1, -1, -1))
    assert refused.keys() == {("t", 3), ("t", 1), ("v", 7)}


@pytest.mark.parametrize("shape", ["a topic each", "one topic"])
def test_a_request_of_many_refused_rows_is_walked_once(answered, shape):
    """One of 0.8 MB stood a worker still for 30 s: each row searched the topics from the first one on."""
    rows, walks = 500, Counter()
    topics = [(f"x{n}", [n]) for n in range(rows)] if shape == "a topic each" else [("x", list(range(rows)))]
    pending = pending_of(CountedList([(name, CountedList(parts, walks)) for name, parts in topics], walks), answered)
    walks.count = 0
    for index in range(rows):
        pending.settle(index, (UNKNOWN, -1, -1, -1))
    assert answered
    assert walks.count <= len(topics) + 2


def test_what_is_kept_of_one_row_does_not_copy_what_is_kept_of_the_others(answered):
    pending = pending_of([("t", [0, 1])], answered)
    pending.keep_text(0, "first")
    pending.keep_record_errors(0, [3], "why")
    texts, errors = pending.texts, pending.record_errors
    pending.keep_text(1, "second")
    pending.keep_record_errors(1, [4], "why not")
    assert pending.texts is texts == {0: "first", 1: "second"}
    assert pending.record_errors is errors == {0: ([3], "why"), 1: ([4], "why not")}


def test_a_text_that_comes_before_its_result_is_kept(answered):
    ledger = ProduceLedger()
    pending = pending_of([("t", [0])], answered)
    ledger.open(7, pending)
    ledger.take_text(memoryview(RESULT_TEXT_HEADER.pack(7, 0) + b"why"))
    assert pending.texts == {0: "why"}
