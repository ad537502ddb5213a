"""Serializers of a registry: what they write, whom they ask, what they say of what is wrong.

The bytes are those that Confluent's serializers write (`tests/interop/test_confluent_serializers.py`).
"""

import dataclasses
import json

import msgspec
import pytest

from headrace.client import BadRecord, Registry, RegistryUnavailable, SchemaRefused, UnknownSchema
from headrace.client.lookups import LookupNeeded
from headrace.client.schemas import registered, schema_registry
from headrace.client.schemas.json_form import schema_of
from headrace.client.schemas.protobuf_descriptors import path_in, path_of
from headrace.client.schemas.subjects import subject_of
from headrace.limits import REGISTRY_SCHEMAS_MAX
from tests.support.fake_registry import FakeRegistry
from tests.support.order_messages import FILES, ORDER_AVRO, ORDER_JSON, Line, Money, Order, Other

NEWER = json.loads(ORDER_AVRO)
NEWER["fields"].append({"name": "total", "type": "double", "default": 1.5})


@dataclasses.dataclass
class Bought:
    id: int
    note: str | None = None


class Total(msgspec.Struct):
    id: int
    total: float


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(schema_registry, "PAUSE_FIRST_S", 0.001)
    with FakeRegistry() as registry:
        yield registry


def test_what_is_written_is_what_confluents_serializers_write(fake):
    registry = Registry(fake.url)
    order = Order(id=7, price=Money(cents=5), line=Line(sku="a"))
    cases = (
        (registry.avro(ORDER_AVRO), {"id": 7, "note": "x"}, b"\0\0\0\0\1\x0e\2\2x"),
        (registry.protobuf(Order), order, b"\0\0\0\0\3\2\2\x08\7\x12\2\x08\5\x1a\3\n\1a"),
        (registry.protobuf(Line), Line(sku="a"), b"\0\0\0\0\3\4\2\0\n\1a"),
        (registry.protobuf(Other), Other(sku="b"), b"\0\0\0\0\3\0\n\1b"),
        (registry.json(dict, schema=ORDER_JSON), {"id": 7, "note": "x"}, b'\0\0\0\0\4{"id":7,"note":"x"}'),
    )
    for one, value, data in cases:
        assert one.serialize("orders", value) == data
        assert one.deserialize("orders", data) == value
    assert fake.subjects == {"orders-value": [1, 3, 4], "shop/money.proto": [2]}
    assert fake.schemas[3]["references"] == [{"name": "shop/money.proto", "subject": "shop/money.proto", "version": 1}]


def test_a_schema_is_asked_for_once_for_each_topic_and_id(fake):
    one = Registry(fake.url).avro(ORDER_AVRO, Bought)
    data = [one.serialize(topic, Bought(serial)) for topic in ("a", "b") for serial in range(3)]
    assert [path for path, _body in fake.posted] == ["/subjects/a-value/versions", "/subjects/b-value/versions"]
    assert [one.deserialize("a", record).id for record in data] == [0, 1, 2] * 2
    assert fake.asked == ["/schemas/ids/1"]


def test_keys_have_a_subject_of_their_own(fake):
    one = Registry(fake.url).avro('"string"')
    one.bind("key", may_block=True).serialize("orders", "k")
    one.bind("value", may_block=True).serialize("orders", "k")
    Registry(fake.url).avro('"string"', subject="names").bind("key", may_block=True).serialize("orders", "k")
    assert fake.subjects == {"orders-key": [1], "orders-value": [1], "names": [1]}


def test_records_are_resolved_to_the_readers_schema(fake):
    registry = Registry(fake.url)
    old, new = registry.avro(ORDER_AVRO), registry.avro(NEWER, Total)
    by_old, by_new = old.serialize("t", {"id": 1, "note": None}), registry.avro(NEWER).serialize("t", {"id": 2})
    assert new.deserialize("t", by_old) == Total(1, 1.5)
    assert old.deserialize("t", by_new) == {"id": 2, "note": None}
    assert registry.avro().deserialize("t", by_new) == {"id": 2, "note": None, "total": 1.5}
    other = Registry(fake.url).avro('"string"').serialize("u", "text")
    with pytest.raises(BadRecord, match="does not resolve to the reader's"):
        new.deserialize("u", other)


