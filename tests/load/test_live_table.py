"""One table, past and present: each record once, while a loader commits, merges and is killed."""

import threading

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headrace
from headrace.arrow.errors import DataLoss
from headrace.arrow.planner import plan
from headrace.ids import TopicPartition
from headrace.load.errors import TopicReplaced
from headrace.load.live_table import LiveTable, read_moment, table
from headrace.load.parquet_target import ParquetTarget
from headrace.load.rewinding import rewind
from headrace.spark.decoding import json
from tests.load.loading import fill, load_inline


def offsets(found):
    return sorted(found.read_all()["offset"].to_pylist())


def test_history_and_log_are_one_before_and_after_a_load(log, broker, tmp_path):
    path = tmp_path / "out"
    fill(log, count=10)
    found = headrace.table("clicks", history=path, bootstrap_servers=broker.address)
    assert offsets(found) == [*range(10)]
    load_inline(broker, path)
    fill(log, count=5)
    fill(log, partition=1, count=2)
    assert offsets(found) == sorted([*range(15), 0, 1])
    load_inline(broker, path)
    assert offsets(found) == sorted([*range(15), 0, 1])


def test_duckdb_and_polars_take_it_as_it_is_and_again(log, broker, tmp_path):
    import duckdb
    import polars

    fill(log, count=10)
    load_inline(broker, tmp_path / "out")
    fill(log, count=5)
    clicks = table("clicks", history=tmp_path / "out", bootstrap_servers=broker.address, columns="offset,value")
    assert duckdb.sql('select count(*), max("offset") from clicks').fetchall() == [(15, 14)]
    fill(log, count=1)
    assert duckdb.sql("select count(*) from clicks").fetchall() == [(16,)]
    assert polars.DataFrame(clicks)["value"].to_list() == [b"%d" % number for number in range(16)]
    large = table("clicks", history=tmp_path / "out", bootstrap_servers=broker.address, where=pc.field("offset") >= 8)
    assert offsets(large) == [*range(8, 16)]


def test_decoded_columns_of_the_log_are_those_of_the_history(log, broker, tmp_path):
    path = tmp_path / "out"
    fill(log, count=3, value=b'{"ms": %d}')
    load_inline(broker, path, decode=json("ms long"))
    fill(log, count=3, value=b'{"ms": %d}')
    fill(log, count=1, value=b"bad %d")
    with pytest.raises(ValueError, match="the history has the columns ms, and the log does not give them"):
        table("clicks", history=path, bootstrap_servers=broker.address)
    found = table("clicks", history=path, bootstrap_servers=broker.address, decode=json("ms int"), decode_mode="dead")
    assert found.read_all()["ms"].to_pylist() == [*range(6)]
    assert found.schema.field("ms").type == pa.int64()
    assert offsets(table("clicks", history=path, bootstrap_servers=broker.address, columns="offset")) == [*range(7)]
    with pytest.raises(ValueError, match="columns \\['page'\\]: the history has topic"):
        table("clicks", history=path, columns="page")


def test_dead_letters_of_the_log_are_left_out_whatever_columns_are_read(log, broker, tmp_path):
    for value in (b'{"ms": %d}', b"bad %d"):
        fill(log, count=2, value=value)
    load_inline(broker, tmp_path / "out", decode=json("ms long"), decode_mode="dead")
    for value in (b"bad %d", b'{"ms": %d}'):
        fill(log, count=2, value=value)
    given = {"history": tmp_path / "out", "bootstrap_servers": broker.address, "decode": json("ms long")}
    found = table("clicks", columns="ms", decode_mode="dead", **given)
    assert found.read_all()["ms"].to_pylist() == [0, 1, 6, 7]


def test_where_the_log_was_shortened_a_newer_commit_is_read(log, broker, tmp_path):
    path = tmp_path / "out"
    name = fill(log, count=10)
    load_inline(broker, path)
    fill(log, count=10)
    log.starts[name] = 15
    naps = []

    def load_meanwhile(nap):
        naps.append(nap)
        log.starts[name] = 0
        load_inline(broker, path)
        log.starts[name] = 15

    found = LiveTable("clicks", ParquetTarget(path), _contents(), None, broker.address, sleep=load_meanwhile)
    assert offsets(found) == [*range(20)]
    assert len(naps) == 1
    fill(log, count=10)
    log.starts[name] = 25
    found = LiveTable("clicks", ParquetTarget(path), _contents(), None, broker.address, sleep=lambda nap: None)
    with pytest.raises(DataLoss, match="a load has to run before retention does"):
        offsets(found)


