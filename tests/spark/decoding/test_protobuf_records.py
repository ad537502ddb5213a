"""Protobuf into columns, plain and in the wire format; descriptors are made here, as protoc makes them."""

import pickle
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, timestamp_pb2, wrappers_pb2
from google.protobuf.message_factory import GetMessageClass

from headrace.spark.decoding import protobuf
from tests.support.fake_registry import FakeRegistry

F = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "d": F.TYPE_DOUBLE, "i": F.TYPE_INT32, "l": F.TYPE_SINT64, "u": F.TYPE_UINT32, "ul": F.TYPE_FIXED64, "b": F.TYPE_BOOL,
    "s": F.TYPE_STRING, "raw": F.TYPE_BYTES,
}  # fmt: skip


def file_of():
    """click.proto: Kind, Click with all sorts of fields, Click.Tag, Other."""
    file = descriptor_pb2.FileDescriptorProto(name="click.proto", package="n", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="NONE", number=0)
    kind.value.add(name="SOME", number=1)
    click = file.message_type.add(name="Click")
    tag = click.nested_type.add(name="Tag")
    tag.field.add(name="x", number=1, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    entry = click.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=F.TYPE_MESSAGE, type_name=".n.Click.Tag", label=F.LABEL_OPTIONAL)
    for number, (name, kind_number) in enumerate(SCALARS.items(), 1):
        click.field.add(name=name, number=number, type=kind_number, label=F.LABEL_OPTIONAL)
    click.oneof_decl.add(name="_maybe")
    click.field.add(
        name="maybe", number=20, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL, proto3_optional=True, oneof_index=0
    )
    click.field.add(name="kind", number=21, type=F.TYPE_ENUM, type_name=".n.Kind", label=F.LABEL_OPTIONAL)
    click.field.add(name="tag", number=22, type=F.TYPE_MESSAGE, type_name=".n.Click.Tag", label=F.LABEL_OPTIONAL)
    click.field.add(name="tags", number=23, type=F.TYPE_MESSAGE, type_name=".n.Click.Tag", label=F.LABEL_REPEATED)
    click.field.add(
        name="counts", number=24, type=F.TYPE_MESSAGE, type_name=".n.Click.CountsEntry", label=F.LABEL_REPEATED
    )
    click.field.add(
        name="at", number=25, type=F.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=F.LABEL_OPTIONAL
    )
    click.field.add(name="names", number=26, type=F.TYPE_STRING, label=F.LABEL_REPEATED)
    other = file.message_type.add(name="Other")
    other.field.add(name="self", number=1, type=F.TYPE_MESSAGE, type_name=".n.Other", label=F.LABEL_OPTIONAL)
    file.message_type.add(name="Empty")
    return file


FILE = file_of()
SET = descriptor_pb2.FileDescriptorSet(file=[FILE]).SerializeToString()
POOL = descriptor_pool.DescriptorPool()
POOL.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
POOL.AddSerializedFile(FILE.SerializeToString())
Click = GetMessageClass(POOL.FindMessageTypeByName("n.Click"))


def click(**fields):
    return Click(**fields).SerializeToString()


def decoded(decoder, values, names=None):
    decoder = pickle.loads(pickle.dumps(decoder))
    names = names or decoder.fields("value").names
    found = decoder.decode(pa.array(values, pa.binary()), names)
    for column in found.columns:
        column.validate(full=True)
    return [
        dict(zip(names, row, strict=True)) for row in zip(*(c.to_pylist() for c in found.columns), strict=True)
    ], found.reasons


@pytest.fixture
def registry():
    with FakeRegistry() as fake:
        yield fake


FULL = {
    "d": 1.5, "i": -1, "l": -(2**60), "u": 2**32 - 1, "ul": 2**64 - 1, "b": True, "s": "é", "raw": b"\xff", "maybe": 0, "kind": 1,
    "tag": {"x": 1}, "tags": [{"x": 2}, {}], "names": ["a", "b"],
}  # fmt: skip


def test_every_type():
    decoder = protobuf(SET, "n.Click")
    assert decoder.fields("value").simpleString() == (
        "struct<d:double,i:int,l:bigint,u:bigint,ul:decimal(20,0),b:boolean,s:string,raw:binary,maybe:int,kind:string,tag:struct<x:int>,"
        "tags:array<struct<x:int>>,counts:map<string,struct<x:int>>,at:timestamp,names:array<string>>"
    )
    message = Click(**FULL)
    message.counts["a"].x = 7
    message.at.FromDatetime(datetime(2024, 1, 2, 3, 4, 5, 678901))
    (row, empty, nothing), reasons = decoded(decoder, [message.SerializeToString(), b"", None])
    assert not reasons
    assert row == {
        **FULL, "ul": Decimal(2**64 - 1), "kind": "SOME", "tags": [{"x": 2}, {"x": 0}], "counts": [("a", {"x": 7})],
        "at": datetime(2024, 1, 2, 3, 4, 5, 678901, UTC),
    }  # fmt: skip
    assert empty == {
        "d": 0.0, "i": 0, "l": 0, "u": 0, "ul": 0, "b": False, "s": "", "raw": b"", "maybe": None, "kind": "NONE", "tag": None, "tags": [],
        "counts": [], "at": None, "names": [],
    }  # fmt: skip
    assert set(nothing.values()) == {None}


