"""The log that a test opens again and again."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode leaves the fixtures' own folder out

from log_fixtures import LogMaker


@pytest.fixture
def maker(tmp_path):
    return LogMaker(tmp_path)
