"""Records whose time a table's column can't hold: dead letters, null, the nearest time, or the end of the load."""

import numpy as np
import pyarrow as pa
import pytest

from headrace.arrow.errors import TimestampOverflow
from headrace.ids import TopicPartition
from headrace.load import live_table
from headrace.load.audit_report import audit
from headrace.load.contents import contents_of
from headrace.load.history import dataset, dead_letters, files
from headrace.load.loader import Loader
from headrace.load.options import LoadOptions
from headrace.load.record_times import ANY_TIME, TimeSpan, outside, timestamps
from headrace.load.targets import open_target
from headrace.protocol.record_batch import Record
from headrace.spark.decoding import json
from tests.load.loading import T0, InlineTasks

NAME = TopicPartition("clicks", 0)
NANOSECONDS = T0 * 1_000_000


@pytest.fixture
def clicks(log):
    """Six records, of which the one at offset 2 has nanoseconds, and the value of that at 4 is no JSON."""
    for offset in range(6):
        value = b"bad" if offset == 4 else b'{"page": "p%d"}' % offset
        time_ms = NANOSECONDS if offset == 2 else T0 + offset
        log.append(NAME, [Record(0, time_ms, b"k%d" % offset, value)])
    return log


def load_of(broker, to, bad_times="dead", decode=None, mode="fail", columns=None):
    contents = contents_of(columns, decode, mode, bad_times=bad_times)
    options = LoadOptions(broker.address, "clicks", contents)
    return Loader(options, open_target(to), executor=InlineTasks).run()


@pytest.mark.parametrize("columns", [None, "value", "value_length"])
def test_they_are_dead_letters_with_all_they_had_and_the_load_goes_on(clicks, broker, tmp_path, columns):
    done = load_of(broker, tmp_path / "t", columns=columns)
    assert (done.records, done.dead_letters) == (6, 1)
    assert dataset(tmp_path / "t").to_table()["offset"].to_pylist() == [0, 1, 3, 4, 5]
    (letter,) = dead_letters(tmp_path / "t").to_table().to_pylist()
    assert (letter["offset"], letter["key"], letter["value"]) == (2, b"k2", b'{"page": "p2"}')
    assert letter["timestamp"] is None
    assert str(NANOSECONDS) in letter["reason"]
    found = audit(tmp_path / "t", is_deep=True)
    assert (found.faults, found.orphans) == ([], [])


def test_the_other_policies_keep_the_row(clicks, broker, tmp_path):
    load_of(broker, tmp_path / "null", "null")
    times = dataset(tmp_path / "null").to_table()["timestamp"].cast(pa.int64()).to_pylist()
    assert sorted(times, key=lambda at: (at is None, at)) == [1000 * (T0 + i) for i in (0, 1, 3, 4, 5)] + [None]
    load_of(broker, tmp_path / "nearest", "nearest")
    times = dataset(tmp_path / "nearest").to_table()["timestamp"].cast(pa.int64()).to_pylist()
    assert max(times) == ANY_TIME.most_ms * 1000
    assert [len(audit(tmp_path / one, is_deep=True).faults) for one in ("null", "nearest")] == [0, 0]
    with pytest.raises(TimestampOverflow, match=r"clicks-0: the record at offset 2: .*dead, null and nearest"):
        load_of(broker, tmp_path / "fail", "fail")


@pytest.mark.parametrize(("mode", "rows", "letters"), [("null", 5, [2]), ("dead", 4, [2, 4])])
def test_they_go_their_way_in_every_mode_of_decoding(clicks, broker, tmp_path, mode, rows, letters):
    done = load_of(broker, tmp_path / "t", decode=json("page string"), mode=mode)
    assert (done.records, done.dead_letters) == (6, len(letters))
    assert dataset(tmp_path / "t").to_table().num_rows == rows
    assert sorted(dead_letters(tmp_path / "t").to_table()["offset"].to_pylist()) == letters
    assert audit(tmp_path / "t", is_deep=True).faults == []


def test_a_table_leaves_them_out_as_the_load_does(clicks, broker, tmp_path):
    load_of(broker, tmp_path / "t")
    clicks.append(NAME, [Record(0, NANOSECONDS, b"k", b"v"), Record(1, T0, b"k", b"v")])
    for columns in (None, "value"):
        table = live_table.table("clicks", history=tmp_path / "t", bootstrap_servers=broker.address, columns=columns)
        assert table.read_all().num_rows == 6
    table = live_table.table("clicks", history=tmp_path / "t", bootstrap_servers=broker.address, bad_times="null")
    assert table.read_all()["timestamp"].null_count == 1


def test_a_delta_table_has_rows_without_an_hour(log, broker, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    log.append(NAME, [Record(0, NANOSECONDS, b"k", b"v"), Record(1, T0, b"k", b"v")])
    load_of(broker, f"delta:{tmp_path}/d", "null")
    table = deltalake.DeltaTable(str(tmp_path / "d")).to_pyarrow_table(columns=["hour", "timestamp"])
    assert sorted(table["hour"].to_pylist(), key=str) == ["2023-11-14-22", None]
    assert len(files(f"delta:{tmp_path}/d")) == 2


def test_ends_of_a_span_are_in_it():
    span = TimeSpan(-5, 5)
    assert outside(np.array([-5, 0, 5]), span) is None
    assert outside(np.array([], np.int64), span) is None
    assert outside(np.array([-6, 0, 6]), span).tolist() == [True, False, True]
    assert timestamps(np.array([-6, 6]), span).cast(pa.int64()).to_pylist() == [-5000, 5000]
    extremes = np.array([-(2**63), 2**63 - 1])
    assert outside(extremes, ANY_TIME).all()
    assert timestamps(extremes, ANY_TIME).cast(pa.int64()).to_pylist() == [
        1000 * ANY_TIME.least_ms,
        1000 * ANY_TIME.most_ms,
    ]
