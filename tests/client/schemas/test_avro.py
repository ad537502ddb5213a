"""Plain Avro: values there and back, and what is refused."""

import dataclasses
import datetime
import decimal
import enum
import json
import uuid

import msgspec
import pytest

from headrace.client.schemas.avro import Avro
from headrace.client.schemas.failures import BadRecord
from tests.support.order_messages import ORDER_AVRO

UTC = datetime.UTC
WIDE = {
    "type": "record",
    "name": "Wide",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "cost", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "data", "type": "bytes"},
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]},
            },
        },
        {"name": "more", "type": {"type": "map", "values": "double"}},
    ],
}


class Colour(enum.Enum):
    RED = "RED"
    BLUE = "BLUE"


@dataclasses.dataclass
class Sku:
    sku: str


class Wide(msgspec.Struct):
    at: datetime.datetime
    day: datetime.date
    cost: decimal.Decimal
    key: uuid.UUID
    data: bytes
    colour: Colour
    lines: list[Sku]
    more: dict[str, float]


VALUE = Wide(
    datetime.datetime(2026, 11, 27, 12, 0, 0, 5000, UTC), datetime.date(2026, 11, 27), decimal.Decimal("12.50"), uuid.UUID(int=7),
    b"\0\xff", Colour.BLUE, [Sku("a"), Sku("b")], {"x": 1.5},
)  # fmt: skip


def test_structs_and_dataclasses_go_there_and_back():
    one = Avro(WIDE, Wide)
    data = one.serialize("t", VALUE)
    assert one.deserialize("t", data) == VALUE
    plain = Avro(json.dumps(WIDE)).deserialize("t", data)
    assert (plain["cost"], plain["colour"], plain["lines"][1]) == (decimal.Decimal("12.50"), "BLUE", {"sku": "b"})
    assert Avro(WIDE).serialize("t", plain) == data


def test_types_that_are_no_records():
    assert Avro('"long"').serialize("t", 3) == b"\6"
    assert Avro(["null", "string"]).deserialize("t", b"\2\2a") == "a"
    assert Avro('"string"', str).deserialize("t", b"\2a") == "a"


def test_what_is_not_of_the_schema_is_refused():
    one = Avro(ORDER_AVRO, Sku)
    with pytest.raises(ValueError, match=r"a value of type dict is not of the Avro schema shop\.Order"):
        one.serialize("t", Sku("a"))
    for value in (3, None, "x", object(), {"id": 2**64}):
        with pytest.raises(ValueError, match=r"is not of the Avro schema shop\.Order"):
            one.serialize("t", value)
    for data, reason in (
        (b"", "EOFError"),
        (b"\2\0\0", "trailing bytes after it: 1"),
        (b"\2\0", "not a Sku: .*missing required"),
    ):
        with pytest.raises(BadRecord, match=reason):
            one.deserialize("t", data)
    with pytest.raises(ValueError, match=r"Avro schema '\{\"type\": \"none\"\}' is invalid"):
        Avro('{"type": "none"}')
