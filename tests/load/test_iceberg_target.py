"""Loads into an Iceberg table: one snapshot a commit, fenced by the snapshot before it."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from headrace.ids import TopicPartition
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.errors import BrokenTarget, LoadFenced, TargetUnavailable, UnknownOutcome
from headrace.load.history import dead_letters
from headrace.load.iceberg_target import OFFSETS, IcebergTarget, iceberg_target
from headrace.load.rewinding import rewind
from headrace.protocol.record_batch import Record
from headrace.spark.decoding import json
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import HOUR_MS, T0, fill, load_inline, load_until, offsets_in

__all__ = ["icebergs_threads_end"]

STEPS = ("tasks done", "manifest written", "table commit made", "table committed", "committed")


@pytest.fixture
def table(tmp_path):
    """Makes a target, with a catalog of its own each time as another process would."""

    def make(step=lambda name: None):
        uri = f"sqlite:///{tmp_path}/catalog.db"
        return IcebergTarget(SqlCatalog("test", uri=uri, warehouse=f"file://{tmp_path}/warehouse"), "web.clicks", step)

    return make


def rows(target):
    """What Iceberg's own reader sees."""
    return target._catalog.load_table("web.clicks").scan().to_arrow()


def test_a_load_is_a_snapshot_that_icebergs_reader_sees(log, broker, table):
    fill(log, count=100, step_ms=HOUR_MS // 40)
    fill(log, "views", count=5)
    done = load_inline(broker, table(), "clicks|views", records_per_task=30)
    assert done.commits == 1
    found = rows(table())
    assert sorted(found.filter(pa.compute.equal(found["topic"], "clicks"))["offset"].to_pylist()) == [*range(100)]
    assert offsets_in(table())["clicks", 0] == [*range(100)]
    assert load_inline(broker, table(), "clicks|views").commits == 0
    fill(log, count=10)
    load_inline(broker, table(), "clicks|views")
    summary = table()._catalog.load_table("web.clicks").current_snapshot().summary
    assert '"clicks": {"0": 110}' in summary[OFFSETS]
    assert (audit(table(), is_deep=True).faults, audit(table()).orphans) == ([], [])


@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_dies_at_a_step_leaves_orphans_or_a_commit(log, broker, table, step):
    fill(log, count=20)
    load_inline(broker, table())
    fill(log, count=30)
    assert load_until(broker, table, step)
    assert len(rows(table())) == (50 if STEPS.index(step) >= STEPS.index("table committed") else 20)
    load_inline(broker, table())
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(50)]
    assert (audit(table()).faults, audit(table()).orphans) == ([], [])


@pytest.mark.parametrize("step", ["tasks done", "manifest written", "table commit made"])
def test_a_zombie_is_fenced_wherever_it_was_overtaken(log, broker, table, step):
    fill(log, count=10)
    load_inline(broker, table())
    fill(log, count=10)
    overtaken = []

    def overtake(name):
        if name == step and not overtaken:
            overtaken.append(name)
            load_inline(broker, table())

    with pytest.raises(LoadFenced, match="another loader committed first"):
        load_inline(broker, table(overtake))
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(20)]
    assert (audit(table()).faults, audit(table()).orphans) == ([], [])


def test_another_writers_snapshot_in_between_is_no_fence(log, broker, table):
    fill(log, count=10)
    load_inline(broker, table())
    fill(log, count=10)
    touched = []

    def touch(name):
        if name == "table commit made" and not touched:
            touched.append(name)
            other = table()._catalog.load_table("web.clicks")
            other.append(rows(table()).slice(0, 0))

    load_inline(broker, table(touch))
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(20)]


def test_columns_come_and_dead_letters_are_beside_the_table(log, broker, table):
    fill(log, count=3, value=b'{"ms": %d}')
    load_inline(broker, table(), decode=json("ms int"))
    fill(log, count=3, value=b'{"ms": %d, "page": "x"}')
    fill(log, count=1, value=b"bad %d")
    load_inline(broker, table(), decode=json("ms long, page string"), decode_mode="dead")
    found = rows(table()).sort_by("offset")
    assert found["ms"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert found["page"].to_pylist() == [None] * 3 + ["x"] * 3
    assert dead_letters(table()).to_table()["offset"].to_pylist() == [6]
    assert audit(table()).faults == []


def test_small_files_are_merged_and_a_table_goes_back(log, broker, table):
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, table())
    compact(table())
    assert len(list(table()._catalog.load_table("web.clicks").scan().plan_files())) == 1
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(30)]
    fill(log, count=10)
    load_inline(broker, table())
    rewind("clicks", table(), 33, bootstrap_servers=broker.address)
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(33)]
    load_inline(broker, table())
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(40)]
    assert (audit(table()).faults, audit(table()).orphans) == ([], [])


