"""A seat, a clock and a stop flag that the test holds, around a real doorbell."""

import os
from types import SimpleNamespace

from headrace.shm.doorbell import Doorbell
from headrace.shm.wiring import Role
from tests.support.fake_clock import FakeClock


class TickingClock(FakeClock):
    """Every reading of the monotonic clock takes a millisecond."""

    def monotonic_ns(self):
        self.ms += 1
        return super().monotonic_ns()


class CycleSeat:
    """Notes what a process says of itself."""

    process_id = 0
    role = Role.CONTROLLER
    wiring = SimpleNamespace(title=lambda _process_id: "hr-test-0")

    def __init__(self):
        self.words = [0]
        self.doorbell = Doorbell(os.eventfd(0, os.EFD_NONBLOCK), self.words, 0)
        self.states = []
        self.beats = 0
        self.changes = []  # answers of `changed`, then nothing

    def beat(self, _now_ns):
        self.beats += 1

    def changed(self):
        return self.changes.pop(0) if self.changes else frozenset()

    def set_state(self, state):
        self.states.append(state)
