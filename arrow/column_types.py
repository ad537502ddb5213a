"""Names and types of the columns: kafka's, and those beside them.

Runs in: everything that plans, checks or reads; it imports no walker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
ALL_COLUMNS = (*KAFKA_COLUMNS, "headers", "key_length", "value_length")
TIMESTAMP_MS = (
    "timestamp_ms"  # milliseconds as the record has them, for callers with their own policy for values out of range
)
ARROW_TYPES: dict[str, Any] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "headers": HEADERS_TYPE,
    "key_length": pa.int32(),
    "value_length": pa.int32(),
    TIMESTAMP_MS: pa.int64(),
}


def arrow_schema(columns: Sequence[str], are_views: bool = False) -> pa.Schema:
    """are_views   keys and values are views (Spark takes none)"""
    types = ARROW_TYPES | dict.fromkeys(("key", "value"), pa.binary_view()) if are_views else ARROW_TYPES
    return pa.schema([(name, types[name]) for name in columns])


def check_columns(columns: str | Sequence[str] | None, decoded: Sequence[str] = ()) -> tuple[str, ...]:
    """Column names from a list or a comma-separated string; None: all of kafka's. `decoded` ones may be named too.

    raises   ValueError, naming an unknown column, or one listed twice
    """
    if columns is None:
        return KAFKA_COLUMNS
    if isinstance(columns, str):
        columns = [part.strip() for part in columns.split(",") if part.strip()]
    known = dict.fromkeys((*decoded, *ALL_COLUMNS))
    unknown = [name for name in columns if name not in known]
    if unknown or not columns:
        raise ValueError(f"columns {unknown or list(columns)}: choose from {', '.join(known)}")
    twice = sorted({name for name in columns if list(columns).count(name) > 1})
    if twice:
        raise ValueError(f"columns {', '.join(twice)} are listed twice; select them twice from the DataFrame instead")
    return tuple(columns)
