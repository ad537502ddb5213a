"""The log that a test opens again and again."""

import pytest

from tests.support.log_fixtures import LogMaker


@pytest.fixture
def maker(tmp_path):
    return LogMaker(tmp_path)


@pytest.fixture
def leader(tmp_path):
    return LogMaker(tmp_path / "leader")


@pytest.fixture
def follower(tmp_path):
    return LogMaker(tmp_path / "follower")
