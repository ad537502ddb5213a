"""The log as Arrow: what comes, where its bytes lie, and what DuckDB, Polars and pandas make of it."""

import mmap
import random
import subprocess
import sys
import threading

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headrace.arrow
from headrace.arrow import local_range
from headrace.arrow import reader as reader_module
from headrace.arrow.errors import DataLoss, TopicRecreated
from headrace.ids import TopicPartition
from headrace.protocol.compression import Codec
from tests.support.waiting import wait_until

NAME = TopicPartition("clicks", 0)
OTHER = TopicPartition("clicks", 1)
DEADLINE_S = 20


def value_of(number):
    """Short ones are inline in a view, 12 bytes are the last of these; some are null."""
    return None if number % 17 == 5 else b"%d" % number * (number % 7)


def fill(log, count=600, codecs=(Codec.NONE,), name=NAME):
    dice = random.Random(7)
    for first in range(0, count, 20):
        if first % 200 == 100:
            log.roll(name)
        records = [(b"k%d" % number, value_of(number)) for number in range(first, first + 20)]
        log.append(name, records, codec=dice.choice(codecs))


def rows(reader):
    return [(row["partition"], row["offset"], row["key"], row["value"]) for row in reader.read_all().to_pylist()]


WANTED = [(0, number, b"k%d" % number, value_of(number)) for number in range(600)]


@pytest.mark.parametrize("codecs", [(Codec.NONE,), (Codec.LZ4,), tuple(Codec)], ids=["plain", "lz4", "all codecs"])
@pytest.mark.parametrize("where", ["files", "network"])
def test_every_record_comes_once_in_its_order(log, broker, remote_broker, codecs, where):
    log.create(*NAME)
    fill(log, codecs=codecs)
    address = (broker if where == "files" else remote_broker).address
    for count in (7, 65_536):
        reader = headrace.arrow.open("clicks", bootstrap_servers=address, rows_per_batch=count)
        assert rows(reader) == WANTED
        assert reader.offsets == {0: 600}
    one = headrace.arrow.open("clicks", bootstrap_servers=address, start={0: 150}, end={0: 444})
    assert rows(one) == WANTED[150:444]


def test_values_lie_in_the_mapped_file_and_stay_when_it_is_gone(log, broker, monkeypatch):
    """Addresses inside of the mappings; the short ones are in their views."""
    mapped = []
    real = mmap.mmap

    def note(*arguments, **options):
        found = real(*arguments, **options)
        begin = np.frombuffer(found, np.uint8).ctypes.data
        mapped.append((begin, begin + len(found)))
        return found

    monkeypatch.setattr(local_range, "mmap", type("", (), {**vars(mmap), "mmap": staticmethod(note)}))
    log.create(*NAME)
    fill(log)
    batches = list(headrace.arrow.open("clicks", bootstrap_servers=broker.address, columns="offset,value"))
    for path in log.partition_directory(NAME).glob("*.log"):
        path.unlink()
    lengths = 0
    for batch in batches:
        column = batch["value"]
        assert column.type == pa.binary_view()
        column.validate(full=True)
        for buffer in column.buffers()[2:]:
            assert any(begin <= buffer.address and buffer.address + buffer.size <= end for begin, end in mapped)
        lengths += sum(map(len, filter(None, column.to_pylist())))
    assert lengths == sum(len(value or b"") for _partition, _offset, _key, value in WANTED)


def test_the_same_rows_through_duckdb_polars_and_pandas(log, broker):
    log.create(*NAME)
    log.create(*OTHER)
    fill(log)
    fill(log, 100, name=OTHER)

    def opened():
        return headrace.arrow.open("clicks", bootstrap_servers=broker.address, columns="partition,offset,value")

    total = sum(len(value or b"") for *_, value in [*WANTED, *WANTED[:100]])
    table = duckdb.from_arrow(pa.RecordBatchReader.from_stream(opened()))
    assert table.aggregate("count(*), sum(octet_length(value))").fetchall() == [(700, total)]
    frame = polars.DataFrame(opened())
    assert frame.height == 700
    assert frame.filter(polars.col("partition") == 1)["offset"].to_list() == list(range(100))
    assert frame["value"].bin.size().sum() == total
    assert opened().read_all().to_pandas()["value"].dropna().map(len).sum() == total


