"""Which logs are due for compaction, and which part of them."""

import pytest

from headrace.log.compaction.compaction_plan import CompactionPlan, plan_compaction
from headrace.log.config import LogConfig
from headrace.log.retention import SegmentFacts
from tests.support.fake_clock import NOW_MS

CONFIG = LogConfig(is_compacted=True, dirty_ratio_min=0.5)


def segments(*ages_ms, size=100):
    """Ten offsets and `size` bytes each, the last one active."""
    return [SegmentFacts(10 * index, 10 * index + 10, size, NOW_MS - age) for index, age in enumerate(ages_ms)]


def plan(config=CONFIG, checkpoint=-1, committed=1000, earliest_ms=-1, ages=(50, 40, 30, 20, 0)):
    return plan_compaction(segments(*ages), config, checkpoint, committed, earliest_ms, NOW_MS)


def test_a_log_never_compacted_is_dirty_up_to_its_active_segment():
    assert plan() == CompactionPlan(0, 40, 1.0)


@pytest.mark.parametrize(
    ("checkpoint", "expected"),
    [
        (10, CompactionPlan(10, 40, 0.75)),
        (15, CompactionPlan(15, 40, 0.75)),  # a segment that is dirty in part counts as dirty
        (20, None),  # half is not more than half
        (40, None),
        (-5, CompactionPlan(0, 40, 1.0)),
        (51, CompactionPlan(0, 40, 1.0)),  # behind the log's end: it was cut
    ],
)
def test_the_checkpoint_divides_clean_from_dirty(checkpoint, expected):
    assert plan(checkpoint=checkpoint) == expected


def test_a_checkpoint_before_the_first_segment_is_taken_for_the_logs_start():
    later = [
        one._replace(base_offset=one.base_offset + 100, end_offset=one.end_offset + 100) for one in segments(9, 8, 0)
    ]
    assert plan_compaction(later, CONFIG, 50, 1000, -1, NOW_MS) == CompactionPlan(100, 120, 1.0)


@pytest.mark.parametrize(("committed", "uncleanable"), [(40, 40), (39, 30), (25, 20), (10, 10)])
def test_nothing_uncommitted_is_touched(committed, uncleanable):
    assert plan(committed=committed).uncleanable_offset == uncleanable


def test_nothing_is_due_where_nothing_is_committed_or_rolled():
    assert plan(committed=9) is None
    assert plan(ages=(5,)) is None
    assert plan(ages=()) is None


def test_records_stay_for_the_lag_that_is_asked_for():
    assert plan(LogConfig(is_compacted=True, compaction_lag_min_ms=35)).uncleanable_offset == 20
    assert plan(LogConfig(is_compacted=True, compaction_lag_min_ms=60)) is None
    # What was compacted before is read whatever its age.
    assert (
        plan(LogConfig(is_compacted=True, compaction_lag_min_ms=25, dirty_ratio_min=0.1), 20).uncleanable_offset == 30
    )


def test_a_record_that_waits_for_too_long_makes_a_clean_log_due():
    config = LogConfig(is_compacted=True, dirty_ratio_min=0.9, compaction_lag_max_ms=25)
    assert plan(config, checkpoint=20, earliest_ms=NOW_MS - 25) is None
    assert plan(config, checkpoint=20, earliest_ms=NOW_MS - 26) == CompactionPlan(20, 40, 0.5)
    assert plan(config, checkpoint=40, earliest_ms=NOW_MS - 26) is None  # nothing to compact


def test_a_topic_that_is_not_compacted_is_never_due():
    assert plan(LogConfig(dirty_ratio_min=0.0)) is None
