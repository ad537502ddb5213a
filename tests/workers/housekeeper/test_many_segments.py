"""Retention of a log with tens of thousands of segments: linear, with signs of life, and so many at a time that a request holds them."""

import pytest

from headrace.log.names import FUTURE_SUFFIX, aside_name
from headrace.log.reading import segment_facts as facts_module
from headrace.log.retention import SegmentFacts
from headrace.log.state.checkpoints import CLEANER_OFFSET_FILE
from headrace.shm.counters import SEGMENTS_DELETED
from headrace.workers.housekeeper import cleaner, owners, retention_scan
from tests.support.fake_seat import view_of
from tests.workers.housekeeper.test_cleaner import House, twice
from tests.workers.housekeeper.test_durable_log_starts import look
from tests.workers.housekeeper.test_housekeeper_storage import Node

MANY = 20_000
AT_ONCE = 10


class Counted(int):
    """A base offset that knows how often it was looked for."""

    looked_up = 0

    def __hash__(self):
        Counted.looked_up += 1
        assert Counted.looked_up <= 2 * MANY, "a row is looked for once"
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
    assert Counted.looked_up


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


def test_replicas_that_move_are_listed_once_for_all_plans(tmp_path, monkeypatch):
    house = House(tmp_path)
    for number in range(12):
        house.add(f"t{number}", twice())
    moving = tmp_path / aside_name("t3-0", FUTURE_SUFFIX)
    moving.mkdir()
    listed = []
    names_in = cleaner._names_in
    monkeypatch.setattr(cleaner, "_names_in", lambda log_dir: listed.append(log_dir) or names_in(log_dir))
    house.turn()
    assert listed == [tmp_path]
    house.run()
    sizes = {log.directory.name: log.size_bytes for log in house.logs.values()}
    assert max(sizes, key=sizes.__getitem__) == "t3-0", "it is left as it is"
    assert len(set(sizes.values())) == 2


def test_cleaner_offsets_that_say_too_much_are_written_once_for_all(tmp_path, monkeypatch):
    node = Node(tmp_path, view_of(("t", 8)))
    for slot in range(8):
        node.fill(slot)
    written = []
    checkpoints = node.housekeeper._checkpoints
    write = checkpoints.write

    def noted(log_dir, file_name, offsets):
        written.append((log_dir, file_name, len(offsets)))
        write(log_dir, file_name, offsets)

    for hosted in node.housekeeper._replicas:
        write(hosted.log_dir, CLEANER_OFFSET_FILE, {hosted.name: (hosted.topic_id, 70)})
    monkeypatch.setattr(checkpoints, "write", noted)
    node.housekeeper._sync.run()
    ours = [one for one in written if one[1] == CLEANER_OFFSET_FILE]
    assert len(ours) == len({log_dir for log_dir, _name, _count in ours})
    assert sum(count for _dir, _name, count in ours) == 8
