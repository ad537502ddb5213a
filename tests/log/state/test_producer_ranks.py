"""More producers in the snapshots of a worker than it may remember: those that were idle longest go, in whatever order logs are opened."""

import os
import random

import pytest

from headrace.limits import PRODUCER_LOGS_PER_TICK_MAX, PRODUCERS_CHECK_MS
from headrace.log.config import LogConfig
from headrace.log.names import LOG_SUFFIX, SNAPSHOT_SUFFIX, path_of
from headrace.log.recovery.append_dates import AppendDates
from headrace.log.state.producer_snapshot import read_snapshot
from headrace.log.state.producer_state import ProducerBudget
from headrace.workers.partition.producer_expiry import ProducerExpiry
from tests.support.fake_clock import FakeClock
from tests.support.log_fixtures import LogMaker, batch

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
LIVE = 1


class Logs:
    """Logs of one worker, which share a clock and a bound; file dates are the clock's."""

    def __init__(self, path, names, producers_max=100):
        self.clock = FakeClock()
        self.makers = {name: LogMaker(path / name) for name in names}
        for maker in self.makers.values():
            maker.clock = self.clock
        self.producers_max = producers_max
        self.logs = {}
        self.sequences = {}

    def open(self, order, *, is_clean):
        """A process begins, and opens its logs one after the other."""
        budget = ProducerBudget(self.producers_max, self.clock.ms, self.clock.now_ms())
        for name in order:
            self.clock.ms += 7
            where = {} if is_clean or name not in self.logs else {"trusted": self.places[name]}
            self.logs[name] = self.makers[name].open(clean=is_clean, producer_budget=budget, **where)

    def append(self, name, producer_id):
        """The next batch of a producer; returns its sequence."""
        sequence = self.sequences.get((name, producer_id), 0)
        log = self.logs[name]
        ((error, _offset, _time),) = log.append_as_leader([self.one(producer_id, sequence)], 0, self.clock.now_ms())
        assert error == 0
        date = self.clock.now_ms() / 1000
        os.utime(path_of(log.directory, log.end_segment, LOG_SUFFIX), (date, date))
        self.sequences[name, producer_id] = sequence + 1
        return sequence

    def again(self, name, producer_id, sequence):
        """The offset that a batch has which is sent again, and whether it was stored once more."""
        log = self.logs[name]
        end = log.log_end_offset
        ((error, _offset, _time),) = log.append_as_leader([self.one(producer_id, sequence)], 0, self.clock.now_ms())
        return error == 0 and log.log_end_offset == end

    def one(self, producer_id, sequence):
        return batch(
            producer_id=producer_id, producer_epoch=0, base_sequence=sequence, timestamp_ms=self.clock.now_ms()
        )

    def stop(self):
        for log in self.logs.values():
            log.close()
        self._date_snapshots()

    def kill(self):
        self.places = {name: (log.end_segment, log.end_position) for name, log in self.logs.items()}
        for log in self.logs.values():
            log.abandon()
        self._date_snapshots()

    def _date_snapshots(self):
        date = self.clock.now_ms() / 1000
        for log in self.logs.values():
            for path in log.directory.glob(f"*{SNAPSHOT_SUFFIX}"):
                if path.stat().st_mtime > date:
                    os.utime(path, (date, date))

    @property
    def known(self):
        return sum(len(log.producers.producers) for log in self.logs.values())


@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("order", [("live", "dead"), ("dead", "live")])
def test_the_order_of_openings_does_not_rank(tmp_path, order, is_clean):
    logs = Logs(tmp_path, ("live", "dead"))
    logs.open(("live", "dead"), is_clean=True)
    for producer_id in range(100, 199):  # tasks of yesterday
        logs.append("dead", producer_id)
    logs.clock.ms += DAY_MS - 1000
    logs.append("live", LIVE)
    sequence = logs.append("live", LIVE)
    logs.stop() if is_clean else logs.kill()
    logs.producers_max = 95
    logs.open(order, is_clean=is_clean)
    assert logs.known <= 95
    assert logs.again("live", LIVE, sequence), "its answer was lost"
    assert not logs.again("dead", 100, 0), "those that were idle longest are forgotten"


