"""Faults under load, judged: a short campaign in every run; `make chaos` has the long one."""

import campaign
import pytest


@pytest.mark.timeout(900)  # it takes a minute; a wait of its own ends each of its steps
def test_whatever_happens_to_a_node_nothing_acknowledged_is_lost(tmp_path):
    """Every class of fault that needs no privileges may fire."""
    verdict = campaign.run_campaign(tmp_path, faults=100, seed=20261122, round_faults=100, private=False, quiet=True)
    print(verdict.table())
    assert not verdict.failures(100)


def test_a_campaign_whose_faults_did_not_fire_or_that_acknowledged_little_failed():
    verdict = campaign.Verdict(seed=0)
    verdict.fired["kill-network"] = 10
    verdict.acknowledged = 10_000
    assert not verdict.failures(10)
    assert verdict.failures(100) == ["only 10 of 100 faults fired"]
    verdict.acknowledged = 3
    assert verdict.failures(10) == ["only 3 records acknowledged"]
    verdict.anomalies.append(("0:0", campaign.Anomaly("lost-write", "one")))
    assert "lost-write: 1" in verdict.failures(10)
    assert "lost-write (round 0:0): one" in verdict.table()
