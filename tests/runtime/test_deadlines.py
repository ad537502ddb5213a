"""Deadlines against a sorted list, by lot; what is cancelled goes, and its room with it."""

import gc
import random
import weakref

import pytest

from headrace.limits import CANCELLED_DEADLINES_MAX
from headrace.runtime.deadlines import NEVER, Deadlines

MANY = 1_000_000


def due(deadlines, now_ms):
    found = []
    while (entry := deadlines.pop_due(now_ms)) is not None:
        found.append(entry)
    return found


def test_what_is_due_comes_in_order_and_equals_as_they_were_scheduled():
    deadlines = Deadlines(MANY)
    assert deadlines.next_ms == NEVER
    serials = [deadlines.schedule(at, at, "part") for at in (30, 10, 20, 10)]
    assert (deadlines.next_ms, len(deadlines)) == (10, 4)
    assert deadlines.pop_due(9) is None
    assert due(deadlines, 20) == [
        (10, serials[1], 10, "part"), (10, serials[3], 10, "part"), (20, serials[2], 20, "part"),
    ]  # fmt: skip
    assert (deadlines.next_ms, len(deadlines)) == (30, 1)


@pytest.mark.parametrize("seed", range(20))
def test_against_a_sorted_list(seed):
    chance = random.Random(seed)
    deadlines, wanted, now_ms = Deadlines(MANY), {}, 0
    for _ in range(2_000):
        match chance.choice(["schedule", "schedule", "cancel", "reschedule", "pass"]):
            case "schedule":
                at = now_ms + chance.randrange(500)
                wanted[deadlines.schedule(at, "x")] = at
            case "cancel" if wanted:
                serial = chance.choice(list(wanted))
                del wanted[serial]
                deadlines.cancel(serial)
            case "reschedule" if wanted:
                serial, at = chance.choice(list(wanted)), now_ms + chance.randrange(500)
                del wanted[serial]
                wanted[deadlines.reschedule(serial, at, "x")] = at
            case "pass":
                now_ms += chance.randrange(30)
                came = sorted((at, serial) for serial, at in wanted.items() if at <= now_ms)
                assert [entry[:2] for entry in due(deadlines, now_ms)] == came, seed
                for _at, serial in came:
                    del wanted[serial]
        assert deadlines.next_ms == min(wanted.values(), default=NEVER), seed
        assert len(deadlines) <= 2 * len(wanted) + CANCELLED_DEADLINES_MAX + 1, seed


def test_none_is_cancelled_by_nought():
    deadlines = Deadlines(MANY)
    deadlines.schedule(5, "x")
    deadlines.cancel(0)
    assert len(due(deadlines, 5)) == 1


def test_a_full_heap_says_so_and_what_was_cancelled_makes_room():
    deadlines = Deadlines(3)
    serials = [deadlines.schedule(at, "x") for at in (1, 2, 3)]
    assert deadlines.schedule(0, "x") == 0
    assert deadlines.next_ms == 1
    deadlines.cancel(serials[1])
    assert len(deadlines) == 3, "it lies in the middle"
    assert deadlines.schedule(4, "x")
    assert [entry[0] for entry in due(deadlines, 4)] == [1, 3, 4]


def test_an_owner_may_give_out_the_serials():
    deadlines = Deadlines(2)
    assert deadlines.schedule_as(900, 5, "x")
    assert deadlines.schedule_as(400, 5, "y")
    assert not deadlines.schedule_as(901, 5, "z")
    deadlines.cancel(900)
    assert due(deadlines, 5) == [(5, 400, "y")]


class Subject:
    pass


def test_nothing_is_held_of_what_is_cancelled_by_the_many():
    """A client may ask for weeks."""
    deadlines, gone = Deadlines(MANY), []
    for _ in range(10 * CANCELLED_DEADLINES_MAX):
        subject = Subject()
        gone.append(weakref.ref(subject))
        deadlines.schedule(1 << 40, Subject())
        serial = deadlines.schedule(1 << 41, subject)
        deadlines.cancel(serial)
    del subject
    gc.collect()
    held = sum(ref() is not None for ref in gone)
    assert held <= len(deadlines) // 2 + CANCELLED_DEADLINES_MAX


def test_a_serial_that_came_up_may_be_cancelled_late():
    deadlines = Deadlines(MANY)
    early = deadlines.schedule(1, "x")
    due(deadlines, 1)
    deadlines.cancel(early)
    deadlines.schedule(2, "y")
    assert len(due(deadlines, 2)) == 1
