"""Filters over views: the rows that Arrow keeps of the same batch without views, and views that stay where they lie."""

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.arrow.column_types import arrow_schema
from headrace.arrow.row_filter import RowFilter

NAMES = ("partition", "offset", "key", "value")
VIEWED = arrow_schema(NAMES, are_views=True)
PLAIN = arrow_schema(NAMES)
OFFSET, KEY, VALUE = (pc.field(name) for name in ("offset", "key", "value"))

FILTERS = {
    "other columns": OFFSET >= 5,
    "equal": VALUE == b"v7",
    "less": VALUE < b"v3",
    "both": (KEY == b"k1") | (VALUE == b"a value that is longer than twelve bytes"),
    "null": pc.is_null(VALUE),
    "not null": ~pc.is_null(KEY) & (OFFSET < 9),
    "in": VALUE.isin([b"v1", b"v2"]),
    "substring": pc.match_substring(VALUE, "longer"),
    "cast": pc.starts_with(VALUE.cast(pa.string()), "v"),
    "length": pc.binary_length(KEY) > 1,
    "other type": OFFSET > 4.5,
    "all": OFFSET >= 0,
    "none": OFFSET < 0,
    "no column": pc.scalar(True),
    "no column, none": pc.scalar(False),
    "null for each": pc.scalar(None).cast(pa.bool_()),
}


def batch_of(dice, rows):
    def some(letter):
        return [
            dice.choice([None, b"", b"%s%d" % (letter, dice.randrange(9)), b"a value that is longer than twelve bytes"])
            for _ in range(rows)
        ]

    columns = [[dice.randrange(3) for _ in range(rows)], list(range(rows)), some(b"k"), some(b"v")]
    plain = pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, PLAIN.types, strict=True)], schema=PLAIN
    )
    views = [column.cast(kind) for column, kind in zip(plain.columns, VIEWED.types, strict=True)]
    return plain, pa.RecordBatch.from_arrays(views, schema=VIEWED)


@pytest.mark.parametrize("where", FILTERS.values(), ids=FILTERS.keys())
def test_the_rows_are_those_that_arrow_keeps_without_views(where):
    dice = random.Random(3)
    row_filter = RowFilter(where, VIEWED)
    for rows in (0, 1, 7, 8, 9, 100):
        plain, views = batch_of(dice, rows)
        for start in (0, 1, 9):
            kept = row_filter.kept(views.slice(start))
            kept.validate(full=True)
            assert kept.schema == VIEWED
            assert kept.to_pylist() == plain.slice(start).filter(where).to_pylist()


def test_bytes_stay_where_they_lie():
    _plain, views = batch_of(random.Random(5), 50)
    kept = RowFilter(pc.match_substring(VALUE, "longer"), VIEWED).kept(views)
    assert kept.num_rows
    assert [one.address for one in kept.column("value").buffers()[2:]] == [
        one.address for one in views.column("value").buffers()[2:]
    ]


def test_a_filter_that_makes_no_sense_is_refused_before_anything_is_read():
    for where, said in (
        (pc.field("page") == "p1", "page"),
        (OFFSET + 1, "it returns int64"),
        (VALUE == 5, "value"),
        (pc.match_substring(OFFSET, "x"), "match_substring"),
    ):
        with pytest.raises(ValueError, match=said) as caught:
            RowFilter(where, VIEWED)
        assert "it sees partition int32, offset int64, key binary, value binary" in str(caught.value)
