"""Rows in files that other programs wrote in the place of ours: whose they are, and a file without some of them.

Such a file may have rows of several partitions, in any order. It has no name of ours, before and after, so that no sweep takes it for an
orphan of a loader: what is not committed goes with the table's own VACUUM or removal of orphans.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.ids import TopicPartition
from headrace.load.commits import LiveFile, Rewritten, Snapshot
from headrace.load.durable import sync_directory
from headrace.load.schemas import schema_from_text
from headrace.load.table_rows import TIME_UNIT, deleted_positions, without_rows
from headrace.load.target import Target

COMPRESSION = "snappy"
INSTANT = pa.timestamp(TIME_UNIT, "UTC")
PLACES = pa.schema(
    [("topic", pa.string()), ("partition", pa.int64()), ("offset", pa.int64())]
)  # others may write wider types
WHERE = PLACES.names


def places_in(root: Path, one: LiveFile) -> pa.Table:
    """topic, partition and offset of each row that counts, in the file's order. raises BrokenTarget, OSError"""
    with pq.ParquetFile(root / one.path) as file:
        names = [name for name in WHERE if name in file.schema_arrow.names]
        table = file.read(columns=names)
    if "topic" not in names:
        table = table.add_column(0, "topic", pa.array([one.topic] * table.num_rows, pa.string()))
    return without_rows(table, deleted_positions(root, one)).select(list(WHERE)).cast(PLACES)


def count_within(root: Path, others: Sequence[LiveFile], name: TopicPartition, start: int, end: int) -> int:
    """Rows of one partition whose offsets lie in start <= offset < end. raises BrokenTarget, OSError"""
    return sum(int(_mask(places_in(root, one), {name: start}, {name: end}).sum()) for one in others)


def offsets_of(root: Path, others: Sequence[LiveFile], name: TopicPartition) -> np.ndarray:
    """Of the rows of one partition. raises BrokenTarget, OSError"""
    found = [np.empty(0, np.int64)]
    for one in others:
        if one.topic in ("", name.topic):
            places = places_in(root, one)
            found.append(places["offset"].to_numpy()[_mask(places, {name: 0}, {})])
    return np.concatenate(found)


def without_tails(target: Target, snapshot: Snapshot, cuts: Mapping[TopicPartition, int]) -> tuple[Rewritten, ...]:
    """The files of others that have rows at or after the offsets, and files without these rows, on the disk.

    raises   BrokenTarget, OSError: nothing stays
    """
    topics = {"", *(name.topic for name in cuts)}
    found: list[Rewritten] = []
    instants = instants_of(snapshot)
    try:
        for one in snapshot.others:
            if one.topic in topics:
                made = _without_tail(target.root, one, cuts, instants)
                if made is not None:
                    found.append(made)
    except BaseException:
        discard(target.root, found)
        raise
    return tuple(found)


def discard(root: Path, rewritten: Sequence[Rewritten]) -> None:
    """Remove files of a commit that was not made."""
    for one in rewritten:
        if one.becomes is not None:
            (root / one.becomes.path).unlink(missing_ok=True)


def _without_tail(
    root: Path, one: LiveFile, cuts: Mapping[TopicPartition, int], instants: Collection[str]
) -> Rewritten | None:
    whole = LiveFile(one.path, one.topic, one.hour, one.rows, one.bytes)
    goes = _mask(places_in(root, whole), cuts, {})
    if not np.delete(goes, deleted_positions(root, one)).any():
        return None
    return without(root, one, goes, instants)


def instants_of(snapshot: Snapshot) -> set[str]:
    """Columns with times that have a zone."""
    columns = schema_from_text(snapshot.schema)
    return {field.name for field in columns if pa.types.is_timestamp(field.type) and field.type.tz is not None}


def without(root: Path, one: LiveFile, goes: np.ndarray, instants: Collection[str]) -> Rewritten:
    """A file without the rows at marked positions, on the disk.

    instants   columns that have times with a zone (`instants_of`)
    raises     BrokenTarget, OSError
    """
    goes = goes.copy()
    goes[deleted_positions(root, one)] = True
    if goes.all():
        return Rewritten(one, None)
    with pq.ParquetFile(root / one.path, coerce_int96_timestamp_unit=TIME_UNIT) as file:
        rest = without_views(file.read()).filter(pa.array(~goes))
    path = root / Path(one.path).with_name(f"part-{uuid.uuid4()}.parquet")
    pq.write_table(_with_zones(rest, instants), path, compression=COMPRESSION)
    with open(path, "rb") as written:
        os.fsync(written.fileno())
    sync_directory(path.parent)
    size = path.stat().st_size
    return Rewritten(one, LiveFile(str(path.relative_to(root)), one.topic, one.hour, rest.num_rows, size))


def without_views(table: pa.Table) -> pa.Table:
    """The same with plain columns: delta-rs writes views, which Arrow can't filter. In Parquet both are the same bytes."""
    plain = {pa.binary_view(): pa.binary(), pa.string_view(): pa.string()}
    for index, field in enumerate(table.schema):
        if field.type in plain:
            kind = plain[field.type]
            table = table.set_column(index, field.with_type(kind), table.column(index).cast(kind))
    return table


def _with_zones(table: pa.Table, instants: Collection[str]) -> pa.Table:
    """Times that a file has in 96 bits are instants, and have no zone in Arrow: without one they would be read as of no zone."""
    fields = [field.with_type(INSTANT) if field.name in instants else field for field in table.schema]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _mask(places: pa.Table, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> np.ndarray:
    """Rows of these partitions at or after their starts, and before their ends where these are given."""
    topics = places["topic"].to_numpy(zero_copy_only=False) if places.num_rows else np.empty(0, object)
    partitions, offsets = places["partition"].to_numpy(), places["offset"].to_numpy()
    found = np.zeros(places.num_rows, bool)
    for name, start in starts.items():
        mask = (topics == name.topic) & (partitions == name.partition) & (offsets >= start)
        if name in ends:
            mask &= offsets < ends[name]
        found |= mask
    return found
