"""Each of Jepsen's 15 classes is caught in a small history, and its near miss passes.

A near miss differs from the history above it by the one thing that makes it wrong.
"""

import pytest

from tests.chaos import transaction_judge
from tests.chaos.history import FRESH, Commit, Outcome, Poll, Record, Send, TransactionEnd, Trim
from tests.chaos.judge import CLASSES, judge
from tests.chaos.transaction_judge import judge_transactions

OK, FAILED, UNKNOWN = Outcome.OK, Outcome.FAILED, Outcome.UNKNOWN
JEPSEN = (
    "duplicate",
    "int-poll-skip",
    "int-nonmonotonic-poll",
    "int-nonmonotonic-send",
    "int-send-skip",
    "inconsistent-offsets",
    "precommitted-read",
    "G1a",
    "lost-write",
    "nonmonotonic-poll",
    "nonmonotonic-send",
    "poll-skip",
    "unseen",
    "G0",
    "G1c",
)


def send(values, offset, at, tx="", partition=0, client="p", outcome=OK):
    return Send(client, "t", 0, partition, tuple(values.split()), outcome, offset, at, at + 0.5, tx)


def poll(records, at, tx="", partition=0, client="c", committed=True, buffered=True):
    """`records`: "0:a 1:b"."""
    found = tuple(Record(partition, int(o), v) for o, _, v in (one.partition(":") for one in records.split()))
    group = "g" if "#" in client else ""  # `m#1`: member and assignment
    return Poll(client, "t", 0, found, at, at + 0.5, -1, buffered, group, tx, committed)


def final(records, partition=0):
    return poll(records, 100, client=FRESH, partition=partition, buffered=False)


def end(tx, at, outcome=OK):
    return TransactionEnd("p", tx, outcome, at, at + 0.5)


def found_in(history):
    """Kinds of anomalies, by both judges, of a system that claims all that can be claimed."""
    return {one.kind for one in [*judge(history), *judge_transactions(history, has_isolated_writes=True)]}


A, B, C = send("a", 0, 1), send("b", 1, 2), send("c", 2, 3)
ABC = [A, B, C]
ALL = final("0:a 1:b 2:c")

