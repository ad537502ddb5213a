"""What this folder's tests begin with: a host of group coordinators, a partition worker's replicas."""

import pytest

from tests.workers.partition.host_rig import Rig
from tests.workers.partition.replica_fixtures import Node


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)
