"""Segments of Kafka 0.7 read: from any place, around damage, up to what was being written."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.log.kafka07 import segment_file_07
from headrace.log.kafka07.log_07 import Log07, Place, partitions_07
from headrace.log.kafka07.segment_file_07 import WINDOW_BYTES, SegmentFile07
from headrace.protocol.message_07 import build_message_07, build_set_07
from tests.support.segments_07 import write_segments

SEGMENTS = [
    [build_message_07(b"a", 0), build_message_07(b"b"), build_set_07([b"c", b"d", b"e"], 1)],
    [build_set_07([b"f"], 2), build_message_07(b"g" * (2 * WINDOW_BYTES)), build_message_07(b"")],
]
PAYLOADS = [b"a", b"b", b"c", b"d", b"e", b"f", b"g" * (2 * WINDOW_BYTES), b""]


def refuse(damage):
    raise AssertionError(str(damage))


def read(directory, start=None, on_damage=refuse):
    return list(Log07(directory).read(start, on_damage))


def test_segments_are_read_in_order_and_offsets_are_byte_positions(tmp_path):
    directory = write_segments(tmp_path, "clicks", 0, SEGMENTS)
    found = read(directory)
    assert [one.payload for one in found] == PAYLOADS
    assert [one.place for one in found[:3]] == [Place(0, 0), Place(0, 10), Place(0, 21)]
    assert found[5].place.segment == sum(map(len, SEGMENTS[0]))
    assert all(before.place < before.next_place <= after.place for before, after in pairwise(found))


def test_reading_goes_on_at_any_place(tmp_path):
    directory = write_segments(tmp_path, "clicks", 0, SEGMENTS)
    for index, one in enumerate(read(directory)):
        assert [later.payload for later in read(directory, one.next_place)] == PAYLOADS[index + 1 :]


def test_a_damaged_message_is_told_with_its_place_and_the_rest_is_read(tmp_path):
    damaged = [list(SEGMENTS[0]), SEGMENTS[1]]
    damaged[0][1] = damaged[0][1][:-1] + b"?"
    directory = write_segments(tmp_path, "clicks", 0, damaged)
    told = []
    assert [one.payload for one in read(directory, None, told.append)] == [b"a", *PAYLOADS[2:]]
    assert str(told[0]) == f"{directory}/00000000000000000000.kafka byte 10: the checksum of the message is wrong"
    assert told[0].lost_bytes == 11


def test_where_no_message_begins_the_next_ones_are_found(tmp_path):
    damaged = [list(SEGMENTS[0]), SEGMENTS[1]]
    damaged[0][1] = b"\xff" * 11
    directory = write_segments(tmp_path, "clicks", 0, damaged)
    told = []
    assert [one.payload for one in read(directory, None, told.append)] == [b"a", *PAYLOADS[2:]]
    assert told[0].lost_bytes == 11


@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("bit", range(32))
def test_a_flipped_bit_in_a_length_costs_one_message(tmp_path, bit, is_last):
    """Also where the length then leads behind the end: what follows is no tail that was being written."""
    content = [build_message_07(b"message %d" % n) for n in range(9)]
    content[4] = bytearray(content[4])
    content[4][bit // 8] ^= 0x80 >> bit % 8
    directory = write_segments(tmp_path, "clicks", 0, [content] if is_last else [content, [build_message_07(b"last")]])
    told = []
    found = [one.payload for one in read(directory, None, told.append)]
    assert found == [b"message %d" % n for n in range(9) if n != 4] + ([] if is_last else [b"last"])
    assert [(one.place.position, one.lost_bytes) for one in told] == [(4 * 19, 19)]


def test_the_search_goes_over_windows_and_is_quick_over_zeros_and_noise(tmp_path):
    noise = random.Random(7).randbytes(WINDOW_BYTES)
    for rubbish in (bytes(5 * WINDOW_BYTES + 3), noise * 3, bytes(WINDOW_BYTES - 2), b"\x00\x00\x00\x05\x00" * 20_000):
        directory = write_segments(tmp_path, f"t{len(rubbish)}", 0, [[SEGMENTS[0][0], rubbish, *SEGMENTS[0][1:]]])
        told = []
        assert [one.payload for one in read(directory, None, told.append)] == PAYLOADS[:5]
        assert sum(one.lost_bytes for one in told) == len(rubbish)


def test_the_search_gives_up_at_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_file_07, "SEARCH_07_BYTES_MAX", 10_000)
    directory = write_segments(tmp_path, "clicks", 0, [[b"\x00\x00\x40\x00\x00" * 5_000, build_message_07(b"x")]])
    with open(directory / f"{0:020d}.kafka", "rb") as file:
        source = SegmentFile07(file.fileno())
        assert source.next_message(0) == source.size_bytes


@pytest.mark.parametrize("cut", range(1, 11))
def test_what_was_being_written_at_the_end_is_no_damage(tmp_path, cut):
    directory = write_segments(tmp_path, "clicks", 0, SEGMENTS)
    with open(max(directory.glob("*.kafka")), "ab") as file:
        file.write(build_message_07(b"half written")[:cut])
    assert [one.payload for one in read(directory)] == PAYLOADS


def test_a_cut_segment_and_a_missing_one_are_damage(tmp_path):
    directory = write_segments(tmp_path, "clicks", 0, [*SEGMENTS, [build_message_07(b"last")]])
    first, second, _third = sorted(directory.glob("*.kafka"))
    with open(first, "r+b") as file:
        file.truncate(first.stat().st_size - 1)
    told = []
    assert [one.payload for one in read(directory, None, told.append)] == [*PAYLOADS[:2], *PAYLOADS[5:], b"last"]
    assert "the segment is truncated" in told[0].what
    second.unlink()
    told.clear()
    assert [one.payload for one in read(directory, None, told.append)] == [*PAYLOADS[:2], b"last"]
    assert "the next segment is" in told[-1].what


def test_a_set_that_does_not_decompress_is_told_and_passed_over(tmp_path):
    broken = build_message_07(b"no gzip at all", codec=1)
    directory = write_segments(tmp_path, "clicks", 0, [[SEGMENTS[0][0], broken, SEGMENTS[0][1]]])
    told = []
    assert [one.payload for one in read(directory, None, told.append)] == [b"a", b"b"]
    assert "gzip" in told[0].what


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 60))
def test_noise_anywhere_ends_in_damage_and_never_in_a_traceback(tmp_path_factory, noise, place):
    whole = b"".join(SEGMENTS[0])
    content = whole[:place] + noise + whole[place:]
    directory = write_segments(tmp_path_factory.mktemp("noise"), "clicks", 0, [[content]])
    told = []
    read(directory, None, told.append)


def test_the_partitions_of_a_topic(tmp_path):
    write_segments(tmp_path, "clicks", 0, SEGMENTS)
    write_segments(tmp_path, "clicks", 11, SEGMENTS)
    write_segments(tmp_path, "page-views", 1, SEGMENTS)
    (tmp_path / "empty-0").mkdir()
    (tmp_path / "file-0").write_text("")
    assert list(partitions_07(tmp_path, "clicks")) == [0, 11]
    assert list(partitions_07(tmp_path, "page-views")) == [1]
    with pytest.raises(HeadraceError, match="topics there: clicks, page-views"):
        partitions_07(tmp_path, "click")
    with pytest.raises(HeadraceError, match=r"no directory there has \.kafka segments"):
        partitions_07(tmp_path / "empty-0", "clicks")
