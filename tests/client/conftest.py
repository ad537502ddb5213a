"""A log directory and a broker that serves it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for fake_broker.py beside this file

from fake_broker import FakeBroker, FileLog


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
