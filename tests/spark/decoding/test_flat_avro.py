"""Flat Avro by the kernel: what fastavro gives of the same bytes, record for record, sound or not."""

import io
import json
import random

import fastavro
import pyarrow as pa
import pytest

from headrace.spark.decoding import avro, avro_records
from headrace.spark.decoding.avro_schema import avro_schema
from headrace.spark.decoding.flat_avro import flat_avro
from tests.support import walkers
from tests.support.fake_registry import FakeRegistry

NUMBER = 7
TYPES = ["boolean", "int", "long", "float", "double", "bytes", "string", {"type": "long", "logicalType": "timestamp-micros"},
         {"type": "int", "logicalType": "date"}]  # fmt: skip


@pytest.fixture(autouse=True)
def kernel():
    with pytest.MonkeyPatch.context() as patched:
        walkers.use(patched, "kernel")
        yield


def value_of(dice, kind):
    name = kind["type"] if isinstance(kind, dict) else kind
    if name == "enum":
        return dice.choice(kind["symbols"])
    if name == "fixed":
        return dice.randbytes(kind["size"])
    small = dice.choice([0, 1, -1, dice.randrange(-(2**31), 2**31)])
    return {
        "boolean": dice.random() < 0.5,
        "int": small % 10_000,
        "long": small,
        "float": float(small % 1000) / 4,
        "double": small / 3,
        "bytes": dice.randbytes(dice.randrange(20)),
        "string": "é" * dice.randrange(9),
    }[name]


def schema_of(dice):
    fields = []
    for index in range(dice.randrange(1, 8)):
        named = [{"type": "enum", "name": f"E{index}", "symbols": ["A", "B", "C"]},
                 {"type": "fixed", "name": f"F{index}", "size": 3}]  # fmt: skip
        kind = dice.choice([*TYPES, *named])
        kind = dice.choice([kind, ["null", kind], [kind, "null"]])
        fields.append({"name": f"f{index}", "type": kind})
    return {"type": "record", "name": "R", "namespace": "n", "fields": fields}


def record_of(dice, schema):
    row = {}
    for field in schema["fields"]:
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        kind = dice.choice(kinds)
        row[field["name"]] = None if kind == "null" else value_of(dice, kind)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


def damaged(dice, record):
    changed = bytearray(record)
    for _ in range(dice.randrange(1, 3)):
        if changed and dice.random() < 0.7:
            changed[dice.randrange(len(changed))] = dice.choice([0, 1, 2, 0x7F, 0x80, 0xFF, dice.randrange(256)])
        else:
            changed = changed[: dice.randrange(len(changed) + 1)] + dice.randbytes(dice.randrange(3))
    return bytes(changed)


@pytest.mark.parametrize("seed", range(12))
def test_as_fastavro_reads_them_also_where_bytes_are_damaged(seed, monkeypatch):
    dice = random.Random(seed)
    for _ in range(6):
        schema = schema_of(dice)
        records = [record_of(dice, schema) for _ in range(40)]
        records = [dice.choice([one, one, one, damaged(dice, one), None]) for one in records]
        values = pa.array([b"before", *records], pa.binary()).slice(1)
        names = dice.sample([field["name"] for field in schema["fields"]], dice.randrange(1, len(schema["fields"]) + 1))
        decoder = avro(schema)
        assert flat_avro(avro_schema(decoder.schema).plain, names, [pa.int64()] * len(names)) is not None
        found = decoder.decode(values, names)
        for column in found.columns:
            column.validate(full=True)
        with monkeypatch.context() as without:
            without.setattr(avro_records, "flat_avro", lambda *_given: None)
            wanted = decoder.decode(values, names)
        assert [str(column) for column in found.columns] == [str(column) for column in wanted.columns]
        assert [column.type for column in found.columns] == [column.type for column in wanted.columns]
        assert found.reasons == wanted.reasons


def test_sound_records_never_reach_fastavro(monkeypatch):
    dice = random.Random(7)
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "long"}, {"name": "s", "type": ["null", "string"]}],
    }
    records = [record_of(dice, schema) for _ in range(20)]
    asked = []
    real = avro_records.decode_rows

    def watched(some, *given):
        asked.extend(some)
        return real(some, *given)

    monkeypatch.setattr(avro_records, "decode_rows", watched)
    bad = records[3] + b"\0"
    found = avro(schema).decode(pa.array([*records, bad, None]), ["s", "a"])
    assert asked == [bad]
    assert list(found.reasons) == [20]
    assert found.columns[1].null_count == 2


def test_the_wire_format_of_the_readers_own_schema_goes_the_same_way(monkeypatch):
    dice = random.Random(7)
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]}
    with FakeRegistry() as registry:
        registry.add("clicks-value", NUMBER, json.dumps(schema))
        decoder = avro(registry=registry.url, subject="clicks-value")
        records = [b"\0" + NUMBER.to_bytes(4, "big") + record_of(dice, schema) for _ in range(10)]
        wanted = decoder.decode(pa.array(records), ["a"]).columns[0].to_pylist()
        asked = []
        monkeypatch.setattr(avro_records, "decode_rows", lambda some, *given: asked.extend(some))
        assert decoder.decode(pa.array(records), ["a"]).columns[0].to_pylist() == wanted
        assert asked == []
    monkeypatch.undo()
    with FakeRegistry() as registry:
        registry.add("clicks-value", NUMBER, json.dumps(schema))
        decoder = avro(registry=registry.url, subject="clicks-value")
        found = decoder.decode(pa.array([*records, b"\1" + records[0][1:], b"\0"]), ["a"])
        assert found.columns[0].to_pylist() == [*wanted, None, None]
        assert list(found.reasons) == [10, 11]


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "array", "items": "int"},
        {"type": "map", "values": "int"},
        ["int", "long"],
        ["null", "int", "long"],
        {"type": "record", "name": "In", "fields": []},
        ["null"],
    ],
)
def test_what_is_not_flat_is_left_to_fastavro(kind):
    plain = fastavro.parse_schema(
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": kind}]}
    )
    assert flat_avro(plain, ["a"], [pa.int32()]) is None
