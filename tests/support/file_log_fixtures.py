"""Fixtures: a log directory, a broker that serves it, and one that does not tell where its files are. A conftest imports what it wants."""

import pytest

from tests.support.fake_broker import FakeBroker, FileLog

__all__ = ["broker", "log", "remote_broker"]


@pytest.fixture
def log(tmp_path):
    return FileLog(tmp_path / "log")


@pytest.fixture
def broker(log):
    with FakeBroker(log) as broker:
        yield broker


@pytest.fixture
def remote_broker(log):
    """The same log; it does not tell where its files are."""
    with FakeBroker(log, tells_directories=False) as broker:
        yield broker
