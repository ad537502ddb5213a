"""What a decoder takes in memory and time: never more than its budget, whatever is announced."""

import random
import tracemalloc
from importlib import import_module

import pytest

from headrace.errors import BadFrame
from headrace.limits import DECODED_BYTES_MAX, DECODED_REQUEST_BYTES_MAX
from headrace.protocol import codec, messages
from headrace.protocol.codec_primitives import TAG_BYTES, Malformed
from headrace.protocol.message_table import MESSAGES
from headrace.protocol.varint import encode_uvarint
from tools.codec.field_tables import PRIMITIVES, load_message, message_names
from tools.codec.function_source import element_of

BUDGET_BYTES = 64 * 1024
SLACK_BYTES = 2 * 1024  # the message itself, the allocator
COUNTS = [int(16 * 1.2**exponent) for exponent in range(40)]
HEAVY = {
    "bool": True,
    "int8": -100,
    "int64": 2**62,
    "float64": 1.5,
    "uuid": b"u" * 16,
    "string": "\u20ac",
    "bytes": b"ab",
    "records": b"r",
}


def heavy(schema, field, version, depth=0):
    """A value of few bytes in the frame and many in memory."""
    if field.is_array:
        return [heavy(schema, element_of(field), version, depth + 1)] if depth < 2 else []
    if field.type_name in PRIMITIVES:
        return HEAVY.get(field.type_name, 30_000)
    tuple_class = getattr(messages.class_of(schema.name), field.type_name)
    fields = schema.structs[field.type_name].fields
    return tuple_class(**{one.name: heavy(schema, one, version, depth) for one in fields if version in one.versions})


def decoders_of(name):
    return import_module(f"headrace.protocol.decoders.{MESSAGES[name][0]}")


def with_budget(monkeypatch, name, version):
    """The decoder of a message, which may take BUDGET_BYTES."""
    module = decoders_of(name)
    bound = "DECODED_REQUEST_BYTES_MAX" if name.endswith("Request") else "DECODED_BYTES_MAX"
    monkeypatch.setattr(module, bound, BUDGET_BYTES)
    return module.DECODERS[version]


def arrays():
    """(message, version, field) of every array that a root has, in its first and last version."""
    for name in message_names():
        schema = load_message(name)
        for field in schema.root.fields:
            low, high = max(schema.versions.low, field.versions.low), min(schema.versions.high, field.versions.high)
            if field.is_array:
                yield from ((name, version, field) for version in {low, high})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "version", "field"), list(arrays()), ids=lambda value: getattr(value, "name", value))
def test_an_array_takes_no_more_memory_than_the_budget(name, version, field, monkeypatch):
    decode = with_budget(monkeypatch, name, version)
    schema = load_message(name)
    element = heavy(schema, element_of(field), version)
    for count in COUNTS:
        data = codec.encode_struct(name, version, messages.class_of(name)(**{field.name: [element] * count}))
        tracemalloc.start()
        try:
            decode(memoryview(data))
            is_refused = False
        except Malformed as refusal:
            is_refused = "would take more than" in str(refusal)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= BUDGET_BYTES + SLACK_BYTES, count
        if is_refused:
            return
    pytest.fail("never refused")


def test_the_budget_is_one_for_all_arrays_of_a_message(monkeypatch):
    decode = with_budget(monkeypatch, "FetchRequest", 11)
    request = messages.FetchRequest
    some = [request.FetchPartition()] * 50
    few = [request.FetchTopic("t", partitions=some)]
    decode(memoryview(codec.encode_struct("FetchRequest", 11, request(topics=few))))
    with pytest.raises(Malformed, match="would take more than"):
        decode(memoryview(codec.encode_struct("FetchRequest", 11, request(topics=few * 10))))


def test_a_request_has_less_to_spend_than_a_response():
    for name in message_names():
        module = vars(decoders_of(name))
        allowed = "DECODED_REQUEST_BYTES_MAX" if name.endswith("Request") else "DECODED_BYTES_MAX"
        assert {one for one in module if one.startswith("DECODED_")} <= {allowed}, name
    assert DECODED_REQUEST_BYTES_MAX < DECODED_BYTES_MAX


def test_a_count_is_compared_with_the_bytes_left_before_anything_is_made():
    """A hundred kilobytes announce a hundred thousand partitions of 33 bytes."""
    head = codec.encode_struct("FetchRequest", 12, messages.FetchRequest(topics=[]))[:25]
    data = head + b"\2\2t" + encode_uvarint(100_001) + bytes(100_000)
    codec.decode_struct("FetchRequest", 12, head + b"\1\1\1\0")  # imported by now
    tracemalloc.start()
    try:
        with pytest.raises(BadFrame, match=r"topics\.partitions: 100000 elements announced, 100000 bytes remain"):
            codec.decode_struct("FetchRequest", 12, data)
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024
    finally:
        tracemalloc.stop()


def test_empty_tags_without_end_are_refused(monkeypatch):
    decode = with_budget(monkeypatch, "ApiVersionsRequest", 3)
    count = BUDGET_BYTES // TAG_BYTES
    assert decode(memoryview(b"\1\1" + encode_uvarint(count) + b"\7\0" * count)) == messages.ApiVersionsRequest()
    with pytest.raises(Malformed, match="would take more than"):
        decode(memoryview(b"\1\1" + encode_uvarint(count + 1) + b"\7\0" * (count + 1)))


def test_bytes_of_chance_are_never_read_as_more_than_they_are():
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    names = message_names()
    for number in range(3000):
        name = chance.choice(names)
        version = chance.randint(load_message(name).versions.low, load_message(name).versions.high)
        data = chance.randbytes(chance.choice((1, 10, 100, 1000)))
        if number % 2:
            data = bytes(byte & 3 for byte in data)  # small numbers get further
        try:
            codec.decode_struct(name, version, data)
        except BadFrame:
            pass
        except Exception as other:
            pytest.fail(f"seed {seed}, number {number}, {name} v{version}, {data.hex()}: {other!r}")
