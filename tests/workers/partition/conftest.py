"""What this folder's tests begin with: a host of group coordinators, a partition worker's replicas."""

import pytest

from headrace.workers.partition import worker
from tests.support.answered_replicas import AnsweredReplicas
from tests.workers.partition.host_rig import Rig
from tests.workers.partition.replica_fixtures import Node


@pytest.fixture(autouse=True)
def missing_logs_are_made(monkeypatch):
    """A worker whose controller a test plays has its missing logs made: who plays it need not answer for them."""
    monkeypatch.setattr(worker, "Replicas", AnsweredReplicas)


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)
