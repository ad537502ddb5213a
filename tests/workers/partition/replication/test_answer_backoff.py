"""A leader whose answers are of no use is asked again: at once, then ever later, up to a bound."""

from headrace.limits import FETCH_PAUSE_FIRST_MS
from headrace.workers.partition.replication.answer_backoff import AnswerBackoff

MOST_MS = 1_000


def test_pauses_are_doubled_up_to_the_setting():
    backoff, pauses = AnswerBackoff(MOST_MS), []
    for _ in range(100):
        backoff.note_failure(0, 0)
        pauses.append(backoff.until_ms)
    assert pauses[:3] == [0, 2 * FETCH_PAUSE_FIRST_MS, 4 * FETCH_PAUSE_FIRST_MS]
    assert max(pauses) == pauses[-1] == MOST_MS


def test_the_first_failure_costs_nothing_and_a_success_forgives_them_all():
    backoff = AnswerBackoff(MOST_MS)
    backoff.note_failure(0, 0)
    assert backoff.is_over(0)
    backoff.note_failure(0, 0)
    assert not backoff.is_over(2 * FETCH_PAUSE_FIRST_MS - 1)
    assert backoff.is_over(2 * FETCH_PAUSE_FIRST_MS)
    assert backoff.until_ms == 0
    backoff.note_success()
    backoff.note_failure(5_000, 0)
    assert backoff.is_over(5_000)


def test_a_leader_may_ask_for_a_longer_one():
    backoff = AnswerBackoff(MOST_MS)
    backoff.note_failure(100, 5_000)
    assert not backoff.is_over(5_099)
    assert backoff.is_over(5_100)
