"""Parquet of records: what has a dictionary, and what has statistics."""

import pyarrow as pa
import pyarrow.parquet as pq

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
