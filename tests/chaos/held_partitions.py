"""Partitions that nodes hold for an operator: after a while the operator accepts the loss, by `headrace cluster accept-loss`.

Used by: rounds of the cluster campaign in which records may be lost. Where all nodes are up and a partition is still held, nobody but an
operator can end it; what is lost then, a report has to bound.
"""

from __future__ import annotations

import subprocess
import sys
import time

from tests.chaos.cluster_stage import ClusterStage

PATIENCE_S = 20.0  # with all nodes up, before the operator comes
ACCEPT_S = 20.0  # for one command
GONE_S = 150.0  # a command takes seconds, and there may be a dozen
TWICE_S = 1.0  # ZooKeeper that says of nobody that it holds something is asked once more
WRONG_USAGE = 2
HELD = "/headrace/held"
NOTE = "losses accepted by the operator"


def held(stage: ClusterStage) -> list[tuple[str, int]]:
    """Topics and partitions; nothing, where ZooKeeper does not say."""
    found = set()
    for broker in stage.state.children(HELD):
        for topic in stage.state.children(f"{HELD}/{broker}"):
            rows = (stage.state.read(f"{HELD}/{broker}/{topic}") or {}).get("partitions", {})
            found |= {(topic, int(index)) for index, row in rows.items() if not row.get("sole")}
    return sorted(found)


def _is_none_held(stage: ClusterStage) -> bool:
    """Asked twice: a session that has just been lost says nothing of anything."""
    if held(stage) or not stage.state.brokers():
        return False
    stage.sleep(TWICE_S)
    return not held(stage) and bool(stage.state.brokers())


def accept_held(stage: ClusterStage, patience_s: float = PATIENCE_S) -> None:
    """Accept the loss of each partition that is held so long after this, and wait until none is."""
    if stage.until(lambda: _is_none_held(stage), patience_s):
        return
    deadline = time.monotonic() + GONE_S
    while (left := held(stage)) and time.monotonic() < deadline:
        for topic, index in left:
            if _accept(stage, f"{topic}:{index}"):
                stage.notes[NOTE] += 1
        stage.sleep(2.0)


def _accept(stage: ClusterStage, place: str) -> bool:
    command = [sys.executable, "-m", "headrace.cli.main", "cluster", "accept-loss", place]
    command += ["--zookeeper", stage.zookeeper.connect, "--bootstrap-servers", stage.bootstrap]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ACCEPT_S)
    except subprocess.TimeoutExpired:
        return False
    assert done.returncode != WRONG_USAGE, done.stderr
    return done.returncode == 0
