"""Signals that wait for a step to end: a flag first, a KeyboardInterrupt only where one waits, or the second time."""

import os
import select
import signal

import pytest

from headrace.cli.interrupt import Interrupt

SIGNALS = [signal.SIGINT, signal.SIGTERM]


def tell(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_sets_a_flag_and_wakes_who_waits(number):
    with Interrupt() as interrupt:
        assert not interrupt
        assert interrupt.exit_code == 0
        assert not select.select([interrupt.fd], [], [], 0)[0]
        tell(number)
        assert interrupt
        assert interrupt.exit_code == 128 + number
        assert select.select([interrupt.fd], [], [], 0)[0]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_wait_that_nothing_else_ends_is_left_at_once(number):
    with Interrupt() as interrupt:
        with pytest.raises(KeyboardInterrupt), interrupt.at_once():
            tell(number)
        assert interrupt.exit_code == 128 + number


def test_outside_of_a_wait_a_signal_raises_nothing():
    with Interrupt() as interrupt:
        with interrupt.at_once():
            pass
        tell(signal.SIGINT)
        assert interrupt


def test_the_second_signal_ends_the_program_where_it_stands():
    with Interrupt() as interrupt:
        tell(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            tell(signal.SIGINT)
        assert interrupt.signal_number == signal.SIGTERM, "the first one is told"


def test_handlers_and_descriptors_are_as_before():
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interrupt() as interrupt:
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(interrupt.fd)
