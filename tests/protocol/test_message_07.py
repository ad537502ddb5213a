"""The messages of Kafka 0.7: bytes written by hand, every codec, sets in sets, damage, bombs, noise."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.limits import NESTING_07_MAX
from headrace.protocol.compression import CompressionError, compress
from headrace.protocol.message_07 import (
    CutMessage,
    build_message_07,
    build_set_07,
    message_size,
    payloads_of,
    read_message_07,
)
from headrace.protocol.record_batch import CorruptRecord

LIMIT = 1 << 20
BY_HAND = {
    # "hello": CRC-32 3610a686
    0: bytes.fromhex("0000000a 00 3610a686") + b"hello",
    1: bytes.fromhex("0000000b 01 00 3610a686") + b"hello",
}


def refuse(inner, what):
    raise AssertionError(f"message {inner}: {what}")


def payloads(data, damaged=refuse, limit=LIMIT):
    return payloads_of(read_message_07(data, 0, len(data)), limit, damaged)


@pytest.mark.parametrize("magic", [0, 1])
def test_bytes_written_by_hand(magic):
    message = read_message_07(BY_HAND[magic], 0, len(BY_HAND[magic]))
    assert (message.magic, message.codec, message.is_valid, bytes(message.payload)) == (magic, 0, True, b"hello")
    assert message.size == len(BY_HAND[magic])
    assert build_message_07(b"hello", magic) == BY_HAND[magic]


@given(st.lists(st.binary(max_size=100), min_size=1, max_size=20), st.sampled_from([1, 2]), st.sampled_from([0, 1]))
def test_sets_of_both_codecs_give_their_payloads_back(content, codec, magic):
    assert payloads(build_set_07(content, codec, magic)) == content


def test_raw_snappy_is_read_as_well():
    import snappy

    inner = build_message_07(b"a") + build_message_07(b"b")
    assert payloads(build_message_07(snappy.compress(inner), codec=2)) == [b"a", b"b"]


def test_sets_in_sets_are_opened_up_to_a_bound():
    message = build_message_07(b"deep")
    for _ in range(NESTING_07_MAX):
        message = build_message_07(compress(1, message), codec=1)
    assert payloads(message) == [b"deep"]
    with pytest.raises(CorruptRecord, match="nested compressed sets"):
        payloads(build_message_07(compress(1, message), codec=1))


@pytest.mark.parametrize("place", range(len(BY_HAND[1])))
def test_no_flipped_bit_passes_for_the_message(place):
    data = bytearray(BY_HAND[1])
    data[place] ^= 0x10
    try:
        message = read_message_07(data, 0, len(data))
    except CorruptRecord:
        return
    # attributes are not in the checksum: bits that are no codec mean nothing
    assert not message.is_valid or place == 5


def test_a_damaged_message_in_a_set_is_told_and_the_others_stay():
    inner = [bytearray(build_message_07(b"%d" % n)) for n in range(3)]
    inner[1][-1] ^= 1
    told = []
    data = build_message_07(compress(1, b"".join(inner)), codec=1)
    assert payloads(data, lambda *one: told.append(one)) == [b"0", None, b"2"]
    assert told == [(1, "checksum mismatch")]


def test_a_set_that_is_cut_gives_what_is_whole():
    told = []
    data = build_message_07(compress(2, build_message_07(b"0") + build_message_07(b"1")[:-1]), codec=2)
    assert payloads(data, lambda *one: told.append(one)) == [b"0"]
    assert "are lost" in told[0][1]


@pytest.mark.parametrize("codec", [1, 2])
def test_a_bomb_stops_at_the_limit(codec):
    data = build_set_07([bytes(2 * LIMIT)], codec)
    with pytest.raises(CompressionError, match=str(LIMIT)):
        payloads(data)
    nested = build_message_07(compress(1, build_set_07([bytes(LIMIT - 100)], 1) * 3), codec=1)
    with pytest.raises(CompressionError):
        payloads(nested)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", CutMessage),
        (b"\0\0\0", CutMessage),
        (b"\0\0\0\x0a\0\0\0\0\0", CutMessage),
        (b"\x7f\xff\xff\xff\0\0\0\0\0\0", CutMessage),
        (bytes(40), CorruptRecord),
        (b"\xff\xff\xff\xff" + bytes(40), CorruptRecord),
        (b"\0\0\0\x0a\x02" + bytes(40), CorruptRecord),
        (b"\0\0\0\x05\x01" + bytes(40), CorruptRecord),
    ],
)
def test_what_is_no_message_is_refused_by_name(data, error):
    with pytest.raises(error):
        message_size(data, 0, len(data))


def test_a_codec_that_0_7_does_not_know():
    with pytest.raises(CompressionError, match="codec 3"):
        payloads(build_message_07(b"x", codec=3))


@given(st.binary(max_size=60))
def test_noise_raises_what_it_may(noise):
    try:
        message = read_message_07(noise, 0, len(noise))
        payloads_of(message, LIMIT, lambda _inner, _what: None)
    except (CorruptRecord, CompressionError):
        return
    assert not message.is_valid or zlib.crc32(message.payload) == message.crc
