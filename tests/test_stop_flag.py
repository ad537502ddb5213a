"""Signals that a child of the supervisor takes, in this process."""

import os
import signal

import pytest

from headrace.stop_flag import StopFlag


@pytest.fixture(autouse=True)
def _handlers_as_before():
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_sigterm_sets_the_flag_and_ctrl_c_does_nothing():
    stop = StopFlag()
    signal.raise_signal(signal.SIGINT)
    assert not stop.is_set
    os.kill(os.getpid(), signal.SIGTERM)
    assert stop.is_set
