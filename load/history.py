"""What a target's commits hold: files, and all of it as one data set.

`files(to)` are the paths of the committed files, for any reader of Parquet (`read_parquet([...])`); `dataset(to)` is a pyarrow data set
of them with the table's columns, which DuckDB, Polars and pandas read; `dead_letters(to)` one of what did not decode.
"""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.dataset as ds

from headrace.load.commits import Snapshot
from headrace.load.contents import DEAD_SCHEMA
from headrace.load.schemas import schema_from_text
from headrace.load.target import Target, open_target


def files(to: str | os.PathLike[str] | Target) -> list[str]:
    """Absolute paths of the table's files as of the last commit. raises ValueError, BrokenTarget"""
    target = open_target(to)
    return paths_of(target, target.read())


def paths_of(target: Target, snapshot: Snapshot, is_bad: bool = False) -> list[str]:
    return sorted(str(target.root / one.path) for one in snapshot.files.values() if one.is_bad == is_bad)


def dataset(to: str | os.PathLike[str] | Target) -> ds.Dataset:
    """The table as of the last commit; older files have nulls in columns that came later. raises ValueError, BrokenTarget"""
    target = open_target(to)
    return dataset_of(target, target.read())


def dataset_of(target: Target, snapshot: Snapshot) -> ds.Dataset:
    return _of(paths_of(target, snapshot), schema_of(snapshot))


def schema_of(snapshot: Snapshot) -> pa.Schema:
    """The table's columns; none before the first commit."""
    return schema_from_text(snapshot.schema) if snapshot.schema else pa.schema([])


def dead_letters(to: str | os.PathLike[str] | Target) -> ds.Dataset:
    """Records that did not decode: topic, partition, offset, timestamp, key, value, reason. raises ValueError, BrokenTarget"""
    target = open_target(to)
    return _of(paths_of(target, target.read(), is_bad=True), DEAD_SCHEMA)


def _of(paths: list[str], schema: pa.Schema) -> ds.Dataset:
    if not paths:
        return ds.dataset(schema.empty_table())
    return ds.dataset(paths, schema=schema, format="parquet", partitioning=None)
