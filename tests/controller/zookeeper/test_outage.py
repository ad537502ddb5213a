import logging
from itertools import pairwise

import pytest

from headrace.controller.zookeeper.outage import (
    START_PATIENCE_S,
    Outage,
    clock_text,
)
from headrace.log_rate_limit import REMINDER_FIRST_MS, REMINDER_MAX_MS

S = 1_000_000_000
DATE_MS = 1_700_000_000_000


class Watcher:
    """An outage's log, with a clock."""

    def __init__(self, caplog):
        self.now_s = 100.0
        self.drops = 0
        self.away_since_ms = []
        self.caplog = caplog
        self.outage = Outage("zk:2181", self.away_since_ms.append, int(self.now_s * S), self.date_ms)

    @property
    def date_ms(self):
        return DATE_MS + int(self.now_s * 1000)

    def look(self, is_connected, after_s=0.0):
        """What was said."""
        self.now_s += after_s
        self.caplog.clear()
        self.outage.look(is_connected, self.drops, int(self.now_s * S), self.date_ms)
        return [(record.levelname, record.getMessage()) for record in self.caplog.records]


@pytest.fixture
def watcher(caplog):
    caplog.set_level("INFO")
    return Watcher(caplog)


def test_an_ordinary_start_says_nothing(watcher):
    begun = watcher.date_ms
    assert watcher.look(False) == []
    assert watcher.look(False, START_PATIENCE_S / 2) == []
    assert watcher.look(True) == []
    assert watcher.away_since_ms == [begun, 0]


def test_a_start_without_zookeeper_is_said_once_and_again_at_growing_intervals(watcher):
    since = clock_text(watcher.date_ms)
    text = ("WARNING", f"waiting for ZooKeeper at=zk:2181 since={since}")
    assert watcher.look(False, START_PATIENCE_S) == [text]
    said_s = [watcher.now_s]
    while watcher.now_s < 5_000:
        if watcher.look(False, 1.0) == [text]:
            said_s.append(watcher.now_s)
    gaps = [later - earlier for earlier, later in pairwise(said_s)]
    assert gaps[:4] == [REMINDER_FIRST_MS / 1_000 * factor for factor in (1, 2, 4, 8)]
    assert set(gaps[7:]) == {REMINDER_MAX_MS / 1_000}
    assert watcher.outage.away_s(int(watcher.now_s * S)) == watcher.now_s - 100.0
    ((level, message),) = watcher.look(True)
    assert (level, message) == (
        "WARNING",
        f"connected to ZooKeeper again at=zk:2181 away_s={watcher.now_s - 100.0:.1f}",
    )
    assert not watcher.outage.is_on


def test_an_outage_is_said_at_once_and_so_is_its_end(watcher):
    watcher.look(True)
    watcher.drops = 1
    ((level, message),) = watcher.look(False, 50)
    assert level == "WARNING"
    assert message.startswith("connection to ZooKeeper lost, the node serves its last known state")
    assert message.endswith(f"since={clock_text(watcher.date_ms)}")
    assert watcher.away_since_ms[-1] == watcher.date_ms
    assert watcher.look(False, 1) == []
    assert watcher.look(True, 1.5) == [("WARNING", "connected to ZooKeeper again at=zk:2181 away_s=2.5")]
    assert watcher.away_since_ms[-1] == 0
    assert watcher.look(True, 100) == []


def test_what_is_said_of_an_end_is_so_when_it_is_said(watcher):
    watcher.look(True)
    watcher.drops = 1
    watcher.look(False)
    found = []

    class Reader(logging.Handler):
        def emit(self, _record):
            found.append((watcher.outage.is_on, watcher.away_since_ms[-1]))

    reader = Reader()
    logger = logging.getLogger("headrace.controller.zookeeper.outage")
    logger.addHandler(reader)
    watcher.look(True)
    logger.removeHandler(reader)
    assert found == [(False, 0)]


def test_a_connection_lost_and_found_between_two_looks_is_said(watcher):
    watcher.look(True)
    watcher.drops = 3
    assert watcher.look(True) == [("WARNING", "connection to ZooKeeper lost and restored at=zk:2181 times=3")]
    assert watcher.look(True) == []
