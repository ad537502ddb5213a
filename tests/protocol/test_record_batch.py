"""Batches against kafka-python's builder and reader, and batches that lie."""

import ast
import random
import re
import struct

import pytest
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from headrace.ids import NO_EPOCH
from headrace.protocol import record_batch
from headrace.protocol.compression import Codec, CompressionError
from headrace.protocol.message_set import encode_message
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    CRC_POSITION,
    HEADER,
    HEADER_BYTES,
    LENGTH_POSITION,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    CorruptRecord,
    Record,
    RecordBatchHeader,
    build_batch,
    compute_crc,
    entry_bytes,
    iterate_batches,
    iterate_records,
    parse_header,
    store_attributes,
    store_crc,
    store_header,
    store_max_timestamp,
    unpack_base_offset,
    unpack_header,
    unpack_last_delta,
    unpack_length,
    walk_headers,
    walk_spans,
    whole_entries,
)
from headrace.protocol.varint import read_varlong
from tests.support import message_generator as generator
from tests.support.tree import CODE, ROOT, parsed

NOW_MS = 1_700_000_000_000


def some_records(seed):
    """Null and empty keys and values, headers, times that go back, gaps between offsets."""
    chance = random.Random(seed)
    offset = 0
    for _ in range(chance.choice((1, 2, 60, 300))):
        key = chance.choice((None, b"", b"k", chance.randbytes(chance.choice((63, 64, 200)))))
        value = chance.choice((None, b"", b"v" * chance.choice((1, 63, 64, 5000)), chance.randbytes(100)))
        headers = tuple(
            ("h" * chance.choice((0, 1, 70)) + "ä", chance.choice((None, b"", b"content" * 20)))
            for _ in range(chance.choice((0, 0, 1, 3)))
        )
        yield Record(offset, NOW_MS + chance.randint(-(10**7), 10**7), key, value, headers)
        offset += chance.choice((1, 1, 1, 7, 1000))


def kafka_python_s(records, codec=0, producer=(-1, -1, -1), is_transactional=False):
    builder = DefaultRecordBatchBuilder(2, codec, is_transactional, *producer, batch_size=1 << 30)
    for record in records:
        builder.append(record.offset, record.timestamp_ms, record.key, record.value, list(record.headers))
    return bytes(builder.build())


def read_by_kafka_python(batch):
    found = DefaultRecordBatch(memoryview(batch))
    assert found.validate_crc()
    return [
        Record(one.offset, one.timestamp, one.key, one.value, tuple((name, content) for name, content in one.headers))
        for one in found
    ]


@pytest.mark.parametrize("seed", range(8))
def test_bytes_are_those_of_kafka_python(seed):
    records = list(some_records(seed))
    assert build_batch(records, leader_epoch=0) == kafka_python_s(records)
    producer = {"producer_id": 77, "producer_epoch": 3, "base_sequence": 2**31 - 1}
    ours = build_batch(records, leader_epoch=0, attributes=TRANSACTIONAL_BIT, **producer)
    assert ours == kafka_python_s(records, producer=tuple(producer.values()), is_transactional=True)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("seed", range(5))
def test_kafka_python_reads_ours_and_we_read_its(codec, seed):
    records = list(some_records(seed))
    assert read_by_kafka_python(build_batch(records, codec=codec)) == records
    assert list(iterate_records(kafka_python_s(records, codec))) == records
    assert list(iterate_records(memoryview(build_batch(records, codec=codec)))) == records


def test_pairs_get_offsets_from_zero_and_one_time():
    batch = build_batch([(b"k", b"v"), (None, None)], base_offset=40, timestamp_ms=NOW_MS)
    assert list(iterate_records(batch)) == [Record(40, NOW_MS, b"k", b"v"), Record(41, NOW_MS, None, None)]


def test_the_header_says_what_is_in_it():
    records = [Record(0, NOW_MS, b"k", b"v"), Record(9, NOW_MS - 5, b"k", b"v")]
    batch = build_batch(
        records,
        base_offset=100,
        codec=Codec.ZSTD,
        producer_id=7,
        producer_epoch=2,
        base_sequence=50,
        leader_epoch=4,
        attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
    )
    header = parse_header(b"..." + batch, 3)
    assert HEADER.size == HEADER_BYTES == 61
    assert header.size_bytes == len(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (100, 109, 2)
    assert (header.base_timestamp, header.max_timestamp) == (NOW_MS, NOW_MS)
    assert (header.codec, header.is_transactional, header.is_control) == (Codec.ZSTD, True, True)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 50)
    assert (header.partition_leader_epoch, header.is_log_append_time) == (4, False)
    assert header.crc == compute_crc(batch) == compute_crc(memoryview(bytearray(batch)))


