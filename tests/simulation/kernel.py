"""Simulated time, chance and the story of a run: what all parts of a simulation share.

kernel = Kernel(seed)
kernel.after(ns, call)      something happens later; `run_due` lets it happen
kernel.chance               the only source of choices: one random.Random(seed)
kernel.note(...)            a line of the story; the hash of all lines is the run's fingerprint
kernel.running              the process whose code runs now, or None: system calls are made in its name
"""

import hashlib
import heapq
import random

MS = 1_000_000
BOOT_NS = 1_000_000 * MS  # of the monotonic clock, when a simulation begins
WALL_MS = 1_700_000_000_000  # the date then


class Killed(BaseException):
    """The process whose code runs is no more. Nothing catches it, as nothing does at SIGKILL."""


class Kernel:
    """keep   whether the lines of the story are kept, besides their hash"""

    def __init__(self, seed, keep=False):
        self.seed = seed
        self.chance = random.Random(seed)
        self.now_ns = BOOT_NS
        self.running = None
        self.steps = 0
        self.lines = []
        self.anomalies = []
        self._keep = keep
        self._hash = hashlib.sha256()
        self._events = []
        self._serial = 0

    @property
    def now_ms(self):
        return self.now_ns // MS

    @property
    def elapsed_s(self):
        return (self.now_ns - BOOT_NS) / 1e9

    @property
    def wall_ns(self):
        skew_ms = 0 if self.running is None else self.running.machine.skew_ms
        return (WALL_MS + skew_ms) * MS + self.now_ns - BOOT_NS

    @property
    def fingerprint(self):
        return self._hash.hexdigest()[:16]

    def note(self, who, what):
        """One line of the story."""
        line = f"{(self.now_ns - BOOT_NS) / 1e9:11.6f} {who:<14} {what}"
        self._hash.update(line.encode())
        if self._keep:
            self.lines.append(line)

    def tell(self, line):
        """A line that is no part of the fingerprint: it has paths in it, or the order of a log."""
        if self._keep:
            self.lines.append(f"{(self.now_ns - BOOT_NS) / 1e9:11.6f} {line}")

    def anomaly(self, text):
        self.note("JUDGE", text)
        self.anomalies.append(f"{self.elapsed_s:.6f} {text}")

    def after(self, delay_ns, call, process=None):
        """Call something later, in the name of a process, unless that is dead by then."""
        self._serial += 1
        heapq.heappush(self._events, (self.now_ns + delay_ns, self._serial, call, process))

    def close(self):
        """Nothing happens any more."""
        self._events.clear()

    @property
    def next_ns(self):
        """When the next thing happens by itself; None: nothing will."""
        return self._events[0][0] if self._events else None

    def run_due(self):
        """Let happen what is due."""
        events = self._events
        while events and events[0][0] <= self.now_ns:
            _due_ns, _serial, call, process = heapq.heappop(events)
            if process is None:
                self.run_as(None, call)
            elif not process.is_dead:
                self.run_as(process, call)

    def run_as(self, process, call):
        """Run something in the name of a process; one that dies of it is buried."""
        before, self.running = self.running, process
        try:
            call()
        except Killed:
            assert process is not None
            process.die("killed")
        finally:
            self.running = before

    def system_call(self, _name):
        """A process makes a system call that others can see: it may die right before it."""
        process = self.running
        if process is None:
            return
        if process.is_dead:
            raise Killed
        if process.calls_left > 0:
            process.calls_left -= 1
            if not process.calls_left:
                raise Killed
