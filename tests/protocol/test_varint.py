"""Varints at every width; overlong, cut and oversized ones refused."""

import pytest

from headrace.protocol.varint import ZIGZAGS, encode_uvarint, encode_varlong, read_uvarint, read_varlong

EDGES = sorted({(1 << bits) + step for bits in range(64) for step in (-1, 0, 1)})


@pytest.mark.parametrize("value", [edge for edge in EDGES if edge < 1 << 32])
def test_an_unsigned_one_goes_there_and_back(value):
    data = encode_uvarint(value)
    assert read_uvarint(b"\xff" + data + b"\x7f", 1) == (value, 1 + len(data))
    assert len(data) == max(1, -(-value.bit_length() // 7))


@pytest.mark.parametrize(
    "value", [sign * edge for edge in EDGES for sign in (1, -1) if -(1 << 63) <= sign * edge < 1 << 63]
)
def test_a_signed_one_goes_there_and_back(value):
    data = encode_varlong(value)
    assert read_varlong(data + b"\x80", 0) == (value, len(data))


def test_signed_ones_of_one_byte_are_those_between_minus_64_and_63():
    assert sorted(ZIGZAGS) == list(range(-64, 64))
    assert all(encode_varlong(value) == bytes((byte,)) for byte, value in enumerate(ZIGZAGS))
    assert len(encode_varlong(-65)) == len(encode_varlong(64)) == 2


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff\xff"])
def test_a_cut_one_is_refused(data):
    for read in (read_uvarint, read_varlong):
        with pytest.raises(IndexError):
            read(data, 0)


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (read_uvarint, b"\x80\x80\x80\x80\x80\x00"),
        (read_uvarint, b"\xff\xff\xff\xff\x10"),
        (read_varlong, b"\x80" * 10 + b"\x00"),
        (read_varlong, b"\xff" * 9 + b"\x02"),
    ],
)
def test_too_many_bytes_or_bits_are_refused(read, data):
    with pytest.raises(ValueError, match=r"overlong varint|more than"):
        read(data, 0)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_a_signed_one_that_no_reader_takes_is_not_written(value):
    with pytest.raises(ValueError, match="does not fit the 64 bits of a varint"):
        encode_varlong(value)
