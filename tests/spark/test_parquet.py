"""Parquet written by the tasks: what Spark reads back is what the log holds."""

import errno
import os
import uuid
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headrace.ids import TopicPartition
from headrace.spark import parquet as parquet_module
from headrace.spark import write_parquet
from headrace.spark.reading import reading_of
from headrace.spark.scan import scan_options
from tests.support.altered import altered


@pytest.fixture
def clicks(log):
    for partition in range(2):
        log.append(TopicPartition("clicks", partition), [(b"k", b"v%d" % index) for index in range(100)])
    return log


def test_files_named_for_their_ranges_hold_all_records(spark, clicks, broker, tmp_path):
    target = tmp_path / "out"
    rows = write_parquet(spark, "clicks", str(target), bootstrap_servers=broker.address, min_partitions=4)
    assert sorted((row.partition, row.start, row.end, row.rows) for row in rows) == [
        (0, 0, 50, 50),
        (0, 50, 100, 50),
        (1, 0, 50, 50),
        (1, 50, 100, 50),
    ]
    assert sorted(path.name for path in target.iterdir()) == sorted(row.path.rpartition("/")[2] for row in rows)
    assert all(row.bytes == os.path.getsize(row.path) for row in rows)
    frame = spark.read.parquet(str(target))
    assert frame.count() == 200
    assert {(row.partition, row.offset, bytes(row.value)) for row in frame.collect()} == {
        (partition, offset, b"v%d" % offset) for partition in range(2) for offset in range(100)
    }


def test_columns_and_where(spark, clicks, broker, tmp_path):
    rows = write_parquet(
        spark,
        "clicks",
        str(tmp_path / "out"),
        bootstrap_servers=broker.address,
        columns=["value", "offset"],
        where=pc.field("offset") < 10,
    )
    assert sum(row.rows for row in rows) == 20
    assert pq.read_table(rows[0].path).column_names == ["value", "offset"]


def test_a_task_that_fails_leaves_no_file(spark, clicks, broker, tmp_path):
    def fails(batch):
        raise RuntimeError("no")

    with pytest.raises(Exception, match="no"):
        write_parquet(spark, "clicks", str(tmp_path / "out"), bootstrap_servers=broker.address, where=fails)
    assert not list((tmp_path / "out").iterdir())


def test_a_second_run_is_refused_appends_or_replaces(spark, clicks, broker, tmp_path):
    target = tmp_path / "out"

    def write(**arguments):
        return write_parquet(spark, "clicks", target, bootstrap_servers=broker.address, columns="offset", **arguments)

    write()
    with pytest.raises(FileExistsError, match=r'out is not empty: mode="append"'):
        write()
    assert spark.read.parquet(str(target)).count() == 200
    write(mode="append")
    assert spark.read.parquet(str(target)).count() == 400
    (target / "_notes").write_text("kept")
    write(mode="overwrite")
    assert spark.read.parquet(str(target)).count() == 200
    assert (target / "_notes").exists()


def test_start_end_and_options(spark, clicks, broker, tmp_path):
    rows = write_parquet(
        spark,
        None,
        f"file://{tmp_path}/out",
        bootstrap_servers=broker.address,
        options={"assign": {"clicks": [1]}},
        start={("clicks", 1): 40},
        end={("clicks", 1): 90},
    )
    assert sum(row.rows for row in rows) == 50