@pytest.mark.parametrize(
    ("strategy", "subjects"),
    [
        ("TopicNameStrategy", ["orders-value"]),
        ("RecordNameStrategy", ["shop.Order", "Order"]),
        ("TopicRecordNameStrategy", ["orders-shop.Order", "orders-Order"]),
    ],
)
def test_subjects_are_named_by_the_strategy(fake, strategy, subjects):
    registry = Registry(fake.url, subject_name_strategy=strategy)
    registry.avro(ORDER_AVRO).serialize("orders", {"id": 1})
    registry.protobuf(Order).serialize("orders", Order(id=1))
    registry.json(dict, schema=ORDER_JSON).serialize("orders", {"id": 1})
    assert sorted(fake.subjects.keys() - {"shop/money.proto"}) == sorted(subjects)


def test_a_strategy_by_records_needs_a_name(fake):
    registry = Registry(fake.url, subject_name_strategy="RecordNameStrategy")
    with pytest.raises(ValueError, match=r"subject\.name\.strategy: RecordNameStrategy: the schema has no name"):
        registry.avro('"string"')
    registry.avro('"string"', subject="names")
    with pytest.raises(ValueError, match=r"subject\.name\.strategy: 'TopicName': expected TopicNameStrategy"):
        Registry(fake.url, subject_name_strategy="TopicName")
    with pytest.raises(ValueError, match="the schema of topic t has no name"):
        subject_of("RecordNameStrategy", "t", "value", "")


def test_without_registering_a_schema_has_to_be_there(fake):
    one = Registry(fake.url, auto_register=False).avro(ORDER_AVRO)
    with pytest.raises(UnknownSchema, match=r"subject 'orders-value': .*auto_register is off"):
        one.serialize("orders", {"id": 1})
    assert not fake.subjects
    Registry(fake.url).schemas.register("orders-value", "AVRO", ORDER_AVRO)
    assert one.serialize("orders", {"id": 1}) == b"\0\0\0\0\1\2\0"
    protobuf = Registry(fake.url, auto_register=False).protobuf(Order)
    with pytest.raises(UnknownSchema, match=r"subject 'shop/money.proto'"):
        protobuf.serialize("p", Order())


def test_a_schema_that_is_not_compatible_is_an_error_of_the_send(fake):
    fake.refused.add("orders-value")
    with pytest.raises(SchemaRefused, match="incompatible for orders-value"):
        Registry(fake.url).avro(ORDER_AVRO).serialize("orders", {"id": 1})


def test_the_latest_schema_is_used_and_asked_for_again(fake):
    now = [0.0]
    fake.add("orders-value", 5, ORDER_AVRO)
    registry = Registry(fake.url, use_latest=True)
    one = registered.Registered(registry.schemas, registry.avro()._form, registry._writing, clock_s=lambda: now[0])
    assert one.serialize("orders", {"id": 1}) == b"\0\0\0\0\5\2\0"
    fake.add("orders-value", 6, json.dumps(NEWER))
    assert one.serialize("orders", {"id": 1})[4] == 5
    now[0] += registered.LATEST_KEPT_S
    assert one.serialize("orders", {"id": 1, "total": 2.0})[4] == 6
    now[0] += registered.LATEST_KEPT_S
    fake.failures = [500] * schema_registry.ATTEMPTS
    assert one.serialize("orders", {"id": 1})[4] == 6, "what is known is used while the registry is away"
    assert not fake.posted
    with pytest.raises(UnknownSchema, match="subject 'other-value'"):
        one.serialize("other", {"id": 1})


def test_the_latest_descriptor_says_where_the_message_is(fake):
    order = FILES[2]
    turned = type(order)()
    turned.CopyFrom(order)
    del turned.message_type[:]
    turned.message_type.extend([order.message_type[1], order.message_type[0]])
    fake.add("orders-value", 5, turned.SerializeToString(), "PROTOBUF")
    fake.add("money-value", 6, FILES[1].SerializeToString(), "PROTOBUF")
    one = Registry(fake.url, use_latest=True).protobuf(Other)
    assert one.serialize("orders", Other(sku="b")) == b"\0\0\0\0\5\2\2\n\1b"
    with pytest.raises(ValueError, match=r"no message shop\.Other"):
        one.serialize("money", Other(sku="b"))