def test_where_drops_rows_and_columns_come_in_their_order(log, broker):
    log.create(*NAME)
    fill(log)
    where = pc.field("value_length") > 15
    reader = headrace.arrow.open(
        "clicks", bootstrap_servers=broker.address, columns=["value_length", "offset"], where=where
    )
    assert reader.schema.names == ["value_length", "offset"]
    found = reader.read_all()
    assert found["offset"].to_pylist() == [offset for _, offset, _, value in WANTED if len(value or b"") > 15]


WHERES = {
    "offset": (pc.field("offset") >= 300, lambda offset, value: offset >= 300),
    "float": (pc.field("offset") > 299.5, lambda offset, value: offset >= 300),
    "value": (pc.field("value") == b"13" * 6, lambda offset, value: value == b"13" * 6),
    "null": (pc.is_null(pc.field("value")), lambda offset, value: value is None),
    "both": (
        (pc.field("key") < b"k3") & (pc.field("offset") < 400),
        lambda offset, value: b"k%d" % offset < b"k3" and offset < 400,
    ),
}


@pytest.mark.parametrize("name", WHERES)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_where_takes_the_default_columns_and_columns_of_bytes(log, broker, remote_broker, codec, name):
    where, matches = WHERES[name]
    log.create(*NAME)
    fill(log, codecs=(codec,))
    for address in (broker.address, remote_broker.address):
        found = rows(headrace.arrow.open("clicks", bootstrap_servers=address, where=where))
        assert found == [row for row in WANTED if matches(row[1], row[3])]


