"""Rows of the cluster's partitions: whole, whatever becomes of their writer. The order of its stores: test_mutants.py."""

import itertools
import struct
import time

import pytest

from headrace.shm import cluster_table, layout
from headrace.shm.cluster_table import ROW_IDS_MAX, ClusterRow, ClusterTable, fits_row, pack_row
from headrace.shm.region import Region, RegionError
from tests.support.stepping import die_at, end, fork, steps
from tests.support.waiting import DEADLINE_S

ROWS = 8
OLD = ClusterRow(2**63, 3, -1, 2**31 - 1, -1, 2**32 - 1, (1, 2, 3), (4,))
NEW = ClusterRow(7, 2**31 - 1, 5, 6, 7, 0, (), tuple(range(ROW_IDS_MAX)), is_halted=True)


@pytest.fixture
def region(names):
    region = Region.create(names(), layout.view_region_bytes(4096, ROWS))
    layout.lay_out_view(region.words, ROWS)
    return region


@pytest.fixture
def table(region):
    return ClusterTable(region)


@pytest.mark.parametrize(
    "row", [OLD, NEW, NEW._replace(isr=None, offline=None), OLD._replace(is_halted=True), OLD._replace(is_held=True)]
)
def test_a_row_reads_as_it_was_written_and_touches_no_other(table, row):
    table.write(3, pack_row(row))
    assert table.read(3) == row
    assert table.read(2) == table.read(4) == ClusterRow(0, 0, 0, 0, 0, 0, (), ())
    table.write(3, pack_row(OLD))
    assert table.read(3) == OLD


def test_fields_beyond_their_range_are_refused_before_anything_is_written():
    for field in ({"leader": 2**31}, {"leader_epoch": 2**31}, {"key": 2**32}, {"incarnation": 2**64}):
        with pytest.raises(struct.error):
            pack_row(OLD._replace(**field))
    assert fits_row((1,) * ROW_IDS_MAX, ())
    assert not fits_row((1,) * ROW_IDS_MAX, (1,))


@pytest.mark.process
def test_a_writer_killed_at_any_step_leaves_the_old_row_or_the_new_one(region, table):
    outcomes = set()
    for step in steps():
        table.write(5, pack_row(OLD))
        fields = pack_row(NEW)
        has_finished = die_at(step, lambda: table.write(5, fields), [cluster_table])  # noqa: B023
        row = table.read(5)
        assert row in (OLD, NEW), f"step {step}"
        outcomes.add(row)
        table.write(5, pack_row(NEW._replace(leader=9)))
        assert table.read(5) == NEW._replace(leader=9), "its successor writes on"
        if has_finished:
            break
    assert outcomes == {OLD, NEW}


@pytest.mark.process
def test_readers_see_whole_rows_of_a_writer_that_never_rests(table):
    def write_for_ever() -> None:
        for number in itertools.cycle(range(1, 1_000)):
            table.write(0, pack_row(ClusterRow(*[number] * 6, (number,) * 3, (number,) * 3)))

    pid = fork(write_for_ever)
    deadline = time.monotonic() + DEADLINE_S
    whole, given_up, values = 0, 0, set()
    while whole < 10_000 or len(values) < 10:
        assert time.monotonic() < deadline, f"{whole} rows read, {given_up} given up, {len(values)} values"
        row = table.read(0)
        if row is None:
            given_up += 1
        elif row.leader:
            assert row == ClusterRow(*[row.leader] * 6, (row.leader,) * 3, (row.leader,) * 3)
            values.add(row.leader)
            whole += 1
    end(pid)
    assert given_up < whole


def test_a_region_that_can_not_have_so_many_rows_is_refused(region):
    for rows in (0, 1 << 40, region.size_bytes // layout.CLUSTER_ROW_BYTES + 1):
        layout.lay_out_view(region.words, rows)
        with pytest.raises(RegionError, match="can't have"):
            ClusterTable(region)


@pytest.mark.parametrize("rows", [1, 64, 65, 1000, 1 << 20])
def test_the_journal_has_a_power_of_two_entries(rows):
    entries = layout.journal_entries(rows)
    assert entries & (entries - 1) == 0
    assert entries >= rows // layout.JOURNAL_SHARE
