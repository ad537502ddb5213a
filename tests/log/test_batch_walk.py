"""The walk over a segment's batches: what is found does not depend on where the windows end."""

import os
import random

import pytest

from headrace.log import batch_walk
from headrace.log.batch_walk import size_of, walk, walk_runs
from headrace.log.disk import Disk
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import HEADER_BYTES, Record
from tests.support.log_fixtures import CountingDisk, batch

SIZES = [1, 700, 0, 90, 2500, 3, 3, 60, 1200, 5]
WINDOWS = [HEADER_BYTES, 100, 169, 170, 171, 512, 1000, 4096]


def entries(with_old):
    """Batches of many sizes, with offsets that follow; entries of v0 and v1 among them."""
    found = []
    for offset, size in enumerate(SIZES):
        if with_old and offset % 3:
            found.append(build_message_set([Record(offset, offset, None, bytes(size))], offset % 2))
        else:
            one = batch(size=size)
            one[:8] = offset.to_bytes(8, "big")
            found.append(bytes(one))
    return found


@pytest.fixture
def file(tmp_path):
    with open(tmp_path / "segment", "w+b") as opened:
        yield opened


def fill(file, data):
    file.truncate(0)
    os.pwrite(file.fileno(), data, 0)
    return file.fileno(), 0, len(data), 0


@pytest.mark.parametrize("is_checked", [True, False])
@pytest.mark.parametrize("with_old", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
def test_windows_of_any_size_show_the_same_batches(file, monkeypatch, window, with_old, is_checked):
    monkeypatch.setattr(batch_walk, "CHECKED_WINDOW_BYTES", window)
    monkeypatch.setattr(batch_walk, "HEADER_WINDOW_BYTES", window)
    parts = entries(with_old)
    steps = list(walk(*fill(file, b"".join(parts)), is_checked, Disk()))
    assert [step.size for step in steps] == [len(part) for part in parts]
    assert [step.position for step in steps] == [sum(map(len, parts[:index])) for index in range(len(parts))]
    assert [step.last_offset for step in steps] == list(range(len(parts)))


@pytest.mark.parametrize("with_old", [False, True])
def test_a_flipped_bit_anywhere_ends_the_walk_before_its_batch(file, monkeypatch, with_old):
    parts = entries(with_old)
    whole = b"".join(parts)
    starts = [sum(map(len, parts[:index])) for index in range(len(parts))]
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    for _ in range(300):
        monkeypatch.setattr(batch_walk, "CHECKED_WINDOW_BYTES", chance.choice(WINDOWS))
        place = chance.randrange(len(whole))
        index = max(index for index, start in enumerate(starts) if start <= place)
        if place - starts[index] < 17:
            continue  # base offset, length, leader epoch and magic are not under v2's checksum
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        steps = list(walk(*fill(file, damaged), True, Disk()))
        assert len(steps) == index, f"seed {seed} byte {place}"


def test_batches_longer_than_the_window_are_read_once(file, monkeypatch):
    monkeypatch.setattr(batch_walk, "CHECKED_WINDOW_BYTES", 1000)
    whole = b"".join(
        offset.to_bytes(8, "big") + part[8:]
        for offset, part in enumerate(bytes(batch(size=size)) for size in (5000, 1000, 3000))
    )
    disk = CountingDisk()
    runs = list(walk_runs(*fill(file, whole), True, disk))
    assert [len(run) for run in runs] == [1, 1, 1]
    assert sum(map(size_of, runs)) == disk.read_bytes == len(whole)
