"""Headers of requests and responses, and guests from other protocols."""

import random
import struct

import pytest

from headrace.errors import BadFrame
from headrace.limits import HEADER_TAGS_MAX
from headrace.protocol import codec, messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request, describe_foreign, parse_request_header, parse_response_header
from headrace.protocol.varint import encode_uvarint
from tests.support import message_generator as generator

BODY = b"body"


def header(key, version, client_id, rest=b""):
    return memoryview(struct.pack(">hhi", key, version, 11) + client_id + rest)


@pytest.mark.parametrize(
    ("key", "version", "client_id", "tags", "found"),
    [
        (ApiKey.PRODUCE, 8, b"\0\2me", b"", "me"),
        (ApiKey.PRODUCE, 9, b"\0\2me", b"\0", "me"),
        (ApiKey.PRODUCE, 9, b"\0\0", b"\0", ""),
        (ApiKey.PRODUCE, 9, b"\xff\xff", b"\0", None),
        (ApiKey.PRODUCE, 9, b"\0\2me", b"\2\0\3abc\x81\1\0", "me"),
        (ApiKey.API_VERSIONS, 3, b"\0\2me", b"\0", "me"),
        (ApiKey.API_VERSIONS, 99, b"\0\2me", b"\0", "me"),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, b"", b"", None),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, b"\0\2me", b"", "me"),
        (999, 3, b"\0\2me", b"", "me"),
        (ApiKey.PRODUCE, -1, b"\0\2me", b"", "me"),
        (ApiKey.PRODUCE, 3, b"\0\2\xff\xfe", b"", "\ufffd\ufffd"),
    ],
)
def test_a_request_header(key, version, client_id, tags, found):
    frame = header(key, version, client_id, tags + BODY)
    for _ in range(2):  # what was learned the first time gives the same
        parsed = parse_request_header(frame)
        assert parsed[:4] == (key, version, 11, found)
        assert frame[parsed.body_position :] == BODY


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "requires a buffer"),
        (b"\0\0\0\1\0\0\0", "requires a buffer"),
        (header(0, 1, b""), "index out of bounds"),
        (header(0, 1, b"\0\5abcd"), "client id of 5 bytes is truncated"),
        (header(0, 1, b"\x7f\xff"), "client id of 32767 bytes is truncated"),
        (header(0, 1, b"\xff\xfe"), "client id length -2"),
        (header(0, 9, b"\0\2me"), "index out of bounds"),
        (header(0, 9, b"\0\2me", b"\1\0\5abc"), "tag of 5 bytes is truncated"),
        (header(0, 9, b"\0\2me", b"\xff\xff\xff\xff\x0f"), "4294967295 tags announced"),
        (header(0, 9, b"\0\2me", b"\x80\x80\x80\x80\x80\x80"), "overlong varint"),
        (header(0, 9, b"\0\2me", encode_uvarint(HEADER_TAGS_MAX + 1) + b"\0\0" * 2000), "1025 tags announced"),
    ],
)
def test_a_request_header_that_cannot_be(frame, reason):
    with pytest.raises(BadFrame, match="request header: ") as refused:
        parse_request_header(memoryview(frame))
    assert reason in str(refused.value)


def test_a_damaged_header_raises_nothing_but_bad_frame():
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    for number in range(3000):
        key = chance.choice(list(ApiKey))
        frame = header(key, chance.randrange(12), b"\0\7client-", b"\2\0\3abc\1\0" * chance.randrange(2))
        frame = memoryview(generator.damaged(frame, chance))
        try:
            parsed = parse_request_header(frame)
            assert parsed.body_position <= len(frame)
        except BadFrame:
            pass
        except Exception as other:
            pytest.fail(f"seed {seed}, number {number}, {bytes(frame).hex()}: {other!r}")


@pytest.mark.parametrize("client_id", [None, "", "me", "ä" * 100])
@pytest.mark.parametrize(
    ("key", "version"), [(ApiKey.METADATA, 1), (ApiKey.METADATA, 9), (ApiKey.CONTROLLED_SHUTDOWN, 0)]
)
def test_a_request_that_we_build_is_read_again(key, version, client_id):
    message = messages.class_of(codec.request_name(key))()
    frame = build_request(key, version, -5, client_id, message)
    assert struct.unpack_from(">i", frame)[0] == len(frame) - 4
    frame = memoryview(frame)[4:]
    parsed = parse_request_header(frame)
    assert parsed[:3] == (key, version, -5)
    assert parsed.client_id == (None if key == ApiKey.CONTROLLED_SHUTDOWN else client_id)
    assert generator.plain(codec.decode_request(key, version, frame[parsed.body_position :])) == generator.plain(
        message
    )


def test_a_response_header():
    assert parse_response_header(memoryview(b"\0\0\0\7body"), ApiKey.PRODUCE, 8) == (7, 4)
    assert parse_response_header(memoryview(b"\0\0\0\7\0body"), ApiKey.PRODUCE, 9) == (7, 5)
    assert parse_response_header(memoryview(b"\0\0\0\7\1\5\1xbody"), ApiKey.PRODUCE, 9) == (7, 8)
    assert parse_response_header(memoryview(b"\0\0\0\7body"), ApiKey.API_VERSIONS, 3) == (7, 4)


@pytest.mark.parametrize("frame", [b"", b"\0\0\0", b"\0\0\0\7", b"\0\0\0\7\1\5\7x"])
def test_a_response_header_that_is_cut_is_refused(frame):
    with pytest.raises(BadFrame, match="response header: "):
        parse_response_header(memoryview(frame), ApiKey.PRODUCE, 9)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x16\x03\x01\x02\x00\x01", "a TLS hello"),
        (b"\x16\x03\x03", "a TLS hello"),
        (b"GET / HTTP/1.1\r\n", "an HTTP request"),
        (b"POST /topics HTTP/1.1", "an HTTP request"),
        (b"PRI * HTTP/2.0", "an HTTP request"),
        (b"\x15\x03\x03\0", "a TLS alert"),
        (b"HTTP", "an HTTP response"),
        (b"SSH-2.0-", "an SSH banner"),
        (b"\0\0\0\x14\0\x12\0\3", None),
        (b"\x16\x03", None),
        (b"G", None),
        (b"", None),
    ],
)
def test_guests_from_other_protocols_are_named(head, name):
    assert describe_foreign(head) == name
