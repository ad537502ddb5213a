"""The status line, from what the processes counted and what the supervisor saw of them."""

import pytest

from headrace.node import status
from headrace.node.children import Child
from headrace.settings import Settings
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.layout import process_region_bytes
from headrace.shm.process_table import ProcessState, ProcessTable
from headrace.shm.wiring import Wiring

MS = 1_000_000
NOW_NS = 100_000 * MS


class Memory:
    def __init__(self, size):
        self.words = memoryview(bytearray(size)).cast("Q")


def node(**settings):
    wiring = Wiring("p", "b", Settings(settings), 1, 2)
    return wiring, ProcessTable(Memory(process_region_bytes(wiring.process_count)))


def test_a_start_tells_processes_logs_and_bytes():
    wiring, processes = node()
    assert status.start_line(status.progress(processes, wiring), 5) == "starting: 0 of 5 processes"
    processes.set_state(0, ProcessState.READY)
    for process_id, opened in ((1, 3), (2, 4)):
        counters = processes.counters(process_id)
        counters.add(LOGS_WANTED, 10)
        counters.add(LOGS_OPENED, opened)
        counters.add(RECOVERED_BYTES, 700 << 20)
    now = status.progress(processes, wiring)
    line = "starting: 1 of 5 processes, 7 of 20 logs open, 1400 MiB recovered"
    assert status.start_line(now, 5) == line
    assert status.start_line(now, 5, ["log directories offline: /b"]) == f"{line}, log directories offline: /b"


@pytest.mark.parametrize("field", range(4))
def test_progress_is_any_of_it_and_nothing_that_was_reached_before(field):
    before = status.Progress(2, 3, 4, 5)
    more = status.Progress(*(value + (index == field) for index, value in enumerate(before)))
    assert more.beyond(before)
    assert not before.beyond(more)
    assert not before.beyond(before)
    assert status.NO_PROGRESS.furthest(more) == more


def test_a_process_that_falls_back_and_gets_up_again_is_no_progress():
    best = status.NO_PROGRESS
    for processes in (1, 2, 3):
        now = status.Progress(processes, 0, 0, 0)
        assert now.beyond(best)
        best = now.furthest(best)
    for processes in (2, 3, 2, 3):
        now = status.Progress(processes, 0, 0, 0)
        assert not now.beyond(best)
        best = now.furthest(best)


def test_a_serving_node_says_where_and_what_is_wrong():
    assert status.serving_line("a:1", "a:1") == "serving on a:1"
    assert status.serving_line("a:1", "b:2") == "serving on a:1, listening on b:2"
    line = status.serving_line("a:1", "a:1", ["one", "two"], ["effective after a restart: x"])
    assert line == "serving on a:1; degraded: one, two; effective after a restart: x"


@pytest.mark.parametrize(
    ("child", "told"),
    [
        (Child(1, pid=7, ready_ns=NOW_NS), []),
        (Child(1, pid=0, deaths=13, due_ms=104_001), ["hr-partition-0 restarted 13 x, next restart in 5 s"]),
        (Child(1, pid=0, deaths=1, due_ms=1), ["hr-partition-0 restarted 1 x, next restart in 0 s"]),
        (Child(1, pid=7, deaths=2), ["hr-partition-0 restarted 2 x, starting"]),
        (Child(1, pid=7, deaths=2, ready_ns=NOW_NS), []),
        (Child(1, pid=7, deaths=3, ready_ns=NOW_NS - 9_999 * MS), ["hr-partition-0 restarted 3 x"]),
        (Child(1, pid=7, deaths=3, ready_ns=NOW_NS - 10_000 * MS), []),
    ],
)
def test_a_process_is_told_of_while_it_does_not_serve_and_a_while_longer_where_it_died_often(child, told):
    wiring, _processes = node()
    assert status.child_troubles([Child(0, pid=6, ready_ns=1), child], wiring, NOW_NS) == told


def test_directories_are_told_that_failed_at_the_start_or_since():
    wiring, processes = node(**{"log.dirs": "/a,/b,/c"})
    assert status.directory_troubles(processes, wiring) == []
    processes.add_offline_dirs(2, wiring.log_dir_bit("/c"))
    assert status.directory_troubles(processes, wiring) == ["log directories offline: /c"]
    offline = Wiring("p", "b", wiring.settings, 1, 2, offline_directories=frozenset(["/a"]))
    assert status.directory_troubles(processes, offline) == ["log directories offline: /a /c"]
