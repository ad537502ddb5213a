"""The lag table: rows filled, moved, freed and read; lag is never negative, whatever moved between two looks."""

from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.limits import ROWS_PER_FLUSH_MAX
from headrace.shm import layout
from headrace.shm.lag_table import lags_of
from headrace.workers.coordinators.group.records import encode_offset, group_key, offset_key_prefix, suffix_of
from headrace.workers.partition.coordination.lag_rows import LagRows
from tests.workers.coordinators.group.group_fixtures import lag_table

KEY = 5


def record(group, offset, partition=0, topic="t", commit_ms=10):
    value = None if offset is None else encode_offset(offset, -1, b"", commit_ms)
    return offset_key_prefix(group) + suffix_of(topic, partition), value


def view_of(**topics):
    """Topics with as many partitions; slots are the partitions' indexes."""
    return SimpleNamespace(
        topics={
            name: SimpleNamespace(partitions=[SimpleNamespace(slot=index, key=KEY) for index in range(count)])
            for name, count in topics.items()
        }
    )


def table_of(*high_watermarks, log_start_offset=0):
    rows = [
        SimpleNamespace(key=KEY, high_watermark=each, log_start_offset=log_start_offset) for each in high_watermarks
    ]
    return SimpleNamespace(read=lambda slot: rows[slot])


def test_lag_in_records_and_seconds():
    table = lag_table(4)
    rows = LagRows(table, 0)
    rows.note([record("g", 7), record("g", 20, 1), record("g", 99, 2), record("gone", 1, topic="deleted")])
    rows.flush(1_000)
    found = {lag.partition: lag for lag in lags_of(table, view_of(t=3), table_of(10, 20, 50), 9_000)}
    assert {index: (lag.committed, lag.end, lag.records, lag.seconds) for index, lag in found.items()} == {
        0: (7, 10, 3, None),
        1: (20, 20, 0, 0.0),
        2: (99, 50, 0, 0.0),
    }
    table.stamp(next(row for row in table.rows() if row.partition == 0), 4_000)
    (lag, *_) = lags_of(table, view_of(t=3), table_of(10, 20, 50), 9_000)
    assert lag.seconds == 5.0
    (lag, *_) = lags_of(table, view_of(t=3), table_of(10, 20, 50), 1_000)
    assert lag.seconds == 0.0, "a record from the future"
    rows.note([record("g", 8)])
    rows.flush(2_000)
    (lag, *_) = lags_of(table, view_of(t=3), table_of(10, 20, 50), 9_000)
    assert (lag.records, lag.seconds) == (2, None), "the stamp was of another offset"


def test_what_is_no_longer_there_is_no_lag():
    table = lag_table(4)
    rows = LagRows(table, 0)
    rows.note([record("g", 3), record("g", 3, 1)])
    rows.flush(1_000)
    found = {lag.partition: lag for lag in lags_of(table, view_of(t=2), table_of(10, 14, log_start_offset=10), 9_000)}
    assert {index: (lag.committed, lag.records, lag.seconds) for index, lag in found.items()} == {
        0: (3, 0, 0.0),
        1: (3, 4, None),
    }


def test_seconds_are_not_known_before_somebody_looked():
    table = lag_table(1)
    rows = LagRows(table, 0)
    rows.note([record("g", 0)])
    rows.flush(1_000)
    (lag,) = lags_of(table, view_of(t=1), table_of(10), 9_000)
    assert (lag.records, lag.seconds) == (10, None), "an offset of 0 in a row of zeros"


def test_a_row_that_is_used_again_does_not_keep_what_was_looked_up():
    table = lag_table(1)
    rows = LagRows(table, 0)
    rows.note([record("g", 7)])
    rows.flush(1_000)
    (seen,) = table.rows()
    table.stamp(seen, 4_000)
    rows.note([record("g", None)])
    rows.flush(2_000)
    rows.note([record("other", 7)])
    rows.flush(3_000)
    (lag,) = lags_of(table, view_of(t=1), table_of(10), 9_000)
    assert (lag.group, lag.seconds) == ("other", None)
    table.stamp(seen, 4_000)
    (lag,) = lags_of(table, view_of(t=1), table_of(10), 9_000)
    assert lag.seconds is None, "looked up before the row was used again"
    table.stamp(next(table.rows()), 4_000)
    (lag,) = lags_of(table, view_of(t=1), table_of(10), 9_000)
    assert lag.seconds == 5.0


