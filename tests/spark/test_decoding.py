"""`decode=` in scan and as options: typed columns leave the worker, bad records go by the mode."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from headrace.ids import TopicPartition
from headrace.protocol.record_batch import Record
from headrace.spark import explain, scan, write_parquet
from headrace.spark.decoding import csv, json, text

NAME = TopicPartition("clicks", 0)
DDL = "page string, ms long, at timestamp, tags array<string>, who struct<id:int, name:string>, day date, price decimal(8,2)"
GOOD = (
    b'{"page": "/%d", "ms": %d, "at": "2024-01-01T00:00:0%dZ", "tags": ["a", null], "who": {"id": 1, "name": "n"}, '
    b'"day": "2024-02-03", "price": 1.5, "more": [{}]}'
)


@pytest.fixture
def clicks(log):
    """Two partitions of 100 JSON clicks; the first has a tombstone at 100, and "nonsense" at 101."""
    for partition in range(2):
        values = [GOOD % (number % 3, number, number % 10) for number in range(100)]
        values += [None, b"nonsense"] if partition == 0 else []
        records = [Record(index, 1000 * index, b"k%d" % (index % 5), value) for index, value in enumerate(values)]
        log.append(TopicPartition("clicks", partition), records, codec=partition)
    return log


def read(spark, broker, **arguments):
    return scan(spark, "clicks", bootstrap_servers=broker.address, **arguments)


def test_decoded_columns_are_typed_and_the_same_as_those_of_from_json(spark, clicks, broker):
    ours = read(spark, broker, decode=json(DDL), decode_mode="null")
    raw = read(spark, broker, columns="value").select(F.from_json(F.col("value").cast("string"), DDL).alias("j"))
    theirs = raw.select("j.*")
    assert ours.dtypes == theirs.dtypes
    assert ours.exceptAll(theirs).count() == theirs.exceptAll(ours).count() == 0
    assert ours.count() == 202


def test_only_what_is_asked_for_is_built(spark, clicks, broker):
    """`who` would not decode as bigint."""
    frame = read(spark, broker, decode=json("page string, who bigint"), columns="page,offset,key", decode_mode="null")
    assert frame.dtypes == [("page", "string"), ("offset", "bigint"), ("key", "binary")]
    rows = {(row.offset, row.page, bytes(row.key)) for row in frame.where("offset < 3").collect()}
    assert rows == {(0, "/0", b"k0"), (1, "/1", b"k1"), (2, "/2", b"k2")}
    assert frame.where("page is null").count() == 2


def test_a_record_that_does_not_decode_is_named(spark, clicks, broker):
    with pytest.raises(
        PySparkException, match=r"clicks-0: the value of the record at offset 101 .*not a JSON object: b'nonsense'"
    ):
        read(spark, broker, decode=json("page string")).count()


def test_reasons_in_a_column(spark, clicks, broker):
    frame = read(spark, broker, decode=json("page string"), decode_mode="column", columns="page,value,offset,_corrupt")
    (row,) = frame.where("_corrupt is not null").collect()
    assert (row.page, bytes(row.value), row.offset) == (None, b"nonsense", 101)
    assert row._corrupt == "value: not a JSON object: b'nonsense'"
    assert read(spark, broker, decode=json("page string"), decode_mode="column").columns == ["page", "_corrupt"]


def test_where_and_map_batches_see_decoded_columns(spark, clicks, broker):
    def total(batches):
        yield pa.RecordBatch.from_pydict({"ms": [sum(pc.sum(batch["ms"]).as_py() for batch in batches)]})

    frame = read(
        spark,
        broker,
        decode={"value": json("page string, ms long"), "key": text()},
        columns="ms,key,page",
        decode_mode="null",
        where=(pc.field("page") == "/1") & (pc.field("key") == "k2"),
        map_batches=total,
        schema="ms bigint",
    )
    assert frame.groupBy().sum().first()[0] == 2 * sum(n for n in range(100) if n % 3 == 1 and n % 5 == 2)


def test_parquet_has_decoded_columns(spark, clicks, broker, tmp_path):
    target = tmp_path / "clicks"
    decode = {"decode": json(DDL), "decode_mode": "null", "columns": "offset,page,price,who"}
    assert (
        sum(row.rows for row in write_parquet(spark, "clicks", target, bootstrap_servers=broker.address, **decode))
        == 202
    )
    table = pq.read_table(target)
    assert table.schema.names == ["offset", "page", "price", "who"]
    assert spark.read.parquet(str(target)).where("who.id = 1").count() == 200


def test_as_options(spark, clicks, broker):
    reader = (
        spark.read.format("headrace").option("kafka.bootstrap.servers", broker.address).option("subscribe", "clicks")
    )
    reader = reader.option("decode.value.format", "json").option("decode.value.schema", DDL)
    with pytest.raises(PySparkException, match=r"clicks-0: the value of the record at offset 101 "):
        reader.load().count()
    frame = reader.option("decode.mode", "null").load()
    assert frame.dtypes == read(spark, broker, decode=json(DDL)).dtypes
    assert frame.exceptAll(read(spark, broker, decode=json(DDL), decode_mode="null")).count() == 0
    assert frame.groupBy("page").count().orderBy("page").collect() == [(None, 2), ("/0", 68), ("/1", 66), ("/2", 66)]
    frame = reader.option("decode.key.format", "text").option("columns", "key,who,offset").load()
    assert frame.dtypes == [("key", "string"), ("who", "struct<id:int,name:string>"), ("offset", "bigint")]
    assert frame.where("key = 'k1' and who.id = 1").count() == 40
    assert reader.schema("offset bigint, page string").load().where("page = '/1'").count() == 66
    with pytest.raises(PySparkException, match=r"can't read page as bigint \(it is string\)"):
        reader.schema("page bigint").load().count()


def test_csv_over_the_network(spark, log, remote_broker):
    log.append(TopicPartition("clicks", 0), [(None, b"a;%d" % number) for number in range(50)])
    frame = read(spark, remote_broker, decode=csv("page string, ms int", delimiter=";", prefix="v_"))
    assert frame.columns == ["v_page", "v_ms"]
    assert frame.selectExpr("sum(v_ms)").first()[0] == sum(range(50))


def test_what_runs_in_the_workers_is_said(spark, clicks, broker):
    where = pc.field("page") == "/1"
    frame = read(spark, broker, decode=json(DDL), decode_mode="null", columns="offset,page", where=where)
    text = explain(frame.groupBy("page").count())
    size = sum(path.stat().st_size for path in clicks.directory.glob("clicks-*/*.log"))
    assert text.splitlines() == [
        "scan of clicks: 2 ranges in 2 tasks, 202 offsets",
        f"  files   2 of 2 ranges on this host, segments of {size:,} bytes",
        "  reads   offset, value",
        f"  decodes value by {json(DDL).describe()}, page",
        "  bad     null",
        '  where   (page == "/1")',
        "  gives   offset, page",
    ]
    reader = (
        spark.read.format("headrace").option("kafka.bootstrap.servers", broker.address).option("subscribe", "clicks")
    )
    other = reader.option("decode.value.format", "text").option("columns", "offset,value").load()
    both = explain(other.join(frame, "offset"))
    assert text in both
    assert '.format("headrace") of clicks' in both
    assert "decodes value by text(), value" in both
    with pytest.raises(ValueError, match="does not read through headrace"):
        explain(spark.range(3))
    with pytest.raises(ValueError, match="classic session"):
        explain(object())


REFUSED = [
    ({"decode.value.schema": "a int"}, r"option decode.value.format must be set: one of json, csv, text"),
    ({"decode.value.format": "xml"}, r"option decode.value.format 'xml' must be one of json"),
    ({"decode.value.format": "json"}, r"option decode.value.schema must be set for format json"),
    ({"decode.value.format": "json", "decode.value.schema": "page strin"}, r"options decode.value.\*: schema .*type 'strin' is unknown"),
    ({"decode.value.format": "text", "decode.value.schema": "a int"}, r"decode.value.schema does not apply to format text"),
    ({"decode.mode": "drop", "decode.value.format": "text"}, r"option decode.mode 'drop' must be one of fail, null, column"),
    ({"decode.mode": "null"}, r"decode.mode 'null' needs decode.value.format"),
    ({"decode.headers.format": "json"}, r"option decode.headers.format is unknown"),
    ({"decode.value.format": "json", "decode.value.schema": "offset long"}, r"decoded column offset .*set a prefix"),
    ({"decode.value.format": "json", "decode.value.schema": "m map<string,int>"}, r"JSON is not decoded as map"),
    ({"decode.value.format": "text", "columns": "page"}, r"columns \['page'\]: choose from value, key, topic"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "reason"), REFUSED)
def test_senseless_options_are_refused_while_planning(spark, broker, log, options, reason):
    log.create("clicks")
    with pytest.raises(ValueError, match=reason):
        read(spark, broker, options=options)


def test_senseless_options_are_refused_at_load(spark, broker, log):
    log.create("clicks")
    reader = (
        spark.read.format("headrace").option("kafka.bootstrap.servers", broker.address).option("subscribe", "clicks")
    )
    with pytest.raises(PySparkException, match=r"option decode.value.format must be set"):
        reader.option("decode.value.schema", "a int").load()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"decode": "json"}, "decode must be a decoder"),
        ({"decode": {"header": text()}}, "decode takes value and key, not header"),
        ({"decode": {}}, "decode takes value and key, not nothing"),
        ({"decode": text(), "decode_mode": "drop"}, "decode mode 'drop' must be one of"),
        ({"decode_mode": "null"}, "decode_mode 'null' needs decode"),
        ({"decode": {"value": json("a int"), "key": json("A int")}}, "decoded column A of the key appears twice"),
        ({"decode": text(), "options": {"decode.value.format": "text"}}, "decode is given twice"),
        ({"decode": text(), "columns": "page"}, r"columns \['page'\]"),
        ({"decode": json("_corrupt string")}, "set a prefix"),
    ],
)
def test_senseless_arguments_are_refused_while_planning(spark, broker, log, arguments, reason):
    log.create("clicks")
    with pytest.raises((ValueError, TypeError), match=reason):
        read(spark, broker, **arguments)
