"""Message sets against kafka-python's builder and reader of the old formats, and sets that lie."""

import random
import struct
import zlib

import lz4.frame
import pytest
import snappy
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatch, LegacyRecordBatchBuilder

from headrace.protocol.compression import Codec, CompressionError
from headrace.protocol.message_set import (
    ENTRY_BYTES_MIN,
    InvalidMessageSet,
    Message,
    TooManyRecords,
    build_message_set,
    compute_message_crc,
    encode_message,
    iterate_entries,
    iterate_entry_records,
    peek_entry,
    read_message,
    read_messages,
    records_of,
)
from headrace.protocol.record_batch import LOG_APPEND_TIME_BIT, CorruptRecord, Record, build_batch
from tests.support import message_generator as generator

NOW_MS = 1_700_000_000_000
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
CASES = [(magic, codec) for magic in (0, 1) for codec in OLD_CODECS]

BODIES = st.none() | st.binary(max_size=300)
SETS = st.lists(st.tuples(BODIES, BODIES, st.integers(0, 2**40)), min_size=1, max_size=20)


def kafka_python_s(records, magic, codec=0):
    builder = LegacyRecordBatchBuilder(magic, codec, batch_size=1 << 30)
    for record in records:
        assert builder.append(record.offset, record.timestamp_ms, record.key, record.value) is not None
    return bytes(builder.build())


def read_by_kafka_python(data):
    found = []
    for position, size, magic in iterate_entries(data):
        batch = LegacyRecordBatch(data[position : position + size], magic)
        assert batch.validate_crc()
        for one in batch:
            assert one.validate_crc()
            found.append(Record(one.offset, -1 if one.timestamp is None else one.timestamp, one.key, one.value))
    return found


def as_stored(records, magic):
    """v0 keeps no timestamps."""
    return [record._replace(timestamp_ms=record.timestamp_ms if magic else -1) for record in records]


def read(data):
    return [record for message in read_messages(data) for record in records_of(message)]


def wrap(inner, magic=1, codec=1, offset=0, timestamp_ms=NOW_MS, attributes=0):
    value = zlib.compress(inner, wbits=31) if codec == 1 else inner
    return encode_message(offset, magic, timestamp_ms, None, value, codec | attributes)


@pytest.mark.parametrize("magic", [0, 1])
@settings(max_examples=60, deadline=None)
@given(rows=SETS)
def test_bytes_are_those_of_kafka_python(magic, rows):
    records = [Record(offset, time, key, value) for offset, (key, value, time) in enumerate(rows)]
    ours = build_message_set(records, magic)
    assert ours == kafka_python_s(records, magic)
    assert read(ours) == as_stored(records, magic)


@pytest.mark.parametrize(("magic", "codec"), CASES)
@settings(max_examples=25, deadline=None)
@given(rows=SETS, first=st.integers(0, 2**40))
def test_kafka_python_reads_ours_and_we_read_its(magic, codec, rows, first):
    records = [Record(first + 2 * index, time, key, value) for index, (key, value, time) in enumerate(rows)]
    ours = build_message_set(records, magic, codec)
    assert read_by_kafka_python(ours) == as_stored(records, magic) == read(ours)
    from_zero = [record._replace(offset=index) for index, record in enumerate(records)]
    assert read(kafka_python_s(from_zero, magic, codec)) == as_stored(from_zero, magic)


def test_a_wrapper_has_a_null_key_the_last_offset_and_the_latest_time():
    records = [Record(70, NOW_MS + 5, b"k", b"v"), Record(75, NOW_MS, None, None)]
    (wrapper,) = read_messages(build_message_set(records, 1, Codec.GZIP))
    assert (wrapper.offset, wrapper.key, wrapper.timestamp_ms) == (75, None, NOW_MS + 5)
    inner = read_messages(zlib.decompress(wrapper.value, wbits=31))
    assert [message.offset for message in inner] == [0, 5]
    (wrapper,) = read_messages(build_message_set(records, 0, Codec.GZIP))
    assert [one.offset for one in read_messages(zlib.decompress(wrapper.value, wbits=31))] == [70, 75]


