"""A range planned over a fake broker, read, and what the plain reader says should come out."""

import dataclasses

import pyarrow as pa

from headrace.arrow.column_types import ALL_COLUMNS, arrow_schema
from headrace.arrow.planner import plan
from headrace.arrow.ranges import read_range
from headrace.arrow.scan_options import ScanOptions
from headrace.ids import TopicPartition

NAME = TopicPartition("clicks", 0)


def range_of(broker, start=None, end=None, name=NAME):
    """The planned range, cut to start..end."""
    (one,) = [one for one in plan(ScanOptions(broker.address, (name.topic,))) if one.partition == name.partition]
    return dataclasses.replace(one, start=one.start if start is None else start, end=one.end if end is None else end)


def rows_of(one, columns=ALL_COLUMNS, rows_per_batch=1000):
    return pa.Table.from_batches(read_range(one, columns, rows_per_batch), arrow_schema(columns)).to_pylist()


def expected(log, start, end, name=NAME):
    return [
        {
            "key": record.key,
            "value": record.value,
            "offset": record.offset,
            "milliseconds": record.timestamp_ms,
            "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
            "key_length": None if record.key is None else len(record.key),
            "value_length": None if record.value is None else len(record.value),
            "topic": name.topic,
            "partition": name.partition,
        }
        for record in log.records(name)
        if start <= record.offset < end
    ]


def compared(rows):
    out = []
    for row in rows:
        row = dict(row)
        row["milliseconds"] = round(row.pop("timestamp").timestamp() * 1000)
        row.pop("timestampType")
        out.append(row)
    return out