# class: histories that show it, each with one that does not
PAIRS = {
    "duplicate": [
        ([A, B, final("0:a 1:b 2:a")], [A, B, C, final("0:a 1:b 2:c")]),
        (  # acknowledged at one offset, read at another
            [send("a", 1, 1), final("0:a")],
            [send("a", -1, 1), final("0:a")],  # the broker knew it again, and did not say where it is
        ),
    ],
    "int-poll-skip": [
        ([*ABC, poll("0:a 2:c", 4), ALL], [A, C, poll("0:a 2:c", 4), final("0:a 2:c")]),  # offset 1 is nobody's
        (  # two polls of one transaction
            [*ABC, poll("0:a", 4, "t"), poll("2:c", 5, "t"), end("t", 6), ALL],
            [*ABC, poll("0:a", 4, "t"), poll("1:b 2:c", 5, "t"), end("t", 6), ALL],
        ),
        (  # what was aborted is left out by who reads what is committed, and by nobody else
            [A, send("b", 1, 2, "x"), end("x", 3), C, poll("0:a 2:c", 5), ALL],
            [A, send("b", 1, 2, "x"), end("x", 3, FAILED), C, poll("0:a 2:c", 5), final("0:a 2:c")],
        ),
    ],
    "int-nonmonotonic-poll": [
        ([*ABC, poll("0:a 2:c 1:b", 4), ALL], [*ABC, poll("0:a 1:b 2:c", 4), ALL]),
        (
            [*ABC, poll("0:a 1:b", 4, "t"), poll("0:a", 5, "t"), end("t", 6), ALL],
            [*ABC, poll("0:a 1:b", 4, "t"), poll("2:c", 5, "t"), end("t", 6), ALL],
        ),
    ],
    "int-nonmonotonic-send": [
        ([send("a b", -1, 1, outcome=UNKNOWN), final("0:b 1:a")], [send("a b", 0, 1), final("0:a 1:b")]),
        (
            [send("a", 1, 1, "t"), send("b", 0, 2, "t"), end("t", 3), final("0:b 1:a")],
            [send("a", 0, 1, "t"), send("b", 1, 2, "t"), end("t", 3), final("0:a 1:b")],
        ),
    ],
    "int-send-skip": [
        (
            [send("a b", 0, 1), send("c", 1, 2, client="q"), final("0:a 1:c 2:b")],
            [send("a b", 0, 1), send("c", 2, 2, client="q"), final("0:a 1:b 2:c")],
        ),
        (  # half of a batch
            [send("a b c", 0, 1), final("0:a 1:b")],
            [send("a b c", 0, 1), Trim("t", 0, 0, 1, 1, OK, 2, 2.5), final("1:b 2:c")],
        ),
    ],
    "inconsistent-offsets": [
        (  # a consumer read what another leader wrote over
            [A, send("u", -1, 2, outcome=UNKNOWN), poll("1:u", 3), send("b", 1, 4), final("0:a 1:b")],
            [A, send("u", -1, 2, outcome=UNKNOWN), poll("0:a", 3), send("b", 1, 4), final("0:a 1:b")],
        ),
        ([A, send("b", 0, 2, client="q"), final("0:a")], [A, send("b", 1, 2, client="q"), final("0:a 1:b")]),
    ],
    "precommitted-read": [
        (  # its own record
            [send("a", 0, 1, "t"), poll("0:a", 2, "t"), end("t", 3), final("0:a")],
            [send("a", 0, 1, "t"), end("t", 2), poll("0:a", 3, "s"), end("s", 4), final("0:a")],
        ),
        (  # another's, before it asked to commit
            [send("a", 0, 1, "t"), poll("0:a", 2), end("t", 3), final("0:a")],
            [send("a", 0, 1, "t"), poll("0:a", 2.8), end("t", 3), final("0:a")],  # at the same time
        ),
        (
            [send("a", 0, 1, "t"), poll("0:a", 2), end("t", 3), final("0:a")],
            [send("a", 0, 1, "t"), poll("0:a", 2, committed=False), end("t", 3), final("0:a")],  # it asked for that
        ),
    ],
    "G1a": [
        (  # a send that failed
            [A, send("f", -1, 2, outcome=FAILED), final("0:a 1:f")],
            [A, send("u", -1, 2, outcome=UNKNOWN), final("0:a 1:u")],
        ),
        (  # a transaction that was aborted
            [send("a", 0, 1, "t"), end("t", 2, FAILED), poll("0:a", 3), final("")],
            [send("a", 0, 1, "t"), end("t", 2, FAILED), poll("0:a", 3, committed=False), final("")],
        ),
    ],
    "lost-write": [
        ([A, B, final("0:a")], [A, send("b", -1, 2, outcome=UNKNOWN), final("0:a")]),
        (  # it was read
            [A, send("u", -1, 2, outcome=UNKNOWN), poll("0:a 1:u", 3), final("0:a")],
            [A, send("u", -1, 2, outcome=UNKNOWN), poll("0:a", 3), final("0:a")],
        ),
        (  # of a transaction that was committed
            [A, send("b", 1, 2, "t"), end("t", 3), final("0:a")],
            [A, send("b", 1, 2, "t"), end("t", 3, FAILED), final("0:a")],
        ),
    ],
    "nonmonotonic-poll": [
        ([*ABC, poll("0:a 1:b", 4), poll("1:b 2:c", 5), ALL], [*ABC, poll("0:a 1:b", 4), poll("2:c", 5), ALL]),
        (  # a member may read again in another assignment
            [*ABC, poll("0:a 1:b", 4, client="m#1"), poll("0:a", 5, client="m#1"), poll("1:b 2:c", 6, client="m#1"), ALL],
            [*ABC, poll("0:a 1:b", 4, client="m#1"), poll("0:a 1:b 2:c", 5, client="m#2"), ALL],
        ),
    ],
    "nonmonotonic-send": [
        (
            [send("a", 1, 1), send("b", 0, 2), final("0:b 1:a")],
            [send("a", 1, 1), send("b", 0, 2, client="q"), final("0:b 1:a")],  # of two clients
        ),
    ],
    "poll-skip": [
        ([*ABC, poll("0:a", 4), poll("2:c", 5), ALL], [*ABC, poll("0:a", 4), poll("1:b 2:c", 5), ALL]),
        (
            [*ABC, poll("0:a", 4, client="m#1"), poll("2:c", 5, client="m#1"), ALL],
            [*ABC, poll("0:a 1:b", 4, client="m#1"), poll("2:c", 5, client="m#2"), ALL],
        ),
    ],
    "unseen": [
        ([*ABC, poll("0:a", 4), poll("2:c", 5), ALL], [*ABC, poll("0:a", 4), poll("1:b", 5), ALL]),  # not there yet
    ],
    "G0": [
        (
            [send("a", 0, 1, "t"), send("b", 1, 2, "s"), send("c", 0, 1, "s", 1), send("d", 1, 2, "t", 1),
             end("t", 3), end("s", 3), final("0:a 1:b"), final("0:c 1:d", 1)],
            [send("a", 0, 1, "t"), send("b", 1, 2, "s"), send("d", 0, 1, "t", 1), send("c", 1, 2, "s", 1),
             end("t", 3), end("s", 3), final("0:a 1:b"), final("0:d 1:c", 1)],
        ),
        (  # one of them was aborted
            [send("a", 0, 1, "t"), send("b", 1, 2, "s"), send("c", 0, 1, "s", 1), send("d", 1, 2, "t", 1),
             end("t", 3), end("s", 3), final("0:a 1:b"), final("0:c 1:d", 1)],
            [send("a", 0, 1, "t"), send("b", 1, 2, "s"), send("c", 0, 1, "s", 1), send("d", 1, 2, "t", 1),
             end("t", 3), end("s", 3, FAILED), final("0:a"), final("1:d", 1)],
        ),
    ],
    "G1c": [
        (  # each read what the other wrote
            [send("a", 0, 1, "t"), send("b", 0, 1, "s", 1), poll("0:b", 2.9, "t", 1), poll("0:a", 2.9, "s"),
             end("t", 3), end("s", 3), final("0:a"), final("0:b", 1)],
            [send("a", 0, 1, "t"), send("b", 0, 1, "s", 1), poll("0:a", 2.9, "s"),
             end("t", 3), end("s", 3), final("0:a"), final("0:b", 1)],
        ),
        (  # it read from one that wrote after it
            [send("a", 0, 1, "t"), send("b", 1, 1, "s"), send("c", 0, 1, "s", 1), poll("0:c", 2.9, "t", 1),
             end("t", 3), end("s", 3), final("0:a 1:b"), final("0:c", 1)],
            [send("a", 1, 1, "t"), send("b", 0, 1, "s", client="q"), send("c", 0, 1, "s", 1), poll("0:c", 2.9, "t", 1),
             end("t", 3), end("s", 3), final("0:b 1:a"), final("0:c", 1)],
        ),
        (  # whose end nobody knows, and a record of which was seen
            [send("a", 0, 1, "t"), send("b", 0, 1, "s", 1), poll("0:b", 2.9, "t", 1), poll("0:a", 2.9, "s"),
             end("t", 3), end("s", 3, UNKNOWN), final("0:a"), final("0:b", 1)],
            [send("a", 0, 1, "t"), send("b", 0, 1, "s", 1), poll("0:a", 2.9, "s"),
             end("t", 3), end("s", 3, UNKNOWN), final("0:a"), final("", 1)],
        ),
    ],
}  # fmt: skip


