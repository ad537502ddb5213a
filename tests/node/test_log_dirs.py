"""Locks of log directories between real processes."""

import errno
import fcntl
import os
import signal

import pytest

from headrace.controller.zookeeper.session_file import SESSION_FILE, SessionFile
from headrace.errors import ConfigError, NotAvailable, StorageFailed
from headrace.log.state.checkpoints import CLEAN_SHUTDOWN_FILE
from headrace.node import log_dirs
from headrace.node.log_dirs import LOCK_FILE, LogDirs
from tests.support.altered import altered
from tests.support.children import die_with_parent
from tests.support.descriptors import held_below


@pytest.fixture
def in_fork():
    """in_fork(function) -> (pid, what it wrote): runs it in another process, which then waits to be ended."""
    pids = []

    def run(function):
        reading, writing = os.pipe()
        tests = os.getpid()
        pid = os.fork()
        if not pid:
            try:
                assert die_with_parent(tests, signal.SIGKILL)
                os.write(writing, (function() or "done").encode())
                signal.pause()
            finally:
                os._exit(1)
        pids.append(pid)
        os.close(writing)
        said = os.read(reading, 1000).decode()
        os.close(reading)
        return pid, said

    yield run
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def complaint_of(function):
    try:
        function()
    except (NotAvailable, StorageFailed) as failure:
        return str(failure)
    return "no complaint"


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_directories_are_made_private_and_locked_with_the_pid_inside(tmp_path):
    locks = LogDirs([tmp_path / "a" / "b", tmp_path / "c"])
    locks.lock()
    for path in locks.paths:
        assert path.stat().st_mode & 0o007 == 0
        assert (path / LOCK_FILE).read_text() == f"pid {os.getpid()}\n"
    locks.unlock()
    assert [(path / LOCK_FILE).read_text() for path in locks.paths] == ["", ""]


@pytest.mark.process
def test_a_second_process_is_refused_and_told_by_whom(tmp_path, in_fork):
    pid, said = in_fork(LogDirs([tmp_path]).lock)
    assert said == "done"
    with pytest.raises(NotAvailable, match=f"in use by pid {pid}: stop it first"):
        LogDirs([tmp_path]).lock()
    end(pid)
    locks = LogDirs([tmp_path])
    locks.lock()
    locks.unlock()


@pytest.mark.process
def test_it_is_the_lock_that_kafka_takes(tmp_path, in_fork):
    def as_kafka():
        fd = os.open(tmp_path / LOCK_FILE, os.O_RDWR | os.O_CREAT)
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    in_fork(as_kafka)
    with pytest.raises(NotAvailable, match="in use by another process"):
        LogDirs([tmp_path]).lock()


@pytest.mark.process
def test_one_refusal_lets_go_of_all(tmp_path, in_fork):
    in_fork(LogDirs([tmp_path / "taken"]).lock)
    both = LogDirs([tmp_path / "free", tmp_path / "taken"])
    with pytest.raises(NotAvailable):
        both.lock()
    _pid, said = in_fork(lambda: complaint_of(LogDirs([tmp_path / "free"]).lock))
    assert said == "no complaint"


@pytest.mark.process
def test_a_lock_lasts_until_the_last_child_of_a_dead_supervisor_is_gone(tmp_path, in_fork, monkeypatch):
    monkeypatch.setattr(log_dirs, "ORPHANS_DEADLINE_MS", 50)

    def lock_and_leave_a_child():
        LogDirs([tmp_path]).lock()
        child = os.fork()
        if not child:
            signal.pause()
        return str(child)

    pid, child = in_fork(lock_and_leave_a_child)
    end(pid)
    locks = LogDirs([tmp_path])
    try:
        with pytest.raises(StorageFailed, match=f"processes of a killed node \\(pid {pid}\\) are still running"):
            locks.lock()
    finally:
        os.kill(int(child), signal.SIGKILL)
    monkeypatch.setattr(log_dirs, "ORPHANS_DEADLINE_MS", 60_000)
    locks.lock()
    locks.unlock()


def test_a_directory_that_stands_there_twice_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(ConfigError, match="the same directory is listed twice"):
        LogDirs([tmp_path / "a", tmp_path / "link"]).lock()


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotAvailable, match=r"can't be used: File exists"):
        LogDirs([tmp_path / "file"]).lock()


def test_locking_twice_is_locking_once(tmp_path):
    locks = LogDirs([tmp_path])
    locks.lock()
    locks.lock()
    locks.unlock()
    assert (tmp_path / LOCK_FILE).read_text() == ""


