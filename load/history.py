"""What a target's commits hold: files, and all of it as one data set.

`files(to)` are the paths of the table's files, for any reader of Parquet (`read_parquet([...])`); `dataset(to)` is a pyarrow data set
of them with the table's columns, which DuckDB, Polars and pandas read; `dead_letters(to)` one of what did not decode. What other programs
deleted or rewrote is as the table has it (`table_rows.py`).
"""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.dataset as ds

from headrace.load.commits import Snapshot
from headrace.load.contents import DEAD_SCHEMA
from headrace.load.errors import BrokenTarget
from headrace.load.schemas import schema_from_text
from headrace.load.table_rows import has_deletes, own_paths, rows_of
from headrace.load.target import Target
from headrace.load.targets import open_target


def files(to: str | os.PathLike[str] | Target) -> list[str]:
    """Absolute paths of the table's files as of the last commit.

    A Delta table's files that other programs wrote have no columns of the partition (topic, hour).

    raises   ValueError; BrokenTarget, also where rows of a file are deleted by another one, which only `dataset` and Iceberg's readers see
    """
    target = open_target(to)
    snapshot = target.read()
    partly = has_deletes(snapshot.others)
    if partly:
        raise BrokenTarget(
            f"{target.name}: rows of {partly[0]} are deleted in place: use headrace.load.dataset, or another reader of the table"
        )
    return sorted([*own_paths(target, snapshot), *(str(target.root / one.path) for one in snapshot.others)])


def dataset(to: str | os.PathLike[str] | Target) -> ds.Dataset:
    """The table as of the last commit; older files have nulls in columns that came later. raises ValueError, BrokenTarget"""
    target = open_target(to)
    return dataset_of(target, target.read())


def dataset_of(target: Target, snapshot: Snapshot) -> ds.Dataset:
    return rows_of(target, snapshot, schema_of(snapshot))


def schema_of(snapshot: Snapshot) -> pa.Schema:
    """The table's columns; none before the first commit."""
    return schema_from_text(snapshot.schema) if snapshot.schema else pa.schema([])


def dead_letters(to: str | os.PathLike[str] | Target) -> ds.Dataset:
    """Records that did not decode: topic, partition, offset, timestamp, key, value, reason. raises ValueError, BrokenTarget"""
    target = open_target(to)
    paths = sorted(str(target.root / one.path) for one in target.read().files.values() if one.is_bad)
    if not paths:
        return ds.dataset(DEAD_SCHEMA.empty_table())
    return ds.dataset(paths, schema=DEAD_SCHEMA, format="parquet", partitioning=None)
