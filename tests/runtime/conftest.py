"""The fakes of this folder."""

import os
import signal

import pytest

from tests.runtime.fake_node import Desk
from tests.runtime.runtime_fakes import CycleSeat
from tests.support.seats import Seats


@pytest.fixture
def seat():
    seat = CycleSeat()
    yield seat
    os.close(seat.doorbell.fd)


@pytest.fixture
def seats(tmp_path):
    seats = Seats(tmp_path / "logs")
    yield seats
    seats.close()


@pytest.fixture
def _handlers_as_before():
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def desk(seat):
    desk = Desk(seat)
    yield desk
    desk.close()
