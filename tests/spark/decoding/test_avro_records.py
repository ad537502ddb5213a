"""Avro into columns, plain and in the wire format."""

import io
import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest

from headrace.spark.decoding import avro
from headrace.spark.errors import RegistryUnavailable
from tests.support.fake_registry import FakeRegistry

AT = datetime(2024, 1, 2, 3, 4, 5, 678000, UTC)
SCHEMA = {
    "type": "record",
    "name": "Click",
    "namespace": "n",
    "fields": [
        {"name": "page", "type": ["null", "string"], "default": None},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "us", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "again", "type": ["Kind", "null"]},
        {"name": "fixed", "type": {"type": "fixed", "name": "Two", "size": 2}},
        {"name": "tags", "type": {"type": "array", "items": ["null", {"type": "record", "name": "Tag", "fields": [
            {"name": "x", "type": "int"}, {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}]}},
        {"name": "counts", "type": {"type": "map", "values": "double"}},
        {"name": "either", "type": ["int", "long"]},
        {"name": "flag", "type": "boolean"},
        {"name": "raw", "type": "bytes"},
    ],
}  # fmt: skip
CLICK = {
    "page": "/é", "ms": AT, "us": None, "day": date(2024, 1, 2), "price": Decimal("-1.25"), "kind": "A", "again": "B", "fixed": b"xy",
    "tags": [None, {"x": 1, "at": AT}], "counts": {"a": 1.5}, "either": 2**40, "flag": True, "raw": b"\xff\0",
}  # fmt: skip
SIMPLE = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}, {"name": "s", "type": "string"}]}


def written(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def decoded(decoder, values, names=None, source="value"):
    decoder = pickle.loads(pickle.dumps(decoder))
    names = names or decoder.fields(source).names
    found = decoder.decode(pa.array(values, pa.binary()), names, source)
    for column in found.columns:
        column.validate(full=True)
    return [
        dict(zip(names, row, strict=True)) for row in zip(*(c.to_pylist() for c in found.columns), strict=True)
    ], found.reasons


@pytest.fixture
def registry():
    with FakeRegistry() as fake:
        yield fake


def test_every_type():
    decoder = avro(SCHEMA)
    assert decoder.fields("value").simpleString() == (
        "struct<page:string,ms:timestamp,us:timestamp,day:date,price:decimal(6,2),kind:string,again:string,fixed:binary,"
        "tags:array<struct<x:int,at:timestamp>>,counts:map<string,double>,either:bigint,flag:boolean,raw:binary>"
    )
    rows, reasons = decoded(decoder, [written(SCHEMA, CLICK), None])
    assert not reasons
    assert rows[0] == {**CLICK, "counts": [("a", 1.5)]}
    assert set(rows[1].values()) == {None}


def test_bad_records():
    good = written(SIMPLE, {"a": 1, "s": "x"})
    values = [
        good,
        b"",
        good[:-1],
        good + b"\0",
        b"\xff" * 30,
        b'{"a": 1}',
        written(SIMPLE, {"a": 1, "s": "x"})[:1] + b"\x02\xff",
        None,
    ]
    rows, reasons = decoded(avro(SIMPLE), [*values, good])
    assert [row["a"] for row in rows] == [1, *[None] * 7, 1]
    assert sorted(reasons) == [1, 2, 3, 4, 5, 6]
    assert reasons[3] == "not a record of the schema: trailing bytes after it: 1"
    assert all(reason.startswith("not a record of the schema") for reason in reasons.values())


def test_what_arrow_refuses_is_bad_alone():
    """Milliseconds that overflow Spark's microseconds."""
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}}],
    }
    values = [written({**schema, "fields": [{"name": "t", "type": "long"}]}, {"t": at}) for at in (0, 2**62, 1)]
    rows, reasons = decoded(avro(schema), values)
    assert [row["t"] and row["t"].microsecond for row in rows] == [0, None, 1000]
    assert list(reasons) == [1]


def test_only_the_columns_asked_for_are_built():
    rows, reasons = decoded(avro(SCHEMA, prefix="p_"), [written(SCHEMA, CLICK)], ["p_again", "p_page"])
    assert (rows, reasons) == ([{"p_again": "B", "p_page": "/é"}], {})


def test_a_schema_that_is_no_record_gives_one_column():
    decoder = avro('"string"')
    assert decoder.fields("key").simpleString() == "struct<key:string>"
    assert decoded(decoder, [written("string", "k"), b"\x04a"], source="key") == (
        [{"key": "k"}, {"key": None}],
        {1: "not a record of the schema: EOFError Expected 2 bytes, read 1"},
    )


