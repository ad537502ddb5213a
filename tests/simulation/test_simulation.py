"""A cluster in one process, by seed: a seed is a run, and a few of them run clean here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.shm.wiring import Role
from tests.simulation.campaign import run_seed
from tests.simulation.cluster import Cluster
from tests.simulation.ordered_set import OrderedSet

ROOT = Path(__file__).resolve().parents[2]
ONE_NODE = {"nodes": 1, "partitions": 1, "configs": {}, "upkeep": [], "settings": {}}
SEEDS = (
    1,
    4,
    9,
    14,
    2012,
    6003,
    8001,
)  # 2012: a partition could not be moved back to a broker whose disk had been full


def test_one_node_takes_what_it_is_given_and_gives_it_back():
    with Cluster(1, nodes=1, partitions=1) as cluster:
        cluster.boot()
        cluster.add_load()
        cluster.run(1_000)
        cluster.finish()
        assert not cluster.kernel.anomalies
        assert cluster.history.counts["acknowledged"] > 20
        assert cluster.history.counts["read"] >= cluster.history.counts["acknowledged"] / 2


def test_a_dead_process_has_a_successor_with_the_same_log():
    with Cluster(1, nodes=1, partitions=1) as cluster:
        cluster.boot()
        cluster.add_load()
        for role in Role:
            cluster.nodes[0].process(role).die("test")
            assert cluster.nodes[0].process(role) is None
            assert cluster.run(5_000, lambda role=role: cluster.nodes[0].process(role) is not None)
        cluster.run(500)
        cluster.finish()
        assert not cluster.kernel.anomalies
        assert cluster.history.counts["acknowledged"]


def test_a_seed_is_one_run():
    first = run_seed(3, span_ms=2_000, shape=ONE_NODE)
    again = run_seed(3, span_ms=2_000, shape=ONE_NODE)
    assert first.fingerprint == again.fingerprint
    assert first.steps == again.steps
    assert run_seed(4, span_ms=2_000, shape=ONE_NODE).fingerprint != first.fingerprint


@pytest.mark.slow
@pytest.mark.process
def test_no_address_and_no_hash_decides_a_run():
    told = set()
    for hash_seed in ("0", "1"):
        command = [sys.executable, "-m", "tests.simulation", "--seed", "9", "--span", "4000"]
        run = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(run.stdout.split()[1])
    assert len(told) == 1, told


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_faults_lose_nothing(seed):
    outcome = run_seed(seed)
    assert not outcome.anomalies
    assert sum(outcome.faults.values()) > 5
    assert outcome.counts["acknowledged"] > 100


def test_sets_keep_the_order_of_insertion():
    names = OrderedSet(["b", "a"])
    names |= {"d", "c"}
    names.discard("a")
    assert list(names) == ["b", "c", "d"]
    assert names == {"b", "c", "d"}
    assert list(names - {"c"}) == ["b", "d"]
    assert names.pop() == "b"
    assert "b" not in names
