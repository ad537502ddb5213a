"""Committed offsets that a Kafka before 0.11 wrote as messages of v0 or v1 are loaded as those of today."""

import pytest

from headrace.protocol.message_set import build_message_set, iterate_headers
from headrace.protocol.record_batch import Record, build_batch
from headrace.workers.coordinators.group.loader import Loader
from headrace.workers.coordinators.group.records import encode_offset, offset_key_prefix, offset_of, suffix_of

NOW_MS = 1_700_000_000_000


def committed():
    prefix = offset_key_prefix("readers")
    for number in range(6):
        value = encode_offset(number * 10, -1, b"", NOW_MS, -1) if number != 4 else None
        yield Record(number, NOW_MS, prefix + suffix_of("topic", number % 5), value)


def loaded(data):
    loader = Loader("__consumer_offsets-0")
    for header, entry in iterate_headers(data):
        loader.take(header, entry)
    return loader, loader.finish(NOW_MS)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_old_entries_are_loaded_as_batches_are(magic, codec):
    _loader, wanted = loaded(build_batch(list(committed())))
    loader, groups = loaded(build_message_set(list(committed()), magic, codec))
    assert (loader.faults, loader.records) == (0, 6)
    offsets = groups["readers"].offsets
    assert offsets == wanted["readers"].offsets
    assert [offset_of(offsets[suffix_of("topic", number)]) for number in range(4)] == [50, 10, 20, 30]


def test_a_damaged_old_entry_is_left_out_and_reported():
    data = bytearray(build_message_set(list(committed()), 1))
    data[40] ^= 1
    loader, groups = loaded(data)
    assert loader.faults == 1
    assert loader.records == 5
    assert groups["readers"].offsets
