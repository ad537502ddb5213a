"""A clock that stands still until the test moves it."""

NOW_MS = 1_700_000_000_000


class FakeClock:
    """Both clocks show `ms`."""

    def __init__(self, ms=NOW_MS):
        self.ms = ms

    def now_ms(self):
        return self.ms

    def monotonic_ns(self):
        return self.ms * 1_000_000
