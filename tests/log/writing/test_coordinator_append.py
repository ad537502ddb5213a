"""Batches that a coordinator writes in a producer's transaction: without a sequence, judged by the epoch alone."""

import pytest

from headrace.errors import ErrorCode
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, build_batch
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker

PRODUCER = 7


@pytest.fixture
def maker(tmp_path):
    return LogMaker(tmp_path)


def of_coordinator(epoch=0, sequence=-1):
    return memoryview(
        bytearray(
            build_batch(
                [(b"k", b"v")],
                timestamp_ms=NOW_MS,
                producer_id=PRODUCER,
                producer_epoch=epoch,
                base_sequence=sequence,
                attributes=TRANSACTIONAL_BIT,
            )
        )
    )


def append(log, batch, is_of_coordinator=True):
    ((error, offset, _time),) = log.append_as_leader([batch], 0, NOW_MS, is_of_coordinator)
    return ErrorCode(error), offset


def test_a_coordinator_needs_no_sequence_and_a_client_does(maker):
    log = maker.open()
    assert append(log, of_coordinator(), is_of_coordinator=False) == (ErrorCode.INVALID_RECORD, -1)
    assert append(log, of_coordinator(sequence=-2)) == (ErrorCode.INVALID_RECORD, -1)
    assert append(log, of_coordinator()) == (ErrorCode.NONE, 0)
    assert append(log, of_coordinator()) == (ErrorCode.NONE, 1), "no batch repeats another one"


def test_it_begins_a_transaction_that_its_marker_ends(maker):
    log = maker.open()
    append(log, of_coordinator())
    append(log, of_coordinator())
    assert log.producers.last_stable_offset(2) == 0
    assert log.append_marker(PRODUCER, 0, 0, False, 0, NOW_MS) == (0, 2)
    assert log.producers.last_stable_offset(3) == 3


def test_an_older_epoch_is_refused(maker):
    log = maker.open()
    append(log, of_coordinator(epoch=3))
    assert append(log, of_coordinator(epoch=2)) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert append(log, of_coordinator(epoch=4)) == (ErrorCode.NONE, 1)
    log.append_marker(PRODUCER, 5, 0, True, 0, NOW_MS)
    assert append(log, of_coordinator(epoch=4)) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)


def test_the_producer_is_known_after_the_log_is_opened_again(maker):
    log = maker.open()
    append(log, of_coordinator(epoch=3))
    log.close()
    log = maker.open()
    assert log.producers.producers[PRODUCER].batches == []
    assert log.producers.producers[PRODUCER].txn_first_offset == 0
    assert append(log, of_coordinator(epoch=2)) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert append(log, of_coordinator(epoch=3)) == (ErrorCode.NONE, 1)
