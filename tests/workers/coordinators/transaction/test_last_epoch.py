"""The epoch 32767 fences producers and is nobody's: requests and logs may name it all the same."""

import pytest

from headrace.errors import ErrorCode as E
from headrace.workers.coordinators.transaction.events import Identity
from headrace.workers.coordinators.transaction.records import key_of, value_of
from headrace.workers.coordinators.transaction.state import TransactionState as S
from headrace.workers.coordinators.transaction.transaction import Entry
from tests.workers.coordinators.transaction.transaction_desk import ID, TIMEOUT_MS, A, Desk

FENCING = 32767


def loaded(state, epoch):
    """A coordinator that finds an id in this state in its log."""
    desk = Desk(loading=True)
    partitions = frozenset({A}) if state is S.ONGOING else frozenset()
    desk.log = [(key_of(ID), value_of(Entry(1000, epoch, TIMEOUT_MS, state, partitions, 1, 1)))]
    desk.producer_ids = iter([2000])
    desk.load()
    return desk


@pytest.mark.parametrize("epoch", [FENCING, -1])
def test_an_epoch_that_is_nobodys_is_fenced_though_the_id_has_it(epoch):
    desk = loaded(S.COMPLETE_ABORT, epoch)
    producer = (1000, epoch)
    for ticket in (desk.add(A, producer=producer), desk.end(producer=producer), desk.verify(A, producer=producer)):
        assert desk.error_of(ticket) is E.PRODUCER_FENCED
    assert desk.state == "CompleteAbort"


def test_a_transaction_that_was_fenced_with_it_can_not_be_gone_on_with():
    """It took the partition out: its abort by time wanted an epoch above, at each load again."""
    desk = Desk()
    desk.init()
    desk.transaction.epoch = FENCING - 1
    desk.add(A)
    desk.wait(TIMEOUT_MS + 10)
    assert desk.producer == (1000, FENCING)
    assert desk.error_of(desk.add(A)) is E.PRODUCER_FENCED
    assert desk.state == "CompleteAbort"


def test_a_transaction_that_a_log_has_open_at_it_times_out_with_it():
    desk = loaded(S.ONGOING, FENCING)
    desk.wait(TIMEOUT_MS + 10)
    assert desk.state == "CompleteAbort"
    assert desk.sent[-1].epoch == FENCING


def test_a_new_producer_aborts_it_and_gets_another_id():
    desk = loaded(S.ONGOING, FENCING)
    assert desk.answer(desk.init()) == Identity(2000, 0)
    assert desk.sent[-1].epoch == FENCING
