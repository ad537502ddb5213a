"""Retention of a log with tens of thousands of segments: linear, with signs of life, and so many at a time that a request holds them.

Holds: workers/housekeeper/retention_scan.py, log/reading/segment_facts.py, workers/housekeeper/lag_scan.py
"""

import pytest

from headrace.log.reading import segment_facts as facts_module
from headrace.log.retention import SegmentFacts
from headrace.shm.counters import SEGMENTS_DELETED
from headrace.workers.housekeeper import owners, retention_scan
from tests.support.fake_seat import view_of
from tests.workers.housekeeper.test_durable_log_starts import look
from tests.workers.housekeeper.test_housekeeper_storage import Node

MANY = 20_000
AT_ONCE = 10


class Counted(int):
    """A base offset that knows how often it was looked for."""

    looked_up = 0

    def __hash__(self):
        Counted.looked_up += 1
        return int.__hash__(self)

    def __eq__(self, other):
        return int.__eq__(self, other)


def test_each_segment_is_looked_up_once(tmp_path, monkeypatch):
    node = Node(tmp_path, view_of(("t", 1)))
    node.fill(0)
    facts = [SegmentFacts(Counted(base), base + 1, 70, 1) for base in range(MANY)]
    monkeypatch.setattr(retention_scan, "segment_facts", lambda *_: facts)
    monkeypatch.setattr(node.housekeeper._retention, "_policy", lambda *_: [one.base_offset for one in facts])
    Counted.looked_up = 0
    assert node.housekeeper._retention.run() == 1
    assert Counted.looked_up <= 2 * MANY


def test_facts_of_many_segments_are_read_with_signs_of_life(tmp_path, monkeypatch):
    node = Node(tmp_path, view_of(("t", 1, {"segment.bytes": "300"})))
    log = node.fill(0)
    monkeypatch.setattr(facts_module, "SEGMENTS_PER_BEAT", 7)
    beats = []
    monkeypatch.setattr(node.seat, "beat", beats.append)
    node.housekeeper._retention.run()
    assert len(beats) >= len(log.segment_bases) // 7 > 3


@pytest.mark.parametrize("is_disk_full", [False, True], ids=["with room", "disk full"])
def test_all_of_them_go_in_one_check_as_many_at_a_time_as_a_request_has(tmp_path, monkeypatch, is_disk_full):
    monkeypatch.setattr(retention_scan, "SEGMENTS_PER_REQUEST_MAX", AT_ONCE)
    monkeypatch.setattr(owners, "SEGMENTS_PER_REQUEST_MAX", AT_ONCE)
    node = Node(tmp_path, view_of(("t", 1, {"segment.bytes": "300", "retention.bytes": "0"})))
    log = node.fill(0)
    count = len(log.segment_bases)
    assert count > 4 * AT_ONCE
    if is_disk_full:
        monkeypatch.setattr(node.housekeeper._retention, "_write_starts", lambda: set(node.dirs))
    at_once = []
    drop = log.delete_segments

    def delete_segments(number):
        at_once.append(number)
        drop(number)

    monkeypatch.setattr(log, "delete_segments", delete_segments)
    look(node)
    for _ in range(3 * count // AT_ONCE):
        node.housekeeper._retention.ask_again()
        node.housekeeper._mailbox.flush()
    assert log.log_start_offset == log.log_end_offset == log.segment_bases[0]
    assert sum(at_once) == count
    assert max(at_once) <= AT_ONCE
    assert node.seat.counters.get(SEGMENTS_DELETED) == count
