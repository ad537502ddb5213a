"""A few mends taken out: a seed that is known to notice does."""

import pytest

from tests.simulation.campaign import run_seed
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
