"""What failed is left alone, longer each time; the rest goes on, and what well may end the process does."""

import pytest

from headrace.errors import ConfigError, Fenced
from headrace.limits import QUARANTINE_ENTRIES_MAX, QUARANTINE_FIRST_MS, QUARANTINE_MAX_MS
from headrace.workers.housekeeper.quarantine import Quarantine
from tests.support.fake_clock import FakeClock


class Job:
    """Fails for as long as it is told to."""

    def __init__(self, failure=None):
        self.failure = failure
        self.runs = 0

    def __call__(self):
        self.runs += 1
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def quarantine(clock):
    return Quarantine(clock)


def test_what_fails_again_and_again_is_tried_seldom_and_never_given_up(quarantine, clock):
    job, waits = Job(ValueError("damaged")), []
    for _ in range(25):
        assert not quarantine.run("k", "t-0", job)
        runs, since_ms = job.runs, clock.ms
        while job.runs == runs:
            clock.ms += QUARANTINE_FIRST_MS
            quarantine.run("k", "t-0", job)
        waits.append(clock.ms - since_ms)
    assert waits == sorted(waits)
    assert waits[0] < waits[-1] <= QUARANTINE_MAX_MS + QUARANTINE_FIRST_MS


def test_what_did_well_once_begins_anew(quarantine, clock):
    job = Job(ValueError("damaged"))
    quarantine.run("k", "t-0", job)
    clock.ms += QUARANTINE_MAX_MS
    job.failure = None
    assert quarantine.run("k", "t-0", job)
    assert quarantine.run("k", "t-0", job), "at once"


def test_others_are_run_meanwhile(quarantine, caplog):
    assert not quarantine.run("k", "t-0", Job(ValueError("damaged")))
    assert quarantine.run("l", "t-1", Job())
    assert "housekeeping task failed, others continue what=t-0 failures=1" in caplog.text


@pytest.mark.parametrize("failure", [Fenced("replaced"), ConfigError("key", "x", "bad")])
def test_what_has_to_end_the_process_does(quarantine, failure):
    with pytest.raises(type(failure)):
        quarantine.run("k", "t-0", Job(failure))


@pytest.mark.slow
def test_jobs_that_come_and_go_leave_no_more_than_the_bound(quarantine):
    for key in range(QUARANTINE_ENTRIES_MAX + 10):
        quarantine.run(key, "t-0", Job(ValueError("damaged")))
    assert len(quarantine._failed) == QUARANTINE_ENTRIES_MAX
    assert quarantine.run(0, "t-0", Job()), "the oldest is forgotten"
    assert not quarantine.run(QUARANTINE_ENTRIES_MAX, "t-0", Job())
