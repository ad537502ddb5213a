"""Cores of the workers: each kind its own, as far as there are any."""

import os

import pytest

from headrace.errors import ConfigError
from headrace.node.placement import check_cpus, placement
from headrace.settings import Settings


def places(network, partition, **cpus):
    keys = {f"headrace.{key}worker.cpus": text for key, text in cpus.items()}
    return placement(
        Settings({"headrace.network.workers": str(network), "headrace.partition.workers": str(partition), **keys})
    )


def settings(both=None, network=None, partition=None):
    return {
        key: text for key, text in {"": both, "network.": network, "partition.": partition}.items() if text is not None
    }


def test_nothing_is_pinned_unless_asked():
    assert places(2, 2) == {}


def test_every_worker_has_a_core_of_its_own_where_there_are_enough():
    assert places(2, 1, **settings("0-3")) == {0: 0, 1: 1, 2: 3}
    assert places(2, 2, **settings("4-7")) == {0: 4, 1: 5, 2: 6, 3: 7}


@pytest.mark.parametrize("cores", range(2, 17))
@pytest.mark.parametrize(("network", "partition"), [(1, 1), (2, 1), (1, 4), (4, 2), (16, 8), (3, 64)])
def test_the_kinds_share_no_core_while_there_are_two(cores, network, partition):
    found = places(network, partition, **settings(f"0-{cores - 1}"))
    assert sorted(found) == list(range(network + partition))
    of_network = {found[process_id] for process_id in range(network)}
    of_partition = {found[process_id] for process_id in range(network, network + partition)}
    assert not of_network & of_partition
    if cores >= network + partition:
        assert len(of_network) == network
        assert len(of_partition) == partition


def test_one_core_is_everybodys():
    assert places(2, 1, **settings("5")) == {0: 5, 1: 5, 2: 5}


def test_each_kind_can_be_given_its_own():
    assert places(2, 1, **settings(network="0,2", partition="1")) == {0: 0, 1: 2, 2: 1}
    assert places(2, 1, **settings(partition="1")) == {2: 1}
    assert places(2, 1, **settings("0-3", network="7")) == {0: 7, 1: 7, 2: 3}


@pytest.mark.parametrize("key", ["headrace.worker.cpus", "headrace.network.worker.cpus"])
def test_a_core_that_the_machine_has_not_is_refused(key):
    check_cpus(Settings({key: str(min(os.sched_getaffinity(0)))}))
    with pytest.raises(ConfigError, match=f"'9999' for {key}: core 9999 can't be used, only"):
        check_cpus(Settings({key: "9999"}))