def test_a_tail_gives_what_is_written_from_then_on(log, broker):
    log.create(*NAME)
    log.create(*OTHER)
    fill(log, 40)
    tail = headrace.arrow.open("clicks", bootstrap_servers=broker.address, start="latest", follow=True)
    found = []

    def read():
        for batch in tail:
            found.extend((row["partition"], row["value"]) for row in batch.to_pylist())

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    for number in range(5):
        log.append(OTHER, [(None, b"%d" % number)])
        wait_until(lambda wanted=number + 1: len(found) == wanted)
    log.append(NAME, [(None, b"last")])
    wait_until(lambda: len(found) == 6)
    tail.close()
    thread.join(DEADLINE_S)
    assert not thread.is_alive()
    assert found == [*((1, b"%d" % number) for number in range(5)), (0, b"last")]
    assert tail.offsets == {0: 41, 1: 5}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"topic": "a,b"}, "topic 'a,b'"),
        ({"start": "now"}, "start 'now'"),
        ({"columns": "values"}, "values"),
        ({"where": "value_length > 3"}, "where"),
        ({"where": pc.field("page") == "p"}, "where .*page"),
        ({"where": pc.field("offset") + 1}, "where .*int64"),
        ({"rows_per_batch": 0}, "rows_per_batch 0"),
        ({"follow": True, "end": {0: 3}}, "end and follow"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(arguments, said):
    with pytest.raises(ValueError, match=said):
        headrace.arrow.open(**{"topic": "clicks", "bootstrap_servers": "127.0.0.1:1", **arguments})
    with pytest.raises(ValueError, match="follow=False"):
        headrace.arrow.open("clicks", follow=True).read_all()


@pytest.mark.parametrize("what", ["created again", "truncated"])
@pytest.mark.parametrize("grown", [15, 8])
def test_a_tail_does_not_continue_in_another_log_at_the_same_offsets(log, broker, what, grown):
    name = TopicPartition("clicks", 0)
    log.append(name, [(b"k", b"old")] * 10)
    broker.topic_ids["clicks"], broker.epochs[name] = "11" * 16, [(0, 0)]
    tail = headrace.arrow.open("clicks", bootstrap_servers=broker.address, columns="offset", follow=True)
    batches = iter(tail)
    assert len(next(batches)) == 10
    log.append(name, [(b"k", b"old")] * 2)
    assert len(next(batches)) == 2
    log.cut(name, 0)
    log.append(name, [(b"k", b"new")] * grown)
    if what == "created again":
        broker.topic_ids["clicks"] = "22" * 16
        with pytest.raises(TopicRecreated, match="clicks was deleted and created again while it was read"):
            next(batches)
        return
    broker.epochs[name] = [(1, 0)]
    if grown < 12:
        log.append(name, [(b"k", b"new")] * 10)
    with pytest.raises(DataLoss, match=r"clicks-0: the log was truncated.* before offset 12"):
        next(batches)


@pytest.mark.parametrize("start", ["latest", {0: 10}])
def test_a_tail_that_has_read_nothing_yet_sees_that_its_start_is_in_another_log(log, broker, monkeypatch, start):
    name = TopicPartition("clicks", 0)
    for _ in range(10):
        log.append(name, [(b"k", b"old")])
    broker.epochs[name] = [(0, 0)]
    tail = headrace.arrow.open("clicks", bootstrap_servers=broker.address, columns="offset", start=start, follow=True)
    has_news, looks = tail._has_news, []

    def truncated(cluster, topic):
        if not looks:
            log.cut(name, 4)
            broker.epochs[name] = [(0, 0), (1, 4)]
            log.append(name, [(b"k", b"new")] * 11)
        looks.append(1)
        return has_news(cluster, topic)

    monkeypatch.setattr(tail, "_has_news", truncated)
    with pytest.raises(DataLoss, match=r"clicks-0: the log was truncated.* before offset 10"):
        next(iter(tail))


def test_a_tail_from_latest_sees_a_topic_that_is_made_again_before_its_first_batch(log, broker):
    name = TopicPartition("clicks", 0)
    log.append(name, [(b"k", b"old")] * 10)
    broker.topic_ids["clicks"] = "11" * 16
    tail = headrace.arrow.open(
        "clicks", bootstrap_servers=broker.address, columns="offset", start="latest", follow=True
    )
    log.cut(name, 0)
    log.append(name, [(b"k", b"new")] * 12)
    broker.topic_ids["clicks"] = "22" * 16
    with pytest.raises(TopicRecreated, match="clicks was deleted and created again"):
        next(iter(tail))


def test_a_tail_continues_under_a_later_leader(log, broker):
    name = TopicPartition("clicks", 0)
    log.append(name, [(b"k", b"v")] * 10)
    broker.epochs[name] = [(0, 0)]
    batches = iter(headrace.arrow.open("clicks", bootstrap_servers=broker.address, columns="offset", follow=True))
    assert len(next(batches)) == 10
    for epoch in (1, 2):
        broker.epochs[name].append((epoch, log.ends[name]))
        log.append(name, [(b"k", b"v")] * 5)
        assert len(next(batches)) == 5


@pytest.mark.process
def test_spark_is_not_needed():
    code = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "pandas"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Without())
import headrace.arrow
print(headrace.arrow.open("t").schema.names)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "['partition', 'offset', 'timestamp', 'key', 'value']\n", done.stderr


def test_a_tail_polls_without_planning(log, broker, monkeypatch):
    """A plan asks for log directories too; a look asks for offsets alone."""
    log.create(*NAME)
    fill(log, 20)
    plans = []
    real = reader_module.plan
    monkeypatch.setattr(reader_module, "plan", lambda options: (plans.append(1), real(options))[1])
    tail = headrace.arrow.open("clicks", bootstrap_servers=broker.address, follow=True)
    batches = iter(tail)
    assert next(batches).num_rows == 20
    thread = threading.Timer(0.3, lambda: log.append(NAME, [(None, b"x")]))
    thread.start()
    assert next(batches).num_rows == 1
    tail.close()
    thread.join()
    assert len(plans) == 2
