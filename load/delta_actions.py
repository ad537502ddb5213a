"""Actions of Delta's log as its usual writers (delta-rs, Spark) make them: what they do with our files they find by these.

    path    plain: topic=clicks/hour=2026-11-23-14/...; other writers compare the text. A remove spells it as the add did
    stats   least and greatest value of each column, or of none: readers pass over a file by a column that has none beside columns that do
            (deltalake's pyarrow data sets). So there are none where a column has floats, whose bounds leave NaN out, or nulls alone

Pure, but for the footers of files.

Source: the Delta transaction log protocol, add, remove, metaData, per-file statistics.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.load.commits import DataFile, LiveFile
from headrace.load.hour_files import NO_HOUR
from headrace.load.lost_history import ACCEPTED
from headrace.load.schemas import evolved

TEXT_MOST = 32  # characters of a text in statistics
LAST_CHARACTER = "\U0010ffff"


def path_text(path: str) -> str:
    """A path below the root, as a URI."""
    return quote(path, safe="/=")


def texts_by_path(texts: list[str]) -> dict[str, str]:
    """Paths as the log spells them, by path below the root."""
    return {unquote(text): text for text in texts}


def add_of(root: Path, one: DataFile, now_ms: int, *, is_data: bool) -> dict[str, Any]:
    """The add of a file of ours. raises OSError, pa.ArrowInvalid"""
    return {
        "path": path_text(one.path),
        "partitionValues": values_of(one),
        "size": one.bytes,
        "modificationTime": now_ms,
        "dataChange": is_data,
        "stats": json.dumps(stats_of(root / one.path, one.rows)),
    }


def remove_of(one: DataFile, text: str, now_ms: int, *, is_data: bool) -> dict[str, Any]:
    """The remove of a file of ours, which the log spells so."""
    return {
        "path": text,
        "deletionTimestamp": now_ms,
        "dataChange": is_data,
        "extendedFileMetadata": True,
        "partitionValues": values_of(one),
        "size": one.bytes,
    }


def add_of_others(root: Path, one: LiveFile, now_ms: int) -> dict[str, Any]:
    """The add of what is left of a file of others. raises OSError, pa.ArrowInvalid"""
    return {
        "path": path_text(one.path),
        "partitionValues": {"topic": one.topic or None, "hour": one.hour or None},
        "size": one.bytes,
        "modificationTime": now_ms,
        "dataChange": True,
        "stats": json.dumps(stats_of(root / one.path, one.rows)),
    }


def remove_of_others(one: LiveFile, text: str, now_ms: int) -> dict[str, Any]:
    """The remove of a file of others."""
    return {
        "path": text,
        "deletionTimestamp": now_ms,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {"topic": one.topic or None, "hour": one.hour or None},
        "size": one.bytes,
    }


def values_of(one: DataFile) -> dict[str, str | None]:
    """Of the partition columns."""
    return {"topic": one.topic, "hour": None if one.hour == NO_HOUR else one.hour}


def metadata_of(table: Any, schema: pa.Schema) -> dict[str, Any]:
    """The table's metaData action with more columns; partition columns and what others added stay. Which commit its owner said that
    it is at is said by the next commit from now on.
    """
    from deltalake import Schema

    known = table.metadata()
    past = pa.schema(table.schema().to_arrow())
    past = pa.schema(
        [
            (field.name, field.type if field.name not in schema.names else schema.field(field.name).type)
            for field in past
        ]
    )
    return {
        "id": known.id,
        "name": known.name,
        "description": known.description,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": Schema.from_arrow(evolved(past, schema)).to_json(),
        "partitionColumns": list(known.partition_columns),
        "configuration": {key: value for key, value in known.configuration.items() if key != ACCEPTED},
        "createdTime": known.created_time,
    }


def stats_of(path: Path, rows: int) -> dict[str, Any]:
    """Statistics of a file by its footer. raises OSError, pa.ArrowInvalid"""
    footer = pq.read_metadata(path)
    schema = footer.schema.to_arrow_schema()
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name in schema.names:
        kind = schema.field(name).type
        if pa.types.is_binary(kind) or pa.types.is_nested(kind) or name == "topic":
            continue
        bounds = None if pa.types.is_floating(kind) else _bounds(footer, name)
        if bounds is None:
            return {"numRecords": rows}
        least[name], greatest[name], nulls[name] = bounds
    return {"numRecords": rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}


def _bounds(footer: pq.FileMetaData, name: str) -> tuple[Any, Any, int] | None:
    """(least, greatest, nulls) of a column in JSON; None where they are not known, or can't be said."""
    found: list[Any] = []
    nulls = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        column = next(group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == name)
        statistics = column.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        nulls += statistics.null_count
        if statistics.has_min_max:
            try:
                found += [statistics.min, statistics.max]
            except (OverflowError, ValueError):  # a time beyond the years that Python knows
                return None
        elif statistics.null_count < group.num_rows:
            return None
    if not found:
        return None
    least, greatest = _in_json(min(found), is_least=True), _in_json(max(found), is_least=False)
    return None if least is None or greatest is None else (least, greatest, nulls)


def _in_json(value: Any, *, is_least: bool) -> Any:
    """A bound as statistics have it, never within the values; None: it can't be said."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        cut = value[:TEXT_MOST]
        return cut if is_least or cut == value else cut + LAST_CHARACTER
    if isinstance(value, datetime.datetime):
        value = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
        rest = datetime.timedelta(microseconds=value.microsecond % 1000)
        if rest and not is_least:
            try:
                value += datetime.timedelta(milliseconds=1)
            except OverflowError:
                return None
        written = (value - rest).astimezone(datetime.UTC).replace(tzinfo=None)
        return written.isoformat(timespec="milliseconds") + "Z"  # strftime writes the year 1 as "1"
    return value.isoformat() if isinstance(value, datetime.date) else None
