"""What a condition is, which rows it is true for, and what it may not do."""

import pyarrow as pa
import pytest

from headrace.load.predicate import Predicate

TABLE = pa.table(
    {
        "offset": pa.array(range(4), pa.int64()),
        "key": pa.array([b"a", b"b", None, b"\xff"], pa.binary()),
        "timestamp": pa.array([0, 1, 2, None], pa.timestamp("us", "UTC")),
        "page": ["x", "y", "z", None],
        "at": pa.array([{"user": "u"}, {"user": "v"}, None, {"user": None}]),
    }
)


@pytest.mark.parametrize(
    ("text", "expected", "columns"),
    [
        ('"offset" = 2', [2], ("offset",)),
        ("key = 'a'", [0], ("key",)),
        ("key = 'a'::blob or KEY is null", [0, 2], ("key",)),
        ("page <> 'x'", [1, 2], ("page",)),
        ("page in ('x', 'z') -- these", [0, 2], ("page",)),
        ("timestamp < '1970-01-01 00:00:00.000002'", [0, 1], ("timestamp",)),
        ("timestamp is null", [3], ("timestamp",)),
        ("\"at\".user = 'v'", [1], ("at",)),
        ("try_cast(key as varchar) like 'b%'", [1], ("key",)),
        ("case when page = 'x' then true end", [0], ("page",)),
        ("true", [0, 1, 2, 3], ()),
        ("timestamp > now() - interval 90 days", [], ("timestamp",)),
    ],
)
def test_rows_that_it_is_true_for(text, expected, columns):
    predicate = Predicate(text)
    assert predicate.columns(TABLE.schema) == columns
    table = TABLE.select(columns) if columns else pa.table({"_": pa.nulls(4)})
    assert [i for i, goes in enumerate(predicate.mask(table)) if goes] == expected
    assert predicate.mask(table.slice(0, 0)).tolist() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("offset = 2", "double quotes"),
        ("true) from rows; drop table x; select (true", "syntax error"),
        ("true); copy rows to 'x'; select (true", "syntax error"),
        ("page = 'x'; select 1", "more than one statement|not one"),
        ("page = 'x';", "not one expression"),
        ("page = 'x', page = 'y'", "single expression"),
        ("page = 'x' order by 1", "not an expression list|syntax error"),
        ("exists (select 1)", "a subquery"),
        ("page in (select column0 from 'x.csv')", "a subquery"),
        ("count(*) > 1", "all rows together"),
        ("row_number() over () = 1", "window"),
        ("page = ?", "a parameter"),
        ("columns('p.*') = 'x'", "a star"),
        ("nosuch = 1", "the columns are offset, key"),
        ('"offset"', "is a BIGINT"),
        ("unnest([true, false])", "returns 8 rows for 4|UNNEST"),
        ("decode(key) = 'a'", "blob"),
        ("", "selection list"),
        ("read_text('x') = 'y'", "read_text"),
    ],
)
def test_what_is_no_condition_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        check(text)


def check(text):
    predicate = Predicate(text)
    predicate.columns(TABLE.schema)
    predicate.mask(TABLE)


def test_values_that_time_and_arrow_have_do_not_change_the_order():
    table = pa.table({"n": pa.array(range(300_000), pa.int64())})
    mask = Predicate("n % 7 = 3").mask(table)
    assert mask.nonzero()[0].tolist() == [*range(3, 300_000, 7)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"offset" = 5', "(offset == 5)"),
        ("5 > \"offset\" and page = 'x'", '((offset < 5) and (page == "x"))'),
        ("\"offset\" = 5 or page = 'x'", "None"),
        ("page = 'x' and (\"offset\" = 5 or true) and lower(page) = 'x'", '(page == "x")'),
        ('"offset" = 5.5', "None"),
        ("not (page = 'x')", "None"),
        ("page = 5", "None"),
        ("key = 'a'", "None"),
        ('"offset" = 99999999999999999999', "None"),
    ],
)
def test_what_statistics_are_asked(text, expected):
    assert str(Predicate(text).bounds(TABLE.schema)) == expected
