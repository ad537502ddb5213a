"""Parquet of records: what has a dictionary, and what has statistics; what readers make of floats."""

import math

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from headrace.arrow.parquet_files import parquet_writer
from headrace.limits import PARQUET_DICTIONARY_BYTES_MAX

ROWS = 50_000
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("click", pa.struct([("page", pa.string()), ("value", pa.struct([("ms", pa.int64())]))])),
        ("tags", pa.map_(pa.string(), pa.list_(pa.int32()))),
    ]
)


def written(path, keys):
    table = pa.table(
        {
            "key": [b"%d" % (number % keys) for number in range(ROWS)],
            "value": [b"value %d" % number for number in range(ROWS)],
            "partition": [3] * ROWS,
            "offset": range(ROWS),
            "headers": [[{"key": "trace", "value": b"1"}] if number % 2 else [] for number in range(ROWS)],
            "click": [
                {"page": f"/p/{number % 7}", "value": {"ms": number}} if number % 3 else None for number in range(ROWS)
            ],
            "tags": [[("a", [number % 5])] if number % 5 else None for number in range(ROWS)],
        },
        schema=SCHEMA,
    )
    with parquet_writer(path, SCHEMA, "snappy") as writer:
        writer.write_table(table)
    file = pq.ParquetFile(path)
    assert file.read().equals(table)
    group = file.metadata.row_group(0)
    return {group.column(index).path_in_schema: group.column(index) for index in range(group.num_columns)}


def test_what_repeats_has_a_dictionary_and_values_have_no_statistics(tmp_path):
    columns = written(tmp_path / "records.parquet", keys=300)
    has_dictionary = {name for name, column in columns.items() if column.has_dictionary_page}
    assert has_dictionary == set(columns) - {"value", "offset"}
    assert {name for name, column in columns.items() if not column.is_stats_set} == {"value"}
    assert columns["offset"].statistics.max == ROWS - 1


def test_keys_that_all_differ_are_stored_once(tmp_path):
    few = written(tmp_path / "few.parquet", keys=300)["key"]
    many = written(tmp_path / "many.parquet", keys=ROWS)["key"]
    plain_bytes = sum(4 + len(b"%d" % number) for number in range(ROWS))
    assert few.total_uncompressed_size < plain_bytes / 4
    assert many.total_uncompressed_size < plain_bytes + 3 * PARQUET_DICTIONARY_BYTES_MAX


FLOATS = [1.5, math.nan, -0.0, None, 2.5, -math.inf]
X = pc.field("x")


@pytest.fixture(params=[pa.float64(), pa.float32()], ids=str)
def floats(tmp_path, request):
    """A file with a row group for each float, also within others; its path."""
    kind = request.param
    schema = pa.schema(
        [("x", kind), ("in", pa.struct([("x", kind)])), ("all", pa.list_(kind)), ("by", pa.map_(kind, kind))]
    )
    rows = [{"x": x, "in": {"x": x}, "all": [x], "by": [] if x is None else [(x, x)]} for x in FLOATS]
    path = tmp_path / "floats.parquet"
    with parquet_writer(path, schema, "zstd") as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema), row_group_size=1)
    return path


def test_floats_have_neither_statistics_nor_a_dictionary(floats):
    group = pq.ParquetFile(floats).metadata.row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    assert len(columns) == 5
    assert not [one.path_in_schema for one in columns if one.is_stats_set or one.has_dictionary_page]


def test_every_reader_finds_nan_and_both_zeros(floats):
    """Each row group is one that a reader would pass over, were it to go by the least and the largest of it."""
    dataset = ds.dataset(floats)
    for where, wanted in ((pc.is_nan(X), 1), (X == X, 4), (~(X < 5.0), 1), (X == 0.0, 1), (X > 2.0, 1)):
        assert dataset.count_rows(filter=where) == wanted, where
    for where, wanted in (
        ("isnan(x)", 1),
        ("x > 5", 1),
        ("not (x < 5)", 1),
        ("x = 0", 1),
    ):  # NaN is the largest there too
        assert len(duckdb.sql(f"select x from '{floats}' where {where}").fetchall()) == wanted, where
    frame = polars.scan_parquet(floats)
    for where, wanted in ((polars.col("x").is_nan(), 1), (polars.col("x") > 5, 1), (polars.col("x") == 0, 1)):
        assert frame.filter(where).select("x").collect().height == wanted, where
