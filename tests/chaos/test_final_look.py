"""What a campaign looks for when all is over."""

from pathlib import Path

import pytest

from headrace.shm.region import SHM_DIRECTORY, sweep
from tests.chaos.cluster_nodes import ClusterNode
from tests.chaos.final_look import left_in_shm
from tests.chaos.running_node import Node


@pytest.mark.parametrize(
    "make", [Node, lambda path, zookeeper: ClusterNode(path, 3, zookeeper)], ids=["one", "of three"]
)
def test_a_region_that_a_node_left_is_seen_whatever_its_broker_id(tmp_path, make):
    node = make(tmp_path, "127.0.0.1:1")
    assert left_in_shm(node) == []
    name = f"{node.region_prefix}-boot-view"
    Path(SHM_DIRECTORY, name).touch()
    try:
        assert left_in_shm(node) == [name]
    finally:
        sweep(node.region_prefix)
    assert left_in_shm(node) == []