def test_raw_snappy_is_read_as_well_as_xerial_s():
    records = [Record(index, NOW_MS, b"k", b"v" * 50) for index in range(9)]
    for magic in (0, 1):
        inner = build_message_set(records, magic)
        assert read(encode_message(8, magic, NOW_MS, None, snappy.compress(inner), 2)) == as_stored(records, magic)


def test_append_time_is_the_wrapper_s_own():
    inner = build_message_set([Record(0, 5, b"k", b"v"), Record(1, 6, b"k", b"v")], 1)
    (message,) = read_messages(wrap(inner, offset=41, attributes=LOG_APPEND_TIME_BIT))
    assert records_of(message) == [Record(40, NOW_MS, b"k", b"v"), Record(41, NOW_MS, b"k", b"v")]
    data = build_message_set([Record(7, NOW_MS, b"k", b"v")], 1, is_append_time=True)
    assert read_messages(data) == [Message(7, 1, LOG_APPEND_TIME_BIT, NOW_MS, b"k", b"v")]
    assert not read_messages(build_message_set([Record(7, NOW_MS, b"k", b"v")], 0, is_append_time=True))[0].attributes


def test_a_wrapper_offset_of_zero_leaves_the_inner_ones_as_they_are():
    inner = build_message_set([Record(0, 5, b"a", b"v"), Record(1, 6, b"b", b"v")], 1)
    assert [record.offset for record in read(wrap(inner, offset=0))] == [0, 1]
    assert [record.offset for record in read(wrap(inner, offset=1))] == [0, 1]
    deep = build_message_set([Record(5, 5, b"a", b"v")], 1)
    with pytest.raises(InvalidMessageSet, match="its last message has 5"):
        read(wrap(deep, offset=3))


def test_the_old_checksum_of_lz4_is_written_in_v0_alone_and_either_is_read():
    records = [Record(0, NOW_MS, b"k", b"v" * 100)]
    (old,) = read_messages(build_message_set(records, 0, Codec.LZ4))
    (new,) = read_messages(build_message_set(records, 1, Codec.LZ4))
    with pytest.raises(RuntimeError):
        lz4.frame.decompress(old.value)
    assert lz4.frame.decompress(new.value)
    right = encode_message(0, 0, -1, None, lz4.frame.compress(build_message_set(records, 0)), Codec.LZ4)
    assert read(right) == as_stored(records, 0)
    with pytest.raises(CompressionError):
        read(encode_message(0, 1, NOW_MS, None, old.value, Codec.LZ4))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (wrap(wrap(build_message_set([Record(0, 0, b"k", b"v")], 1))), "compressed message in the compressed set"),
        (wrap(build_message_set([Record(0, 0, b"k", b"v")], 0)), "magic 0 in a compressed set of magic 1"),
        (wrap(b""), "without messages"),
        (encode_message(0, 1, 0, None, None, 1), "null value"),
        (encode_message(0, 0, 0, None, b"x", 4), "codec 4"),
        (encode_message(0, 1, 0, None, b"x", 7), "codec 7"),
    ],
)
def test_a_set_that_can_t_be_is_refused(data, reason):
    with pytest.raises(InvalidMessageSet, match=reason):
        read(data)


def test_damage_inside_a_compressed_set_is_found():
    inner = bytearray(build_message_set([Record(0, 0, b"k", b"v")], 1))
    inner[-1] ^= 1
    with pytest.raises(CorruptRecord, match="checksum mismatch"):
        read(wrap(bytes(inner)))
    with pytest.raises(CorruptRecord, match="no message at byte"):
        read(wrap(bytes(inner[:-1])))
    with pytest.raises(CompressionError):
        read(encode_message(0, 1, 0, None, b"no gzip", 1))


