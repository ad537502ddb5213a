"""Worker processes: results, deaths, retries, what is refused."""

import os
import signal
import threading
import time

import pytest

from headrace.arrow.offset_range import OffsetRange
from headrace.limits import LOAD_TASK_ATTEMPTS_MAX
from headrace.load.contents import contents_of
from headrace.load.data_files import found_files
from headrace.load.errors import TaskFailed
from headrace.load.frames import FrameBuffer, encoded
from headrace.load.options import never
from headrace.load.runs import Run
from headrace.load.task import Job
from headrace.load.task_pool import TaskPool
from headrace.spark.decoding import json
from tests.load.loading import fill


@pytest.fixture
def run(tmp_path):
    made = Run(tmp_path / "out" / "_headrace")
    yield made
    made.close()


def pool_of(tmp_path, run, **given):
    contents = contents_of(None, given.get("decode"), "fail")
    return TaskPool(Job(str(tmp_path / "out"), contents, "snappy"), run.id, run.descriptor, 2)


def ranges_of(broker, *bounds):
    return [OffsetRange("clicks", 0, low, high, broker.address, "fake-cluster", ()) for low, high in bounds]


def test_ranges_become_files_by_two_workers_and_again(log, broker, tmp_path, run):
    fill(log, count=40)
    pool = pool_of(tmp_path, run)
    try:
        found = list(pool.run(ranges_of(broker, (0, 10), (10, 20), (20, 30)), never))
        found += pool.run(ranges_of(broker, (30, 40)), never)
        assert sorted((one.loaded.start, one.loaded.rows) for one in found) == [(0, 10), (10, 10), (20, 10), (30, 10)]
        assert len(pool.pids()) <= 2
        assert pool.dead_attempts == []
    finally:
        pool.close()
    assert len(found_files(tmp_path / "out")) == 4


def test_a_worker_that_is_killed_is_replaced_and_its_range_is_given_again(log, broker, tmp_path, run):
    fill(log, count=20)
    broker.drop_connections = 1  # so that the first one waits a little
    pool = pool_of(tmp_path, run)
    killed = []

    def kill_once():
        while not killed:
            for pid in pool.pids():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.001)

    killer = threading.Thread(target=kill_once)
    killer.start()
    try:
        [found] = pool.run(ranges_of(broker, (0, 20)), never)
    finally:
        killer.join()
        pool.close()
    assert found.loaded.rows == 20
    assert killed[0] not in pool.pids()
    assert [one.number for one in pool.dead_attempts] == [0]
    assert [one.number for _, one in found_files(tmp_path / "out")] == [1]


def test_a_range_that_kills_every_worker_fails_after_some_attempts(log, broker, tmp_path, run):
    fill(log, count=20)
    pool = pool_of(tmp_path, run)
    stop = threading.Event()

    def kill_all():
        while not stop.wait(0.002):
            for pid in pool.pids():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    killer = threading.Thread(target=kill_all)
    killer.start()
    try:
        with pytest.raises(TaskFailed, match=f"failed {LOAD_TASK_ATTEMPTS_MAX} times") as failure:
            list(pool.run(ranges_of(broker, (0, 20)), never))
    finally:
        stop.set()
        killer.join()
        pool.close()
    assert not failure.value.may_pass


def test_a_record_that_does_not_decode_is_no_reason_for_another_attempt(log, broker, tmp_path, run):
    fill(log, count=3)
    pool = pool_of(tmp_path, run, decode=json("page string"))
    try:
        with pytest.raises(
            TaskFailed, match=r"clicks-0 0\.\.3: UndecodableRecord: clicks-0: the value of the record at offset 0"
        ):
            list(pool.run(ranges_of(broker, (0, 3)), never))
    finally:
        pool.close()
    assert found_files(tmp_path / "out") == []


def test_workers_hold_the_loaders_lock(log, broker, tmp_path, run):
    fill(log, count=3)
    pool = pool_of(tmp_path, run)
    try:
        list(pool.run(ranges_of(broker, (0, 3)), never))
        [pid] = pool.pids()
        held = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
        assert str(tmp_path / "out" / "_headrace" / "runs" / run.id) in held
    finally:
        pool.close()


def test_messages_come_in_any_pieces():
    data = encoded({"a": 1}) + encoded([2] * 100)
    buffer = FrameBuffer()
    assert [one for at in range(0, len(data), 7) for one in buffer.add(data[at : at + 7])] == [{"a": 1}, [2] * 100]
