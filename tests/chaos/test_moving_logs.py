"""Moves and their turns: where a log ends, what a disk loses of it, which copy is there; the campaign's verdict."""

import random
import time
from collections import Counter

import pytest

from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import RECOVERY_POINT_FILE
from headrace.protocol.record_batch import build_batch
from tests.chaos.judge import Anomaly
from tests.chaos.move_campaign import MoveVerdict, choose
from tests.chaos.moving_logs import TURNS, _lose_end, bytes_in, copy_in, end_of

PLACE = TopicPartition("t", 0)
BATCHES, BYTES = 20, 5000


@pytest.fixture
def log(tmp_path):
    directory = tmp_path / "disk-1" / "t-0"
    directory.mkdir(parents=True)
    with open(directory / f"{0:020d}.log", "wb") as file:
        for index in range(BATCHES):
            batch = bytearray(build_batch([(None, b"x" * BYTES)], timestamp_ms=int(time.time() * 1000)))
            batch[:8] = index.to_bytes(8, "big")
            file.write(batch)
    (tmp_path / "disk-1" / RECOVERY_POINT_FILE).write_text("0\n1\nt 0 5\n")
    return directory


def test_a_log_ends_behind_its_last_whole_batch(log):
    assert end_of(log) == BATCHES
    path = next(log.glob("*.log"))
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 1)
    assert end_of(log) == BATCHES - 1


def test_a_disk_loses_nothing_of_what_was_synced(log):
    ends = set()
    whole = next(log.glob("*.log")).read_bytes()
    for seed in range(40):
        end = _lose_end(log, 15, random.Random(seed))
        assert end == end_of(log)
        ends.add(end)
        next(log.glob("*.log")).write_bytes(whole)
    assert min(ends) >= 5
    assert min(ends) < 15
    assert max(ends) <= BATCHES


def test_a_copy_is_known_by_its_name(tmp_path):
    assert copy_in(tmp_path, PLACE) is None
    assert bytes_in(None) == 0
    for name in ("t-0.00ff-delete", "t-01.00ff-future", "t-0.00ff-future"):
        (tmp_path / name).mkdir()
    copy = copy_in(tmp_path, PLACE)
    assert copy == tmp_path / "t-0.00ff-future"
    (copy / "0.log").write_bytes(b"12345")
    assert bytes_in(copy) == 5


def test_turns_are_chosen_by_how_their_names_begin():
    assert choose(()) == TURNS
    assert [one.name for one in choose(["move-power"])] == ["move-power-after", "move-power-amid"]
    with pytest.raises(ValueError, match="there are move-power-after"):
        choose(["nothing"])


def test_a_campaign_fails_with_an_anomaly_and_without_moves():
    verdict = MoveVerdict(7, played=Counter({"move-power-after": 3}))
    assert not verdict.failures(3)
    assert verdict.failures(4) == ["only 3 of 4 moves"]
    verdict.anomalies.append(("7:0", Anomaly("copy-deleted", "it is")))
    assert verdict.failures(3) == ["copy-deleted: 1"]
    assert "copy-deleted (round 7:0): it is" in verdict.table()