def test_the_wire_format_resolves_older_and_newer_writers(registry):
    older = {**SIMPLE, "fields": SIMPLE["fields"][:1]}
    newer = {**SIMPLE, "fields": [*SIMPLE["fields"], {"name": "u", "type": ["int", "string"]}]}
    latest = {**SIMPLE, "fields": [SIMPLE["fields"][0], {"name": "s", "type": "string", "default": "none"}]}
    for schema_id, schema in (
        (1, older),
        (2, newer),
        (4, {**older, "fields": [{"name": "a", "type": "string"}]}),
        (3, latest),
    ):
        registry.add("clicks-value", schema_id, json.dumps(schema))

    def framed(schema_id, schema, value):
        return b"\0" + schema_id.to_bytes(4, "big") + written(schema, value)

    values = [
        framed(1, older, {"a": 1}), framed(2, newer, {"a": 2, "s": "two", "u": "u"}), None, written(SIMPLE, {"a": 3, "s": "x"}),
        framed(9, older, {"a": 4}), framed(4, registry_schema(registry, 4), {"a": "x"}), framed(3, latest, {"a": 5, "s": "s"}), b"\0\0",
    ]  # fmt: skip
    decoder = avro(registry=registry.url, subject="clicks-value")
    registry.asked.clear()
    rows, reasons = decoded(decoder, values)
    assert [(row["a"], row["s"]) for row in rows] == [
        (1, "none"), (2, "two"), (None, None), (None, None), (None, None), (None, None), (5, "s"), (None, None),
    ]  # fmt: skip
    assert sorted(reasons) == [3, 4, 5, 7]
    assert "not the Confluent wire format" in reasons[3]
    assert "has no /schemas/ids/9" in reasons[4]
    assert "does not resolve" in reasons[5]
    assert sorted(registry.asked) == ["/schemas/ids/1", "/schemas/ids/2", "/schemas/ids/4", "/schemas/ids/9"]
    assert decoded(avro(latest, registry=registry.url), values)[0] == rows
    assert registry.url in decoder.describe()


def registry_schema(registry, schema_id):
    return json.loads(registry.schemas[schema_id]["schema"])


def test_types_of_other_subjects(registry):
    registry.add(
        "tags",
        1,
        json.dumps({"type": "record", "name": "Tag", "namespace": "n", "fields": [{"name": "x", "type": "int"}]}),
    )
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "tag", "type": ["null", "n.Tag"]}]}
    registry.add("outer-value", 2, json.dumps(outer), references=[("n.Tag", "tags", 1)])
    decoder = avro(registry=registry.url, subject="outer-value")
    assert decoder.fields("value").simpleString() == "struct<tag:struct<x:int>>"
    assert decoded(decoder, [b"\0\0\0\0\2\2\x0e"])[0] == [{"tag": {"x": 7}}]


def test_a_registry_that_is_asked_for_random_ids(registry):
    registry.add("v", 1, json.dumps(SIMPLE))
    values = pa.array([b"\0" + number.to_bytes(4, "big") for number in range(100, 200)], pa.binary())
    with pytest.raises(RegistryUnavailable, match="check that the data uses the Confluent wire format"):
        avro(registry=registry.url, subject="v").decode(values, ["a"])
    assert len(registry.asked) < 30


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "give schema, or registry and subject"),
        ({"subject": "s"}, "subject 's' needs a registry"),
        ({"registry": "http://h"}, "give either subject"),
        ({"registry": "http://h", "subject": "s", "schema": '"int"'}, "give either subject"),
        ({"registry": "h", "subject": "s"}, "registry must be an http"),
        ({"schema": "{"}, "Avro schema '{' is invalid"),
        ({"schema": '"strin"'}, "invalid"),
        ({"schema": '{"type": "record", "name": "R", "fields": []}'}, "has no field"),
        ({"schema": '{"type": "record"}'}, "invalid"),
        ({"schema": '["int", "string"]'}, "the record is a union of 2 types"),
        (
            {"schema": {"type": "record", "name": "R", "fields": [{"name": "n", "type": ["null", "R"]}]}},
            r"n is recursive \(R\)",
        ),
        ({"schema": {"type": "record", "name": "R", "fields": [{"name": "n", "type": "null"}]}}, "n has the type null"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        avro(**arguments)


def test_an_unknown_subject(registry):
    with pytest.raises(ValueError, match=r"subject 'none': .* has no /subjects/none"):
        avro(registry=registry.url, subject="none")
