"""Rows between an owner and its readers; the order of its stores is in test_mutants.py."""

import itertools
import os
import random
import struct
import time

import pytest

from headrace.limits import NETWORK_WORKERS_MAX, SEQLOCK_YIELDS_MAX
from headrace.shm import layout, partition_table
from headrace.shm.partition_table import PartitionRow, PartitionTable, RowState
from headrace.shm.region import Region
from tests.support.altered import altered
from tests.support.stepping import die_at, end, fork, steps
from tests.support.waiting import DEADLINE_S

SLOTS = 8
OLD = PartitionRow(RowState.LEADER, 2**32 - 1, *range(-8, 10))
NEW = PartitionRow(RowState.OFFLINE, 1, *range(1_000, 1_018))


@pytest.fixture
def region(names):
    return Region.create(names(), layout.partition_region_bytes(SLOTS))


@pytest.fixture
def table(region):
    return PartitionTable(region, SLOTS)


def test_a_row_reads_as_it_was_published_and_touches_no_other(table):
    table.publish(3, OLD)
    assert table.read(3) == OLD
    assert table.read(2) == table.read(4) == PartitionRow(*[0] * len(OLD))
    table.publish(3, NEW)
    assert table.read(3) == NEW


def test_signed_values_come_back_signed(table):
    row = PartitionRow(*[-1] * len(PartitionRow._fields))
    table.publish(0, row)
    assert table.read(0) == row


def test_a_row_that_does_not_fit_leaves_the_old_one_readable(table):
    table.publish(1, OLD)
    with pytest.raises(struct.error):
        table.publish(1, OLD._replace(bytes_appended=2**63))
    assert table.read(1) == OLD


@pytest.mark.process
def test_an_owner_killed_at_any_step_leaves_the_old_row_the_new_one_or_none(names, region, table):
    outcomes = set()
    for step in steps():
        table.publish(5, OLD)
        has_finished = die_at(
            step, lambda: PartitionTable(Region.attach(region.name), SLOTS).publish(5, NEW), [partition_table]
        )
        row = table.read(5)
        found, is_torn = table.recover_row(5)
        assert row in (OLD, NEW, None), f"step {step}"
        assert is_torn == (row is None), f"step {step}"
        assert row in (found, None)
        assert all(value in pair for value, pair in zip(found, zip(OLD, NEW, strict=True), strict=True))
        table.publish(5, NEW._replace(generation=9))
        assert table.read(5) == NEW._replace(generation=9), "the successor publishes over a torn row"
        outcomes.add({OLD: "old", NEW: "new", None: "torn"}[row])
        if has_finished:
            break
    assert outcomes == {"old", "torn", "new"}


@pytest.mark.process
def test_readers_see_whole_rows_of_a_writer_that_never_rests(region, table):
    def publish_for_ever() -> None:
        for number in itertools.cycle(range(1, 1_000)):
            table.publish(0, PartitionRow(*[number] * len(PartitionRow._fields)))

    pid = fork(publish_for_ever)
    deadline = time.monotonic() + DEADLINE_S
    whole, given_up, values = 0, 0, set()
    while whole < 10_000 or len(values) < 10:
        assert time.monotonic() < deadline, f"{whole} rows read, {given_up} given up, {len(values)} values"
        row = table.read(0)
        if row is None:
            given_up += 1
        else:
            assert len(set(row)) == 1, row
            values.add(row.state)
            whole += 1
    end(pid)
    assert given_up < whole, "the fallback is the exception"


def test_a_torn_row_is_given_up_after_a_few_yields(region, table, monkeypatch):
    yields = []
    monkeypatch.setattr(partition_table, "os", altered(os, sched_yield=lambda: yields.append(1)))
    region.words[(layout.PARTITION_ROWS + 2 * layout.PARTITION_ROW_BYTES) // 8] = 7
    assert table.read(2) is None
    assert len(yields) == SEQLOCK_YIELDS_MAX


def test_a_writer_that_lost_its_processor_in_the_middle_gets_it_back(region, table, monkeypatch):
    table.publish(2, OLD)
    word = (layout.PARTITION_ROWS + 2 * layout.PARTITION_ROW_BYTES) // 8
    region.words[word] += 1

    def finish():
        region.words[word] += 1

    monkeypatch.setattr(partition_table, "os", altered(os, sched_yield=finish))
    assert table.read(2) == OLD


def test_wait_bytes_are_those_of_one_slot_and_one_worker(table):
    assert table.waiting(0) == []
    last = NETWORK_WORKERS_MAX - 1
    for slot, worker in [(0, 0), (0, last), (1, 3), (SLOTS - 1, last)]:
        table.set_wait(slot, worker, True)
    assert list(table.waiting(0)) == [0, last]
    assert list(table.waiting(1)) == [3]
    assert list(table.waiting(SLOTS - 1)) == [last]
    table.set_wait(0, 0, False)
    assert list(table.waiting(0)) == [last]


def test_wait_bytes_and_rows_do_not_touch(table):
    rng = random.Random(7)
    for slot in range(SLOTS):
        table.publish(slot, OLD)
    for slot, worker in itertools.product(range(SLOTS), range(NETWORK_WORKERS_MAX)):
        table.set_wait(slot, worker, rng.random() < 0.5)
    assert all(table.read(slot) == OLD for slot in range(SLOTS))


def test_a_new_worker_clears_what_its_predecessor_waited_for_and_no_one_elses(table):
    for slot in range(SLOTS):
        for worker in (0, 1, 2):
            table.set_wait(slot, worker, True)
    table.clear_waits(1)
    assert all(list(table.waiting(slot)) == [0, 2] for slot in range(SLOTS))
