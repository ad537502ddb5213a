"""Random filters and projections over a table, by each engine, give what the same gives over all of its rows in memory.

The history has files of ours, small and merged, of a time when a column was narrower, or such that another program rewrote; the log
goes on after them. Values are null, NaN, at the ends of their types, and beside each other.

    python -m pytest -m heavy tests/load/test_scans_differ_in_nothing.py     # thousands of cases
"""

import datetime
import os
import random
from decimal import Decimal

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

import headrace
from headrace.load.compaction import compact
from headrace.load.delta_target import DeltaTarget
from headrace.load.parquet_target import ParquetTarget
from headrace.load.pruning import pruning_of
from headrace.protocol.record_batch import Record
from headrace.spark.decoding import csv
from tests.load.loading import T0, load_inline

FEW, MANY = 20, 1000
NARROW = "n int, x double, name string, at timestamp, amount decimal(9,2), is_new boolean, day date"
WIDE = NARROW.replace("n int", "n long")
NAMES = ["a", "aa", "b", "B", "ä", "zz", "%", "it's"]
COLUMNS = ["topic", "partition", "offset", "timestamp", "key", *(part.split()[0] for part in NARROW.split(", "))]


def line(chance):
    def maybe(text):
        return "" if chance.random() < 0.15 else text

    day = datetime.datetime(2024, 1, chance.randint(1, 28), chance.randint(0, 23))
    fields = [
        maybe(str(chance.choice([0, 1, 7, -3, 2**31 - 1, -(2**31)]))),
        maybe(chance.choice(["NaN", "0.0", "-0.0", "1.5", "2.5", "-7.25", "Inf", "-Inf"])),
        maybe(f'"{chance.choice(NAMES)}"'),
        maybe(day.isoformat() + "Z"),
        maybe(f"{chance.randint(-300, 300) / 100:.2f}"),
        maybe(chance.choice(["true", "false"])),
        maybe(day.date().isoformat()),
    ]
    return ",".join(fields).encode()


@pytest.fixture(params=[ParquetTarget, DeltaTarget])
def table_and_rows(request, log, broker, tmp_path):
    chance = random.Random(7)
    target = request.param(tmp_path / "table")

    def produce(count):
        for partition in (0, 1, 2):
            name = partition_of(log, partition)
            end = log.ends[name]
            times = [T0 + (end + i) * 600_000 + chance.randint(0, 10**6) for i in range(count)]
            log.append(
                name, [Record(i, at, chance.choice([None, b"k", b"kk"]), line(chance)) for i, at in enumerate(times)]
            )

    decode = {"decode": csv(NARROW), "decode_mode": "null"}
    for number in range(5):
        produce(40)
        load_inline(broker, target, **decode)
        if number == 1:
            compact(target)
        if number == 3 and request.param is ParquetTarget:
            decode["decode"] = csv(WIDE)
        elif number == 3:
            DeltaTable(str(tmp_path / "table")).delete("n = 7 and partition = 1")
    produce(30)
    clicks = headrace.table(
        "clicks",
        history=target,
        bootstrap_servers=broker.address,
        columns=COLUMNS,
        decode=csv(WIDE),
        decode_mode="null",
    )
    with clicks.snapshot() as moment:
        yield moment, moment.read_all()


def partition_of(log, partition):
    from headrace.ids import TopicPartition

    name = TopicPartition("clicks", partition)
    return name if name in log.ends else log.create(*name)


VALUES = {
    "topic": ["clicks", "views"],
    "partition": [0, 1, 2, 3, -1],
    "offset": [0, 39, 40, 41, 100, 199, 200, 229, 230, 10**6, -5],
    "timestamp": [
        datetime.datetime.fromtimestamp(T0 / 1000 + 600 * i, datetime.UTC) for i in (0, 37, 40, 120, 210, 999)
    ],
    "key": [b"k", b"kk", b"", b"zz"],
    "n": [0, 1, 7, -3, 2**31 - 1, -(2**31), 2**31, 10**12],
    "x": [0.0, -0.0, 1.5, -7.25, 99.0, float("inf"), float("nan")],
    "name": [*NAMES, ""],
    "at": [datetime.datetime(2024, 1, day, 5, tzinfo=datetime.UTC) for day in (1, 9, 28)],
    "amount": [Decimal("0.00"), Decimal("1.25"), Decimal("-3.00"), Decimal("2.01")],
    "is_new": [True, False],
    "day": [datetime.date(2024, 1, day) for day in (1, 9, 28)],
}
COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]


def condition(chance, depth=0):
    """A condition as nested tuples."""
    kind = chance.random()
    if depth < 3 and kind < 0.45:
        return chance.choice(["and", "and", "or"]), condition(chance, depth + 1), condition(chance, depth + 1)
    if kind < 0.53:
        return "not", condition(chance, depth + 1)
    column = chance.choice([*COLUMNS, "offset", "offset", "partition", "timestamp"])
    if kind < 0.60:
        return "null", column, chance.random() < 0.5
    if kind < 0.70:
        return "in", column, chance.sample(VALUES[column], min(2, len(VALUES[column])))
    return "compare", column, chance.choice(COMPARISONS), chance.choice(VALUES[column])


