"""The steady date: half the pace of time, whatever the rhythm of its turns; one for a life of the node, and for one after a kill."""

import pytest

from headrace.shm.fabric import PROCESSES, Fabric
from headrace.shm.seat import Seat
from headrace.shm.steady_date import SteadyDate, kept_offset_ns
from tests.support.fake_date import MS_NS, FakeDate

DAY_MS = 86_400_000
HOUSEKEEPER = 3  # of a fabric with one worker of each kind


@pytest.mark.parametrize("cycle_ms", [1, 2, 250, 7_000])
def test_a_difference_is_made_up_for_at_half_the_pace_of_time(cycle_ms):
    date = FakeDate()
    for monotonic_ms in range(cycle_ms, 70_001, cycle_ms):
        date.turn((DAY_MS + monotonic_ms) * MS_NS, monotonic_ms * MS_NS)
    assert date.at_ms(70_000 * MS_NS) == 70_000 + 35_000


def test_a_date_before_the_machines_start_is_one_too():
    """A machine whose clock has lost its date: it begins in 1970, and the machine ran for a minute."""
    date = FakeDate(5_000, 60_000)
    assert date.at_ms(61_000 * MS_NS) == 6_000
    date.turn(1_000 * MS_NS, 70_000 * MS_NS)
    assert date.at_ms(70_000 * MS_NS) == 10_000, "back by half of ten seconds"


def test_each_process_of_a_life_reads_the_same_date(new_fabric):
    fabric = new_fabric()
    fabric.date.begin(5 * DAY_MS * MS_NS, 1_000 * MS_NS)
    seats = [Seat(fabric.wiring, process_id) for process_id in range(fabric.wiring.process_count)]
    dates = {SteadyDate(seat.processes.words).at_ms(3_000 * MS_NS) for seat in seats}
    for seat in seats:
        seat.detach()
    fabric.renew(HOUSEKEEPER)
    seat = Seat(fabric.wiring, HOUSEKEEPER)
    dates.add(SteadyDate(seat.processes.words).at_ms(3_000 * MS_NS))
    seat.detach()
    assert dates == {5 * DAY_MS + 2_000}


def test_a_node_goes_on_with_the_date_of_a_life_that_was_killed_and_believes_its_own_after_a_stop(new_fabric):
    killed = new_fabric()
    settings, prefix = killed.wiring.settings, killed.wiring.prefix
    killed.date.begin(5 * DAY_MS * MS_NS, 1_000 * MS_NS)
    again = Fabric.create(settings)
    try:
        assert again.wiring.prefix == prefix
        assert again.date.at_ms(3_000 * MS_NS) == 5 * DAY_MS + 2_000
    finally:
        again.destroy()
    assert kept_offset_ns(prefix, PROCESSES) == 0, "a stop leaves nothing"
    third = Fabric.create(settings)
    try:
        assert third.date.at_ms(3_000 * MS_NS) > 1_000 * DAY_MS
    finally:
        third.destroy()