def test_names_of_tables_are_checked(log, broker, table, tmp_path):
    for text in ("x", "a:b", ":a.b"):
        with pytest.raises(ValueError, match=r"expected iceberg:CATALOG:NAMESPACE\.TABLE"):
            iceberg_target(text)
    fill(log, count=1)
    load_inline(broker, table())
    [commit] = (table().control / "commits").iterdir()
    commit.unlink()
    with pytest.raises(BrokenTarget, match="its commit names"):
        table().read()


def test_a_catalog_that_does_not_say_what_became_of_a_commit_leaves_its_files(log, broker, table):
    fill(log, count=10)
    load_inline(broker, table())
    fill(log, count=10)

    def lose_connection(name):
        if name == "table commit made":
            target._catalog = _LostAnswer(target._catalog)

    target = table(lose_connection)
    with pytest.raises(UnknownOutcome, match="ConnectionError"):
        load_inline(broker, target)
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(20)]
    assert (audit(table()).faults, audit(table()).orphans) == ([], [])
    load_inline(broker, table())
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(20)]


def test_a_catalog_that_is_away_does_not_end_a_load_that_repeats(log, broker, table):
    fill(log, count=10)
    load_inline(broker, table())
    fill(log, count=10)
    target = table()
    target._catalog, whole = _Away(), target._catalog
    with pytest.raises(TargetUnavailable, match="OSError: away"):
        target.read()
    target._catalog = whole
    assert load_inline(broker, target).records == 10


def test_a_refusal_of_a_commit_that_was_taken_is_no_fence(log, broker, table):
    fill(log, count=10)
    load_inline(broker, table())
    fill(log, count=10)

    def send_twice(name):
        if name == "table commit made":
            target._catalog = _SentTwice(target._catalog)

    target = table(send_twice)
    assert load_inline(broker, target).records == 10
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(20)]
    assert (audit(table()).faults, audit(table()).orphans) == ([], [])


class _SentTwice:
    """A catalog whose transport lost the answer, and asked again."""

    def __init__(self, catalog):
        self._catalog = catalog

    def commit_table(self, *given):
        for _ in range(2):
            self._catalog.commit_table(*given)

    def __getattr__(self, name):
        return getattr(self._catalog, name)


class _LostAnswer:
    """A catalog that takes the commit, and whose answer is lost."""

    def __init__(self, catalog):
        self._catalog = catalog

    def commit_table(self, *given):
        self._catalog.commit_table(*given)
        raise ConnectionError("reset by peer")

    def __getattr__(self, name):
        return getattr(self._catalog, name)


class _Away:
    name = "away"

    def load_table(self, _table):
        raise OSError("away")


def times_in(target, **filters):
    table = target._catalog.load_table("web.clicks")
    found = table.scan(selected_fields=("timestamp",), **filters).to_arrow()["timestamp"]
    return sorted(time // 1000 for time in found.cast(pa.int64()).to_pylist())


def with_times(log, *times):
    for time_ms in times:
        log.append(TopicPartition("clicks", 0), [Record(0, time_ms, b"k", b"v")])


def test_it_takes_times_that_datetime_does_not_and_merges_and_finds_them(log, broker, table, caplog):
    year_1, year_10000, micros = -62_135_596_800_000, 253_402_300_800_000, T0 * 1000
    with_times(log, T0, micros, year_10000, year_1, year_1 - 1, -1, 0)
    assert load_inline(broker, table()).dead_letters == 0
    assert times_in(table()) == [year_1 - 1, year_1, -1, 0, T0, year_10000, micros]
    with_times(log, T0 + 1, micros + 1)
    load_inline(broker, table())
    compact(table())
    assert times_in(table()) == [year_1 - 1, year_1, -1, 0, T0, T0 + 1, year_10000, micros, micros + 1]
    assert times_in(table(), row_filter="timestamp > '2100-01-01T00:00:00+00:00'") == [year_10000, micros, micros + 1]
    assert times_in(table(), row_filter="timestamp < '1970-01-01T00:00:00+00:00'") == [year_1 - 1, year_1, -1]
    at = datetime.fromtimestamp(T0 / 1000, UTC).isoformat()
    assert times_in(table(), row_filter=f"timestamp = '{at}'") == [T0]
    assert audit(table(), is_deep=True).faults == []
    assert "statistics missing" not in caplog.text


def test_it_holds_the_hours_that_its_partitions_can_have_and_the_rest_are_dead_letters(log, broker, table):
    least, last = -(2**31) * HOUR_MS, 2**31 * HOUR_MS - 1
    with_times(log, last, last + 1, least, least - 1, T0)
    assert load_inline(broker, table()).dead_letters == 2
    assert times_in(table()) == [least, T0, last]
    assert audit(table(), is_deep=True).faults == []


def test_rows_without_a_time_are_in_a_partition_without_an_hour(log, broker, table):
    with_times(log, T0, T0 * 1_000_000)
    load_inline(broker, table(), bad_times="null")
    scan = table()._catalog.load_table("web.clicks").scan
    assert scan().to_arrow()["timestamp"].null_count == 1
    assert len(scan(row_filter="timestamp is null").to_arrow()) == 1
