"""The system's clocks, as every process reads them."""

import time

from headrace.clock import SystemClock


def test_the_clocks_are_the_systems_in_the_units_that_their_names_say():
    clock = SystemClock()
    assert abs(clock.now_ms() - time.time() * 1000) < 60_000
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)  # which all processes of a boot share
    now_ns = clock.monotonic_ns()
    assert before <= now_ns <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)