@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
def test_a_producer_that_lives_is_known_through_weeks_of_restarts(tmp_path, is_clean):
    """A restart each day: nothing that an opening found is ever a day old, and each day brings producers that soon end."""
    chance = random.Random(17)
    names = [f"log{number}" for number in range(5)]
    logs = Logs(tmp_path, names)
    logs.open(names, is_clean=True)
    next_id = 1000
    for _day in range(21):
        for _ in range(40):
            logs.append(chance.choice(names), next_id)
            next_id += 1
        logs.clock.ms += DAY_MS - HOUR_MS
        last = {(name, LIVE + place): logs.append(name, LIVE + place) for name in names for place in range(2)}
        logs.stop() if is_clean else logs.kill()
        logs.open(chance.sample(names, len(names)), is_clean=is_clean)
        assert logs.known <= 100
        for (name, producer_id), sequence in last.items():
            assert logs.again(name, producer_id, sequence)
    on_disk = [len(read_snapshot(path)) for name in names for path in logs.makers[name].directory.glob("*.snapshot")]
    assert sum(on_disk) <= 4 * 100


@pytest.mark.parametrize("step_ms", [-400 * DAY_MS, 400 * DAY_MS])
def test_dates_that_are_wrong_leave_their_order(tmp_path, step_ms):
    """The process began with another date than that of what it finds."""
    logs = Logs(tmp_path, ("live", "dead"))
    logs.open(("live", "dead"), is_clean=True)
    for producer_id in range(100, 199):
        logs.append("dead", producer_id)
    logs.clock.ms += HOUR_MS
    sequence = logs.append("live", LIVE)
    logs.stop()
    logs.clock.step_ms = step_ms
    logs.producers_max = 95
    logs.open(("live", "dead"), is_clean=True)
    assert logs.again("live", LIVE, sequence)


def test_what_a_process_has_seen_itself_ranks_beside_what_it_finds(tmp_path):
    """A log that is opened in mid-life brings producers of a minute ago, and others of yesterday."""
    logs = Logs(tmp_path, ("first", "late"))
    logs.open(("first", "late"), is_clean=True)
    for producer_id in range(100, 150):
        logs.append("late", producer_id)
    logs.clock.ms += DAY_MS
    sequence = logs.append("late", LIVE)
    logs.stop()
    logs.open(("first",), is_clean=True)
    for producer_id in range(200, 260):
        logs.append("first", producer_id)
    logs.clock.ms += 60_000
    budget = logs.logs["first"].producers._budget
    logs.logs["late"] = logs.makers["late"].open(clean=True, producer_budget=budget)
    assert len(logs.logs["first"].producers.producers) == 60
    assert logs.again("late", LIVE, sequence)
    assert not logs.again("late", 100, 0)


def test_a_quiet_log_forgets_its_producers_by_the_timer_and_the_next_life_does_not_find_them(tmp_path):
    logs = Logs(tmp_path, ("quiet",))
    logs.open(("quiet",), is_clean=True)
    logs.append("quiet", LIVE)
    logs.stop()
    logs.open(("quiet",), is_clean=True)
    log = logs.logs["quiet"]
    by_slot = {slot: Opened(log) for slot in range(2 * PRODUCER_LOGS_PER_TICK_MAX)}
    expiry = ProducerExpiry(by_slot, logs.clock.ms)
    logs.clock.ms += DAY_MS - HOUR_MS
    assert ticked(expiry, logs.clock) == 0, "no opening expires anything: its age counts from there"
    logs.clock.ms += 2 * HOUR_MS
    assert ticked(expiry, logs.clock) == 1
    assert not log.producers.producers
    logs.stop()
    logs.open(("quiet",), is_clean=True)
    assert not logs.logs["quiet"].producers.producers


