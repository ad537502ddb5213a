"""Signals that a child of the supervisor takes, in this process."""

import os
import signal

import pytest

from headrace.runtime.stop_flag import StopFlag, Stopped

pytestmark = pytest.mark.usefixtures("_handlers_as_before")


def test_sigterm_sets_the_flag_and_ctrl_c_does_nothing():
    stop = StopFlag()
    signal.raise_signal(signal.SIGINT)
    assert not stop.is_set
    stop.check()
    os.kill(os.getpid(), signal.SIGTERM)
    assert stop.is_set
    with pytest.raises(Stopped):
        stop.check()


def test_sigterm_ends_a_sleep():
    woken = []
    StopFlag(lambda: woken.append(1))
    os.kill(os.getpid(), signal.SIGTERM)
    assert woken == [1]
