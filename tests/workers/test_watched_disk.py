"""A process that waits for its disk is not taken for one that hangs, for as long as a disk may take."""

import os
from types import SimpleNamespace

import pytest

from headrace.limits import SYNC_GRACE_MS
from headrace.log.disk import Disk
from headrace.node.restart_policy import is_hung
from headrace.workers.watched_disk import WatchedDisk

TIMEOUT_MS = 30_000
SECOND_NS = 1_000_000_000


@pytest.mark.parametrize("call", ["fdatasync", "fsync"])
@pytest.mark.parametrize("fails", [False, True])
def test_a_sync_may_take_longer_than_a_process_may_be_silent(tmp_path, monkeypatch, call, fails):
    beats = []
    clock = SimpleNamespace(ns=1000 * SECOND_NS)
    clock.monotonic_ns = lambda: clock.ns
    disk = WatchedDisk(SimpleNamespace(beat=beats.append), clock)

    def hung():
        return is_hung(0, beats[-1], clock.ns, TIMEOUT_MS)

    def slow(_disk, fd):
        for _ in range(10):
            clock.ns += 50 * SECOND_NS
            assert not hung()
        clock.ns += (SYNC_GRACE_MS + TIMEOUT_MS) * 1_000_000
        assert hung()  # a disk that never comes back
        if fails:
            raise OSError

    monkeypatch.setattr(Disk, call, slow)
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        getattr(disk, call)(fd)
    except OSError:
        assert fails
    finally:
        os.close(fd)
    assert not hung()
    clock.ns += (TIMEOUT_MS + 1) * 1_000_000
    assert hung()  # after the sync the ordinary bound holds


@pytest.mark.parametrize("room", [1, -1])
def test_blocks_ahead_leave_what_produce_is_refused_for(tmp_path, room):
    settings = {}
    disk = WatchedDisk(SimpleNamespace(wiring=SimpleNamespace(settings=settings)), SimpleNamespace())
    size = 1 << 20
    with open(tmp_path / "segment", "wb") as file:
        volume = os.fstatvfs(file.fileno())
        free_bytes = volume.f_bavail * volume.f_frsize
        settings["headrace.log.dir.free.bytes.min"] = free_bytes // 2 if room > 0 else free_bytes * 2
        if room > 0:
            disk.reserve(file.fileno(), 0, size)
            assert (disk.take_taken(), disk.take_taken()) == (size, 0)
            assert os.fstat(file.fileno()).st_size == 0
        else:
            with pytest.raises(OSError, match="space"):
                disk.reserve(file.fileno(), 0, size)
            assert disk.take_taken() == 0


def test_what_is_read_and_what_goes_are_signs_of_life(tmp_path):
    """A loop over a long segment, or over many, needs none of its own."""
    beats = []
    disk = WatchedDisk(SimpleNamespace(beat=beats.append), SimpleNamespace(monotonic_ns=lambda: 7))
    path = tmp_path / "segment"
    path.write_bytes(b"some bytes")
    fd = os.open(path, os.O_RDONLY)
    try:
        assert disk.preadv(fd, [bytearray(20)], 0) == 10
    finally:
        os.close(fd)
    assert beats == [7]
    disk.unlink(path)
    assert beats == [7, 7]


def test_a_directory_goes_file_by_file_each_of_them_a_sign_of_life(tmp_path):
    beats = []
    disk = WatchedDisk(SimpleNamespace(beat=beats.append), SimpleNamespace(monotonic_ns=lambda: 7))
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    doomed = tmp_path / "doomed"
    (doomed / "within").mkdir(parents=True)
    for number in range(20):
        (doomed / "within" / str(number)).touch()
    (doomed / "link").symlink_to(kept)
    (tmp_path / "other").symlink_to(kept)
    disk.remove_tree(doomed)
    assert not doomed.exists()
    assert beats == [7] * 21
    disk.remove_tree(doomed)
    disk.remove_tree(tmp_path / "other")
    assert (kept / "file").exists()


def test_what_can_not_go_keeps_nothing_else(tmp_path, monkeypatch):
    disk = Disk()
    (tmp_path / "doomed").mkdir()
    for name in "abc":
        (tmp_path / "doomed" / name).touch()
    unlink = Disk.unlink

    def refuse(disk, path):
        if path.name == "b":
            raise OSError(5, "injected")
        unlink(disk, path)

    monkeypatch.setattr(Disk, "unlink", refuse)
    disk.remove_tree(tmp_path / "doomed")
    assert os.listdir(tmp_path / "doomed") == ["b"]
