"""What columns a table may get, and what rows are."""

import pyarrow as pa
import pytest

from headrace.load.contents import contents_of
from headrace.load.errors import SchemaConflict
from headrace.load.schemas import evolved, schema_from_text, schema_to_text
from headrace.spark.decoding import json, text


def schema(**columns):
    return pa.schema(list(columns.items()))


@pytest.mark.parametrize(
    ("was", "new", "becomes"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int64(), pa.int8(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.decimal128(5, 2), pa.decimal128(9, 2), pa.decimal128(9, 2)),
        (pa.decimal128(9, 2), pa.decimal128(5, 2), pa.decimal128(9, 2)),
        (pa.string(), pa.string(), pa.string()),
    ],
)
def test_a_column_may_widen(was, new, becomes):
    assert evolved(schema(a=was), schema(a=new)) == schema(a=becomes)


@pytest.mark.parametrize(
    ("was", "new"),
    [
        (pa.int64(), pa.string()),
        (pa.int64(), pa.float64()),
        (pa.decimal128(5, 2), pa.decimal128(9, 3)),
        (pa.struct([("x", pa.int32())]), pa.struct([("x", pa.int64())])),
    ],
)
def test_another_type_is_refused_by_name(was, new):
    with pytest.raises(SchemaConflict, match="column a: the table has"):
        evolved(schema(a=was), schema(a=new))


def test_columns_may_come_and_be_left_out():
    assert evolved(schema(a=pa.int8(), b=pa.string()), schema(c=pa.date32(), a=pa.int8())) == schema(
        a=pa.int8(), b=pa.string(), c=pa.date32()
    )
    with pytest.raises(SchemaConflict, match="differ only in case"):
        evolved(schema(Page=pa.string()), schema(page=pa.string()))


def test_a_schema_survives_text():
    found = schema(a=pa.list_(pa.int8()), t=pa.timestamp("us", tz="UTC"))
    assert schema_from_text(schema_to_text(found)) == found


def test_what_a_table_needs_is_always_among_its_columns():
    assert contents_of("value", None, "fail").names == ("topic", "partition", "offset", "timestamp", "value")
    assert contents_of(None, None, "fail", with_headers=True).names[-1] == "headers"
    assert contents_of(None, json("page string"), "dead").names == (
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        "page",
    )
    assert contents_of("page,offset", json("page string"), "null").names == (
        "topic",
        "partition",
        "timestamp",
        "page",
        "offset",
    )
    assert contents_of(None, {"key": text()}, "null").schema().field("key").type == pa.string()


@pytest.mark.parametrize(
    ("decode", "mode", "message"), [(None, "dead", "needs decode"), (text(), "column", "fail, null, dead")]
)
def test_modes_are_checked(decode, mode, message):
    with pytest.raises(ValueError, match=message):
        contents_of(None, decode, mode)
