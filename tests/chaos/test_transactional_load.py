"""What the campaigns say of transactions: half ones, copies that are missing or there twice."""

from tests.chaos.history import Outcome, Poll, Record, Send, TransactionEnd
from tests.chaos.transactional_load import COPY, judge_copies, judge_money

READER = "final-t"


def send(value, partition, transaction):
    return Send("p", "t", 0, partition, (value,), Outcome.OK, 0, 0.0, 1.0, transaction)


def end(transaction, outcome=Outcome.OK):
    return TransactionEnd("p", transaction, outcome, 1.0, 2.0)


def read(topic, *records):
    found = tuple(Record(partition, offset, value) for partition, offset, value in records)
    return Poll(f"final-{topic}", topic, 0, found, 3.0, 4.0, reads_committed=True)


def money(*operations):
    return [one.kind for one in judge_money(operations, READER)]


def test_a_transaction_is_read_whole_or_not_at_all():
    sends = [send("a", 0, "x"), send("b", 1, "x")]
    assert money(*sends, end("x"), read("t", (0, 0, "a"), (1, 0, "b"))) == []
    assert money(*sends, end("x", Outcome.UNKNOWN), read("t")) == []
    assert money(*sends, end("x"), read("t", (0, 0, "a"))) == ["half-transaction"]
    assert money(*sends, end("x", Outcome.FAILED), read("t", (1, 0, "b"))) == ["half-transaction"]


def copies(offsets, *copied):
    source = read("s", (0, 0, "a"), (0, 1, "b"), (0, 2, "c"))
    return sorted(one.kind for one in judge_copies([source, read("t", *copied)], "s", "t", offsets))


def test_each_record_below_the_groups_offset_is_copied_once():
    a, b = (0, 0, f"x-1{COPY}a"), (0, 1, f"x-2{COPY}b")
    assert copies({0: 2}, a, b) == []
    assert copies({}, a, b) == [], "an offset that is behind says nothing"
    assert copies({0: 3}, a, b) == ["not-copied"]
    assert copies({0: 2}, a, b, (0, 2, f"y-1{COPY}b")) == ["copied-twice"]
    assert copies({0: 2}, a, b, (0, 2, f"y-1{COPY}z")) == ["copied-nothing"]
