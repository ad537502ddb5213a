"""The reading end of an index file, beside a writer whose last entry may be half stored."""

import struct

import pytest

from headrace.log.reading.index_reader import BLOCK_ENTRIES, IndexReader

ENTRY = struct.Struct(">qi")


def write_index(path, timestamps, zeros=100):
    body = b"".join(ENTRY.pack(timestamp, offset) for offset, timestamp in enumerate(timestamps))
    path.write_bytes(body + bytes(zeros * ENTRY.size))


@pytest.mark.parametrize("count", [2, 3, BLOCK_ENTRIES, BLOCK_ENTRIES + 1, 4 * BLOCK_ENTRIES + 7])
@pytest.mark.parametrize("torn", [1, 2**40])
@pytest.mark.parametrize("zeros", [0, 1, 100, 5 * BLOCK_ENTRIES])
def test_a_half_stored_last_entry_does_not_lead_a_look_up_astray(tmp_path, count, torn, zeros):
    path = tmp_path / "0.timeindex"
    timestamps = [1000 + 10 * index for index in range(count - 1)]
    write_index(path, [*timestamps, torn], zeros)
    reader = IndexReader(path, ENTRY)
    for wanted, timestamp in [(0, 1005), (count // 2 - 1, 1005 + 10 * (count // 2 - 1)), (count - 2, 10**12)]:
        found = reader.lookup(lambda entry, below=timestamp: 0 < entry[0] < below, without_last=True)
        assert found == ((timestamps[wanted], wanted) if wanted >= 0 else None)


@pytest.mark.parametrize("count", [0, 1])
def test_an_index_without_another_entry_than_the_last_finds_nothing(tmp_path, count):
    path = tmp_path / "0.timeindex"
    write_index(path, [5] * count)
    assert IndexReader(path, ENTRY).lookup(any, without_last=True) is None


def test_an_index_that_does_not_exist_reads_as_an_empty_one(tmp_path):
    reader = IndexReader(tmp_path / "none.index", ENTRY)
    assert reader.lookup(any) is None
    assert reader.last() is None


@pytest.mark.parametrize("count", [0, 1, 2, BLOCK_ENTRIES - 1, BLOCK_ENTRIES, BLOCK_ENTRIES + 1, 5 * BLOCK_ENTRIES])
@pytest.mark.parametrize("zeros", [0, 1, 3 * BLOCK_ENTRIES])
def test_a_guess_changes_the_cost_of_a_look_up_and_never_its_result(tmp_path, count, zeros):
    path = tmp_path / "0.index"
    write_index(path, range(10, 10 + 10 * count, 10), zeros)
    reader = IndexReader(path, ENTRY)
    for wanted in {0, 1, count // 3, count // 2, count - 1, count} & set(range(count + 1)):
        expected = (wanted, (10 * wanted, wanted - 1) if wanted else None)
        for guess in {0, 1, wanted, count // 2, count, count + BLOCK_ENTRIES, 10 * BLOCK_ENTRIES}:
            below = 10 * wanted + 5
            assert reader.lookup_near(lambda entry, below=below: 0 < entry[0] < below, guess) == expected
