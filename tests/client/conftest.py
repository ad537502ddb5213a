"""A log directory and a broker that serves it."""

import pytest

from tests.support.fake_broker import FakeBroker, FileLog


@pytest.fixture
def log(tmp_path):
    return FileLog(tmp_path / "log")


@pytest.fixture
def broker(log):
    with FakeBroker(log) as broker:
        yield broker


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    for module in ("cluster", "producer", "coordinator"):
        monkeypatch.setattr(f"headrace.client.{module}.RETRY_PAUSE_FIRST_S", 0.001)
        monkeypatch.setattr(f"headrace.client.{module}.RETRY_PAUSE_MAX_S", 0.002)
    monkeypatch.setattr("headrace.client.consumer.RETRY_PAUSE_S", 0.001)
