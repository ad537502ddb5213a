"""A cold scan leaves the page cache as it was; what was in it stays."""

import dataclasses
import mmap
import os
import random

import pytest

from headrace.arrow import local_range, page_residency
from headrace.arrow.page_residency import PAGE_BYTES, Residency
from headrace.arrow.ranges import read_range
from headrace.log.index_layout import OFFSET_ENTRY
from headrace.log.names import path_of
from headrace.protocol.apis import ApiKey
from tests.arrow.range_reading import NAME, range_of
from tests.support.altered import altered

MIB = 1 << 20


@pytest.fixture
def segment(log):
    """A segment of some 16 MiB in two parts, and its file; skipped where the file system keeps what it is told to drop."""
    value = random.Random(1).randbytes(60_000)
    log.create(*NAME)
    path = path_of(log.partition_directory(NAME), 0, ".log")
    with open(path.with_suffix(".index"), "wb") as index:  # else the whole log is searched for the end of the range
        for number in range(280):
            if number:
                index.write(OFFSET_ENTRY.pack(number, path.stat().st_size))
            log.append(NAME, [(None, value)])
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    dropped(path)
    if share(path) > 0.1:
        pytest.skip("this file system keeps its pages, or does not tell")
    return path


def dropped(path):
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def share(path, start=0, end=None):
    """Of the pages that are in the cache."""
    with open(path, "rb") as file:
        return float(asked(file.fileno(), start, end or path.stat().st_size).resident.mean())


def asked(fd, start, end):
    found = Residency(fd, start)
    found.ask((start + end) // 2)
    found.ask(end)
    return found


def touch(path, start, end):
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for place in range(start, end, PAGE_BYTES):
            os.pread(file.fileno(), PAGE_BYTES, place)


@pytest.mark.parametrize("window", [MIB, 64 * MIB])
def test_a_cold_scan_gives_its_pages_back(segment, broker, monkeypatch, window):
    monkeypatch.setattr(local_range, "WINDOW_BYTES", window)
    assert sum(batch.num_rows for batch in read_range(range_of(broker), ["value"])) == 280
    assert broker.asked[ApiKey.FETCH] == 0
    assert share(segment) < 0.1


def test_pages_that_were_there_stay(segment, broker):
    touch(segment, 4 * MIB, 8 * MIB)
    before = share(segment, 4 * MIB, 8 * MIB)
    assert before > 0.95
    assert sum(batch.num_rows for batch in read_range(range_of(broker), ["value"])) == 280
    assert share(segment, 4 * MIB, 8 * MIB) >= before - 0.01
    assert share(segment, 9 * MIB) < 0.1


def test_it_can_be_left_out(segment, broker):
    one = dataclasses.replace(range_of(broker), gives_pages_back=False)
    assert sum(batch.num_rows for batch in read_range(one, ["value"])) == 280
    assert share(segment) > 0.9


def test_views_keep_what_they_point_to(segment, broker):
    batches = list(read_range(range_of(broker), ["value"], are_views=True))
    assert sum(batch.num_rows for batch in batches) == 280
    assert share(segment) > 0.9


def test_a_page_is_given_back_whole_or_not_at_all(segment):
    with open(segment, "rb") as file:
        found = asked(file.fileno(), 0, 10 * PAGE_BYTES)
        found.resident[:] = [False, True] * 5
        assert found.give_back(1, 5 * PAGE_BYTES - 1) == 1
        assert found.give_back(0, 5 * PAGE_BYTES) == 3
        assert found.give_back(0, 100 * PAGE_BYTES) == 5


def test_what_can_not_be_told_is_left_alone(segment, broker, monkeypatch):
    def refused(*_args, **_options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(page_residency, "mmap", altered(mmap, mmap=refused))
    with open(segment, "rb") as file:
        found = asked(file.fileno(), 0, mmap.PAGESIZE)
    assert found.resident is None
    assert found.give_back(0, mmap.PAGESIZE) == 0
    assert sum(batch.num_rows for batch in read_range(range_of(broker), ["value"])) == 280