def test_a_field_that_is_read_alone_is_that_of_the_header():
    batch = b"..." + build_batch([(b"k", b"v")] * 3, base_offset=2**40)
    header = parse_header(batch, 3)
    assert tuple(header) == unpack_header(batch, 3)
    assert unpack_base_offset(batch, 3) == header.base_offset
    assert (unpack_length(batch, 3), entry_bytes(batch, 3)) == (header.batch_length, header.size_bytes)
    assert unpack_last_delta(batch, 3) == header.last_offset_delta == 2


def test_what_is_stored_in_a_header_is_read_from_it_and_nothing_else_changes():
    batch = bytearray(build_batch([(b"k", b"v")] * 3))
    header = parse_header(batch)
    store_attributes(batch, TRANSACTIONAL_BIT)
    store_max_timestamp(batch, NOW_MS)
    assert parse_header(batch) == header._replace(attributes=TRANSACTIONAL_BIT, max_timestamp=NOW_MS)
    store_crc(batch)
    assert parse_header(batch).crc == compute_crc(batch) != header.crc
    store_header(batch, header)
    assert batch == build_batch([(b"k", b"v")] * 3)


def test_headers_of_batches_are_parsed_in_one_place():
    """A new field or attribute is one edit. Their layout is imported by no source, nor its size given to a Struct."""
    others = {}
    for path in CODE:
        if path.name == "record_batch.py":
            continue
        tree = parsed(path)
        for node in ast.walk(tree):
            names = [one.name for one in node.names] if isinstance(node, ast.ImportFrom) else []
            if str(getattr(node, "module", "")).endswith("record_batch") and {"HEADER", "CRC_POSITION"} & set(names):
                others[path.name] = names
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Struct"):
                letters = ast.unparse(node.args[0]).strip("'")
                if letters.startswith(">") and letters.isascii() and struct.calcsize(letters) == HEADER_BYTES:
                    others[path.name] = letters
    assert not others


@pytest.mark.parametrize("size", [0, 1, 63, 64, 8_191, 8_192, 2**20])
@pytest.mark.parametrize("headers", [(), (("h", b"x"), ("", None), ("n", b""))])
def test_spans_are_where_the_fields_were_written(size, headers):
    records = [
        Record(index, NOW_MS + index * 100, key, value, headers)
        for index, (key, value) in enumerate([(None, b"v"), (b"k" * size, None), (b"", b"v" * size)])
    ]
    data = b"..." + build_batch(records)[HEADER_BYTES:]
    position = 3
    for record, spans in zip(records, walk_spans(data, 3, 3), strict=True):
        assert (spans.start, spans.time_delta, spans.offset_delta) == (
            position,
            record.timestamp_ms - NOW_MS,
            record.offset,
        )
        assert read_varlong(data, spans.start) == (spans.end - spans.body, spans.body)
        assert read_varlong(data, spans.body + 1) == (spans.time_delta, spans.time_end)
        assert read_varlong(data, spans.time_end) == (spans.offset_delta, spans.offset_end)
        assert spans.key_length == (-1 if record.key is None else len(record.key))
        assert spans.value_length == (-1 if record.value is None else len(record.value))
        assert data[spans.key_start : spans.key_end] == (record.key or b"")
        assert data[spans.value_start : spans.headers] == (record.value or b"")
        found = walk_headers(data, spans.headers, spans.end)
        assert [data[start : start + length].decode() for start, length, _, _ in found] == [name for name, _ in headers]
        assert [data[start : start + length] if length >= 0 else None for _, _, start, length in found] == [
            content for _, content in headers
        ]
        position = spans.end
    assert position == len(data)