@pytest.mark.parametrize(
    ("directory", "arguments", "failure", "reason"),
    [
        ("s3a://bucket/x", {}, ValueError, "not to s3a://"),
        ("nowhere/out", {}, FileNotFoundError, "nowhere is not a directory"),
        ("file", {}, FileExistsError, "file is not a directory"),
        ("out", {"compression": "zip"}, ValueError, "compression 'zip' must be one of snappy"),
        ("out", {"compression": None}, ValueError, "compression None must be"),
        ("out", {"mode": "ignore"}, ValueError, "mode 'ignore' must be error, append, overwrite"),
        ("out", {"where": "x"}, ValueError, "^where"),
    ],
)
def test_what_can_not_be_written_fails_at_once(
    spark, clicks, broker, tmp_path, monkeypatch, directory, arguments, failure, reason
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(failure, match=reason):
        write_parquet(spark, "clicks", directory, bootstrap_servers=broker.address, **arguments)
    assert [path.name for path in tmp_path.iterdir() if path.name != "log"] == ["file"]


class Repeated:
    """Tasks as Spark runs them when a first attempt is lost after its first range: all again; and one that is late."""

    def __init__(self, tasks):
        self._tasks = tasks
        self.lost = []

    def mapInArrow(self, write, _schema):
        self._write = write
        return self

    def collect(self):
        task = pa.RecordBatch.from_pydict({"descriptor": [b"\n".join(one.to_bytes() for one in self._tasks[0])]})
        self.lost = [self._write(iter([task])) for _attempt in range(2)]
        for attempt in self.lost:
            next(attempt)
        return [SimpleNamespace(**row) for batch in self._write(iter([task])) for row in batch.to_pylist()]


@pytest.fixture
def repeated(monkeypatch):
    from headrace.arrow.planner import plan

    def planned(_spark, given, *_):
        parsed = scan_options(given, None, None, None)
        return reading_of(parsed, None, None), plan(parsed)

    monkeypatch.setattr(parquet_module, "planned", planned)
    monkeypatch.setattr(parquet_module, "tasks_of", lambda _spark, ranges, *_: [ranges])
    monkeypatch.setattr(parquet_module, "located_tasks", lambda _spark, tasks: Repeated(tasks))


@pytest.mark.usefixtures("repeated")
def test_a_task_that_is_repeated_has_one_file_a_range(clicks, broker, tmp_path):
    target = tmp_path / "out"
    rows = write_parquet(None, "clicks", target, bootstrap_servers=broker.address)
    assert sorted(str(path) for path in target.iterdir()) == sorted(row.path for row in rows)
    assert pq.read_table(target).num_rows == 200 == sum(row.rows for row in rows)


@pytest.mark.usefixtures("repeated")
def test_files_are_on_the_disk_before_overwrite_removes_the_old_ones(clicks, broker, tmp_path, monkeypatch):
    target, seen = tmp_path / "out", []
    write_parquet(None, "clicks", target, bootstrap_servers=broker.address)
    old = sorted(target.iterdir())

    def synced_fd(descriptor):
        seen.append((os.readlink(f"/proc/self/fd/{descriptor}"), old[0].exists()))

    monkeypatch.setattr(parquet_module, "os", altered(os, fsync=synced_fd))
    rows = write_parquet(None, "clicks", target, bootstrap_servers=broker.address, mode="overwrite")
    synced = [path for path, old_is_there in seen if old_is_there]
    assert str(target) in synced
    for row in rows:
        name = row.path.rpartition("/")[2]
        assert any(name in path for path in synced), "the file itself"
    assert sorted(str(path) for path in target.iterdir()) == sorted(row.path for row in rows)


@pytest.mark.usefixtures("repeated")
def test_files_that_the_driver_does_not_see_are_an_error_and_nothing_is_named(clicks, broker, tmp_path, monkeypatch):
    target = tmp_path / "out"
    collect = Repeated.collect

    def elsewhere(frame):
        rows = collect(frame)
        next(target.glob(".clicks-1-*")).unlink()
        for path in target.glob(".clicks-1-*"):
            path.unlink()
        return rows

    monkeypatch.setattr(Repeated, "collect", elsewhere)
    with pytest.raises(FileNotFoundError):
        write_parquet(None, "clicks", target, bootstrap_servers=broker.address)
    assert list(target.iterdir()) == []


def test_an_interrupt_leaves_no_hidden_file(spark, clicks, broker, tmp_path, monkeypatch):
    target = tmp_path / "out"

    def interrupted(*_):
        job = parquet_module.uuid.uuid4().hex[:8]
        (target / f".clicks-0.parquet.{job}.tmp").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(parquet_module, "uuid", altered(uuid, uuid4=lambda: SimpleNamespace(hex="12345678")))
    monkeypatch.setattr(parquet_module, "located_tasks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_parquet(spark, "clicks", target, bootstrap_servers=broker.address)
    assert list(target.iterdir()) == []


def test_a_parent_that_can_not_be_listed_takes_no_file_away(tmp_path, monkeypatch):
    """Mode 0711 of another owner."""
    sync, everything = parquet_module._sync, []

    def synced(path):
        if path == tmp_path:
            raise PermissionError(errno.EACCES, "refused")
        sync(path)

    monkeypatch.setattr(parquet_module, "_sync", synced)
    monkeypatch.setattr(parquet_module, "_sync_everything", lambda: everything.append(1))
    target = tmp_path / "clicks"
    parquet_module._make(target)
    assert everything, "the new entry is on the disk"
    path = target / "clicks-0.parquet"
    parquet_module._hidden(path, "job").write_bytes(b"rows")
    parquet_module._show(target, [path], "job")
    assert path.read_bytes() == b"rows"
    parquet_module._make(target)
