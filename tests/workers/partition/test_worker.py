"""The duty cycle: logs are opened a few in a cycle, and the worker is ready when all are."""

from types import SimpleNamespace

import pytest

from headrace.limits import OPENING_SLICE_MS
from headrace.shm.cluster_view import EMPTY_VIEW, DeletedTopic
from headrace.workers.partition.replicas import replicas
from headrace.workers.partition.worker import PartitionWorker
from tests.support.fake_clock import FakeClock
from tests.support.fake_seat import FakeSeat, Followed, SilentRing, view_of

PARTITIONS = 6


class PassingClock(FakeClock):
    """Every look at it takes a slice of opening."""

    def monotonic_ns(self):
        self.ms += OPENING_SLICE_MS
        return self.ms * 1_000_000


class View(Followed):
    def __init__(self):
        self.now = EMPTY_VIEW

    def version(self):
        return self.now.version

    def read(self):
        return self.now


class Seat(FakeSeat):
    """A partition worker's, alone: nobody asks for anything."""

    def __init__(self, log_dirs):
        super().__init__(log_dirs)
        self.view = View()
        self.readers = self.writers = dict.fromkeys(self.wiring.targets(self.process_id), SilentRing())
        self.followed = []
        self.lags = SimpleNamespace(first_of=lambda section: 0, used=lambda section: 0, rows_of_section=0)

    def changed(self):
        return frozenset()

    def ring(self, process_id):
        pass

    def set_followed(self, view_version):
        self.followed.append(view_version)


@pytest.fixture
def seat(tmp_path):
    return Seat([tmp_path])


def test_a_cycle_opens_a_few_logs_and_the_worker_does_not_sleep_until_all_are_open(seat):
    worker = PartitionWorker(seat, PassingClock())
    assert not worker.do_work()
    assert not worker.is_ready()
    seat.view.now = view_of(("t", PARTITIONS))
    opened = []
    while worker.do_work():
        opened.append(len(worker._replicas.by_slot))
        assert not worker.is_ready()
        assert not seat.followed
    assert opened == list(range(1, PARTITIONS))
    assert len(worker._replicas.by_slot) == PARTITIONS
    assert worker.is_ready()
    assert seat.followed == [1]


def test_groups_are_taken_up_when_their_log_is_open(seat):
    worker = PartitionWorker(seat, PassingClock())
    seat.view.now = view_of(("t", 3), ("__consumer_offsets", 2))
    hosted = []
    while worker.do_work() and len(hosted) < 20:
        hosted.append(len(worker._groups.by_partition))
    assert hosted[:2] == [1, 2]


def test_a_deletion_is_followed_when_every_group_that_may_know_the_topic_has_been_read(seat):
    worker = PartitionWorker(seat, PassingClock())
    view = view_of(("__consumer_offsets", 3))
    seat.view.now = view._replace(deleted=(DeletedTopic("t", "id"),))
    while not seat.followed:
        worker.do_work()
        assert len(worker._groups.by_partition) == 3 or not seat.followed
    assert not any(hosted.coordinator.is_loading for hosted in worker._groups.by_partition.values())
    seat.view.now = view._replace(version=2)
    worker.do_work()
    assert seat.followed == [1, 2]


def test_a_worker_that_stops_opens_no_further_logs(seat):
    worker = PartitionWorker(seat, PassingClock())
    seat.view.now = view_of(("t", PARTITIONS))
    worker.do_work()
    assert worker.drain()
    assert not worker.do_work()
    assert worker.close()
    assert len(worker._replicas.by_slot) == 1


def test_a_view_is_followed_when_what_goes_is_gone(seat, monkeypatch):
    """A deletion that is owed: the controller would give the name to another topic."""
    worker = PartitionWorker(seat, PassingClock())
    seat.view.now = view_of(("t", 1))
    while worker.do_work():
        pass
    monkeypatch.setattr(replicas.Replicas, "has_owed", True)
    seat.view.now = view_of()._replace(version=2)
    worker.do_work()
    assert seat.followed == [1]
    monkeypatch.setattr(replicas.Replicas, "has_owed", False)
    worker.do_work()
    assert seat.followed == [1, 2]
