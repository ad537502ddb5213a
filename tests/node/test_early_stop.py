"""Stops that come before a node has its signal inbox: by a signal at the import of a module, and while ZooKeeper starts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.node import early_stop
from headrace.node.signals import SignalInbox
from headrace.shm.region import SHM_DIRECTORY, region_prefix
from tests.support import children
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.process

# `headrace ARGUMENTS` that says how many children it has as it imports one module, and gets a signal then
PROGRAM = """
import os, sys
module, number = sys.argv[1], int(sys.argv[2])
sys.argv[1:3] = []

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            with open(f"/proc/self/task/{os.getpid()}/children") as children:
                os.write(1, b"%d\\n" % len(children.read().split()))
            os.kill(os.getpid(), number)

sys.meta_path.insert(0, Finder())
from headrace.cli.main import main
sys.exit(main())
"""
BEFORE_THE_INBOX = ["headrace.cli.plain_start", "headrace.settings", "headrace.node.supervisor"]
# with the processes that run then: the controller's needs longer than the others, and begins first
INSIDE_OF_IT = [("headrace.controller.process", 0), ("headrace.workers.network.worker", 1)]


@pytest.fixture
def properties(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text(
        f"broker.id=7\nlisteners=PLAINTEXT://127.0.0.1:0\nzookeeper.connect=127.0.0.1:1\nlog.dirs={tmp_path}/logs\n"
    )
    return path


def headrace(module, number, *arguments):
    command = [sys.executable, "-c", PROGRAM, module, str(int(number)), *map(str, arguments)]
    pure = os.environ | {"HEADRACE_PURE": "1"}  # an import within the compiled library asks no finder
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, env=pure)


def regions_of(broker_id, log_dir):
    prefix = region_prefix(broker_id, log_dir)
    return [name for name in os.listdir(SHM_DIRECTORY) if name.startswith(f"{prefix}-")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("module", BEFORE_THE_INBOX)
def test_a_stop_while_a_node_is_imported_is_a_stop(properties, tmp_path, module, number):
    done = headrace(module, number, "start", properties)
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"headrace: stopped by {number.name} before the node was started\n"
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(("module", "running"), INSIDE_OF_IT)
def test_a_stop_while_the_processes_are_imported_ends_what_runs_of_them(properties, tmp_path, module, running):
    done = headrace(module, signal.SIGTERM, "start", properties)
    assert (done.returncode, done.stdout) == (0, f"{running}\n"), done.stderr
    assert "stopped exit_code=0" in done.stderr
    assert regions_of(7, tmp_path / "logs") == []


def test_a_hang_up_does_not_end_a_start(tmp_path):
    """`systemctl reload` of a unit that is just starting; it is a stop for `dev`, whose terminal has gone."""
    assert headrace("headrace.settings", signal.SIGHUP, "start", tmp_path / "nowhere").returncode == 78
    assert headrace("typer", signal.SIGHUP, "dev", "--dir", tmp_path / "nowhere").returncode == 0


def test_other_commands_end_by_the_signal(tmp_path):
    assert headrace("typer", signal.SIGTERM, "verify", tmp_path).returncode == -signal.SIGTERM


def test_a_stop_while_zookeeper_starts_takes_it_along(tmp_path, is_running):
    command = [sys.executable, "-m", "headrace.cli.main", "dev", "--dir", str(tmp_path), "--port", "0"]
    node = children.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        zookeeper = wait_until(lambda: Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split())
        node.send_signal(signal.SIGTERM)
        _stdout, stderr = node.communicate(timeout=DEADLINE_S)
    finally:
        children.end(node)
    assert node.returncode == 0, stderr
    assert "Traceback" not in stderr
    wait_until(lambda: not any(is_running(int(pid)) for pid in zookeeper))
    assert regions_of(0, tmp_path / "logs") == []


def test_handlers_come_back_where_no_node_was_run():
    before = [signal.getsignal(number) for number in early_stop.SIGNALS]
    with early_stop.heard(hang_up_stops=True):
        assert all(early_stop.is_early_handler(signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT))
    assert [signal.getsignal(number) for number in early_stop.SIGNALS] == before


def test_once_the_node_has_stopped_another_signal_changes_nothing():
    """Its exit code is still to be told: an impatient Ctrl-C does not make another one of it."""
    before = [signal.getsignal(number) for number in early_stop.SIGNALS]
    try:
        with early_stop.heard(hang_up_stops=True):
            with SignalInbox():
                assert not early_stop.is_early_handler(signal.getsignal(signal.SIGTERM))
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        for number, handler in zip(early_stop.SIGNALS, before, strict=True):
            signal.signal(number, handler)