def test_a_round_is_due_now_and_then_and_takes_some_logs_in_each_tick():
    seen = []
    by_slot = {slot: Counted(seen, slot) for slot in range(PRODUCER_LOGS_PER_TICK_MAX + 5)}
    expiry = ProducerExpiry(by_slot, 0)
    expiry.tick(PRODUCERS_CHECK_MS - 1)
    assert not seen
    expiry.tick(PRODUCERS_CHECK_MS)
    assert len(seen) == PRODUCER_LOGS_PER_TICK_MAX
    del by_slot[PRODUCER_LOGS_PER_TICK_MAX]  # not held any more
    expiry.tick(PRODUCERS_CHECK_MS + 50)
    assert seen == [slot for slot in range(PRODUCER_LOGS_PER_TICK_MAX + 5) if slot != PRODUCER_LOGS_PER_TICK_MAX]
    expiry.tick(PRODUCERS_CHECK_MS + 100)
    assert len(seen) == PRODUCER_LOGS_PER_TICK_MAX + 4


class Opened:
    """A replica, as far as the timer knows one."""

    def __init__(self, log):
        self.log = log


class Counted:
    """Of no producers; it notes that it was asked."""

    def __init__(self, seen, slot):
        self.log = self.producers = self
        self._seen, self._slot = seen, slot

    def expire(self, _now_ms):
        self._seen.append(self._slot)
        return 0


def ticked(expiry, clock):
    return sum(expiry.tick(clock.ms + tick) for tick in range(3))


def test_dates_of_a_replay():
    dates = AppendDates(1_000, 9_000)
    dates.begin_segment(5_000, 100)
    assert dates.date_of(10, 20) == 1_000, "not before the snapshot"
    assert dates.date_of(3_000, 40) == 3_000
    assert dates.date_of(2_000, 60) == 3_000, "what lies later in the log is not older"
    assert dates.date_of(10**15, 80) == 5_000, "not after its file"
    assert dates.date_of(-1, 100) == 5_000, "the last one is as old as its file"
    dates.begin_segment(10**15, 50)
    assert dates.date_of(10**15, 50) == 9_000, "nor after now"
    late = AppendDates(7_000, 9_000)
    late.begin_segment(5_000, 100)
    assert late.date_of(6_000, 20) == 7_000, "a file that was copied says less than a snapshot"


def test_an_opening_reads_no_more_for_a_producer_that_is_gone_for_good(tmp_path, monkeypatch):
    read = count_reads(monkeypatch)
    found = []
    for producer_id in (-1, 7):
        logs = Logs(tmp_path, (f"p{producer_id}",))
        (name,) = logs.makers
        logs.open((name,), is_clean=True)
        log = logs.logs[name]
        if producer_id >= 0:
            for sequence in range(6):
                logs.append(name, producer_id)
                assert logs.sequences[name, producer_id] == sequence + 1
        while log.log_end_offset < 6_000:
            log.append_as_leader([batch(size=20) for _ in range(500)], 0, logs.clock.now_ms())
        logs.stop()
        logs.clock.ms += HOUR_MS
        read.clear()
        logs.makers[name].open(LogConfig(), clean=True)
        found.append(sum(read))
    assert found[1] <= found[0] + 4096


def test_one_of_a_minute_ago_is_recalled(tmp_path, monkeypatch):
    logs = Logs(tmp_path, ("t",))
    logs.open(("t",), is_clean=True)
    for _ in range(6):
        logs.append("t", LIVE)
    logs.stop()
    logs.clock.ms += 60_000
    log = logs.makers["t"].open(clean=True)
    assert [one.first_sequence for one in log.producers.producers[LIVE].batches] == [1, 2, 3, 4, 5]


def count_reads(monkeypatch):
    """How many bytes each pread returned: readers of a log take it of `os`."""
    from headrace.log.reading import segment_file

    sizes = []
    pread = os.pread

    class Counting:
        def __getattr__(self, name):
            return getattr(os, name)

        @staticmethod
        def pread(fd, size, position):
            data = pread(fd, size, position)
            sizes.append(len(data))
            return data

    monkeypatch.setattr(segment_file, "os", Counting())
    return sizes