def test_all_of_them_are_known():
    assert set(JEPSEN) == PAIRS.keys()
    assert set(JEPSEN) <= {*CLASSES, *transaction_judge.CLASSES}


@pytest.mark.parametrize("kind", JEPSEN)
def test_each_class_is_caught(kind):
    for history, _near_miss in PAIRS[kind]:
        assert kind in found_in(history), history


@pytest.mark.parametrize("kind", JEPSEN)
def test_its_near_miss_is_not_it(kind):
    for _history, near_miss in PAIRS[kind]:
        assert kind not in found_in(near_miss), near_miss


def test_a_near_miss_is_clean_of_everything_else():
    """One that passes since it shows something else would hold nothing."""
    assert not [near_miss for pairs in PAIRS.values() for _history, near_miss in pairs if found_in(near_miss)]


def test_what_a_group_committed_past_one_of_its_members_was_given():
    commit = Commit("g", "t", 0, 0, 3, OK, 6, 6.5)
    given = [poll("0:a", 4, client="m#1"), poll("2:c", 5, client="n#1")]
    assert "unseen" in found_in([*ABC, *given, commit, ALL])
    assert not found_in([*ABC, *given, commit._replace(offset=1), ALL])
    other = poll("1:b", 5, client="o#1")
    assert not found_in([*ABC, *given, other, commit, ALL])


def test_cycles_of_writes_are_legal_where_writes_are_not_isolated():
    for history, _near_miss in PAIRS["G0"]:
        assert not judge_transactions(history)
    reads_alone, through_writes, _unknown = (history for history, _near_miss in PAIRS["G1c"])
    assert {one.kind for one in judge_transactions(reads_alone)} == {"G1c"}
    assert not judge_transactions(through_writes)


def test_a_chain_of_a_thousand_transactions_is_no_cycle_and_a_ring_of_them_is_one():
    chain = [op for n in range(1000) for op in (send(f"v{n}", n, n, f"t{n}"), end(f"t{n}", n + 0.5))]
    reads = [poll(f"{n}:v{n}", n + 0.9, f"t{n + 1}", client=f"c{n}") for n in range(999)]
    assert not judge_transactions([*chain, *reads])
    back = poll("999:v999", 999.9, "t0", client="back")
    assert [one.kind for one in judge_transactions([*chain, *reads, back])] == ["G1c"]
