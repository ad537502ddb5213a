"""`headrace start` from outside, while there is no ZooKeeper: what it waits for, and what ends it."""

import signal
import subprocess
import sys

import pytest

from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.process

PROPERTIES = """
broker.id=1
listeners=PLAINTEXT://127.0.0.1:0
zookeeper.connect=127.0.0.1:1
headrace.network.workers=1
headrace.partition.workers=1
"""


@pytest.fixture
def started(tmp_path):
    """(process, what it logged so far)"""
    file, log = tmp_path / "server.properties", tmp_path / "node.log"
    file.write_text(f"{PROPERTIES}log.dirs={tmp_path / 'logs'}\n")
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the suite may run under nohup, which the node respects
    with open(log, "wb") as stderr:
        process = subprocess.Popen([sys.executable, "-m", "headrace.cli.main", "start", str(file)], stderr=stderr)
    signal.signal(signal.SIGHUP, before)
    yield process, log.read_text
    process.terminate()
    process.wait(DEADLINE_S)


def test_a_start_without_zookeeper_waits_whatever_hangs_up_and_stops_when_told(started):
    process, log = started
    wait_until(lambda: "waiting for ZooKeeper at=127.0.0.1:1" in log(), log)
    process.send_signal(signal.SIGHUP)  # a reload, once it serves
    process.terminate()
    assert process.wait(DEADLINE_S) == 0
    assert "stopping reason=SIGTERM" in log()
