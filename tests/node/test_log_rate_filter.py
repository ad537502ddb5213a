"""How many lines of a log a peer may cause."""

import io
import logging

import pytest

from headrace.limits import PEER_LINES_INTERVAL_MS, PEER_LINES_MAX, PEER_TRACES_MAX
from headrace.node.logging_setup import set_up_logging

CLOSED = "connection closed peer=%s reason=%s"


class Lines:
    """What came out, at times that the test chooses."""

    def __init__(self):
        self.stream = io.StringIO()
        set_up_logging("INFO", self.stream)
        (self.handler,) = logging.getLogger().handlers
        self.now_s = 1_000.0

    def say(self, module, message, *values, trace=None):
        record = logging.LogRecord(module, logging.INFO, "", 0, message, values, trace)
        record.created = self.now_s
        self.handler.handle(record)

    def told(self):
        text = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return text.splitlines()


@pytest.fixture
def lines():
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield Lines()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_two_thousand_bad_requests_are_not_two_thousand_lines(lines):
    for number in range(2_000):
        lines.say("headrace.workers.network.loop", CLOSED, f"10.0.0.1:{number}", "HTTP on a PLAINTEXT listener")
    told = lines.told()
    assert len(told) == PEER_LINES_MAX
    assert told[-1].endswith(f"more_left_out_for_ms={PEER_LINES_INTERVAL_MS}")
    lines.say("headrace.workers.network.loop", "connection refused peer=%s", "10.0.0.2")
    assert len(lines.told()) == 1, "lines of another kind are counted by themselves"
    lines.now_s += PEER_LINES_INTERVAL_MS / 1_000
    for _ in range(2):
        lines.say("headrace.workers.network.loop", CLOSED, "10.0.0.1:1", "idle")
    first, second = lines.told()
    assert first.endswith(f"reason=idle left_out_before={2_000 - PEER_LINES_MAX}")
    assert second.endswith("reason=idle")


def test_tracebacks_are_fewer(lines):
    failure = ValueError("no")
    for _ in range(100):
        lines.say("headrace.workers.coordinators.group.loader", "broken", trace=(ValueError, failure, None))
    assert sum("broken" in line for line in lines.told()) == PEER_TRACES_MAX


def test_what_the_node_says_of_itself_is_always_told(lines):
    for _ in range(3 * PEER_LINES_MAX):
        lines.say("headrace.workers.partition.replicas.replicas", "replica opened partition=%s", "t-0")
    assert len(lines.told()) == 3 * PEER_LINES_MAX


def test_a_clock_that_is_set_back_silences_nobody(lines):
    for _ in range(2 * PEER_LINES_MAX):
        lines.say("headrace.workers.network.loop", CLOSED, "p", "r")
    lines.told()
    lines.now_s -= 3_600
    lines.say("headrace.workers.network.loop", CLOSED, "p", "r")
    assert len(lines.told()) == 1