def test_a_message_of_another_type_is_a_bad_record(fake):
    registry = Registry(fake.url)
    line, other = registry.protobuf(Line), registry.protobuf(Other)
    data = line.serialize("t", Line(sku="a"))
    for _ in range(2):
        with pytest.raises(BadRecord, match=r"a message shop\.Order\.Line, expected shop\.Other"):
            other.deserialize("t", data)
    with pytest.raises(BadRecord, match="no message at"):
        other.deserialize("t", data[:5] + b"\2\x10\n\1a")
    with pytest.raises(BadRecord, match="not a message"):
        other.deserialize("t", data[:5] + b"\0\xff")


def test_a_registry_with_proto_text_leaves_the_path(fake):
    fake.add("t-value", 9, 'syntax = "proto3"; ...', "PROTOBUF")
    other = Registry(fake.url).protobuf(Other)
    assert other.deserialize("t", b"\0\0\0\0\x09\0\n\1b") == Other(sku="b")
    with pytest.raises(BadRecord, match=r"a message at \[1\], expected \[0\]"):
        other.deserialize("t", b"\0\0\0\0\x09\2\2\n\1b")


def test_what_the_registry_does_not_have_is_a_bad_record_and_asked_for_seldom(fake):
    now = [0.0]
    registry = Registry(fake.url)
    one = registered.Registered(registry.schemas, registry.avro()._form, registry._writing, clock_s=lambda: now[0])
    for _ in range(3):
        with pytest.raises(BadRecord, match=r"has no /schemas/ids/77"):
            one.deserialize("t", b"\0\0\0\0\x4d\2")
    assert fake.asked == ["/schemas/ids/77"]
    now[0] += registered.UNKNOWN_KEPT_S
    fake.add("t-value", 77, '"int"')
    assert one.deserialize("t", b"\0\0\0\0\x4d\2") == 1
    for data, reason in (
        (b"", "0 bytes"),
        (b"\1\0\0\0\1x", "begins with 0x01"),
        (b"\0\0\0\0\x4d\2\2", "trailing bytes after it: 1"),
    ):
        with pytest.raises(BadRecord, match=reason):
            one.deserialize("t", data)
    fake.add("j-value", 78, "{}", "JSON")
    with pytest.raises(BadRecord, match="of type JSON, expected AVRO"):
        one.deserialize("t", b"\0\0\0\0\x4e\2")


def test_a_registry_that_is_away_is_no_bad_record(fake):
    one = Registry(fake.url).avro(ORDER_AVRO)
    data = one.serialize("t", {"id": 1})
    fake.failures = [500] * schema_registry.ATTEMPTS
    with pytest.raises(RegistryUnavailable, match="did not respond after 3 attempts"):
        one.deserialize("t", data)
    assert one.deserialize("t", data) == {"id": 1, "note": None}


def test_one_that_may_not_block_says_what_it_needs(fake):
    one = Registry(fake.url).avro(ORDER_AVRO).bind("value", may_block=False)
    with pytest.raises(LookupNeeded, match=r"schema of topic t at registry http://127") as needed:
        one.serialize("t", {"id": 1})
    assert not fake.posted
    needed.value.ask()
    data = one.serialize("t", {"id": 1})
    with pytest.raises(LookupNeeded, match="schema id 1 of registry") as needed:
        one.deserialize("t", data)
    needed.value.ask()
    assert one.deserialize("t", data)["id"] == 1
    with pytest.raises(LookupNeeded) as needed:
        one.deserialize("t", b"\0\0\0\0\x4d\2")
    needed.value.ask()
    with pytest.raises(BadRecord, match="ids/77"):
        one.deserialize("t", b"\0\0\0\0\x4d\2")


def test_what_is_kept_has_a_bound(fake):
    one = Registry(fake.url).avro('"string"')
    one._unknown = dict.fromkeys(range(100, 100 + REGISTRY_SCHEMAS_MAX), ("gone", 1000000000000.0))
    one._writers = dict.fromkeys((str(serial) for serial in range(REGISTRY_SCHEMAS_MAX)), None)
    one._readers = dict.fromkeys(range(100, 100 + REGISTRY_SCHEMAS_MAX), None)
    data = one.serialize("t", "x")
    assert one.deserialize("t", data) == "x"
    with pytest.raises(BadRecord):
        one.deserialize("t", b"\0\0\0\0\x4d\2")
    assert (len(one._unknown), len(one._writers), len(one._readers)) == (1, 1, 1)