def test_clean_markers_are_taken_once(tmp_path):
    locks = LogDirs([tmp_path / "clean", tmp_path / "unclean"])
    locks.lock()
    (tmp_path / "clean" / ".kafka_cleanshutdown").write_text("{}")
    assert locks.take_clean_markers() == {str(tmp_path / "clean")}
    assert locks.take_clean_markers() == frozenset()
    locks.unlock()


def test_a_directory_that_cannot_be_used_is_left_out_while_another_can(tmp_path):
    (tmp_path / "file").write_text("no directory")
    locks = LogDirs([tmp_path / "file", tmp_path / "good"])
    locks.lock()
    assert locks.offline == {str(tmp_path / "file")}
    assert (tmp_path / "good" / LOCK_FILE).exists()
    assert locks.take_clean_markers() == frozenset()
    locks.unlock()


def test_without_any_directory_that_can_be_used_nothing_starts(tmp_path):
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(NotAvailable, match="File exists"):
        LogDirs([tmp_path / "file", tmp_path / "file" / "below"]).lock()


def test_a_read_only_file_system_under_a_unit_names_the_setting_that_opens_it(tmp_path, monkeypatch):
    def refuse(*_arguments, **_options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(log_dirs, "_lock_directory", refuse)
    monkeypatch.delenv("INVOCATION_ID", raising=False)
    with pytest.raises(NotAvailable, match=r"Read-only file system$"):
        LogDirs([tmp_path]).lock()
    monkeypatch.setenv("INVOCATION_ID", "a unit's")
    with pytest.raises(NotAvailable, match=r"unit's ReadWritePaths="):
        LogDirs([tmp_path]).lock()


def taken(*paths):
    locks = LogDirs(paths)
    locks.lock()
    try:
        return locks.take_clean_markers(), locks.suspect, locks.new
    finally:
        locks.unlock()


def with_log(path, *files):
    (path / "t-0").mkdir(parents=True)
    for name in ("meta.properties", *files):
        (path / name).write_text("{}")
    return path


def test_a_directory_whose_logs_were_not_closed_is_suspect_unless_it_is_of_this_boot(tmp_path):
    closed, killed = with_log(tmp_path / "closed", CLEAN_SHUTDOWN_FILE), with_log(tmp_path / "killed")
    assert taken(closed, killed) == ({str(closed)}, {str(killed)}, set())
    assert taken(closed, killed) == (set(), {str(killed)}, set()), "it stays suspect until the life has begun"
    SessionFile([closed, killed]).write((5, b"one"))
    assert taken(closed, killed) == (set(), set(), set())
    (closed / SESSION_FILE).unlink()
    assert taken(closed, killed)[1] == {str(closed)}


def test_logs_of_which_nothing_says_whose_they_are_are_suspect(tmp_path):
    path = with_log(tmp_path / "logs", CLEAN_SHUTDOWN_FILE)
    (path / "meta.properties").unlink()
    assert taken(path) == (set(), {str(path)}, set())


def test_a_directory_is_new_until_it_has_logs(tmp_path):
    path = tmp_path / "logs"
    for _ in range(2):
        assert taken(path) == (set(), set(), {str(path)})
    (path / "t-0").mkdir()
    assert taken(path)[2] == set()


def test_the_names_of_directories_that_are_made_are_on_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(log_dirs, "_sync_names", synced.append)
    directories = LogDirs([tmp_path / "a" / "b"])
    directories.lock()
    assert synced == [tmp_path, tmp_path / "a"]
    directories.unlock()


def is_full(*_arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.process
def test_a_full_directory_is_locked(tmp_path, monkeypatch, in_fork):
    locks = LogDirs([tmp_path])
    with monkeypatch.context() as patched:
        patched.setattr(log_dirs, "os", altered(os, pwrite=is_full))
        locks.lock()
    assert not locks.offline
    _pid, said = in_fork(lambda: complaint_of(LogDirs([tmp_path]).lock))
    assert "in use by another process" in said
    locks.unlock()


@pytest.mark.parametrize("call", ["pread", "ftruncate", "pwrite"])
def test_a_lock_that_fails_holds_no_descriptor(tmp_path, monkeypatch, call):
    def fails(*_arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(log_dirs, "os", altered(os, **{call: fails}))
        with pytest.raises(NotAvailable, match="can't be used: Input/output error"):
            LogDirs([tmp_path]).lock()
    assert held_below(tmp_path) == 0
