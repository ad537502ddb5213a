"""A test without the marker `process` can't start a process, however it tries."""

import os
import subprocess
import sys
import threading

import pytest

from tests.support.process_watch import FOLDERS, WATCH, ProcessWatch
from tests.support.tree import ROOT

WAYS = {
    "fork": lambda: os.fork() or os._exit(0),
    "program": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    "spawn": lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}),
    "shell": lambda: os.system("true"),
}


@pytest.fixture(scope="module")
def installed():
    watch = ProcessWatch()
    watch.install()
    return watch


@pytest.fixture
def watch(installed):
    """One beside that of this run, which is off meanwhile by the marker of these tests."""
    yield installed
    installed.watch(None)


@pytest.mark.process
@pytest.mark.parametrize("way", WAYS)
def test_a_start_is_refused_and_names_the_test(watch, way):
    watch.watch("tests/some.py::test")
    with pytest.raises(pytest.fail.Exception, match=r"tests/some\.py::test starts a process .*mark it"):
        WAYS[way]()
    assert "tests/some.py::test" in watch.complaint()


@pytest.mark.process
def test_a_start_that_another_thread_tried_is_known_at_the_end(watch):
    watch.watch("tests/some.py::test")

    def start():
        with pytest.raises(pytest.fail.Exception):
            WAYS["program"]()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "starts a process" in watch.complaint()


@pytest.mark.process
def test_what_is_marked_may_start_processes(watch):
    watch.watch(None)
    WAYS["program"]()
    assert watch.complaint() is None


def test_a_run_watches_each_test_without_the_marker(request):
    with pytest.raises(pytest.fail.Exception, match=request.node.name):
        WAYS["fork"]()
    assert WATCH.complaint() is not None
    WATCH.watch(None)  # so that this test may pass


def test_folders_of_whole_nodes_are_there():
    assert [name for name in FOLDERS if not (ROOT / "tests" / name).is_dir()] == []
