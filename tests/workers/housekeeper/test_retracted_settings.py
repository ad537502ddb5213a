"""What is deleted or compacted over time is decided again with each request: a setting that is set back ends it."""

from dataclasses import replace

import pytest

from headrace.errors import ErrorCode
from headrace.log.config import LogConfig
from headrace.shm.cluster_view import EMPTY_VIEW
from headrace.workers.housekeeper import owners, retention_scan
from headrace.workers.partition import segment_deletions
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import batch
from tests.workers.housekeeper.test_cleaner import House, twice
from tests.workers.housekeeper.test_durable_log_starts import look
from tests.workers.housekeeper.test_housekeeper_storage import Node
from tests.workers.partition.test_upkeep import Pair

AT_ONCE = 10
LOWERED = {"segment.bytes": "300", "retention.bytes": "0"}
SET_BACK = {"segment.bytes": "300", "retention.bytes": "-1", "retention.ms": "-1"}
TURNS = 20


@pytest.fixture
def node(tmp_path, monkeypatch):
    """One log of many segments, all of which are to go."""
    for module in (retention_scan, owners):
        monkeypatch.setattr(module, "SEGMENTS_PER_REQUEST_MAX", AT_ONCE)
    node = Node(tmp_path, view_of(("t", 1, LOWERED)))
    log = node.fill(0)
    assert len(log.segment_bases) > 4 * AT_ONCE
    return node


def ask_again(node):
    count = node.housekeeper._retention.ask_again()
    node.housekeeper._mailbox.flush()
    return count


def log_of(node):
    return node.replicas.by_slot[0].log


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_retention_that_is_set_back_deletes_no_further(node, turns):
    """It was lowered by mistake. Whatever half of a request was answered, the log start stays where it is then."""
    look(node)
    for _ in range(turns):
        ask_again(node)
    log = log_of(node)
    start = log.log_start_offset
    assert 0 < start < log.log_end_offset
    node.follow(view_of(("t", 1, SET_BACK)))
    for _ in range(TURNS):
        ask_again(node)
    look(node)
    assert log.log_start_offset == start
    assert log.segment_bases[0] == start, "what lies before the log's start goes"


def test_retention_that_is_set_back_for_a_while_goes_on_with_the_next_check(node):
    look(node)
    node.follow(view_of(("t", 1, SET_BACK)))
    ask_again(node)
    node.follow(view_of(("t", 1, LOWERED)))
    for _ in range(TURNS):
        ask_again(node)
    assert log_of(node).log_start_offset < log_of(node).log_end_offset
    look(node)
    for _ in range(TURNS):
        ask_again(node)
    assert log_of(node).log_start_offset == log_of(node).log_end_offset


def test_a_policy_is_asked_before_each_request(node, monkeypatch):
    """It is code of others, which may look at more than settings."""
    asked = []

    def policy(facts, _config, log_start_offset, _now_ms):
        asked.append((len(facts), log_start_offset))
        return [one.base_offset for one in facts] if len(asked) < 3 else []

    monkeypatch.setattr(node.housekeeper._retention, "_policy", policy)
    look(node)
    for _ in range(TURNS):
        ask_again(node)
    count = asked[0][0]
    assert [left for left, _start in asked] == [count, count, count - AT_ONCE]
    assert asked[0][1] == 0 < asked[1][1] == asked[2][1] == log_of(node).segment_bases[0]


def test_a_request_that_was_judged_by_other_settings_is_refused_by_the_owner(node, monkeypatch):
    """The ring has it when the owner hears of the new ones."""
    monkeypatch.setattr(node.replicas, "follow", lambda *_: None)
    owner = node.seat.writers[1]
    commit = owner.commit
    log = log_of(node)

    def set_back_and_commit():
        log.config = replace(log.config, retention_bytes=-1)
        commit()

    monkeypatch.setattr(owner, "commit", set_back_and_commit)
    look(node)
    for _ in range(TURNS):
        ask_again(node)
    assert log.log_start_offset == 0


def test_a_deletion_ends_in_the_middle_of_a_request(node, monkeypatch):
    """The owner is at it for some cycles, and its settings change between two of them."""
    monkeypatch.setattr(segment_deletions, "DELETED_SEGMENTS_PER_CYCLE_MAX", 1)
    monkeypatch.setattr(node.housekeeper._retention, "_write_starts", lambda: set(node.dirs))
    look(node)
    log = log_of(node)
    start, first = log.log_start_offset, log.segment_bases[0]
    drop = log.delete_segments

    def drop_and_set_back(count):
        drop(count)
        log.config = replace(log.config, retention_bytes=-1)

    monkeypatch.setattr(log, "delete_segments", drop_and_set_back)
    for _ in range(TURNS):
        ask_again(node)
    assert log.log_start_offset == start == log.segment_bases[0] > first


def test_a_log_that_was_cut_meanwhile_is_looked_at_again(node, caplog):
    """Each further request had the segments of the first look, and was refused until the next check."""
    look(node)
    log = log_of(node)
    log.truncate_to(log.log_end_offset - 3)
    log.append_as_leader([batch()], 0, node.clock.ms)
    node.replicas.by_slot[0].high_watermark = log.log_end_offset
    node.replicas.by_slot[0].publish()
    for _ in range(3 * TURNS):
        ask_again(node)
    assert log.log_start_offset == log.log_end_offset
    assert "not deleted" not in caplog.text


def test_looks_that_come_to_nothing_end(node, monkeypatch, caplog):
    log = log_of(node)
    looks = []
    look_at = node.housekeeper._retention._look_at
    monkeypatch.setattr(
        node.housekeeper._retention,
        "_look_at",
        lambda hosted, *refusals: looks.append(refusals) or look_at(hosted, *refusals),
    )
    log.segments.changed_version = 1 << 62
    look(node)
    for _ in range(TURNS):
        ask_again(node)
    assert 1 < len(looks) < TURNS // 2
    assert "not deleted" in caplog.text


def test_a_log_that_was_deleted_or_released_meanwhile_is_left_alone(node):
    look(node)
    node.seat.view.publish(EMPTY_VIEW)
    assert ask_again(node) == 1
    assert ask_again(node) == 0


@pytest.mark.parametrize("change", [{"is_compacted": False}, {"delete_retention_ms": 1}, {"compaction_lag_min_ms": 5}])
def test_a_compaction_whose_settings_changed_takes_nothing_away(tmp_path, change):
    """The topic is not compacted any more, or keeps tombstones longer: what was written by the old settings is dropped."""
    house = House(tmp_path, log_cleaner_io_max_bytes_per_second=1_000)
    log = house.add("a", twice())
    size = log.size_bytes
    house.turn()
    running = house.cleaner._pass
    assert running is not None
    house.replicas[0] = house.replicas[0]._replace(config=replace(house.replicas[0].config, **change))
    for _ in range(1_000):
        house.clock.ms += 1_000
        house.turn()
        if house.cleaner._pass is not running:
            break
    assert house.cleaner._pass is None
    assert not house.owners.asked
    assert log.size_bytes == size
    assert not list(log.directory.glob("*.cleaned"))
    assert not house.cleaner._failures


def test_an_owner_takes_no_compacted_segments_of_a_topic_that_is_not_compacted_any_more(tmp_path):
    pair = Pair(tmp_path, LogConfig(segment_bytes=1000))
    bases = list(pair.log.segment_bases)
    pair.owners.swap_segments(pair.hosted(), [(bases[0], 70)], pair.told.append)
    pair.serve()
    assert pair.told == [ErrorCode.INVALID_REQUEST]
    assert pair.log.segment_bases == bases
