"""Partial aggregates in the worker, without Spark: merged, they are what the records give."""

import random

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.spark import partial_aggregates
from headrace.spark.partial_aggregates import DISTINCT, WINDOW_START, Partials, parse_aggregates

NAN, INF = float("nan"), float("inf")
READ = pa.schema(
    [
        ("key", pa.binary()),
        ("page", pa.string()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("n", pa.int32()),
        ("x", pa.float64()),
    ]
)
ALL = parse_aggregates(
    {
        "records": "count()",
        "again": "count(*)",
        "total": "sum(n)",
        "other": "sum( x )",
        "least": "min(key)",
        "most": "max(n)",
        "users": "approx_count_distinct(key)",
    }
)


def rows_of(dice, count):
    return [
        {
            "key": dice.choice([None, b"a", b"b", b"c"]),
            "page": dice.choice([None, "x", "y"]),
            "timestamp": dice.randrange(-5_000_000, 5_000_000),
            "n": dice.choice([None, dice.randrange(-9, 9)]),
            "x": float(dice.randrange(100)),
        }
        for _ in range(count)
    ]


def batches_of(rows, size):
    for first in range(0, len(rows), size):
        yield pa.RecordBatch.from_pylist(rows[first : first + size], READ)


def merged(partials, batches):
    """As Spark merges them."""
    groups = {}
    names = [*partials.keys, *([WINDOW_START] if partials.window_us else [])]
    for batch in partials.of(batches, READ):
        assert batch.schema == partials.schema(READ)
        if partials.window_us:
            batch = batch.set_column(len(partials.keys), WINDOW_START, batch[WINDOW_START].cast(pa.int64()))
        for row in batch.to_pylist():
            group = groups.setdefault(tuple(row[name] for name in names), {})
            for one in partials.aggregates:
                group.setdefault(one.name, []).append(row[one.name])
    return {
        key: {one.name: final(one, group[one.name]) for one in partials.aggregates} for key, group in groups.items()
    }


def final(one, values):
    known = [value for value in values if value is not None]
    if one.function == DISTINCT:
        return len(set(known))
    if not known:
        return None
    return {"count": sum, "sum": sum, "min": min, "max": max}[one.function](known)


def wanted(partials, rows):
    groups = {}
    for row in rows:
        key = tuple(row[name] for name in partials.keys)
        if partials.window_us:
            key += (row["timestamp"] // partials.window_us * partials.window_us,)
        groups.setdefault(key, []).append(row)
    return {
        key: {
            one.name: len(group) if one.function == "count" else final(one, [row[one.column] for row in group])
            for one in partials.aggregates
        }
        for key, group in groups.items()
    }


@pytest.mark.parametrize("keys", [(), ("page",), ("page", "key")])
@pytest.mark.parametrize("window_us", [0, 1_000_000])
def test_merged_partials_are_what_the_records_give(keys, window_us, monkeypatch):
    rows = rows_of(random.Random(1), 500)
    partials = Partials(keys, ALL, window_us)
    for bound in (3, 100, 10**6):
        monkeypatch.setattr(partial_aggregates, "PARTIAL_GROUPS_MAX", bound)
        assert merged(partials, batches_of(rows, 37)) == wanted(partials, rows)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
def test_nan_is_the_largest_float_as_in_spark(kind, monkeypatch):
    read = pa.schema([("page", pa.string()), ("x", kind)])
    aggregates = parse_aggregates(
        {"most": "max(x)", "least": "min(x)", "again": "max(x)", "n": "count()", "m": "count()"}
    )
    pages = {
        "a": [2.5, None, NAN],
        "b": [NAN, NAN],
        "c": [-1.5, -2.5, None],
        "d": [None],
        "e": [-0.0],
        "f": [-INF, INF],
    }
    rows = [{"page": page, "x": x} for page, values in pages.items() for x in values]
    wanted = {
        "a": ("nan", "2.5", "nan", "3"),
        "b": ("nan", "nan", "nan", "2"),
        "c": ("-1.5", "-2.5", "-1.5", "3"),
        "d": ("None", "None", "None", "1"),
        "e": ("-0.0", "-0.0", "-0.0", "1"),
        "f": ("inf", "-inf", "inf", "2"),
    }
    for size in (1, 2, len(rows)):
        batches = (pa.RecordBatch.from_pylist(rows[at : at + size], read) for at in range(0, len(rows), size))
        (found,) = Partials(("page",), aggregates).of(batches, read)
        assert found.schema == Partials(("page",), aggregates).schema(read)
        assert {
            row["page"]: tuple(str(row[name]) for name in ("most", "least", "again", "n")) for row in found.to_pylist()
        } == wanted
        assert found["n"] == found["m"]


def test_few_rows_come_out_of_many():
    rows = rows_of(random.Random(2), 2000)
    found = list(Partials(("page",), ALL).of(batches_of(rows, 100), READ))
    assert sum(batch.num_rows for batch in found) == 3 + 3 * 4  # a row for each page, and its distinct keys
    assert list(Partials((), ALL).of(iter(()), READ)) == []


def test_distinct_alone_and_columns_to_read():
    partials = Partials((), parse_aggregates({"users": "approx_count_distinct(key)"}))
    assert partials.columns() == ("key",)
    assert merged(partials, batches_of(rows_of(random.Random(3), 50), 7))[()] == {"users": 3}
    assert Partials((), parse_aggregates({"n": "count()"})).columns() == ("offset",)
    assert Partials(("page",), ALL, 5).columns() == ("page", "timestamp", "n", "x", "key")


def test_sums_that_pass_a_long_are_left_to_spark_or_refused():
    read = pa.schema([("n", pa.int64())])
    partials = Partials((), parse_aggregates({"total": "sum(n)"}))
    large = pa.RecordBatch.from_pydict({"n": [2**62]}, read)
    found = [row["total"] for batch in partials.of(iter([large] * 4), read) for row in batch.to_pylist()]
    assert sum(found) == 4 * 2**62
    assert max(found) < 2**63
    with pytest.raises(HeadraceError, match="total: the sum of one batch"):
        list(partials.of(iter([pa.RecordBatch.from_pydict({"n": [2**62] * 2}, read)]), read))
    near = pa.RecordBatch.from_pydict({"n": [2**62, -(2**62), 5]}, read)
    assert [row["total"] for batch in partials.of(iter([near]), read) for row in batch.to_pylist()] == [5]


@pytest.mark.parametrize("text", ["", "n", "median(n)", "sum()", "count(n)", "sum(a, b)", 5, "sum(n"])
def test_what_is_no_aggregate_is_refused_by_name(text):
    with pytest.raises(ValueError, match="aggregate bad="):
        parse_aggregates({"bad": text})
    with pytest.raises(ValueError, match="at least one"):
        parse_aggregates({})


def test_what_has_no_sum_is_refused_by_name():
    with pytest.raises(ValueError, match="t: sum of key, which is binary"):
        Partials((), parse_aggregates({"t": "sum(key)"})).schema(READ)
