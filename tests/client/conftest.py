"""A log directory and a broker that serves it."""

import pytest

from tests.support.file_log_fixtures import broker, log

__all__ = ["broker", "log"]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("headrace.client.cluster.RETRY_PAUSE_FIRST_S", 0.001)
    monkeypatch.setattr("headrace.client.cluster.RETRY_PAUSE_MAX_S", 0.002)
