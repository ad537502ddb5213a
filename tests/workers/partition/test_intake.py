"""What a partition worker takes from its rings, and when it does not."""

import pytest

from headrace.limits import GROUP_REQUESTS_PER_CYCLE_MAX
from headrace.shm.cluster_view import EMPTY_VIEW
from headrace.shm.messages import ReplyStatus
from headrace.workers.partition.worker import PartitionWorker
from tests.support.fake_clock import FakeClock
from tests.support.seats import CONTROLLER, NETWORK, PARTITION, Asker, Seats

KIND = -99
BACKLOG_MAX = 20
REQUESTS = 300


@pytest.fixture
def seats(tmp_path):
    seats = Seats(tmp_path / "logs")
    seats.seat(CONTROLLER).view_writer.publish(EMPTY_VIEW._replace(version=1))
    yield seats
    seats.close()


@pytest.fixture
def worker(seats, monkeypatch):
    monkeypatch.setattr("headrace.runtime.outbox.MAIL_BACKLOG_MESSAGES_MAX", BACKLOG_MAX)
    worker = PartitionWorker(seats.seat(PARTITION), FakeClock())
    worker._mailbox.serve(KIND, lambda version, body, reply: reply(bytes(30_000)))
    return worker


def test_a_network_worker_that_takes_no_replies_is_not_read_and_refused_nothing(seats, worker):
    network = Asker(seats.seat(NETWORK))
    for _ in range(REQUESTS):
        assert network.ask(PARTITION, KIND)
    for _ in range(REQUESTS):
        worker.do_work()
    assert BACKLOG_MAX < len(worker._mailbox._outbox) <= BACKLOG_MAX + GROUP_REQUESTS_PER_CYCLE_MAX + 64
    while len(network.replies) < REQUESTS:
        assert network.turn()
        worker.do_work()
    assert {status for status, _body in network.replies} == {ReplyStatus.ANSWERED}


def test_other_roles_are_read_while_a_network_worker_is_not(seats, worker):
    network, controller = Asker(seats.seat(NETWORK)), Asker(seats.seat(CONTROLLER))
    for _ in range(REQUESTS):
        network.ask(PARTITION, KIND)
    for _ in range(REQUESTS):
        worker.do_work()
    controller.ask(PARTITION, KIND)
    worker.do_work()
    controller.turn()
    assert controller.replies == [] or controller.replies[0][0] is ReplyStatus.ANSWERED
    for _ in range(3):
        worker.do_work()
        controller.turn()
    assert controller.replies == [(ReplyStatus.ANSWERED, bytes(30_000))]
