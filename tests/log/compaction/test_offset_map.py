"""The offset map against a dict: every key's last offset, within the memory it was given."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.log.compaction.offset_map import NOT_FOUND, SLOT_BYTES, OffsetMap


def hashes(keys):
    """Two hashes of a small number; the first one collides a lot on purpose."""
    return np.array([key % 7 for key in keys], np.uint64), np.array([key + 1 for key in keys], np.uint64)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 200), max_size=80), max_size=6))
def test_it_answers_as_a_dict_does(puts):
    mapped, expected, offset = OffsetMap(1 << 20, 0.9, 300), {}, 0
    for keys in puts:
        offsets = np.arange(offset, offset + len(keys))
        mapped.put(*hashes(keys), offsets)
        expected.update(zip(keys, offsets.tolist(), strict=True))
        offset += len(keys)
        assert len(mapped) == len(expected)
    asked = list(range(250))
    assert mapped.get(*hashes(asked)).tolist() == [expected.get(key, NOT_FOUND) for key in asked]


@pytest.mark.parametrize("load_factor", [0.5, 0.9, 0.99])
def test_it_fills_up_to_its_load_factor_and_finds_everything(load_factor):
    chance = np.random.default_rng(random.randrange(1 << 30))
    mapped = OffsetMap(5_000 * SLOT_BYTES, load_factor)
    assert mapped.memory_bytes <= 5_000 * SLOT_BYTES
    first = chance.integers(0, 2**63, mapped.room, np.uint64)
    second = chance.integers(0, 2**63, mapped.room, np.uint64)
    offsets = np.arange(len(first))
    for part in np.array_split(offsets, 17):
        mapped.put(first[part], second[part], part)
    assert mapped.room == 0
    assert (mapped.get(first, second) == offsets).all()
    assert (mapped.get(first + np.uint64(1), second) == NOT_FOUND).all()


def test_it_takes_no_more_memory_than_the_keys_need():
    assert OffsetMap(1 << 40, 0.9, 10_000).memory_bytes < 12_000 * SLOT_BYTES


@pytest.mark.parametrize("load_factor", [0.3, 0.9, 1.0])
def test_what_is_expected_fits_whatever_primes_there_are(load_factor):
    for expected in (*range(900, 1_200), 4_000, 30_011, 1_000_000):
        mapped = OffsetMap(1 << 30, load_factor, expected)
        assert mapped.keys_max >= expected
        assert mapped.memory_bytes < 1.2 * max(expected / load_factor, 1_021) * SLOT_BYTES


def test_no_more_memory_is_taken_than_allowed():
    for slots in range(5_000, 5_100):
        for expected in (slots - 10, slots, slots + 10):
            assert OffsetMap(slots * SLOT_BYTES, 1.0, expected).memory_bytes <= slots * SLOT_BYTES
