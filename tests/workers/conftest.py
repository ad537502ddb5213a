"""The fakes of this folder, those of the log, and the stepping of the shared memory's tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "log"))
sys.path.insert(0, str(Path(__file__).parent.parent / "shm"))

from group_fixtures import Desk
from host_bench import Bench
from replica_fixtures import Node


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)
