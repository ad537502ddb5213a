"""Doorbells between processes; the order of their stores and loads is in test_mutants.py."""

import os
import select
import time

import pytest

from headrace.shm.doorbell import Doorbell
from headrace.shm.region import Region
from headrace.shm.ring import RingReader, RingWriter
from tests.support.stepping import exit_code, fork
from tests.support.waiting import DEADLINE_S

WORD = 100


@pytest.fixture
def doorbell(names):
    fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    yield Doorbell(fd, Region.create(names(), 4096).words, WORD)
    os.close(fd)


def has_rung(doorbell: Doorbell) -> bool:
    return bool(select.select([doorbell.fd], [], [], 0)[0])


def test_a_busy_process_is_not_rung(doorbell):
    doorbell.ring()
    assert not has_rung(doorbell)


def test_a_parked_process_is_rung_until_it_unparks(doorbell):
    doorbell.park()
    doorbell.ring()
    doorbell.ring()
    assert has_rung(doorbell)
    doorbell.unpark()
    assert not has_rung(doorbell)
    doorbell.ring()
    assert not has_rung(doorbell)


def test_a_forced_ring_wakes_whatever_the_word_says(doorbell):
    doorbell.force()
    assert has_rung(doorbell)


def test_a_bell_at_its_limit_rings_already(doorbell):
    os.eventfd_write(doorbell.fd, 2**64 - 2)
    doorbell.force()
    assert has_rung(doorbell)


@pytest.mark.process
def test_two_sleepers_hand_a_message_back_and_forth_without_a_timeout(names, new_ring_region):
    """A lost wake-up would hang here: nobody's sleep has an end of its own but the test's."""
    rounds = 5_000
    words = Region.create(names(), 4096).words
    fds = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
    region_names = [new_ring_region().name]
    there = Region.attach(region_names[0])
    back = new_ring_region()

    def play(own: int, reader: RingReader, writer: RingWriter) -> int:
        bells = [Doorbell(fd, words, WORD + 16 * index) for index, fd in enumerate(fds)]
        poll = select.poll()
        poll.register(fds[own], select.POLLIN)
        deadline = time.monotonic() + 2 * DEADLINE_S
        for turn in range(rounds):
            if own == 0 or turn:
                writer.write(1, turn.to_bytes(8, "little"))
                writer.commit()
                bells[1 - own].ring()
            while not (messages := reader.poll(10)):
                bells[own].park()
                if not (messages := reader.poll(10)):
                    if not poll.poll(DEADLINE_S * 1000) or time.monotonic() > deadline:
                        return 1
                    messages = reader.poll(10)
                bells[own].unpark()
                if messages:
                    break
            assert len(messages) == 1
            reader.release()
        if own:
            writer.write(1, b"last")
            writer.commit()
            bells[0].ring()
        return 0

    pid = fork(lambda: play(1, RingReader(there), RingWriter(back)))
    assert play(0, RingReader(back), RingWriter(there)) == 0
    assert exit_code(pid) == 0
    for fd in fds:
        os.close(fd)