def test_values_that_are_not_of_the_schema_are_named(fake):
    registry = Registry(fake.url)
    for value, reason in (({"id": "x"}, "on field id"), ({"id": 1, "nota": 2}, "more fields.*nota"), ({}, "missing")):
        with pytest.raises(ValueError, match=f"of type dict is not of the Avro schema shop.Order: .*{reason}"):
            registry.avro(ORDER_AVRO).serialize("t", value)
    with pytest.raises(TypeError, match="of type Line is not a Order"):
        registry.protobuf(Order).serialize("t", Line())
    with pytest.raises(TypeError, match="expected a generated Protobuf message class"):
        registry.protobuf(Bought)
    with pytest.raises(ValueError, match=r"Avro schema .* is invalid"):
        registry.avro("{")
    with pytest.raises(ValueError, match=r"JSON schema .* is invalid"):
        registry.json(dict, schema="{")
    with pytest.raises(ValueError, match="writing records needs a schema"):
        registry.avro().serialize("t", {})


def test_credentials_are_never_shown(fake):
    made = [
        Registry(fake.url.replace("http://", "http://me:geheim@")),
        Registry(fake.url, auth=("me", "geheim")),
        Registry(fake.url, token="geheim"),
    ]
    for registry in made:
        one = registry.avro(ORDER_AVRO)
        fake.failures = [401]
        with pytest.raises(RegistryUnavailable, match="401") as failure:
            one.serialize("orders", {"id": 1})
        assert fake.auth.split()[0] in ("Basic", "Bearer")
        with pytest.raises(LookupNeeded) as needed:
            one.bind("key", may_block=False).serialize("orders", {"id": 1})
        for text in (str(failure.value), repr(registry), repr(one), repr(registry.schemas), needed.value.what):
            assert "geheim" not in text
    with pytest.raises(ValueError, match="credentials: give them in the URL, or auth, or token"):
        Registry("http://me:geheim@host", token="geheim")
    with pytest.raises(ValueError, match="timeout_s: 0: expected seconds above 0"):
        Registry(fake.url, timeout_s=0)


def test_json_is_checked_by_its_type_and_has_its_schema(fake):
    one = Registry(fake.url).json(Bought)
    data = one.serialize("orders", Bought(3, "x"))
    assert data == b'\0\0\0\0\1{"id":3,"note":"x"}'
    assert one.deserialize("orders", data) == Bought(3, "x")
    said = json.loads(fake.schemas[1]["schema"])
    assert (said["title"], said["required"]) == ("Bought", ["id"])
    assert not fake.asked
    for wrong in (data[5:], b"\0\0\0\0\1{}", b"\0\0\0\0\1{"):
        with pytest.raises(BadRecord):
            one.deserialize("orders", wrong)


def test_the_schema_of_a_type_within_types():
    class Inner(msgspec.Struct):
        at: int

    class Outer(msgspec.Struct):
        one: Inner
        more: list[Inner]

    said = schema_of(Outer)
    assert (said["title"], list(said["$defs"])) == ("Outer", ["Inner"])
    assert schema_of(int) == {"type": "integer"}
    assert schema_of(Chain)["title"] == "Chain"
    assert schema_of(Chain)["$ref"] == "#/$defs/Chain"


class Chain(msgspec.Struct):
    rest: "Chain | None" = None


def test_paths_of_messages():
    assert [path_of(one.DESCRIPTOR) for one in (Order, Line, Other, Money)] == [(1,), (1, 0), (0,), (0,)]
    file = FILES[2].SerializeToString()
    assert [path_in(file, name) for name in ("shop.Order", "shop.Order.Line", "shop.Other")] == [(1,), (1, 0), (0,)]
    for name in ("shop.Money", "other.Order", "shop.Order.None"):
        with pytest.raises(ValueError, match="has no message"):
            path_in(file, name)
    with pytest.raises(ValueError, match="is not a descriptor"):
        path_in(b"\xff", "shop.Order")
