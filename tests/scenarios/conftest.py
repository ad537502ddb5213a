"""What the scenarios share: who plays the brokers, clusters that are stopped at the end, Kafka's tools in one JVM."""

import os

import pytest

from tests.chaos.network_rooms import Networks, NoNetworks
from tests.interop.broker_logs import OF_A_KILLED_CONTROLLER, severe_lines
from tests.interop.mixed_cluster import MixedCluster
from tests.interop.tool_runner import ToolRunner

PEER = os.environ.get("PEER") or "headrace"
SETTINGS = {"zookeeper.session.timeout.ms": "6000"}


@pytest.fixture
def peer():
    """The kind of all brokers: `headrace`, or `kafka`, which says what of a failure is ours."""
    return PEER


@pytest.fixture
def allowed():
    """Patterns of ERROR lines that a test expects, and why; it adds to them."""
    return dict(OF_A_KILLED_CONTROLLER)


@pytest.fixture
def make_cluster(peer, tmp_path, allowed):
    """`make_cluster(count, settings, ...)`: a cluster that runs; its logs have no ERROR at the end.

    by_broker   settings of single brokers, by id
    networks    of their own for the brokers (`make_networks`)
    log_dirs    how many each broker has; the first is `Member.log_dir`
    """
    made = []

    def make(count=3, settings=None, by_broker=None, networks=None, log_dirs=1):
        directory = tmp_path / f"cluster-{len(made)}"
        directory.mkdir()
        cluster = MixedCluster(directory, [peer] * count, settings={**SETTINGS, **(settings or {})}, networks=networks)
        made.append(cluster)
        for member in cluster.members.values():
            more = [member.directory / f"logs-{number}" for number in range(2, log_dirs + 1)]
            member.settings["log.dirs"] = ",".join(map(str, [member.log_dir, *more]))
            member.settings.update((by_broker or {}).get(member.broker_id, {}))
        cluster.start()
        return cluster

    yield make
    for cluster in made:
        cluster.close()
    wrong = [
        f"{one.broker_id}: {line}"
        for cluster in made
        for one in cluster.members.values()
        for line in severe_lines(one.log_file, allowed=allowed)
    ]
    assert peer == "kafka" or not wrong, wrong[:5]


@pytest.fixture
def make_networks():
    """`make_networks(count)`: links that can be cut and made slow; skips where this process may not have any."""
    made = []

    def make(count):
        try:
            made.append(Networks(count))
        except NoNetworks as failure:
            pytest.skip(str(failure))
        return made[-1]

    yield make
    for networks in made:
        networks.close()


@pytest.fixture
def runner():
    running = ToolRunner()
    yield running
    running.close()
