"""Segments go some in each cycle, and other requests are served between: a thousand renames are a tenth of a second."""

import pytest

from headrace.errors import ErrorCode
from headrace.log.config import LogConfig
from headrace.shm.messages import REQUEST_HEADER, UPKEEP_RESULT
from headrace.workers.partition import segment_deletions
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch
from tests.workers.partition.test_upkeep import Pair

SEGMENTS = 8
AT_ONCE = 3


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """A log of some segments, of which a cycle deletes a few."""
    monkeypatch.setattr(segment_deletions, "DELETED_SEGMENTS_PER_CYCLE_MAX", AT_ONCE)
    pair = Pair(tmp_path, LogConfig(segment_bytes=200))
    assert len(pair.log.segment_bases) > SEGMENTS
    return pair


def ask(pair, bases, **given):
    """Leave a request with the owner; returns where its answer comes to."""
    answers = []
    assert pair.owners.delete_segments(pair.hosted(), bases, -1, lambda _error: None, **given)
    pair.mailbox._asked.clear()
    request = memoryview(pair.seat.ring_to_owner.requests.pop())
    _number, kind, version, _begun = REQUEST_HEADER.unpack_from(request)
    pair.upkeep.handlers()[kind](
        version, request[REQUEST_HEADER.size :], lambda body: answers.append(ErrorCode(UPKEEP_RESULT.unpack(body)[0]))
    )
    return answers


def test_a_request_goes_on_in_later_cycles(pair):
    bases = list(pair.log.segment_bases)
    answers = ask(pair, bases[:SEGMENTS])
    assert pair.log.segment_bases == bases, "the handler does nothing yet"
    for cycle in range(1, 4):
        assert not answers
        assert pair.upkeep.do_work() == 1
        assert pair.log.segment_bases == bases[min(AT_ONCE * cycle, SEGMENTS) :]
        assert pair.row.log_start_offset == bases[SEGMENTS], "it moves once, before the first file goes"
    assert answers == [ErrorCode.NONE]
    assert pair.upkeep.do_work() == 0


def test_requests_share_a_cycle_in_their_order(pair):
    bases = list(pair.log.segment_bases)
    first, second, third = ask(pair, bases[:1]), ask(pair, bases[:2]), ask(pair, bases[:SEGMENTS])
    pair.upkeep.do_work()
    assert (first, second, third) == ([ErrorCode.NONE], [ErrorCode.NONE], [])
    assert pair.log.segment_bases == bases[AT_ONCE:]


def test_requests_for_what_has_gone_count_as_well(pair):
    """Else a ring of them would be one piece of work."""
    bases = list(pair.log.segment_bases)
    pair.delete(bases[:2])
    answers = [ask(pair, bases[:2]) for _ in range(AT_ONCE + 1)]
    pair.upkeep.do_work()
    assert [len(one) for one in answers] == [1] * AT_ONCE + [0]


def test_a_log_that_is_cut_between_two_cycles_loses_nothing_more(pair):
    bases = list(pair.log.segment_bases)
    answers = ask(pair, bases[:SEGMENTS])
    pair.upkeep.do_work()
    pair.log.truncate_to(pair.log.log_end_offset - 1)
    pair.upkeep.do_work()
    assert answers == [ErrorCode.INVALID_REQUEST]
    assert pair.log.segment_bases[0] == bases[AT_ONCE]


def test_a_replica_that_goes_between_two_cycles_ends_its_request(pair):
    answers = ask(pair, list(pair.log.segment_bases)[:SEGMENTS])
    pair.upkeep.do_work()
    pair.upkeep._replicas.clear()
    assert pair.upkeep.do_work() == 1
    assert answers == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_the_active_segment_rolls_after_the_last_cycle(pair):
    bases = list(pair.log.segment_bases)
    answers = []
    pair.owners.delete_segments(pair.hosted(), bases, NOW_MS + 20, answers.append)
    pair.serve()
    assert answers == [ErrorCode.NONE]
    assert pair.log.segment_bases == [20]


def test_so_many_wait_and_no_more(pair, monkeypatch):
    monkeypatch.setattr(segment_deletions, "DELETED_SEGMENTS_WAITING_MAX", SEGMENTS)
    bases = list(pair.log.segment_bases)
    first, refused = ask(pair, bases[:SEGMENTS]), ask(pair, bases[:1])
    assert (first, refused) == ([], [ErrorCode.THROTTLING_QUOTA_EXCEEDED])
    while pair.upkeep.do_work():
        pass
    pair.log.append_as_leader([batch()], 0, NOW_MS)
    again = ask(pair, bases[:1])
    pair.upkeep.do_work()
    assert (first, again) == ([ErrorCode.NONE], [ErrorCode.NONE])