@pytest.mark.parametrize("magic", [0, 1])
def test_every_bit_counts(magic):
    data = encode_message(7, magic, NOW_MS, b"key", b"value")
    assert compute_message_crc(data, 0, len(data)) == struct.unpack_from(">I", data, 12)[0]
    for position in range(8, len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            with pytest.raises(CorruptRecord):
                read_message(bytes(damaged))
    for size in range(len(data)):
        assert peek_entry(data, 0, size) is None
        with pytest.raises(CorruptRecord):
            read_message(data[:size])


@pytest.mark.parametrize(
    ("position", "value"), [(8, 13), (8, 2**31 - 1), (8, -1), (18, -2), (18, 2**31 - 1), (18, 100), (22, -2), (22, 100)]
)
def test_lengths_that_lie_are_refused_before_anything_is_taken(position, value):
    data = bytearray(encode_message(7, 0, 0, None, b"value"))
    struct.pack_into(">i", data, position, value)
    assert peek_entry(data, 0, len(data)) is None


@pytest.mark.parametrize("spare", range(6))
def test_a_message_too_short_for_its_magic_is_refused_under_a_right_checksum(spare):
    body = b"\x01" + encode_message(0, 0, 0, None, bytes(spare))[17:]  # v0, but that it says 1
    data = struct.pack(">qiI", 7, len(body) + 4, zlib.crc32(body)) + body
    assert peek_entry(data, 0, len(data)) is None
    for whole in (data, encode_message(6, 1, 5, b"k", b"v") + data):
        with pytest.raises(CorruptRecord, match="no message at byte"):
            read_messages(whole)


def test_a_bomb_stops_at_the_limit_and_a_swarm_at_its_count(monkeypatch):
    with pytest.raises(CompressionError, match="more than 1048576 bytes"):
        records_of(read_messages(wrap(bytes(1 << 22)))[0], 1 << 20)
    monkeypatch.setattr("headrace.protocol.message_set.OPENED_RECORDS_MAX", 10)
    swarm = build_message_set([Record(number, 0, None, None) for number in range(11)], 1)
    with pytest.raises(TooManyRecords):
        read(wrap(swarm))
    assert len(read(wrap(swarm[: 10 * 34], offset=9))) == 10


def test_entries_of_all_formats_are_walked_and_a_cut_one_is_left_out():
    parts = [
        encode_message(4, 0, 0, None, None),
        build_batch([(b"k", b"v")], base_offset=5),
        encode_message(6, 1, 9, b"", b"v"),
    ]
    whole = b"".join(parts)
    assert len(parts[0]) == ENTRY_BYTES_MIN
    found = list(iterate_entries(memoryview(whole)))
    assert [(size, magic) for _position, size, magic in found] == list(zip(map(len, parts), (0, 2, 1), strict=True))
    assert [next(iter(iterate_entry_records(whole[p : p + size]))).offset for p, size, _magic in found] == [4, 5, 6]
    for size in range(len(whole)):
        assert len(list(iterate_entries(whole[:size]))) == sum(size >= len(b"".join(parts[: n + 1])) for n in range(3))


@pytest.mark.parametrize(("position", "letter", "value"), [(16, "b", 3), (16, "b", -1), (8, ">i", 13), (8, ">i", -5)])
def test_what_begins_no_entry_is_refused(position, letter, value):
    data = bytearray(encode_message(4, 1, 0, b"key", b"value"))
    struct.pack_into(letter, data, position, value)
    with pytest.raises(CorruptRecord, match="no entry at byte 0"):
        list(iterate_entries(data))


def one_by_one(data):
    found, position = [], 0
    while position < len(data):
        message, position = read_message(data, position)
        found.append(message)
    return found


def outcome(read_all, data):
    try:
        return read_all(data)
    except CorruptRecord as failure:
        return str(failure)


@pytest.mark.parametrize(("magic", "codec"), CASES)
def test_damaged_sets_raise_nothing_but_their_own_errors(magic, codec):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    records = [Record(n, NOW_MS, b"key", b"value" * 9) for n in range(5)]
    whole = build_message_set(records, magic, codec)
    for number in range(800):
        data = generator.damaged(whole, chance)
        if (
            number % 2 and len(data) > ENTRY_BYTES_MIN
        ):  # with a checksum that is right, so that what is behind it is reached
            data = data[:12] + struct.pack(">I", zlib.crc32(data[16:])) + data[16:]
        assert outcome(read_messages, data) == outcome(one_by_one, data), f"seed {seed}, number {number}"
        try:
            for position, size, _magic in iterate_entries(data):
                list(iterate_entry_records(data[position : position + size], limit=1 << 20))
            read(data)
        except (CorruptRecord, CompressionError):
            pass
        except Exception as other:
            pytest.fail(f"seed {seed}, number {number}, {data.hex()}: {other!r}")
