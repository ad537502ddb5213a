"""The options of decoding give what the functions give; what makes no sense is refused by name."""

import json as python_json

import pytest

from headrace.spark.decoding import avro, csv, json, protobuf, text
from headrace.spark.decoding.decode_options import decode_from_options
from headrace.spark.decoding.decode_plan import decode_plan
from tests.support.fake_registry import FakeRegistry

AVRO = python_json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]})


def options_of(source="value", **given):
    return {f"decode.{source}.{name.replace('_', '.')}": value for name, value in given.items()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            options_of(format="json", schema="a int", prefix="p_", confluent="true"),
            json("a int", prefix="p_", confluent=True),
        ),
        (options_of(format="CSV", schema="a int", delimiter=";"), csv("a int", delimiter=";")),
        (options_of(format="text"), text()),
        (options_of(format="avro", schema=AVRO), avro(AVRO)),
    ],
)
def test_the_same_as_the_functions(given, expected):
    assert decode_from_options({**given, "subscribe": "clicks"}) == decode_plan(expected)
    assert decode_from_options({**given, "decode.mode": "Column"}).mode == "column"


def test_key_and_value():
    plan = decode_from_options(options_of("key", format="text") | options_of(format="json", schema="a int"))
    assert plan == decode_plan({"value": json("a int"), "key": text()})
    assert decode_from_options({"kafka.bootstrap.servers": "b"}) is None


def test_a_registry_and_a_descriptor(tmp_path):
    with FakeRegistry() as registry:
        registry.add("clicks-value", 1, AVRO)
        plan = decode_from_options(options_of(format="avro", registry_url=registry.url, subject="clicks-value"))
        assert plan == decode_plan(avro(registry=registry.url, subject="clicks-value"))
    from google.protobuf import descriptor_pb2, timestamp_pb2

    file = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(file)
    (tmp_path / "t.desc").write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    given = options_of(format="protobuf", descriptor=str(tmp_path / "t.desc"), message="google.protobuf.Timestamp")
    assert decode_from_options(given) == decode_plan(protobuf(tmp_path / "t.desc"))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (options_of(format="avro"), r"options decode.value.\*: give schema, or registry and subject"),
        (options_of(format="avro", schema=AVRO, subject="s"), "subject 's' needs a registry"),
        (options_of(format="protobuf", descriptor="/none/there"), r"options decode.value.\*: .*No such file"),
        (options_of(format="json", schema="a int", confluent="yes"), "confluent 'yes' must be true or false"),
        (
            options_of(format="json", schema="a int", registry_url="http://h"),
            "decode.value.registry.url does not apply to format json",
        ),
        (options_of(format="csv", schema="a int", delimiter="ab"), "delimiter 'ab'"),
        ({"decode.format": "json"}, "option decode.format is unknown"),
        ({"decode.value": "json"}, "option decode.value is unknown"),
    ],
)
def test_what_makes_no_sense(given, reason):
    with pytest.raises(ValueError, match=reason):
        decode_from_options(given)