def as_sql(one):
    if one[0] in ("and", "or"):
        return f"({as_sql(one[1])} {one[0]} {as_sql(one[2])})"
    if one[0] == "not":
        return f"(not {as_sql(one[1])})"
    name = f'"{one[1]}"'
    if one[0] == "null":
        return f"({name} is {'not ' if one[2] else ''}null)"
    if one[0] == "in":
        return f"({name} in ({', '.join(constant(value) for value in one[2])}))"
    return f"({name} {one[2]} {constant(one[3])})"


def constant(value):
    if isinstance(value, bytes):
        return "'{}'::blob".format("".join(f"\\x{byte:02x}" for byte in value))
    if isinstance(value, datetime.datetime):
        return f"timestamptz '{value.isoformat()}'"
    if isinstance(value, datetime.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, float):
        return f"'{value}'::double"
    if isinstance(value, str):
        return "'{}'".format(value.replace("'", "''"))
    return str(value)


def by_comparison(field, comparison, value):
    ways = {
        "=": field.__eq__,
        "<>": field.__ne__,
        "<": field.__lt__,
        "<=": field.__le__,
        ">": field.__gt__,
        ">=": field.__ge__,
    }
    return ways[comparison](value)


def as_expression(one, field, scalar):
    """Of pyarrow, or of Polars."""
    if one[0] in ("and", "or"):
        left, right = (as_expression(part, field, scalar) for part in one[1:])
        return left & right if one[0] == "and" else left | right
    if one[0] == "not":
        return ~as_expression(one[1], field, scalar)
    if one[0] == "null":
        is_null = field(one[1]).is_null()
        return ~is_null if one[2] else is_null
    if one[0] == "in":
        return scalar(one[1], one[2], True)
    return by_comparison(field(one[1]), one[2], scalar(one[1], one[3], False))


def of_arrow(schema):
    def scalar(name, value, is_list):
        kind = schema.field(name).type
        if pa.types.is_decimal(kind):
            kind = pa.decimal128(9, 2)
        return pc.field(name).isin(pa.array(value, kind)) if is_list else pa.scalar(value, kind)

    return scalar


def of_polars(frame):
    def scalar(name, value, is_list):
        if not is_list:
            return polars.lit(value, dtype=frame.schema[name])
        return polars.col(name).is_in(value)

    return scalar


def cases(count):
    seed = int(os.environ.get("SEED", "1"))
    chance = random.Random(seed)
    for number in range(count):
        columns = chance.sample(COLUMNS, chance.randint(1, 4))
        yield f"seed {seed}, case {number}", condition(chance), columns


def check_arrow(moment, rows, count):
    pushed = set()
    for what, one, columns in cases(count):
        where = as_expression(one, pc.field, of_arrow(rows.schema))
        pushed.add(pruning_of(where, rows.schema).is_pushed)
        found = moment.to_table(columns=columns, filter=where)
        expected = rows.filter(where).select(columns)
        assert as_text(found) == as_text(expected), (what, as_sql(one), columns)
        assert moment.count_rows(filter=where) == expected.num_rows, (what, as_sql(one))
    assert pushed == {True, False}, "floats are not"


def check_duckdb(moment, rows, count):
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for what, one, columns in cases(count):
            chosen = ", ".join(f'"{name}"' for name in columns)
            text = f"select {chosen} from {{}} where {as_sql(one)}"
            found = connection.sql(text.format("moment")).to_arrow_table()
            expected = connection.sql(text.format("rows")).to_arrow_table()
            assert as_text(found) == as_text(expected), (what, text)
            text = f"select count(*) from {{}} where {as_sql(one)}"
            found = connection.sql(text.format("moment")).fetchall()
            expected = connection.sql(text.format("rows")).fetchall()
            assert found == expected, (what, text)


def check_polars(moment, rows, count):
    frame = polars.DataFrame(rows)
    for what, one, columns in cases(count):
        where = as_expression(one, polars.col, of_polars(frame))
        found = moment.lazy().filter(where).select(columns).collect()
        expected = frame.lazy().filter(where).select(columns).collect()
        assert as_text(found.to_arrow()) == as_text(expected.to_arrow()), (what, as_sql(one), columns)
        few = moment.lazy().head(150).filter(where).select(polars.len()).collect().item()
        assert few == frame.head(150).filter(where).height, (what, as_sql(one))


def as_text(table):
    """Rows in an order, and NaN equal to itself."""
    return sorted(str(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True))


CHECKS = [check_arrow, check_duckdb, check_polars]


@pytest.mark.parametrize("check", CHECKS)
def test_random_filters_and_projections(table_and_rows, check):
    check(*table_and_rows, FEW)


@pytest.mark.heavy
@pytest.mark.parametrize("check", CHECKS)
def test_thousands_of_random_filters_and_projections(table_and_rows, check):
    check(*table_and_rows, MANY)
