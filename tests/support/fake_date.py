"""A steady date in memory of this process. Of zeros it is a `FakeClock`'s, whose two clocks begin alike; nothing turns it but the test."""

from headrace.shm.layout import PROCESS_ROWS
from headrace.shm.steady_date import SteadyDate

MS_NS = 1_000_000


class FakeDate:
    """words    what a process table has of it
    steady   the date in them
    """

    def __init__(self, wall_ms=0, monotonic_ms=0):
        self.words = memoryview(bytearray(PROCESS_ROWS)).cast("Q")
        self.steady = SteadyDate(self.words)
        self.at_ms, self.begin, self.turn = self.steady.at_ms, self.steady.begin, self.steady.turn
        self.begin(wall_ms * MS_NS, monotonic_ms * MS_NS)

    def turn_by(self, clock):
        """One tick of the supervisor, which has a clock like this one."""
        self.turn(clock.now_ms() * MS_NS, clock.monotonic_ns())
