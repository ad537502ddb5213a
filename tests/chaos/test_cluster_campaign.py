"""Faults of a cluster under load, judged: a short campaign in every run; `make chaos` has the long one, `make interop` Apache Kafka's."""

import pytest

from tests.chaos import cluster_campaign
from tests.chaos.cluster_campaign import ClusterVerdict, choose, run_cluster_campaign
from tests.chaos.judge import Anomaly

FAULTS = 12


@pytest.mark.process
@pytest.mark.timeout(900)  # it takes a minute; a wait of its own ends each of its steps
def test_whatever_happens_to_a_cluster_nothing_acknowledged_is_lost(tmp_path):
    verdict = run_cluster_campaign(tmp_path, faults=FAULTS, seed=20261122, quiet=True)
    print(verdict.table())
    assert not verdict.failures(FAULTS)


@pytest.mark.interop
def test_apache_kafka_passes_the_same_campaign(tmp_path):
    """Otherwise it would hold us to what nobody does. Kafka's brokers take longer to be back."""
    verdict = run_cluster_campaign(tmp_path, faults=16, seed=7, nodes="kafka", whole_max_s=60, quiet=True)
    print(verdict.table())
    assert not verdict.failures(16)


@pytest.mark.interop
def test_losses_are_found_where_kafka_may_lose(tmp_path):
    """Unclean elections, min.insync.replicas=1, acks=1: a campaign that finds nothing there finds nothing anywhere."""
    verdict = run_cluster_campaign(tmp_path, faults=40, seed=3, nodes="kafka", is_unsafe=True, quiet=True)
    print(verdict.table())
    assert not verdict.failures(40, is_unsafe=True)


def test_a_campaign_fails_without_faults_without_records_and_one_fault_at_a_time():
    verdict = ClusterVerdict(seed=0)
    verdict.fired["kill-leader"] = 10
    verdict.acknowledged = 10_000
    verdict.at_once = 3
    assert not verdict.failures(10)
    assert verdict.failures(100) == ["only 10 of 100 faults fired"]
    verdict.acknowledged = 3
    assert verdict.failures(10) == ["only 3 records acknowledged"]
    verdict.acknowledged, verdict.at_once = 10_000, 1
    assert verdict.failures(10) == ["never two faults at a time"]


def test_an_unsafe_campaign_fails_where_it_finds_no_loss():
    verdict = ClusterVerdict(seed=0, acknowledged=10_000, at_once=2)
    verdict.fired["kill-leader"] = 10
    assert verdict.failures(10, is_unsafe=True) == ["no loss was found where records may be lost"]
    verdict.anomalies.append(("0:0", Anomaly("lost-write", "one")))
    assert not verdict.failures(10, is_unsafe=True)
    assert verdict.failures(10) == ["lost-write: 1"]
    assert "lost-write (round 0:0): one" in verdict.table()


def test_faults_are_chosen_by_how_their_names_begin():
    names = [one.name for one in choose(())]
    assert len(set(names)) == len(names)
    assert {one.name for one in choose(["kill-leader", "cut-one-way"])} == {
        "kill-leader",
        *(name for name in names if name.startswith("cut-one-way-")),
    }
    with pytest.raises(ValueError, match="there are kill-leader"):
        choose(["nothing"])


def test_faults_that_need_networks_are_told_where_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_campaign, "why_no_networks", lambda: "nobody is root")
    verdict = run_cluster_campaign(tmp_path, faults=0, seed=0, classes=["cut", "kill-leader"], quiet=True)
    assert "cut-node" in verdict.not_run
    assert "kill-leader" not in verdict.not_run
    assert "not run since nobody is root" in verdict.table()


def test_what_a_campaign_visited_is_told_for_each_fault_and_role(tmp_path):
    verdict = ClusterVerdict(seed=0)
    verdict.visited["SIGKILL node", "leader"] = 12
    assert "SIGKILL node                   leader                             12" in verdict.table()


def test_each_signal_reaches_nodes_and_single_processes_in_each_role():
    names = {one.name for one in choose(())}
    for signal in ("kill", "stop", "pause"):
        assert {f"{signal}-{role}" for role in ("leader", "follower", "controller", "all", "zookeeper")} <= names
        assert {f"{signal}-process-{role}" for role in ("leader", "follower", "controller", "all")} <= names
