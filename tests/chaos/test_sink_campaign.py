"""A short campaign of kills of a query with an exactly-once sink; `make sink-chaos` runs a long one. And its zombies."""

import subprocess
import sys

import psutil
import pytest

from tests.chaos.sink_campaign import SinkCampaign, end_parent
from tests.support import children
from tests.support.waiting import wait_until

pytestmark = pytest.mark.process

KILLS = 4
SEED = 9

DAEMON = """
import os, subprocess, sys
os.setpgid(0, 0)
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(worker.pid, flush=True)
worker.wait()
"""
SPARK = f"""
import subprocess, sys, time
daemon = subprocess.Popen([sys.executable, "-c", {DAEMON!r}])
while daemon.poll() is None:
    time.sleep(0.3)  # so long it is left unwaited for
sys.stdin.read()
"""


@pytest.mark.timeout(600)
def test_a_query_that_is_killed_with_its_workers_and_its_node_stores_each_row_once(tmp_path):
    directory = tmp_path / ("d" * 80)  # a Unix socket's path ends at 107 bytes: theirs are elsewhere
    directory.mkdir()
    verdict = SinkCampaign(directory, seed=SEED, kills=KILLS).run()
    print(verdict.summary())  # workers, and one that wakes up beside its successor, all in mid-write
    assert verdict.faults(KILLS) == []


def test_a_worker_that_sleeps_outlives_its_daemon_and_the_process_that_started_that():
    spark = children.start([sys.executable, "-c", SPARK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    worker = psutil.Process(int(spark.stdout.readline()))
    try:
        end_parent(worker, lambda: spark.poll() is None)
        worker.suspend()
        wait_until(lambda: worker.status() == psutil.STATUS_STOPPED)
        spark.kill()
        spark.wait()
        assert worker.status() == psutil.STATUS_STOPPED
    finally:
        worker.kill()
        spark.communicate()