@pytest.mark.parametrize(
    ("position", "value", "reason"),
    [
        (0, 0x7F, " of -64 bytes at 1, 19 in all"),
        (0, 0x7E, " of 63 bytes at 1, 19 in all"),
        (4, 0x7E, " ends at 68, its length says 10"),  # the key
        (7, 0x7E, " ends at 71, its length says 10"),  # the value
        (9, 2, "1 headers announced, too few bytes remain"),
    ],
)
def test_what_a_record_announces_ends_within_it(position, value, reason):
    """The number of the record is said to callers that ask for it."""
    data = build_batch([(b"kk", b"v"), (b"k", b"v")])[HEADER_BYTES:]

    def walk(is_numbered):
        changed = bytearray(data)
        changed[position] = value
        for index, spans in enumerate(walk_spans(bytes(changed), 0, 2, is_numbered=is_numbered)):
            walk_headers(bytes(changed), spans.headers, spans.end, index if is_numbered else None)

    with pytest.raises(CorruptRecord) as told:
        walk(is_numbered=True)
    assert str(told.value) == (f"record 0{reason}" if reason[0] == " " else reason)
    with pytest.raises(CorruptRecord) as told:
        walk(is_numbered=False)
    assert "record 0" not in str(told.value)


def test_the_header_is_the_same_in_c_and_in_one_file_there():
    """Positions and attribute bits; `batch.h` may lack a bit that no C looks at."""
    kernel = ROOT / "protocol" / "kernel"
    text = (kernel / "batch.h").read_text()
    positions = {name: int(value) for name, value in re.findall(r"\b([A-Z_]+_AT) = (\d+)", text)}
    starts = [struct.calcsize(HEADER.format[: 1 + index]) for index in range(len(RecordBatchHeader._fields))]
    assert sorted(positions.values()) == starts[1:]
    bits = {name: int(value, 0) for name, value in re.findall(r"#define ([A-Z_]+_(?:BIT|MASK)) (\w+)", text)}
    assert bits == {name: getattr(record_batch, name) for name in bits} != {}
    known = re.compile(rf"\b(?:{'|'.join(positions)})\b|#define ({'|'.join(bits)}|HEADER_BYTES|LOG_OVERHEAD_BYTES) ")
    assert not {
        path.name for path in kernel.glob("*.[ch]") if path.name != "batch.h" and known.search(path.read_text())
    }


def test_records_are_walked_in_one_place():
    """Who reads a signed varint reads records, and nobody takes one apart where it is needed."""
    reads = re.compile(r"import .*\bread_varlong\b|(?<!1) << 7\b")
    readers = {path.name for path in CODE if reads.search(path.read_text())}
    lengths_alone = {"plain_records.py"}  # of large batches
    heads_alone = {"record_search.py"}  # of batches that are not there as a whole
    assert readers == {"varint.py", "record_batch.py"} | lengths_alone | heads_alone


def test_whole_entries_end_where_one_is_cut_off_and_name_the_next_offset():
    first, second = (build_batch([(b"k", b"v")] * 3, base_offset=at, leader_epoch=at) for at in (5, 9))
    old = encode_message(4, 1, NOW_MS, b"k", b"v")
    whole = old + first + second
    assert whole_entries(whole) == (len(whole), 12, 9)
    assert whole_entries(whole[:-1]) == (len(old + first), 8, 5)
    assert whole_entries(old + first[:40]) == (len(old), 5, NO_EPOCH)
    for length in (0, -1, -12, -(2**31)):
        assert whole_entries(old + first[:8] + struct.pack(">i", length) + first[12:]) == (len(old), 5, NO_EPOCH)


def test_what_the_leader_stamps_is_not_under_the_checksum():
    batch = bytearray(build_batch([(b"k", b"v")]))
    crc = compute_crc(batch)
    struct.pack_into(">q", batch, 0, 2**40)
    struct.pack_into(">i", batch, 12, 99)
    assert compute_crc(batch) == parse_header(batch).crc == crc
    batch[-1] ^= 1
    assert compute_crc(batch) != crc


def test_append_time_is_the_batch_s_own():
    records = [Record(0, NOW_MS, b"k", b"v"), Record(1, NOW_MS + 9, b"k", b"v")]
    batch = build_batch(records, attributes=LOG_APPEND_TIME_BIT)
    assert [record.timestamp_ms for record in iterate_records(batch)] == [NOW_MS + 9] * 2


def test_an_empty_batch_has_no_records():
    assert list(iterate_records(build_batch([]))) == []