def test_a_full_table_says_so_once_and_goes_on(caplog):
    table = lag_table(2)
    rows = LagRows(table, 0)
    rows.note([record("g", 1, partition) for partition in range(5)])
    rows.flush(1_000)
    assert caplog.text.count("lag table full") == 1
    rows.note([record("g", None, 0)])
    rows.flush(2_000)
    rows.note([record("h", 1)])
    rows.flush(3_000)
    assert [(row.group, row.partition) for row in table.rows()] == [("h", 0), ("g", 1)]


def test_no_rows_is_no_table():
    table = lag_table(0)
    rows = LagRows(table, 0)
    rows.note([record("g", 1)])
    rows.flush(1_000)
    assert not list(table.rows())


def test_sections_are_apart():
    table = lag_table(2, sections=2)
    first, second = LagRows(table, 0), LagRows(table, 1)
    for each, name in ((first, "a"), (second, "b")):
        each.note([record(name, 1), record(name, 1, 1), record(name, 1, 2)])
        each.flush(1_000)
    assert [row.group for row in table.rows()] == ["a", "a", "b", "b"]
    LagRows(table, 0)
    assert [row.group for row in table.rows()] == ["b", "b"]


def test_groups_that_are_hosted_elsewhere_leave_their_rows():
    table = lag_table(4)
    rows = LagRows(table, 0)
    rows.note([record("g", 1), record("h", 1), (group_key("g"), b"x")])
    rows.flush(1_000)
    rows.forget([offset_key_prefix("g")])
    rows.flush(2_000)
    assert [row.group for row in table.rows()] == ["h"]


def test_a_flush_is_bounded():
    table = lag_table(6_000)
    rows = LagRows(table, 0)
    rows.note([record("g", 1, partition) for partition in range(6_000)])
    rows.flush(1_000)
    assert len(list(table.rows())) == ROWS_PER_FLUSH_MAX
    rows.flush(1_500)
    assert len(list(table.rows())) == 6_000


def test_a_row_that_its_writer_left_open_is_not_read():
    table = lag_table(1)
    rows = LagRows(table, 0)
    rows.note([record("g", 1)])
    rows.flush(1_000)
    table._words[layout.LAG_ROWS // layout.WORD] |= 1  # the first word of the first row
    assert not list(table.rows())
    LagRows(table, 0)
    assert not list(table.rows())


@settings(deadline=None)
@given(
    st.text(max_size=400),
    st.text(alphabet="abc._-", min_size=1, max_size=249),
    st.integers(0, 2**31),
    st.integers(-1, 2**62),
)
def test_any_names_come_back_or_are_cut(group, topic, partition, committed):
    table = lag_table(1)
    table.write(0, group, topic, partition, committed, 3)
    row = table.read(0)
    assert (row.topic, row.partition, row.committed, row.commit_ms) == (topic, partition, committed, 3)
    if len((topic + group).encode()) <= 320:
        assert row.group == group
    else:
        assert row.group.rstrip("\ufffd") in group


def test_rows_that_never_were_in_use_are_neither_read_nor_written():
    table = lag_table(8, sections=2)
    before = bytes(table._memory)
    rows = LagRows(table, 1)
    assert bytes(table._memory) == before
    rows.note([record("g", 1), record("g", 2, 1)])
    rows.flush(1_000)
    assert (table.used(0), table.used(1)) == (0, 2)
    table.write(12, "g", "t", 5, 3, 10)  # by nobody who may
    assert sorted(row.place for row in table.rows()) == [8, 9]


def test_a_successor_frees_the_rows_of_its_predecessor_and_uses_them_again():
    table = lag_table(4, sections=2)
    rows = LagRows(table, 1)
    rows.note([record("g", 1, index) for index in range(3)])
    rows.flush(1_000)
    after = LagRows(table, 1)
    assert not list(table.rows())
    after.note([record("h", 1, index) for index in range(5)])
    after.flush(1_000)
    assert {row.partition for row in table.rows()} == {0, 1, 2, 3}, "the last one found no row"
    assert (table.used(1), after.has_room) == (4, False)
    after.note([record("h", None, 2)])
    after.flush(2_000)
    after.note([record("h", 9, 6)])
    after.flush(3_000)
    assert {row.partition for row in table.rows()} == {0, 1, 3, 6}
