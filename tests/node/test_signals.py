"""The signal inbox and its blocking, with signals that this process sends itself."""

import os
import signal
import threading
import time

import pytest

from headrace.node.signals import HANDLED, SignalInbox, blocked

WAIT_MS = 60_000  # nobody waits that long: a signal comes, or a shorter wait ends


def test_a_signal_ends_the_wait_and_leaves_its_name():
    with SignalInbox() as inbox:
        assert inbox.stop_signal is None
        os.kill(os.getpid(), signal.SIGTERM)
        begun = time.monotonic()
        inbox.wait(WAIT_MS)
        assert time.monotonic() - begun < WAIT_MS / 1000
        assert inbox.stop_signal == "SIGTERM"
        os.kill(os.getpid(), signal.SIGINT)
        inbox.wait(WAIT_MS)
        assert inbox.stop_signal == "SIGTERM"  # the first one counts


@pytest.mark.process
def test_the_end_of_a_child_ends_the_wait_and_asks_for_no_stop():
    with SignalInbox() as inbox:
        pid = os.fork()
        if not pid:
            os._exit(0)
        begun = time.monotonic()
        inbox.wait(WAIT_MS)
        assert time.monotonic() - begun < WAIT_MS / 1000
        assert inbox.stop_signal is None
        os.waitpid(pid, 0)


def test_a_wait_without_a_signal_ends_in_time():
    with SignalInbox() as inbox:
        begun = time.monotonic()
        inbox.wait(10)
        assert 0.005 < time.monotonic() - begun < WAIT_MS / 1000


def test_the_handlers_before_come_back():
    before = [signal.getsignal(number) for number in HANDLED]
    with SignalInbox():
        assert [signal.getsignal(number) for number in HANDLED] != before
    assert [signal.getsignal(number) for number in HANDLED] == before


def test_a_hangup_that_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with SignalInbox():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_blocked_signal_arrives_after():
    with SignalInbox() as inbox:
        with blocked():
            # to this thread: other tests' libraries have threads, which may take a signal that is for the process
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
            time.sleep(0.01)
            assert inbox.stop_signal is None
        assert inbox.stop_signal == "SIGTERM"


@pytest.mark.process
@pytest.mark.parametrize("turn", range(20))
def test_a_stop_sent_right_after_the_fork_is_never_lost_in_the_child(turn):
    """The child would go on for ever if our handler ran in it."""
    with SignalInbox() as inbox:
        with blocked():
            pid = os.fork()
            if not pid:
                inbox.forget_in_child()
        if not pid:
            time.sleep(WAIT_MS / 1000)
            os._exit(1)
        os.kill(pid, signal.SIGTERM)
        _pid, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM


def test_a_hang_up_is_a_stop_or_asks_for_a_reload():
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the suite may run under nohup, which the inbox respects
    try:
        with SignalInbox(hang_up_stops=False) as inbox:
            os.kill(os.getpid(), signal.SIGHUP)
            inbox.wait(WAIT_MS)
            assert inbox.stop_signal is None
            assert inbox.take_reload()
            assert not inbox.take_reload()
        with SignalInbox() as inbox:
            os.kill(os.getpid(), signal.SIGHUP)
            inbox.wait(WAIT_MS)
            assert inbox.stop_signal == "SIGHUP"
            assert not inbox.take_reload()
    finally:
        signal.signal(signal.SIGHUP, before)
