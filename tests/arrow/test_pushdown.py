"""Filters that narrow the plan: bounds are right whatever the filter, and equal to what it says where Arrow sees through it."""

import datetime
import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headrace.arrow
from headrace.arrow.column_types import ARROW_TYPES, arrow_schema
from headrace.arrow.planner import plan
from headrace.arrow.pushdown import INT64_LAST, Pushed, pushed
from headrace.arrow.scan_options import ScanOptions
from headrace.ids import TopicPartition
from headrace.protocol.record_batch import Record

SCHEMA = arrow_schema(("offset", "partition", "topic", "timestamp", "value"))
OFFSET, PARTITION, TIME, VALUE = (pc.field(name) for name in ("offset", "partition", "timestamp", "value"))
SECOND = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (None, Pushed()),
        (lambda batch: batch, Pushed()),
        (OFFSET > 5, Pushed(6)),
        (OFFSET >= 5, Pushed(5)),
        (OFFSET < 5, Pushed(0, 4)),
        ((OFFSET > 5) & (OFFSET <= 100), Pushed(6, 100)),
        (OFFSET == 7, Pushed(7, 7)),
        (OFFSET.isin([9, 3]), Pushed(3, 9)),
        ((OFFSET == 3) | (OFFSET == 9), Pushed(3, 9)),
        (~(OFFSET < 6), Pushed(6)),
        ((OFFSET > 5) | (PARTITION == 1), Pushed()),
        (VALUE == b"x", Pushed()),
        (TIME >= SECOND, Pushed(0, INT64_LAST, 1_000_000)),
        ((TIME > SECOND) & (OFFSET > 1), Pushed(2, INT64_LAST, 1_000_001)),
        (pa.scalar(1000, pa.timestamp("ms", tz="UTC")) <= TIME, Pushed(0, INT64_LAST, 1_000_000)),
        (TIME < SECOND, Pushed()),
        (OFFSET + 1 > 6, Pushed()),
        (OFFSET > 4.5, Pushed(5)),
        (OFFSET < 4.5, Pushed()),
        ((OFFSET > 4.5) & (PARTITION > 0.5), Pushed(5)),
    ],
)
def test_bounds_of_a_filter(where, wanted):
    assert pushed(where, SCHEMA) == wanted


def test_a_filter_that_nothing_can_match_has_bounds_without_offsets():
    found = pushed((OFFSET > 5) & (OFFSET < 3), SCHEMA)
    assert found.first > found.last


def test_columns_that_are_not_read_give_no_bounds():
    assert pushed(VALUE == b"x", arrow_schema(("value",))) == Pushed()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_row_that_matches_lies_outside_of_the_bounds(seed):
    dice = random.Random(seed)
    rows = {
        "offset": pa.array(range(60)),
        "partition": pa.array([dice.randrange(3) for _ in range(60)], pa.int32()),
        "timestamp": pa.array([dice.randrange(50) for _ in range(60)]).cast(ARROW_TYPES["timestamp"]),
    }
    table = pa.table(rows)

    def leaf():
        name, least = dice.choice([("offset", 60), ("partition", 3), ("timestamp", 50)])
        value = pa.scalar(dice.randrange(least), table.schema.field(name).type)
        field = pc.field(name)
        return dice.choice(
            [field < value, field <= value, field > value, field >= value, field == value, field != value]
        )

    def tree(depth):
        if not depth:
            return leaf()
        one, other = tree(depth - 1), tree(depth - 1)
        return dice.choice([one & other, one | other, ~one])

    narrow = 0
    for _ in range(100):
        where = tree(dice.randrange(4))
        found = pushed(where, table.schema)
        kept = table.filter(where)
        for offset, time in zip(
            kept["offset"].to_pylist(), kept["timestamp"].cast(pa.int64()).to_pylist(), strict=True
        ):
            assert found.first <= offset <= found.last, where
            assert found.earliest_us is None or time >= found.earliest_us, where
        narrow += found != Pushed()
    assert narrow > 10


@pytest.fixture
def clicks(log):
    """Two partitions of 40 records, a second apart."""
    for partition in range(2):
        for number in range(4):
            records = [Record(index, 1000 * (10 * number + index), b"k", b"v") for index in range(10)]
            log.append(TopicPartition("clicks", partition), records)
    return log


def planned(broker, where):
    options = ScanOptions(broker.address, ("clicks",), where=where, where_schema=SCHEMA)
    return [(one.partition, one.start, one.end) for one in plan(options)]


def test_the_plan_is_narrowed(clicks, broker):
    assert planned(broker, OFFSET < 3) == [(0, 0, 3), (1, 0, 3)]
    assert planned(broker, (PARTITION == 1) & (OFFSET > 37)) == [(1, 38, 40)]
    assert planned(broker, datetime.datetime(1970, 1, 1, 0, 0, 20, tzinfo=datetime.UTC) <= TIME) == [
        (0, 20, 40),
        (1, 20, 40),
    ]
    assert planned(broker, datetime.datetime(1980, 1, 1, tzinfo=datetime.UTC) < TIME) == []
    assert planned(broker, (OFFSET > 5) & (OFFSET < 3)) == []
    assert planned(broker, pc.field("topic") == "other") == []
    assert planned(broker, OFFSET > 37.5) == [(0, 38, 40), (1, 38, 40)]
    assert planned(broker, PARTITION > 0.5) == [(1, 0, 40)]
    assert planned(broker, VALUE == b"v") == [(0, 0, 40), (1, 0, 40)]


def test_a_reader_without_spark_reads_what_is_left(clicks, broker):
    columns = "partition,offset,timestamp"
    where = (PARTITION == 1) & (OFFSET >= 35)
    found = headrace.arrow.open("clicks", bootstrap_servers=broker.address, columns=columns, where=where)
    assert [(row["partition"], row["offset"]) for row in found.read_all().to_pylist()] == [
        (1, n) for n in range(35, 40)
    ]


def test_bounds_are_told():
    assert pushed((OFFSET > 5) & (TIME >= SECOND), SCHEMA).describe() == (
        "offset >= 6, timestamp >= 1970-01-01T00:00:01+00:00"
    )
    assert Pushed(earliest_us=2**62).describe() == f"timestamp >= {2**62} us"
    assert Pushed().describe() == ""
