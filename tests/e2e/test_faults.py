"""Faults under load, judged: a short campaign in every run; `make chaos` has the long one."""

import threading

import pytest

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.chaos import campaign
from tests.chaos.raw_client import NoAnswer, NotSent, RawClient, until
from tests.chaos.running_node import Node
from tests.support.waiting import DEADLINE_S, wait_until

FAULTS = 25


@pytest.mark.timeout(900)  # it takes half a minute; a wait of its own ends each of its steps
def test_whatever_happens_to_a_node_nothing_acknowledged_is_lost(tmp_path):
    """Every class of fault that needs no privileges may fire. `make chaos` has a thousand of them."""
    verdict = campaign.run_campaign(
        tmp_path, faults=FAULTS, seed=20261122, round_faults=FAULTS, private=False, quiet=True
    )
    print(verdict.table())
    assert not verdict.failures(FAULTS)


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


def test_a_node_that_starts_tells_nobody_that_a_topic_is_unknown(tmp_path):
    """Clients fail what they have to send on that word; who connects too early waits until the node knows its topics."""
    zookeeper = EmbeddedZooKeeper(tmp_path / "zookeeper")
    zookeeper.start()
    node = Node(tmp_path, zookeeper.connect)
    client = RawClient(lambda: node.port, timeout_s=1.0)
    answers, asked, is_over = [], threading.Event(), threading.Event()

    def ask():
        while not is_over.is_set():
            try:
                answers.append(client.knows("there"))
            except NotSent:
                continue
            except NoAnswer:
                pass
            asked.set()

    asker = threading.Thread(target=ask)
    try:
        node.start()
        until(lambda: client.create("there").value == 0 or None, DEADLINE_S)
        until(lambda: client.knows("there") or None, DEADLINE_S)
        node.kill_tree()
        zookeeper.stop()
        node.launch()
        asker.start()
        asked.wait(5.0)  # it may also turn away who comes too early
        zookeeper.start()
        if node.wait_ready(DEADLINE_S) != "ready":
            node.start()
        wait_until(lambda: True in answers)
    finally:
        is_over.set()
        if asker.ident:
            asker.join()
        client.close()
        node.stop()
        zookeeper.stop()
    assert set(answers) == {True}
