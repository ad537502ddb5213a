"""Readers that stand still: who is waited for, who is blamed, and what librdkafka's own deadlock looks like."""

import shutil
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos import stand_still
from tests.chaos.history import NO_OFFSET, History, Outcome, Send
from tests.chaos.stand_still import StandStills, is_deadlocked, is_main_silent

STACKS = """
Thread 9 (Thread 0x7f5223fff6c0 (LWP 13894) "rdk:broker2"):
#2  lll_mutex_lock_optimized (mutex=0x1) at ./nptl/pthread_mutex_lock.c:48
#5  0x00007f5230000000 in rd_kafka_toppar_forget_leader () from librdkafka.so.1
#6  0x00007f5230000001 in rd_kafka_broker_fail () from librdkafka.so.1
Thread 5 (Thread 0x7f523a5fc6c0 (LWP 13727) "rdk:main"):
#2  __pthread_rwlock_wrlock_full64 (abstime=0x0) at ./nptl/pthread_rwlock_common.c:730
#4  0x00007f5230000002 in rd_kafka_metadata_refresh_topics () from librdkafka.so.1
#6  0x00007f5230000003 in rd_kafka_toppar_handle_OffsetForLeaderEpoch () from librdkafka.so.1
"""


class Reader:
    name = "tail"
    hangs = False

    def __init__(self, positions):
        self.positions = positions


class State:
    def partition(self, topic, partition):
        return None


class Stage:
    """Without nodes; a reader reads while it sleeps."""

    nodes = ()
    state = State()

    def __init__(self, reader=None):
        self.history, self.notes, self._reader = History(), Counter(), reader

    def sleep(self, _seconds):
        if self._reader is not None:
            self._reader.positions[0] += 1


def test_a_reader_that_reads_on_is_waited_for(tmp_path):
    reader = Reader({0: 5, 1: 9})
    assert StandStills(Stage(reader), tmp_path, "stable", [reader]).wait({0: 50, 1: 9}, limit_s=5) == []
    assert reader.positions[0] == 50
    assert not list(tmp_path.iterdir())


def test_a_reader_that_stands_still_is_blamed_once_with_what_is_known_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(stand_still, "_stacks", lambda: ["no stacks"])
    (tmp_path / "tail.log").write_text("FETCH stable [1]: at offset 5\nFETCH stable [0]: at offset 7\n")
    still = StandStills(Stage(), tmp_path, "stable", [Reader({0: 7, 1: 5})])
    (anomaly,) = still.wait({0: 7, 1: 365}, limit_s=0.01)
    assert anomaly.kind == "unseen"
    assert "1: 5 to 365" in anomaly.text
    assert "0: 7" not in anomaly.text
    told = Path(anomaly.text.rpartition(" ")[2]).read_text()
    assert "librdkafka about stable [1], 1 lines" in told
    assert "no stacks" in told
    assert still.wait({0: 8, 1: 365}, limit_s=0.01) == []


def test_a_reader_in_the_deadlock_of_librdkafka_is_counted_and_not_blamed(tmp_path, monkeypatch):
    monkeypatch.setattr(stand_still, "_stacks", STACKS.splitlines)
    long_ago = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - 60))
    (tmp_path / "tail.log").write_text(f"{long_ago},001 METADATA [rdkafka#consumer-1] [thrd:main]: stable [1]\n")
    stage = Stage()
    assert StandStills(stage, tmp_path, "stable", [Reader({1: 5})]).wait({1: 365}, limit_s=0.01) == []
    assert stage.notes == {"tail stands still in librdkafka's deadlock": 1}


def test_a_reader_whose_main_thread_speaks_is_blamed_whoever_is_deadlocked(tmp_path, monkeypatch):
    monkeypatch.setattr(stand_still, "_stacks", STACKS.splitlines)
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    (tmp_path / "tail.log").write_text(f"{now},001 METADATA [rdkafka#consumer-1] [thrd:main]: stable [1]\n")
    assert len(StandStills(Stage(), tmp_path, "stable", [Reader({1: 5})]).wait({1: 365}, limit_s=0.01)) == 1


def test_two_threads_that_wait_for_each_other_are_a_deadlock_and_one_is_not():
    assert is_deadlocked(STACKS)
    first, _, second = STACKS.rpartition("\nThread ")
    assert not is_deadlocked(first)
    assert not is_deadlocked("\nThread " + second)
    assert not is_deadlocked(STACKS.replace("rwlock_wrlock", "cond_timedwait"))
    assert not is_main_silent([], time.time())


def test_what_was_acknowledged_is_the_end_that_a_reader_has_to_reach(tmp_path):
    stage = Stage()
    for topic, partition, outcome, base in (
        ("stable", 0, Outcome.OK, 3),
        ("stable", 0, Outcome.OK, 1),
        ("stable", 0, Outcome.UNKNOWN, 9),
        ("stable", 1, Outcome.OK, NO_OFFSET),
        ("other", 1, Outcome.OK, 4),
    ):
        stage.history.add(Send("idem", topic, 0, partition, ("a", "b"), outcome, base, 0.0, 1.0))
    still = StandStills(stage, tmp_path, "stable", [])
    assert still.acknowledged() == {0: 5}
    assert still.acknowledged({0: 3}) == {0: 3}, "the rest was lost"
    assert still.acknowledged({0: 9}) == {0: 5}


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb")
def test_the_stacks_of_many_threads_do_not_hold_their_own_process_up():
    """More of them than a pipe takes: gdb holds the process that would empty it."""
    over = threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(60)]
    for thread in threads:
        thread.start()
    try:
        lines = stand_still._stacks()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert sum(map(len, lines)) > 65_536 or any("ptrace" in line for line in lines)
