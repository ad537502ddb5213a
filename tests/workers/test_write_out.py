"""What grows fast is written out by a thread that ends by itself; what grows slowly is left to the kernel."""

import errno
import os
import threading
from types import SimpleNamespace

import pytest

from headrace.limits import SEGMENT_RESERVE_BYTES_MAX, WRITE_OUT_MB_PER_S, WRITE_OUT_WAITING_MAX
from headrace.log.disk import begin_write_out
from headrace.log.segments.segment import Segment
from headrace.workers import write_out as write_out_module
from headrace.workers.watched_disk import WatchedDisk
from headrace.workers.write_out import WriteOut
from tests.support.fake_clock import FakeClock
from tests.support.waiting import wait_until

PART = SEGMENT_RESERVE_BYTES_MAX
END = 1 << 30
FAST_NS = PART * 1_000 // WRITE_OUT_MB_PER_S  # for a part, just at the bound


class Clock:
    ns = 10**12

    def monotonic_ns(self):
        return self.ns


def grow(write_out, clock, parts, part_ns):
    for _ in range(parts):
        clock.ns += part_ns
        write_out.note(7, END)


@pytest.mark.parametrize(("part_ns", "is_fast"), [(FAST_NS - 10**6, True), (FAST_NS + 10**6, False)])
def test_what_grows_fast_is_written_out_and_nothing_else(part_ns, is_fast):
    begun, clock = [], Clock()
    write_out = WriteOut(clock, lambda fd, end: begun.append((fd, end)))
    grow(write_out, clock, 40, part_ns)
    if is_fast:  # not in the first window, of which nobody knows when it began, nor before the second is over
        wait_until(lambda: begun == [(7, END)] * 25, lambda: f"{len(begun)}")
    else:
        assert not write_out._is_running
    grow(write_out, clock, 16, 10**9)
    wait_until(lambda: not write_out._is_running)
    was = len(begun)
    grow(write_out, clock, 8, 10**9)
    assert len(begun) == was, "it has become slow"


def test_parts_that_a_disk_does_not_take_are_left_out_and_its_errors_end_nothing():
    go, begun, clock = threading.Event(), [], Clock()

    def begin(fd, end):
        go.wait()
        begun.append(fd)
        raise OSError(errno.EBADF, "it was closed meanwhile")

    write_out = WriteOut(clock, begin)
    try:
        grow(write_out, clock, 16 + 3 * WRITE_OUT_WAITING_MAX, 1)
        assert write_out._waiting.qsize() in (WRITE_OUT_WAITING_MAX, WRITE_OUT_WAITING_MAX - 1)
    finally:
        go.set()
    wait_until(lambda: not write_out._is_running)
    assert WRITE_OUT_WAITING_MAX <= len(begun) <= WRITE_OUT_WAITING_MAX + 1
    grow(write_out, clock, 1, 1)
    wait_until(lambda: len(begun) > WRITE_OUT_WAITING_MAX + 1 or write_out._waiting.empty())
    wait_until(lambda: not write_out._is_running)


def test_without_a_thread_to_be_had_nothing_is_lost(monkeypatch):
    def refuse(**_given):
        raise RuntimeError("can't start new thread")

    begun, clock = [], Clock()
    write_out = WriteOut(clock, lambda fd, end: begun.append(fd))
    with monkeypatch.context() as patched:
        patched.setattr(write_out_module, "threading", SimpleNamespace(Thread=refuse))
        grow(write_out, clock, 16 + 2 * WRITE_OUT_WAITING_MAX, 1)
    assert begun == []
    while not write_out._waiting.empty():
        write_out._waiting.get()
    grow(write_out, clock, 1, 1)
    wait_until(lambda: begun == [7])
    wait_until(lambda: not write_out._is_running)


def test_a_segment_tells_how_far_it_has_got(tmp_path):
    told = []

    class Disk(WatchedDisk):
        def __init__(self):
            pass

        def reserve(self, fd, position, size):
            pass

        def grew(self, fd, end):
            told.append((fd, end))

    segment = Segment(tmp_path, 0, Disk(), FakeClock())
    data = bytes(1 << 20)
    for _ in range(8):
        segment.write([data])
    assert told[0] == (segment.fd, 4 << 20)
    assert all(end <= segment.size_bytes for _, end in told)
    segment.close()


def test_the_kernel_is_asked(tmp_path):
    with open(tmp_path / "file", "wb") as file:
        file.write(bytes(1 << 20))
        file.flush()
        begin_write_out(file.fileno(), 1 << 20)
    reader, writer = os.pipe()
    try:
        with pytest.raises(OSError, match="Illegal seek"):
            begin_write_out(writer, 1)
    finally:
        os.close(reader)
        os.close(writer)
