"""Open transactions: which a coordinator will end, which hang, and which are over by the time that it is asked."""

import pytest

from headrace.client.admin import Listing, ProducerState, TransactionDescription
from headrace.client.engine.transaction_administration import TransactionListing
from headrace.client.open_transactions import (
    Found,
    OpenTransaction,
    Unanswered,
    find_hanging,
    is_known,
    is_old,
    is_same,
    judge,
    open_ones,
)
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def producer(producer_id=7, first_offset=5, last_timestamp_ms=1_000):
    return ProducerState(producer_id, 3, 0, last_timestamp_ms, first_offset)


def description(*partitions, name="x", producer_id=7, state="Ongoing"):
    return TransactionDescription(name, 1, producer_id, 3, state, 60_000, 900, partitions)


class Coordinators:
    """Has ids, and at each question for producers the next of its answers; the last one stays."""

    def __init__(self, ids, *producers, silent=()):
        self.ids = {one.transactional_id: one for one in ids}
        self.answers = list(producers)
        self.silent = silent
        self.asked = []

    def list(self, producer_ids):
        self.asked.append(("list", producer_ids))
        rows = [TransactionListing(one.transactional_id, 1, one.producer_id, one.state) for one in self.ids.values()]
        return Listing(tuple([row for row in rows if row.producer_id in producer_ids]), self.silent)

    def describe(self, name):
        self.asked.append(("describe", name))
        if self.ids[name].state == "expired":
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, name)
        return self.ids[name]

    def producers(self, names):
        self.asked.append(("producers", sorted(names)))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return {name: answer.get(name, ()) for name in names}


OPEN = OpenTransaction(T0, producer())


def test_only_producers_with_a_first_offset_have_one_open():
    rows = {T1: (producer(8, -1), producer(9, 4)), T0: (producer(7, 6), producer(6, 2))}
    assert [(one.name, one.first_offset) for one in open_ones(rows)] == [(T0, 2), (T0, 6), (T1, 4)]


@pytest.mark.parametrize(
    ("ids", "known"),
    [
        ([description(T0)], True),
        ([description(T0, T1, state="PrepareAbort")], True),
        ([description(T1)], False),
        ([description(state="Empty")], False),
        ([description(T0, producer_id=8)], False),
        ([description(T1, name="a"), description(T0, name="b")], True),
        ([], False),
    ],
)
def test_a_coordinator_ends_what_is_in_its_set_under_that_producer(ids, known):
    assert is_known(OPEN, ids) is known


@pytest.mark.parametrize(
    ("rows", "same"),
    [((producer(),), True), ((producer(first_offset=9),), False), ((producer(8),), False), ((), False)],
)
def test_a_later_transaction_of_the_producer_is_another_one(rows, same):
    assert is_same(OPEN, {T0: rows}) is same


@pytest.mark.parametrize(("now_ms", "old"), [(1_500, False), (1_501, True)])
def test_age_counts_from_the_last_batch(now_ms, old):
    assert is_old(OPEN, 500, now_ms) is old


def test_what_a_coordinator_has_is_known_and_the_leader_is_not_asked_again():
    admin = Coordinators([description(T0)])
    assert judge(admin, [OPEN]) == [Found(OPEN, (description(T0),), is_hanging=False)]
    assert admin.asked == [("list", [7]), ("describe", "x")]


def test_what_nobody_has_and_is_open_still_hangs():
    admin = Coordinators([description(state="Empty")], {T0: (producer(),)})
    assert judge(admin, [OPEN]) == [Found(OPEN, (description(state="Empty"),), is_hanging=True)]
    assert Coordinators([], {T0: (producer(),)}).ids == {}
    assert judge(Coordinators([], {T0: (producer(),)}), [OPEN]) == [Found(OPEN, (), is_hanging=True)]


@pytest.mark.parametrize("rows", [(), (producer(first_offset=-1),), (producer(first_offset=9),)])
def test_what_ended_between_the_two_questions_does_not_hang(rows):
    assert judge(Coordinators([], {T0: rows}), [OPEN]) == []


def test_an_id_that_expired_meanwhile_knows_nothing():
    admin = Coordinators([description(state="expired")], {T0: (producer(),)})
    assert judge(admin, [OPEN]) == [Found(OPEN, (), is_hanging=True)]


def test_while_a_coordinator_can_not_be_asked_nothing_is_said_to_hang():
    admin = Coordinators([], {T0: (producer(),)}, silent=(4, 1, 9, 12))
    with pytest.raises(Unanswered, match=r"t-0: .*__transaction_state-1, __transaction_state-4, .* and 1 others"):
        judge(admin, [OPEN])
    assert judge(Coordinators([description(T0)], silent=(1,)), [OPEN]), "what is known is told all the same"


def test_nothing_open_asks_nobody():
    admin = Coordinators([])
    assert judge(admin, []) == []
    assert admin.asked == []


def test_only_old_ones_are_searched_for():
    rows = {T0: (producer(7, 5, 1_000), producer(8, 6, 9_000)), T1: (producer(9, 2, 1_000),)}
    admin = Coordinators([description(T1, producer_id=9)], rows)
    found = find_hanging(admin, [T0, T1], older_than_ms=5_000, now_ms=10_000)
    assert [(one.transaction.name, one.transaction.producer.producer_id) for one in found] == [(T0, 7)]
    assert ("list", [7, 9]) in admin.asked