def test_bad_records_and_fields_of_newer_writers():
    unknown = bytes([(100 << 3) & 0x7F | 0x80, (100 << 3) >> 7, 5])
    values = [
        click(i=1),
        b"\xff",
        click(s="abc")[:-1],
        b"\x3a\x01\xff",
        b'{"i": 1}',
        click(i=2) + unknown,
        click(kind=9),
    ]
    rows, reasons = decoded(protobuf(SET, "n.Click", prefix="p_"), values, ["p_kind", "p_i"])
    assert [row["p_i"] for row in rows] == [1, None, None, None, None, 2, 0]
    assert [row["p_kind"] for row in rows][-2:] == ["NONE", "9"]
    assert sorted(reasons) == [1, 2, 3, 4]
    assert all(reason.startswith("not a message") for reason in reasons.values())


def test_a_timestamp_that_spark_can_not_hold():
    rows, reasons = decoded(
        protobuf(SET, "n.Click"), [click(at={"seconds": 1}), click(at={"seconds": 2**62}), click()], ["at"]
    )
    assert [row["at"] is None for row in rows] == [False, True, True]
    assert list(reasons) == [1]


def test_descriptors_by_bytes_path_and_class(tmp_path):
    (tmp_path / "click.desc").write_bytes(SET)
    expected = protobuf(SET, "n.Click").fields("value")
    for decoder in (
        protobuf(SET),
        protobuf(tmp_path / "click.desc"),
        protobuf(str(tmp_path / "click.desc"), "n.Click"),
        protobuf(Click),
    ):
        assert decoder.fields("value") == expected
        assert decoded(decoder, [click(i=3)], ["i"])[0] == [{"i": 3}]
    assert protobuf(wrappers_pb2.Int32Value).fields("value").simpleString() == "struct<value:int>"
    assert protobuf(SET, "n.Click.Tag").fields("value").simpleString() == "struct<x:int>"


def test_the_wire_format(registry):
    registry.add("clicks-value", 1, FILE.SerializeToString(), "PROTOBUF")
    moved = descriptor_pb2.FileDescriptorProto()
    moved.CopyFrom(FILE)
    moved.message_type.insert(0, descriptor_pb2.DescriptorProto(name="First"))
    registry.add("others", 2, moved.SerializeToString(), "PROTOBUF")
    registry.add("avro", 3, '"int"')
    decoder = protobuf(registry=registry.url, subject="clicks-value")
    assert decoder.message == "n.Click"
    data = click(i=7)
    values = [
        b"\0\0\0\0\1\0" + data, b"\0\0\0\0\1\2\0" + data, b"\0\0\0\0\2\2\2" + data, b"\0\0\0\0\2\0" + data, b"\0\0\0\0\1\4\0\0" + data,
        b"\0\0\0\0\3\0" + data, b"\0\0\0\0\x09\0" + data, b"\0\0\0\0\1\2\x7e" + data, data, None, b"\0\0\0\0\1",
    ]  # fmt: skip
    registry.asked.clear()
    rows, reasons = decoded(decoder, values, ["i"])
    assert [row["i"] for row in rows] == [7, 7, 7, *[None] * 8]
    assert {row: reason[:40] for row, reason in reasons.items()} == {
        3: "a message n.First, expected n.Click",
        4: "a message n.Click.Tag, expected n.Click",
        5: "schema id 3 is of type AVRO, expected PR",
        6: f"schema registry {registry.url} has no"[:40],
        7: "its schema has no message at [63]",
        8: "not the Confluent wire format: 2 bytes, ",
        10: "not the Confluent wire format: its messa",
    }
    assert len(registry.asked) <= 4
    assert decoded(protobuf(SET, "n.Click", registry=registry.url), values, ["i"])[0] == rows


def test_files_of_other_subjects(registry):
    inner = descriptor_pb2.FileDescriptorProto(name="default", package="i", syntax="proto3")
    inner.message_type.add(name="In").field.add(name="x", number=1, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    outer = descriptor_pb2.FileDescriptorProto(name="default", syntax="proto3", dependency=["i/in.proto"])
    outer.message_type.add(name="Out").field.add(
        name="one", number=1, type=F.TYPE_MESSAGE, type_name=".i.In", label=F.LABEL_OPTIONAL
    )
    registry.add("in", 1, inner.SerializeToString(), "PROTOBUF")
    registry.add("out", 2, outer.SerializeToString(), "PROTOBUF", references=[("i/in.proto", "in", 1)])
    decoder = protobuf(registry=registry.url, subject="out")
    assert decoder.fields("value").simpleString() == "struct<one:struct<x:int>>"
    assert decoded(decoder, [b"\0\0\0\0\2\0\x0a\2\x08\5"])[0] == [{"one": {"x": 5}}]


def test_a_registry_that_gives_source_text(registry):
    registry.add("v", 1, 'syntax = "proto3"; message A { int32 x = 1; }', "PROTOBUF")
    with pytest.raises(ValueError, match=r"returned \.proto text instead of a serialized descriptor; give descriptor="):
        protobuf(registry=registry.url, subject="v")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "give descriptor, or registry and subject"),
        ({"descriptor": b"\xff"}, "not a FileDescriptorSet"),
        ({"descriptor": b""}, "an empty FileDescriptorSet"),
        ({"descriptor": SET, "message": "n.Clack"}, "message 'n.Clack' is not in the descriptor, which has n.Click, n.Empty, n.Other"),
        ({"descriptor": SET, "message": "n.Other"}, r"self is recursive \(n.Other\)"),
        ({"descriptor": SET, "message": "n.Empty"}, "message n.Empty has no field"),
        ({"descriptor": Click, "message": "n.Other"}, "is not the class given, n.Click"),
        ({"descriptor": descriptor_pb2.FileDescriptorSet(file=[{"name": "a", "dependency": ["b.proto"]}]).SerializeToString()},
         "the imported file b.proto is missing"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_at_once(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        protobuf(**arguments)
    with pytest.raises(TypeError, match="descriptor must be bytes, a path, or a generated message class"):
        protobuf(int)
