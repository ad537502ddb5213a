"""What a fetch brought, as batches for the target: passed on where that is possible, built again where it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.mirror.passage import (
    as_message_set,
    digest_of,
    pass_on,
    sift,
    size_of,
    stamped,
    without_zstd,
)
from headrace.protocol.compression import Codec
from headrace.protocol.control_record import ABORT, CONTROL_KEY, MARKER_VALUE
from headrace.protocol.message_set import build_message_set, iterate_entry_records
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    CorruptRecord,
    Record,
    build_batch,
    compute_crc,
    iterate_records,
    parse_header,
)

OWN_ID = (1 << 62) + 5
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=5)), max_size=2).map(tuple)
CONTENTS = st.tuples(
    st.integers(0, 2**40), st.none() | st.binary(max_size=20), st.none() | st.binary(max_size=20), HEADERS
)
BATCHES = st.lists(
    st.tuples(st.lists(CONTENTS, min_size=1, max_size=5), st.sampled_from(list(Codec)), st.integers(0, 3)), max_size=6
)


def batch(base_offset, contents, codec=Codec.NONE, **fields):
    records = [Record(index, *content) for index, content in enumerate(contents)]
    return build_batch(records, base_offset=base_offset, codec=codec, leader_epoch=3, **fields)


def marker(offset, producer_id, kind=ABORT):
    return build_batch(
        [(CONTROL_KEY.pack(0, kind), MARKER_VALUE.pack(0, 0))],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        attributes=CONTROL_BIT | TRANSACTIONAL_BIT,
    )


def records_of(piece):
    return [record._replace(offset=0) for record in iterate_records(piece.batch)]


@given(BATCHES)
def test_whole_batches_are_passed_on_with_all_that_is_in_them(batches):
    data, offset, expected = b"", 10, []
    for contents, codec, gap in batches:
        offset += gap
        data += batch(offset, contents, codec)
        expected.append((offset, gap, contents))
        offset += len(contents)
    passage = pass_on(memoryview(data), 10)
    assert passage.passed == len(batches) == len(passage.pieces)
    assert passage.next_offset == offset
    for piece, (first, gap, contents) in zip(passage.pieces, expected, strict=True):
        assert [tuple(record[1:]) for record in records_of(piece)] == contents
        assert piece.runs == ((first, len(contents), gap > 0),)
        assert piece.needs_proof == (gap > 0)


@given(st.lists(CONTENTS, min_size=1, max_size=5), st.sampled_from(list(Codec)), st.integers(0, 2**31 - 1))
def test_a_stamp_changes_the_header_and_no_record(contents, codec, sequence):
    attributes = TRANSACTIONAL_BIT | DELETE_HORIZON_BIT
    before = batch(77, contents, codec, producer_id=9, producer_epoch=4, base_sequence=11, attributes=attributes)
    after = stamped(bytearray(before), OWN_ID, 0, sequence)
    header = parse_header(after)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (OWN_ID, 0, sequence)
    assert (header.base_offset, header.partition_leader_epoch, header.attributes) == (0, -1, codec)
    assert header.crc == compute_crc(after)
    assert [one._replace(offset=0) for one in iterate_records(after)] == [
        one._replace(offset=0) for one in iterate_records(before)
    ]
    assert digest_of(after) == digest_of(before)


def test_records_below_the_offset_are_left_out():
    passage = pass_on(memoryview(batch(10, [(1, None, b"%d" % index, ()) for index in range(5)])), 13)
    (piece,) = passage.pieces
    assert [record.value for record in records_of(piece)] == [b"3", b"4"]
    assert piece.runs == ((13, 2, False),)
    assert passage.passed == 0


def test_a_batch_with_gaps_is_built_again_and_says_where_they_were():
    records = [Record(0, 1, b"k", b"a"), Record(1, 1, b"k", b"b"), Record(4, 1, b"k", b"c")]
    passage = pass_on(memoryview(build_batch(records, base_offset=20)), 20)
    (piece,) = passage.pieces
    assert piece.runs == ((20, 2, False), (24, 1, True))
    header = parse_header(piece.batch)
    assert (header.record_count, header.last_offset_delta) == (3, 2)
    assert piece.needs_proof


def test_what_is_missing_at_the_end_of_a_fetch_counts_for_the_next_one():
    data = bytearray(build_batch([Record(0, 1, b"k", b"a")], base_offset=0))
    data[23:27] = (3).to_bytes(4, "big")
    data[17:21] = compute_crc(data).to_bytes(4, "big")
    passage = pass_on(memoryview(data), 0)
    assert (passage.next_offset, passage.is_after_removed) == (4, True)
    following = pass_on(memoryview(batch(4, [(1, None, b"b", ())])), 4, None, passage.is_after_removed)
    assert following.pieces[0].runs == ((4, 1, True),)


def test_aborted_records_and_markers_are_left_out_where_only_committed_ones_count():
    data = (
        batch(
            0,
            [(1, None, b"aborted", ())],
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            attributes=TRANSACTIONAL_BIT,
        )
        + batch(1, [(1, None, b"kept", ())])
        + marker(2, 7)
        + batch(
            3,
            [(1, None, b"committed", ())],
            producer_id=7,
            producer_epoch=0,
            base_sequence=1,
            attributes=TRANSACTIONAL_BIT,
        )
    )
    passage = pass_on(memoryview(data), 0, [(0, 7)])
    assert [record.value for piece in passage.pieces for record in records_of(piece)] == [b"kept", b"committed"]
    assert not any(piece.needs_proof for piece in passage.pieces)
    assert (passage.control_batches, passage.aborted_batches, passage.next_offset) == (1, 1, 4)
    all_of_them = pass_on(memoryview(data), 0)
    assert [record.value for piece in all_of_them.pieces for record in records_of(piece)] == [
        b"aborted",
        b"kept",
        b"committed",
    ]


def test_log_append_time_becomes_the_time_of_each_record():
    data = build_batch([Record(0, 5, b"k", b"a"), Record(1, 9, b"k", b"b")], attributes=LOG_APPEND_TIME_BIT)
    (piece,) = pass_on(memoryview(data), 0).pieces
    assert [record.timestamp_ms for record in records_of(piece)] == [9, 9]
    assert not parse_header(piece.batch).is_log_append_time


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_old_sets_become_batches(magic, codec):
    records = [Record(offset, 1_000 + offset, b"k", b"v%d" % offset) for offset in range(40, 46)]
    passage = pass_on(memoryview(build_message_set(records, magic, codec)), 42)
    (piece,) = passage.pieces
    assert [record.value for record in records_of(piece)] == [b"v%d" % offset for offset in range(42, 46)]
    assert [record.timestamp_ms for record in records_of(piece)] == [
        1_000 + offset if magic else -1 for offset in range(42, 46)
    ]
    assert piece.runs == ((42, 4, False),)
    assert passage.next_offset == 46
    assert parse_header(piece.batch).codec == codec


def test_a_wrong_checksum_is_refused():
    data = bytearray(batch(0, [(1, None, b"value", ())]))
    data[-2] ^= 1
    with pytest.raises(CorruptRecord, match="checksum mismatch in the batch at offset 0"):
        pass_on(memoryview(data), 0)


def test_an_old_target_gets_a_set_without_headers_and_without_zstd():
    data = bytearray(batch(0, [(1, b"k", b"v", (("h", b"1"), ("i", None)))], Codec.ZSTD))
    records, lost = as_message_set(data)
    assert [one.value for one in iterate_entry_records(records)] == [b"v"]
    assert lost == 2
    assert parse_header(without_zstd(data)).codec == Codec.LZ4


@given(BATCHES, st.booleans())
def test_what_is_sifted_is_what_is_passed_on(batches, is_aborted):
    data, offset = b"", 10
    for number, (contents, codec, gap) in enumerate(batches):
        offset += gap
        fields = {"producer_id": 5, "attributes": TRANSACTIONAL_BIT} if number == 1 else {}
        data += batch(offset, contents, codec, **fields)
        offset += len(contents)
        if number == 1:
            data += marker(offset, 5)
            offset += 1
    aborted = [(10, 5)] if is_aborted else None
    passage = pass_on(memoryview(data), 12, aborted)
    (sifted,) = sift(memoryview(data), 12, aborted, 1 << 30)
    assert [record._replace(offset=0) for record, _codec, _size in sifted.records] == [
        record for piece in passage.pieces for record in records_of(piece)
    ]
    assert [record.offset for record, _codec, _size in sifted.records] == [
        run.offset + index for piece in passage.pieces for run in piece.runs for index in range(run.records)
    ]
    assert (sifted.next_offset, sifted.leader_epoch) == (passage.next_offset, passage.leader_epoch)
    assert (sifted.control_batches, sifted.aborted_batches) == (passage.control_batches, passage.aborted_batches)


def test_a_fetch_is_sifted_in_portions():
    data = b"".join(batch(10 * number, [(1, b"k", b"v", ())] * 10) for number in range(5))
    portions = sift(memoryview(data), 0, None, 11 * size_of(Record(0, 1, b"k", b"v")))
    assert [(len(one.records), one.next_offset) for one in portions] == [(20, 20), (20, 40), (10, 50)]


@given(st.lists(CONTENTS, min_size=1, max_size=5))
def test_a_batch_of_records_has_at_most_their_size(contents):
    records = [Record(index, *content) for index, content in enumerate(contents)]
    built = build_batch(records)
    assert len(built) - 61 <= sum(map(size_of, records))


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats_are_sifted(magic):
    data = build_message_set([Record(index, 5, b"k", b"%d" % index) for index in range(10, 14)], magic, Codec.GZIP)
    (sifted,) = sift(memoryview(data), 11, None, 1 << 30)
    assert [(record.offset, record.value, codec) for record, codec, _size in sifted.records] == [
        (index, b"%d" % index, Codec.GZIP) for index in range(11, 14)
    ]
    assert sifted.next_offset == 14
