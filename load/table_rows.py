"""A table's rows as it has them now: of our files, and of those that other programs wrote in their place.

    ours                 have every column
    of others, Delta     have no partition column: the topic is that of the partition
    of others, Iceberg   have every column; positions in a file may be deleted by other files: it is read at once, without these

Source: the Delta protocol's partition values; the Iceberg specification's position deletes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from headrace.load.commits import LiveFile, Snapshot
from headrace.load.errors import BrokenTarget
from headrace.load.target import Target

PARQUET = ".parquet"
FIELD_ID = b"PARQUET:field_id"
TIME_UNIT = "us"  # of times that Spark writes in 96 bits: nanoseconds of 64 bits would end in the year 2262
_LOCAL = LocalFileSystem()


def rows_of(target: Target, snapshot: Snapshot, schema: pa.Schema, topic: str | None = None) -> ds.Dataset:
    """The table's rows, or those of one topic.

    schema   of the rows; with the column topic, where one is asked for: files whose partition doesn't say theirs may have others
    raises   BrokenTarget, OSError
    """
    root = str(target.root)
    paths = own_paths(target, snapshot, topic)
    wanted = [one for one in snapshot.others if topic is None or one.topic in ("", topic)]
    apart = [one for one in wanted if is_apart(one, snapshot)]
    plain = [one for one in wanted if not is_apart(one, snapshot)]
    parts: list[ds.Dataset] = []
    if paths or plain:
        guarantees = [ds.field("topic") == one.topic if one.topic else pc.scalar(True) for one in plain]
        parts.append(
            ds.FileSystemDataset.from_paths(
                [*paths, *(f"{root}/{one.path}" for one in plain)],
                schema=schema,
                format=ds.ParquetFileFormat(coerce_int96_timestamp_unit=TIME_UNIT),
                filesystem=_LOCAL,
                partitions=[pc.scalar(True)] * len(paths) + guarantees,
            )
        )
    tables = [remaining(target.root, one, schema, snapshot.column_ids) for one in apart]
    if tables or not parts:
        parts.append(ds.dataset(pa.concat_tables(tables) if tables else schema.empty_table()))
    return parts[0] if len(parts) == 1 else ds.dataset(parts)


def is_apart(one: LiveFile, snapshot: Snapshot) -> bool:
    """Whether a file of others is read on its own: not all of its rows count, or its columns may have other names."""
    return one.is_partly or bool(snapshot.column_ids)


def own_paths(target: Target, snapshot: Snapshot, topic: str | None = None) -> list[str]:
    """Absolute paths of our files, in the order of their offsets."""
    found = [one for one in snapshot.files.values() if not one.is_bad and topic in (None, one.topic)]
    order = sorted(found, key=lambda one: (one.topic, one.partition, one.start, one.first_offset))
    return [f"{target.root}/{one.path}" for one in order]


def remaining(root: Path, one: LiveFile, schema: pa.Schema, ids: Mapping[str, int]) -> pa.Table:
    """The rows of a file that are not deleted.

    ids      of columns that a file may have by another name, as files that other programs write have them
    raises   BrokenTarget, OSError
    """
    path = root / one.path
    deleted = deleted_positions(root, one)
    with pq.ParquetFile(path, coerce_int96_timestamp_unit=TIME_UNIT) as file:
        table = _renamed(file.read(), ids)
    table = without_rows(table, deleted)
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else _absent(one, field, table.num_rows)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _renamed(table: pa.Table, ids: Mapping[str, int]) -> pa.Table:
    """A file's columns by the names that the table has for their ids; a file without ids has the table's names."""
    by_id = {number: name for name, number in ids.items()}
    numbers = [int((field.metadata or {}).get(FIELD_ID, -1)) for field in table.schema]
    if not ids or max(numbers, default=-1) < 0:
        return table
    known = [(name, index) for index, number in enumerate(numbers) if (name := by_id.get(number)) is not None]
    return table.select([index for _name, index in known]).rename_columns([name for name, _index in known])


def without_rows(table: pa.Table, positions: np.ndarray) -> pa.Table:
    """A table but for the rows at these positions."""
    if not len(positions):
        return table
    kept = np.ones(table.num_rows, bool)
    kept[positions] = False
    return table.filter(pa.array(kept))


def deleted_positions(root: Path, one: LiveFile) -> np.ndarray:
    """Positions of deleted rows. raises BrokenTarget, for deletes of another kind; OSError"""
    found = [np.frombuffer(one.positions, np.int64)] if one.positions else []
    for path in one.deletes:
        if not path.endswith(PARQUET):
            raise BrokenTarget(
                f"rows of {one.path} are deleted by {path}, which has no positions: read the table by another reader"
            )
        table = pq.read_table(root / path, columns=["file_path", "pos"], partitioning=None)
        mask = pc.ends_with(table["file_path"], f"/{one.path}")
        found.append(table.filter(mask)["pos"].to_numpy())
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _absent(one: LiveFile, field: pa.Field, count: int) -> pa.Array:
    if field.name == "topic" and one.topic:
        return pa.array([one.topic] * count, field.type)
    return pa.nulls(count, field.type)


def has_deletes(files: Iterable[LiveFile]) -> list[str]:
    """Paths of files of which not all rows count."""
    return [one.path for one in files if one.is_partly]
