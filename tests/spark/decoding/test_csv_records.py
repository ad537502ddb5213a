"""CSV into columns: a line a record, whatever its neighbours hold."""

import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from headrace.spark.decoding import csv

NOTHING = (None, None)
NASTY = [
    (b"1,x", (1, "x"), ""),
    (None, NOTHING, ""),
    (b"", NOTHING, "the value is empty"),
    (b",", NOTHING, ""),
    (b',""', (None, ""), ""),
    (b'1,"a ""b"", c"', (1, 'a "b", c'), ""),
    (b" 2 , s ", (2, " s "), ""),
    (b"1", NOTHING, "1 fields, expected 2"),
    (b"1,2,3", NOTHING, "3 fields, expected 2"),
    (b"x,1", NOTHING, "invalid value 'x'"),
    (b"9223372036854775808,", NOTHING, "invalid value"),
    (b"1.5,x", NOTHING, "invalid value '1.5'"),
    (b"1,\xff", NOTHING, "UTF8"),
    (b"1,\xc3\xa9", (1, "é"), ""),
    (b"1,a\nb", NOTHING, "a line break"),
    (b'1,"a\nb"', NOTHING, "a line break"),
    (b"1,a\r", NOTHING, "a line break"),
    (b'1,b"x"', (1, 'b"x"'), ""),
    (b'"1,x', NOTHING, "Expected 2 columns, got 1"),
    (b"1,NULL", (1, "NULL"), ""),
]


def decoded(values, ddl="a long, s string", **arguments):
    decoder = csv(ddl, **arguments)
    found = decoder.decode(pa.array(values, pa.binary()), decoder.fields("value").names)
    for column in found.columns:
        column.validate(full=True)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True)), found.reasons


@pytest.mark.parametrize(("value", "row", "reason"), NASTY)
def test_a_record_alone(value, row, reason):
    rows, reasons = decoded([value])
    assert rows == [row]
    assert bool(reasons) == bool(reason)
    assert reason in reasons.get(0, "")


@pytest.mark.slow
def test_a_record_among_others_is_what_it_is_alone():
    seed = random.randrange(10**9)
    dice = random.Random(seed)
    for count in [*[4] * 100, *[600] * 3]:
        picked = dice.choices(NASTY, k=count)
        rows, reasons = decoded([value for value, _row, _reason in picked])
        assert rows == [row for _value, row, _reason in picked], seed
        assert set(reasons) == {index for index, (_v, _r, reason) in enumerate(picked) if reason}, seed


def test_an_open_quote_takes_in_no_neighbour():
    rows, reasons = decoded([b'1,"open', b'2,close"', b"3,x"])
    assert rows[2] == (3, "x")
    assert rows[1] == (2, 'close"')
    assert not reasons.keys() & {1, 2}


def test_types_and_a_delimiter():
    rows, reasons = decoded(
        [b"2024-01-02T03:04:05Z|2024-01-02|1.25|TRUE|nan|2024-01-02 03:04:05+02:00", b"2024-01-02 03:04:05||||1e3|2024-01-02", b"no|||||"],
        "t timestamp, d date, m decimal(6,2), o boolean, f double, u timestamp",
        delimiter="|",
    )  # fmt: skip
    at = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert rows[0][:4] == (at, date(2024, 1, 2), Decimal("1.25"), True)
    assert rows[0][5] == datetime(2024, 1, 2, 1, 4, 5, tzinfo=UTC)
    assert rows[1] == (at, None, None, None, 1000.0, datetime(2024, 1, 2, tzinfo=UTC))
    assert rows[2] == (None,) * 6
    assert list(reasons) == [2]


def test_one_column():
    assert decoded([b"a", b"", None, b'""'], "s string") == (
        [("a",), (None,), (None,), ("",)],
        {1: "the value is empty"},
    )
    assert decoded([None, None], "s string") == ([(None,), (None,)], {})


def test_only_the_columns_asked_for_are_checked():
    decoder = csv("a long, s string, b int")
    found = decoder.decode(pa.array([b"x,y,z"], pa.binary()), ["s"])
    assert (found.columns[0].to_pylist(), found.reasons) == (["y"], {})


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"schema": "a array<int>"}, "CSV has no array"),
        ({"schema": "a int", "delimiter": "::"}, "delimiter '::' must be one ASCII character"),
        ({"schema": "a int", "delimiter": '"'}, "must be one ASCII character, no quote"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        csv(**arguments)
