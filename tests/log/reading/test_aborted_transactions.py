"""The transaction index, read: a fetch reads what it tells of, an opening all of it, block by block."""

import os
import random

import pytest

from headrace.errors import CorruptIndex
from headrace.log.disk import Disk
from headrace.log.index_layout import TXN_ENTRY, AbortedTransaction
from headrace.log.reading import aborted_transactions
from headrace.log.reading.aborted_transactions import (
    BLOCK_ENTRIES,
    PASS_ENTRIES,
    check_entries,
    check_transaction_index,
    find_aborted,
    read_aborted,
)
from headrace.log.segments.transaction_index import TransactionIndex
from tests.support.altered import altered

MANY = 3 * PASS_ENTRIES


def written(path, entries):
    path.write_bytes(b"".join([TXN_ENTRY.pack(0, *one) for one in entries]))
    return entries


def one_by_one(count):
    """Transactions that follow each other: each is open from an even offset to the odd one after it."""
    return [AbortedTransaction(1, 2 * number, 2 * number + 1, 2 * number + 2) for number in range(count)]


def overlapping(chance, count):
    """Of several producers; one that stays open holds the last stable offset down."""
    begun, entries, offset = {}, [], 0
    while len(entries) < count:
        offset += 1
        producer_id = chance.randrange(12)
        if producer_id not in begun:
            begun[producer_id] = offset
        elif producer_id or chance.random() < 0.01:
            first = begun.pop(producer_id)
            stable = min(begun.values(), default=offset + 1)
            entries.append(AbortedTransaction(producer_id, first, offset, stable))
    return entries


def as_kafka(entries, offset, range_end):
    """`TransactionIndex.collectAbortedTxns`: from the first entry on."""
    found = []
    for one in entries:
        if one.last_offset >= offset and one.first_offset < range_end:
            found.append(one)
        if one.last_stable_offset >= range_end:
            return found, True
    return found, False


@pytest.mark.parametrize("count", [0, 1, BLOCK_ENTRIES - 1, BLOCK_ENTRIES, BLOCK_ENTRIES + 1, 5 * BLOCK_ENTRIES + 7])
def test_a_lookup_finds_what_a_walk_from_the_first_entry_finds(tmp_path, count):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    entries = written(tmp_path / "index", overlapping(chance, count))
    end = entries[-1].last_offset + 3 if entries else 10
    for _ in range(100):
        offset = chance.randrange(end)
        range_end = offset + chance.choice([1, 5, 60, end])
        found = []
        is_through = find_aborted(tmp_path / "index", offset, range_end, found)
        told, _is_through = as_kafka(entries, offset, range_end)
        later = [one for one in entries if one.last_offset >= offset]
        assert (found, is_through) == (told, as_kafka(later, offset, range_end)[1]), (seed, offset, range_end)


def test_a_lookup_reads_no_more_than_it_tells(tmp_path, monkeypatch):
    entries = written(tmp_path / "index", one_by_one(MANY))
    read = []

    def pread(fd, size, position):
        read.append(size)
        return os.pread(fd, size, position)

    monkeypatch.setattr(aborted_transactions, "os", altered(os, pread=pread))
    for number in (0, MANY // 2, MANY - 1):
        read.clear()
        found = []
        find_aborted(tmp_path / "index", entries[number].first_offset, entries[number].last_offset, found)
        assert found == [entries[number]]
        assert sum(read) <= (2 * BLOCK_ENTRIES + 20) * TXN_ENTRY.size


def test_a_file_that_is_not_there_is_told_from_an_empty_one(tmp_path):
    assert find_aborted(tmp_path / "index", 0, 10, []) is None
    (tmp_path / "index").touch()
    assert find_aborted(tmp_path / "index", 0, 10, []) is False
    assert read_aborted(tmp_path / "other") == read_aborted(tmp_path / "index") == []


def test_a_pass_over_a_large_index_gives_signs_of_life(tmp_path):
    entries = written(tmp_path / "index", one_by_one(MANY))
    told = []
    check_transaction_index(tmp_path / "index", 0, 2 * MANY, told.append)
    assert told == [0] * 3
    with pytest.raises(CorruptIndex, match="outside"):
        check_transaction_index(tmp_path / "index", 0, 2 * MANY - 1)
    middle = entries[MANY // 2].last_offset
    assert check_entries(tmp_path / "index", middle) == (MANY // 2, middle - 2, 1, entries[-1].last_offset)


@pytest.mark.parametrize("place", [0, 1, PASS_ENTRIES, MANY - 1])
def test_a_pass_sees_each_entry(tmp_path, place):
    entries = one_by_one(MANY)
    entries[place] = entries[place]._replace(last_offset=2 * place - 1, first_offset=2 * place)
    written(tmp_path / "index", entries)
    with pytest.raises(CorruptIndex):
        check_entries(tmp_path / "index", 1 << 62)


def test_an_index_is_cut_and_goes_on_without_its_entries_in_memory(tmp_path):
    entries = written(tmp_path / "index", one_by_one(1000))
    with open(tmp_path / "index", "ab") as file:
        file.write(b"half of one")
    index = TransactionIndex(tmp_path / "index", Disk())
    assert not index.append(entries[-1]), "it is there"
    more = AbortedTransaction(1, 2000, 2001, 2002)
    assert not index.append(more)
    assert read_aborted(tmp_path / "index") == [*entries, more]
    index.truncate_to_offset(entries[300].last_offset)
    assert read_aborted(tmp_path / "index") == entries[:300]
    assert not index.append(entries[299])
    index.append(entries[300])
    assert read_aborted(tmp_path / "index") == entries[:301]
    index.close()
