"""DeleteRecords that a kill undoes: of the last moments it may, of long ago not."""

from tests.chaos.checkpoint_judge import GRACE_S, INTERVAL_KEY, INTERVALS, judge_checkpoints
from tests.chaos.history import Crash, Create, Outcome, Trim

SETTINGS = {INTERVAL_KEY: "1000"}
BOUND_S = INTERVALS + GRACE_S


def trim(ended, low=50, topic="t", generation=0, outcome=Outcome.OK):
    return Trim(topic, generation, 0, low, low, outcome, ended - 0.1, ended)


def crash(at, written):
    return Crash(at, {("t", 0): written})


def test_a_checkpoint_that_is_late_is_an_anomaly():
    (found,) = judge_checkpoints([trim(100.0), crash(100 + BOUND_S + 0.1, 20)], SETTINGS)
    assert found.kind == "late-checkpoint"
    assert "finds 20" in found.text


def test_one_in_time_is_none():
    assert not judge_checkpoints([trim(100.0), crash(100 + BOUND_S + 0.1, 50)], SETTINGS)


def test_what_was_deleted_just_before_a_kill_may_come_back():
    assert not judge_checkpoints([trim(100.0), crash(100 + BOUND_S - 0.1, 20)], SETTINGS)


def test_the_interval_counts():
    assert not judge_checkpoints([trim(100.0), crash(120.0, 20)], {INTERVAL_KEY: "60000"})
    assert not judge_checkpoints([trim(100.0), crash(120.0, 20)], {})


def test_what_a_kill_before_undid_is_not_blamed_again():
    assert not judge_checkpoints([trim(100.0), crash(100.5, 20), crash(200.0, 20)], SETTINGS)


def test_a_topic_that_was_made_again_begins_anew():
    operations = [Create("t", 1, 0, 1), trim(100.0, generation=1), Create("t", 2, 101, 102), crash(150.0, 0)]
    assert not judge_checkpoints(operations, SETTINGS)


def test_what_is_not_acknowledged_or_not_there_is_not_owed():
    assert not judge_checkpoints([trim(100.0, outcome=Outcome.UNKNOWN), crash(150.0, 0)], SETTINGS)
    assert not judge_checkpoints([trim(100.0), Crash(150.0, {})], SETTINGS)
