"""DDL without a session gives what Spark's own parser gives."""

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, IntegerType, NullType, StructField, StructType

from headrace.spark.decoding.ddl import parse_ddl
from headrace.spark.decoding.spark_types import arrow_type, names_within, struct_of

WHOLE = (
    "a tinyint, B BYTE, c smallint, d short, e int, f INTEGER, g bigint, h long, i float, j real, k double, l decimal, m decimal(5), "
    "n dec(5,2), o numeric(38,38), p string, q binary, r date, s timestamp, t timestamp_ltz, u timestamp_ntz, v boolean not null, "
    "w string comment 'it''s, here', `x ``y` int, z: int, aa array<struct<b: map<string, array<int>>, `c d`: decimal(3,1)>>, 9z int"
)


def test_the_same_as_spark_says(spark):
    theirs = spark.createDataFrame([], WHOLE.replace("it''s", "its")).schema
    assert parse_ddl(WHOLE.replace("it''s", "its")).simpleString() == theirs.simpleString()
    assert parse_ddl("struct<a: int, b: string>") == parse_ddl("a int, b string")
    assert parse_ddl("struct int").simpleString() == "struct<struct:int>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a column is missing"),
        ("a", "a type is missing"),
        ("a int,", "a column is missing"),
        ("a int b int", "unexpected 'b'"),
        ("a strin", "type 'strin' is unknown"),
        ("a array<int", "'>' is missing"),
        ("a struct<b int", "'>' is missing"),
        ("a map<int>", "',' is missing"),
        ("a decimal(39)", r"decimal\(39,0\) is out of range"),
        ("a decimal(3,4)", "out of range"),
        ("a decimal(x)", "decimal takes"),
        ("a decimal(1,2,3)", "decimal takes"),
        ("a int not", "NOT must be followed by NULL"),
        ("a int comment b", "COMMENT must be followed"),
        ("a int, a string", "column a is listed twice"),
        ("a-b int", "unexpected '-b int'"),
        ("a " + "array<" * 200, "nested deeper than"),
        ("a varchar(3)", "type 'varchar' is unknown"),
    ],
)
def test_what_is_wrong_is_named(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_ddl(text)


def test_a_struct_type_may_be_null_everywhere():
    inner = StructType([StructField("x", IntegerType(), nullable=False)])
    found = struct_of(StructType([StructField("a", ArrayType(inner, containsNull=False), nullable=False)]))
    assert found == parse_ddl("a array<struct<x: int>>")
    assert names_within(found) == {"struct", "array", "integer"}
    for wrong, reason in ((StructType([]), "no column"), (StructType([inner["x"], inner["x"]]), "x twice")):
        with pytest.raises(ValueError, match=reason):
            struct_of(wrong)


def test_arrow_types():
    found = arrow_type(parse_ddl("t timestamp, m map<string, array<decimal(4,1)>>"))
    assert found.field("t").type == pa.timestamp("us", tz="UTC")
    assert found.field("m").type == pa.map_(pa.string(), pa.list_(pa.decimal128(4, 1)))
    with pytest.raises(ValueError, match="type void can't be decoded"):
        arrow_type(NullType())