def test_batches_one_behind_the_other_and_a_cut_one_at_the_end():
    batches = [build_batch([(b"k", b"v" * size)], base_offset=size) for size in (1, 200, 3)]
    whole = b"".join(batches)
    found = list(iterate_batches(whole))
    assert [bytes(batch) for _position, _header, batch in found] == batches
    assert [position for position, _header, _batch in found] == [0, len(batches[0]), len(batches[0] + batches[1])]
    for size in range(len(batches[0]), len(whole)):
        assert 1 <= len(list(iterate_batches(whole[:size]))) <= 2
    assert list(iterate_batches(b"")) == list(iterate_batches(batches[0][:60])) == []


@pytest.mark.parametrize(("position", "letter", "value"), [(16, "b", 1), (16, "b", 0), (8, ">i", 48), (8, ">i", -13)])
def test_what_begins_no_batch_is_refused(position, letter, value):
    data = bytearray(build_batch([(b"k", b"v")]))
    struct.pack_into(letter, data, position, value)
    with pytest.raises(CorruptRecord, match="no batch at byte 0"):
        list(iterate_batches(data))


@pytest.mark.parametrize(
    ("position", "letter", "value", "reason"),
    [
        (LENGTH_POSITION, ">i", 2**31 - 1, "announces"),
        (LENGTH_POSITION, ">i", -1, "announces"),
        (LENGTH_POSITION, ">i", 48, "announces"),
        (57, ">i", 0, "bytes after the last record"),
        (57, ">i", -1, "bytes after the last record"),
        (57, ">i", 2**31 - 1, "index out of range"),
        (61, "b", 18, "record ends at 9, its length says 10"),
        (61, "b", 2, "record ends at|bytes announced"),
        (61, "b", -128, "bytes announced at 7, the record ends at 2"),
        (61, "b", 1, "record of -1 bytes"),
        (65, "b", 126, "63 bytes announced"),
    ],
)
def test_a_batch_that_lies_is_refused(position, letter, value, reason):
    data = bytearray(build_batch([(b"k", b"v"), (b"k", b"v")]))
    struct.pack_into(letter, data, position, value)
    with pytest.raises(CorruptRecord, match=reason):
        list(iterate_records(data))


@pytest.mark.parametrize("size", [0, 12, 60, 61, 62])
def test_a_cut_batch_is_refused(size):
    with pytest.raises(CorruptRecord, match=f"batch of {size} bytes"):
        list(iterate_records(build_batch([(b"k", b"v")])[:size]))


def test_a_header_without_a_key_is_refused():
    body = b"\0\0\0\1\1\2\1\1"  # attributes, deltas, null key and value, one header: null, null
    data = bytearray(build_batch([(b"k", b"v")])[:HEADER_BYTES] + bytes([len(body) * 2]) + body)
    struct.pack_into(">i", data, LENGTH_POSITION, len(data) - 12)
    with pytest.raises(CorruptRecord, match="a header's key is null"):
        list(iterate_records(data))


def test_headers_beyond_the_record_are_refused():
    body = b"\0\0\0\1\1\xfe\xff\xff\xff\x0f"
    data = bytearray(build_batch([(b"k", b"v")])[:HEADER_BYTES] + bytes([len(body) * 2]) + body)
    struct.pack_into(">i", data, LENGTH_POSITION, len(data) - 12)
    with pytest.raises(CorruptRecord, match="headers announced"):
        list(iterate_records(data))


def test_a_bomb_stops_at_the_limit():
    batch = build_batch([(b"k", bytes(1 << 22))], codec=Codec.ZSTD)
    assert len(batch) < 2000
    with pytest.raises(CompressionError, match="more than 1048576 bytes"):
        list(iterate_records(batch, limit=1 << 20))


@pytest.mark.parametrize("codec", list(Codec))
def test_damaged_batches_raise_nothing_but_their_own_errors(codec):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    whole = build_batch([Record(n, NOW_MS, b"key", b"value" * 9, (("h", b"x"),)) for n in range(5)], codec=codec)
    for number in range(1500):
        data = generator.damaged(whole, chance)
        try:
            for _position, _header, batch in iterate_batches(data):
                list(iterate_records(batch, limit=1 << 20))
            list(iterate_records(data, limit=1 << 20))
        except (CorruptRecord, CompressionError):
            pass
        except Exception as other:
            pytest.fail(f"seed {seed}, number {number}, {data.hex()}: {other!r}")


def test_the_checksum_stands_where_the_layout_says():
    batch = build_batch([(b"k", b"v")])
    assert struct.unpack_from(">I", batch, CRC_POSITION)[0] == compute_crc(batch)
