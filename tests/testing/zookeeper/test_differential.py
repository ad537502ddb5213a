"""The ZooKeeper in Python beside Apache's: the same operations bring the same answers, stats, errors and events.

DIFFERENTIAL_STEPS=20000 takes some minutes, and finds more.
"""

import os
import random
import shutil

import pytest

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.testing.zookeeper.thread import ServerThread
from tests.support.waiting import DEADLINE_S
from tests.testing.zookeeper.differential import Run, draw

pytestmark = pytest.mark.process

STEPS = int(os.environ.get("DIFFERENTIAL_STEPS", "600"))
PARTIES = 3
REPLACED = 0.01  # of the steps end a session


@pytest.fixture(scope="module")
def apache(tmp_path_factory):
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH: Apache's ZooKeeper can't run")
    server = EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    server.wait_until_ready(DEADLINE_S)
    yield server
    server.stop()


@pytest.mark.parametrize("seed", [1, 2])
def test_both_servers_say_the_same(apache, seed):
    lots, kept = random.Random(seed), []
    print(f"seed={seed} steps={STEPS}")
    with ServerThread() as server:
        runs = [Run(apache.connect, PARTIES), Run(server.connect, PARTIES)]
        root = f"/differential-{seed}"
        try:
            for run in runs:
                run.perform(0, lambda party: party.client.create(root))
            for step in range(STEPS):
                index = lots.randrange(PARTIES)
                what = "another session"
                if lots.random() < REPLACED:
                    for run in runs:
                        run.replace(index)
                    answers = [run.perform(index, lambda party: party.client.exists(root)) for run in runs]
                else:
                    what, act = draw(lots, root)
                    answers = [run.perform(index, act) for run in runs]
                kept.append(answers[1])
                assert answers[0] == answers[1], f"step {step} of seed {seed}: {what}"
        finally:
            for run in runs:
                run.close()
    errors = {answer for answer, _events in kept if isinstance(answer, str) and answer.endswith("Error")}
    assert {"NoNodeError", "NodeExistsError", "BadVersionError"} <= errors
    assert any(events for _answer, parties in kept for events in parties)
