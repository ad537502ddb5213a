"""What a partition worker tells the controller: rows have moved, a view is acted on to the end."""

import pytest

from headrace.ids import owner_of
from headrace.limits import OPENING_SLICE_MS
from headrace.shm.messages import VIEW_FOLLOWED, RequestKind
from headrace.shm.partition_table import RowState
from headrace.workers.partition.worker import PartitionWorker
from tests.support.fake_clock import FakeClock
from tests.support.fake_seat import view_of
from tests.support.seats import CONTROLLER, PARTITION, Asker, Seats

PARTITIONS = 8
OWN = sum(owner_of("t", index, 2) == 0 for index in range(PARTITIONS))


class PassingClock(FakeClock):
    """Every look at it takes a slice of opening, so that a cycle opens one log."""

    def monotonic_ns(self):
        self.ms += OPENING_SLICE_MS
        return self.ms * 1_000_000


class Controller(Asker):
    """Remembers what it was told, and which rows were in service then."""

    def __init__(self, seat):
        super().__init__(seat, {RequestKind.FOLLOWED: self.take})
        self.news = []

    def take(self, _version, body, _reply):
        rows = [self.seat.partitions.read(slot) for slot in range(PARTITIONS)]
        served = sum(row is not None and row.state == RowState.LEADER for row in rows)
        self.news.append((served, *VIEW_FOLLOWED.unpack(body)))


@pytest.fixture
def seats(tmp_path):
    seats = Seats(tmp_path / "logs")
    yield seats
    seats.close()


@pytest.fixture
def controller(seats):
    return Controller(seats.seat(CONTROLLER))


@pytest.fixture
def worker(seats):
    return PartitionWorker(seats.seat(PARTITION), PassingClock())


def test_each_row_that_is_published_is_told_of_and_so_is_the_view_that_was_followed(controller, worker):
    controller.seat.view_writer.publish(view_of(("t", PARTITIONS)))
    for _ in range(PARTITIONS + 2):
        worker.do_work()
        controller.turn()
    assert OWN > 2
    assert [served for served, _followed in controller.news[:OWN]] == list(range(1, OWN + 1))
    assert controller.news[-1] == (OWN, 1)
    told = len(controller.news)
    for _ in range(10):
        worker.do_work()
        controller.turn()
    assert len(controller.news) == told, "nothing has moved"
    controller.seat.view_writer.publish(view_of(("t", PARTITIONS))._replace(version=2))
    worker.do_work()
    controller.turn()
    assert controller.news[-1] == (OWN, 2)


def test_news_that_found_no_room_are_told_later_and_once(controller, worker, seats):
    worker.do_work()
    own = worker._mailbox
    while own.tell(CONTROLLER, -99, bytes(1000)):
        pass
    for version in range(1, 6):
        controller.seat.view_writer.publish(view_of(("t", PARTITIONS))._replace(version=version))
        for _ in range(PARTITIONS + 2):
            worker.do_work()
    assert len(own._outbox) == 2  # the other one: logs that were opened
    for _ in range(4):
        controller.turn()
        worker.do_work()
    assert controller.news == [(OWN, 5)]


def test_a_worker_that_was_replaced_tells_its_rows_again(controller, worker, seats):
    controller.seat.view_writer.publish(view_of(("t", PARTITIONS)))
    for _ in range(PARTITIONS + 2):
        worker.do_work()
    worker._replicas.close()
    seats.fabric.renew(PARTITION)
    assert seats.fabric.settle(PARTITION)
    controller.turn()
    controller.news.clear()
    successor = PartitionWorker(seats.seat(PARTITION), PassingClock())
    for _ in range(PARTITIONS + 2):
        successor.do_work()
        controller.turn()
    assert controller.news[-1] == (OWN, 1)
