"""Random messages of any API and version, from the schema, and what damages their bytes; the same seed gives the same."""

import random

from headrace.protocol import messages
from headrace.protocol.record_batch import build_batch
from tools.codec.field_tables import PRIMITIVES, load_message

RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
LENGTHS_THAT_LIE = (
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xfe",
    b"\x7f\xff",
    b"\x80\x00",
    b"\xff\xff\xff\xff\x0f",  # the largest varint
    b"\x80\x80\x80\x80\x80\x80",  # no varint
)


class MessageGenerator:
    """Messages with fields filled as far as a version has them; the others hold their defaults."""

    def __init__(self, seed, with_nulls=True, with_tags=True):
        self.chance = random.Random(seed)
        self.with_nulls = with_nulls
        self.with_tags = with_tags

    def message(self, name, version):
        schema = load_message(name)
        return self._struct(schema, schema.root, messages.class_of(name), version)

    def _struct(self, schema, struct, tuple_class, version):
        values = {}
        for field in struct.fields:
            if version not in field.versions:
                continue
            if field.is_tagged(version) and not self.with_tags:
                continue
            values[field.name] = self._field(schema, field, version)
        return tuple_class(**values)

    def _field(self, schema, field, version):
        if self.with_nulls and version in field.nullable and self.chance.random() < 0.25:
            return None
        if field.is_array:
            return [self._value(schema, field, version) for _ in range(self.chance.choice((0, 1, 1, 2, 3)))]
        return self._value(schema, field, version)

    def _value(self, schema, field, version):
        kind = field.type_name
        chance = self.chance
        if kind in RANGES:
            low, high = RANGES[kind]
            return chance.choice((0, 1, low, high, chance.randint(low, high)))
        if kind == "bool":
            return chance.random() < 0.5
        if kind == "float64":
            return chance.choice((0.0, 1.5, -2.25e10))
        if kind == "uuid":
            return chance.randbytes(16)
        if kind == "string":
            return "".join(chance.choice("abcäö_-.€") for _ in range(chance.choice((0, 1, 5, 40, 200))))
        if kind == "bytes":
            return chance.randbytes(chance.choice((0, 1, 7, 130)))
        if kind == "records":
            return build_batch([(b"k", b"v" * chance.choice((0, 1, 100)))], timestamp_ms=1)
        assert kind not in PRIMITIVES
        root = messages.class_of(schema.name)
        return self._struct(schema, schema.structs[kind], getattr(root, kind), version)


def damaged(data, chance):
    """A copy with one to four bytes changed, lengths that lie, a piece cut out, doubled or put behind."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0:
            data[place : place + 1] = bytes([chance.choice((0, 1, 2, 126, 127, 128, 254, 255, chance.randrange(256)))])
        elif kind == 1:
            lie = chance.choice(LENGTHS_THAT_LIE)
            data[place : place + len(lie)] = lie
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            del data[place : place + chance.randint(1, 8)]
        elif kind == 4:
            data[place:place] = data[place : place + chance.randint(1, 30)]
        else:
            data += chance.randbytes(chance.randint(1, 9))
    return bytes(data)


def plain(value):
    """A message with memoryviews as bytes and empty tuples as lists, for comparison."""
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(plain(one) for one in value))
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value
