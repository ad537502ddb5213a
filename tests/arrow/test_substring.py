"""Which values hold some bytes: what Arrow's own function says, whatever their lengths and wherever the bytes lie."""

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.arrow.substring import Contains

BLOCK_BYTES = 64  # of the kernel


def batch_of(values):
    return pa.RecordBatch.from_arrays([values], names=["value"])


@pytest.mark.parametrize("seed", range(8))
def test_what_arrow_says_of_random_values(seed):
    dice = random.Random(seed)
    for _ in range(40):
        letters = bytes(dice.sample(range(256), dice.choice([1, 2, 3, 20])))
        values = [
            None if dice.random() < 0.1 else bytes(dice.choices(letters, k=dice.choice([0, 1, 2, 5, 63, 64, 65, 300])))
            for _ in range(dice.randrange(60))
        ]
        kind = dice.choice([pa.binary(), pa.large_binary()])
        whole = pa.array(values, kind)
        low = dice.randrange(len(values) + 1)
        for array in (whole, whole.slice(low), whole.slice(0, low)):
            needle = bytes(dice.choices(letters, k=dice.choice([0, 1, 2, 3, 9, BLOCK_BYTES, 70])))
            found = Contains("value", needle)(batch_of(array))
            assert found.to_pylist() == pc.match_substring(array, needle).to_pylist()


def test_a_match_that_runs_into_the_next_value_is_none():
    values = pa.array([b"x" * 100 + b"ab", b"cd" + b"x" * 100, b"", b"abcd", b"ab"])
    assert Contains("value", b"abcd")(batch_of(values)).to_pylist() == [False, False, False, True, False]
    assert Contains("value", b"x")(batch_of(values)).to_pylist() == [True, True, False, False, False]


def test_the_second_match_in_a_value_counts_where_the_first_runs_out_of_the_one_before():
    values = pa.array([b"-aa", b"aaa-", b"aa"])
    assert Contains("value", b"aaa")(batch_of(values)).to_pylist() == [False, True, False]


@pytest.mark.parametrize("needle", ["error", b"777", 'a"b\\c\n', "ü", "{, }", '", ignore_case=false})', ""])
def test_an_expression_that_says_this_and_no_more(needle):
    found = Contains.of(pc.match_substring(pc.field("value"), needle))
    assert found == Contains("value", needle.encode() if isinstance(needle, str) else needle)


@pytest.mark.parametrize(
    "other",
    [
        pc.match_substring(pc.field("value"), "a", ignore_case=True),
        pc.match_substring(pc.field("value"), b"\xff"),
        pc.match_substring(pc.field("value"), "a") & pc.match_substring(pc.field("key"), "b"),
        pc.match_substring(pc.field("value").cast(pa.binary()), "a"),
        pc.match_substring_regex(pc.field("value"), "a"),
        pc.match_substring(pc.field("value", "part"), "a"),
        pc.field("offset") > 5,
        lambda batch: batch,
        None,
    ],
)
def test_other_expressions_stay_as_they_are(other):
    assert Contains.of(other) is None


def test_a_field_whose_name_says_more_is_not_taken_for_another():
    tricky = pc.match_substring(pc.field('value, {pattern="a", ignore_case=false}), (x'), "b")
    assert Contains.of(tricky) is None
