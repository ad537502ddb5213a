"""The fakes of this folder, and those of the log."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "log"))

from group_fixtures import Desk


@pytest.fixture
def desk():
    return Desk()