def test_a_topic_made_again_is_an_error(log, broker, tmp_path):
    fill(log, count=10)
    broker.topic_ids = {"clicks": "ab" * 16}
    load_inline(broker, tmp_path / "out")
    fill(log, count=10)
    broker.topic_ids = {"clicks": "cd" * 16}
    with pytest.raises(TopicReplaced, match="deleted and created again"):
        offsets(table("clicks", history=tmp_path / "out", bootstrap_servers=broker.address))


@pytest.mark.parametrize("count", [3, 10, 15])
@pytest.mark.parametrize("is_list", [True, False])
def test_a_topic_made_again_is_noticed_whatever_was_planned_of_it(log, broker, tmp_path, count, is_list):
    """Shorter than what was loaded, as long, and longer; also where the plan is Spark's, which is no list of ranges."""
    name = fill(log, count=10)
    broker.topic_ids = {"clicks": "ab" * 16}
    load_inline(broker, tmp_path / "out")
    log.cut(name, 0)
    fill(log, count=count, value=b"new %d")
    broker.topic_ids = {"clicks": "cd" * 16}
    with pytest.raises(TopicReplaced, match="deleted and created again after it was loaded"):
        read_moment(
            ParquetTarget(tmp_path / "out"),
            "clicks",
            broker.address,
            lambda options: plan(options) if is_list else iter(plan(options)),
            sleep=lambda _s: None,
        )


def test_a_commit_after_the_moment_changes_nothing(log, broker, tmp_path):
    path = tmp_path / "out"
    fill(log, count=10)
    load_inline(broker, path)
    fill(log, count=10)
    found = iter(table("clicks", history=path, bootstrap_servers=broker.address))
    seen = [next(found)]
    load_inline(broker, path)
    rewind("clicks", path, 0, bootstrap_servers=broker.address)
    fill(log, count=10)
    seen += found
    assert sorted(offset for batch in seen for offset in batch["offset"].to_pylist()) == [*range(20)]


def test_queries_in_a_loop_see_every_record_once_while_a_loader_commits_and_merges(log, broker, tmp_path):
    path = tmp_path / "out"
    name = fill(log, count=10)
    found = table("clicks", history=path, bootstrap_servers=broker.address, columns="offset")
    stop = threading.Event()
    failures = []

    def load_and_write():
        try:
            while not stop.is_set():
                fill(log, count=7)
                load_inline(broker, path, compact_every=3)
        except Exception as failure:
            failures.append(failure)

    loader = threading.Thread(target=load_and_write)
    loader.start()
    try:
        for _ in range(60):
            acknowledged = log.ends[name]
            seen = offsets(found)
            assert seen == [*range(len(seen))]
            assert len(seen) >= acknowledged
    finally:
        stop.set()
        loader.join()
    assert failures == []
    assert ParquetTarget(path).read().number > 5


def test_a_moment_is_one_commit(log, broker, tmp_path):
    fill(log, count=10)
    load_inline(broker, tmp_path / "out")
    snapshot, starts = read_moment(
        ParquetTarget(tmp_path / "out"), "clicks", broker.address, lambda options: options.start.offsets
    )
    assert starts == {TopicPartition("clicks", 0): 10} == snapshot.next_offsets()


def test_it_reads_the_log_as_the_last_load_did_unless_it_is_asked_otherwise(log, broker, tmp_path):
    fill(log, count=3)
    seen = []

    def isolation(**given):
        target = ParquetTarget(tmp_path / "out")
        read_moment(target, "clicks", broker.address, lambda options: seen.append(options.read_committed), **given)
        return seen[-1]

    load_inline(broker, tmp_path / "out", read_committed=True)
    assert isolation() is True
    assert isolation(read_committed=False) is False
    fill(log, count=3)
    load_inline(broker, tmp_path / "out")
    assert isolation() is False
    assert isolation(read_committed=True) is True


def test_a_table_that_was_made_before_a_column_became_wider_has_the_wider_one(log, broker, tmp_path):
    fill(log, count=2, value=b'{"n": %d}')
    load_inline(broker, tmp_path / "out", decode=json("n int"))
    made = table("clicks", history=tmp_path / "out", bootstrap_servers=broker.address, decode=json("n int"))
    assert made.read_all()["n"].to_pylist() == [0, 1]
    fill(log, count=1, value=b'{"n": 500000000%d}')
    load_inline(broker, tmp_path / "out", decode=json("n long, page string"))
    assert made.read_all()["n"].to_pylist() == [0, 1, 5_000_000_002]
    assert made.schema.field("n").type == pa.int64()
    assert "page" not in made.schema.names  # it was made without that column
    assert pa.RecordBatchReader.from_stream(made).read_all()["n"].to_pylist() == [0, 1, 5_000_000_002]


def _contents():
    from headrace.load.contents import contents_of

    return contents_of(None, None, "fail")
