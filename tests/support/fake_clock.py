"""A clock that stands still until the test moves it."""

NOW_MS = 1_700_000_000_000


class FakeClock:
    """Both clocks show `ms`, until the date is set: `step_ms` forward, or back."""

    def __init__(self, ms=NOW_MS):
        self.ms = ms
        self.step_ms = 0

    def now_ms(self):
        return self.ms + self.step_ms

    def monotonic_ns(self):
        return self.ms * 1_000_000
