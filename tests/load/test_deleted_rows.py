"""Runs of offsets, against sets."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.load import deleted_rows as module
from headrace.load.deleted_rows import (
    NO_RUNS,
    before,
    counted,
    decoded,
    deleted_rows,
    encoded,
    joint,
    marked,
    runs_of,
    summed,
    within,
)

OFFSETS = st.sets(st.integers(0, 60))


def array(some):
    return np.array(sorted(some), np.int64)


def members(runs):
    return {offset for start, end in runs.tolist() for offset in range(start, end)}


@given(OFFSETS, OFFSETS, st.integers(0, 60), st.integers(0, 60))
def test_runs_are_sets(first, second, start, end):
    a, b = runs_of(array(first)), runs_of(array(second))
    assert members(a) == first
    assert members(joint([a, b])) == first | second
    assert (joint([a, b]) == runs_of(array(first | second))).all(), "neighbours are one"
    assert counted(a) == len(first)
    inside = {one for one in first if start <= one < end}
    assert members(within(a, start, end)) == inside
    assert members(decoded(encoded(a))) == first
    if start < end:
        assert {start + int(i) for i in np.flatnonzero(marked(a, start, end))} == inside
    whole = deleted_rows("t", "", 0, array(first), array(second))
    assert whole.count(start, end) == (len(inside), len({one for one in second if start <= one < end}))
    assert before(whole, end).count() == (len({x for x in first if x < end}), len({x for x in second if x < end}))


def test_offsets_of_63_bits():
    runs = runs_of(np.array([0, 2**62, 2**63 - 2]))
    assert decoded(encoded(runs)).tolist() == runs.tolist()
    assert members(joint([NO_RUNS])) == set()


def test_parts_of_a_partition_are_summed_and_ids_kept_apart():
    some = [deleted_rows("t", one, 0, array({number}), array(())) for number, one in enumerate("aab")]
    assert [(one.topic_id, one.count()) for one in summed(some)] == [("a", (2, 0)), ("b", (1, 0))]


def test_many_scattered_offsets_take_little_and_too_many_are_refused(monkeypatch):
    random = np.random.default_rng(1)
    offsets = np.flatnonzero(random.random(2_000_000) < 0.01)
    text = encoded(runs_of(offsets))
    assert len(text) < 5 * len(offsets)
    assert members(decoded(text)) == set(offsets.tolist())
    monkeypatch.setattr(module, "LOAD_DELETED_RUNS_MAX", 3)
    with pytest.raises(ValueError, match="4 runs"):
        encoded(runs_of(np.array([0, 2, 4, 6])))


@pytest.mark.parametrize("text", ["!", "AAAA", base64.b64encode(zlib.compress(b"123")).decode()])
def test_what_is_no_text_of_runs_is_refused(text):
    with pytest.raises(ValueError, match="can't be read"):
        decoded(text)


def test_a_text_that_inflates_to_more_than_is_kept_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LOAD_DELETED_RUNS_MAX", 10)
    with pytest.raises(ValueError, match="can't be read"):
        decoded(base64.b64encode(zlib.compress(bytes(1 << 20))).decode())
