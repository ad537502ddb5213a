"""A few mends taken out: a seed that is known to notice does."""

import pytest

from tests.simulation.campaign import run_seed
from tests.simulation.cluster import Cluster
from tests.simulation.mutants import MUTANTS
from tests.simulation.shrinking import kind_of, shrink

NOTICED = {"early_mark": (1, "early-mark"), "early_answer": (1, "uncommitted-ack")}


@pytest.mark.parametrize("name", NOTICED)
def test_a_mend_that_is_taken_out_is_noticed(name):
    seed, kind = NOTICED[name]
    with MUTANTS[name]():
        outcome = run_seed(seed)
    assert kind_of(outcome.anomalies[0]) == kind
    assert not run_seed(seed, span_ms=500).anomalies


def test_a_run_that_fails_without_faults_is_shrunk_to_none():
    options = {"faults": 4, "span_ms": 500}
    with MUTANTS["early_mark"]():
        outcome = run_seed(1, **options)
        assert shrink(1, outcome, options) == []


def lose_power_after_the_first_roll(seed):
    """The anomalies, once a node is back that lost power as its log had just got a second segment."""
    with Cluster(seed, partitions=1, settings={"log.segment.bytes": "4096"}) as cluster:
        cluster.boot()
        cluster.add_load()

        def has_rolled():
            logs = [
                one.log for node, worker in cluster.partition_workers() if node.node_id == 0 for one in replicas(worker)
            ]
            return any(len(log.segment_bases) > 1 for log in logs)

        assert cluster.run(20_000, has_rolled)
        cluster.judges.lost_power(0)
        cluster.nodes[0].lose_power()
        cluster.nodes[0].power_on()
        cluster.run(1_000, lambda: bool(cluster.kernel.anomalies))
        return cluster.kernel.anomalies


def replicas(worker):
    return list(worker._replicas.by_slot.values())


def test_the_name_of_the_oldest_segment_outlives_a_loss_of_power_after_the_first_roll():
    """Which names a loss takes is drawn: without the mend, some of the first seeds lose the log's beginning."""
    with MUTANTS["no_first_name"]():
        noticed = next(seed for seed in range(1, 40) if lose_power_after_the_first_roll(seed))
        assert [kind_of(one) for one in lose_power_after_the_first_roll(noticed)] == ["lost-beginning"]
    assert not lose_power_after_the_first_roll(noticed)
