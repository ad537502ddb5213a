"""Rows deleted by a condition: `headrace load delete`, in one commit.

    for each file: statistics -> the condition's columns -> which rows     only files with such rows are written again

Dead letters have kafka's columns: where the condition names no others it is asked of them, too. The condition is asked of what
the table has when the deletion begins: records that a load commits meanwhile are not deleted.

A deletion is of the table. The log may still have the records, and a rewind would load them again; earlier versions of the table keep
the bytes until a vacuum (`vacuuming.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from headrace.client.cluster import EARLIEST, Cluster
from headrace.ids import TopicPartition
from headrace.load.commits import DELETE, DataFile, LiveFile, Snapshot, same_topic
from headrace.load.contents import DEAD_SCHEMA
from headrace.load.errors import BrokenTarget
from headrace.load.predicate import Predicate
from headrace.load.row_removal import Removal, removed
from headrace.load.schemas import schema_from_text
from headrace.load.target import Target
from headrace.load.targets import open_target

PARQUET = ds.ParquetFileFormat()
_LOCAL = LocalFileSystem()


@dataclass(frozen=True, slots=True)
class PartitionDeletion:
    """Rows and dead letters of a partition that go.

    in_log   of these, at offsets that the log still has: a rewind would load them again; None: the log was not asked
    """

    topic: str
    partition: int
    rows: int
    dead_letters: int
    in_log: int | None = None


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion took, or would take.

    reads_dead_letters   whether the condition was asked of dead letters
    """

    where: str
    partitions: tuple[PartitionDeletion, ...]
    removal: Removal
    reads_dead_letters: bool
    is_dry_run: bool = False


def delete(
    to: str | os.PathLike[str] | Target, where: str, *, dry_run: bool = False, bootstrap_servers: str | None = None
) -> Deleted:
    """Delete the rows for which a condition is true.

    where               an SQL expression of DuckDB over the table's columns; keys and values are blobs
    dry_run             only count
    bootstrap_servers   of a cluster that is asked which of the records it still has
    raises              ValueError, for a condition that is none, or fails for a row; ImportError; LoadFenced, where other programs
                        replaced the files again and again; DamagedFile, BrokenTarget, OSError: nothing was changed
    """
    target = open_target(to)
    predicate = Predicate(where)
    snapshot = target.read()
    if not snapshot.schema:
        raise ValueError(f"{target.name} has no rows: nothing was loaded to it")
    schema = schema_from_text(snapshot.schema)
    predicate.columns(schema)
    lows = _lows(snapshot, bootstrap_servers)
    choice = RowsWhere(predicate, schema)
    removal, _chosen, _after = removed(target, DELETE, choice, dry_run)
    return Deleted(where, _partitions(removal, lows), removal, choice.reads_dead_letters, dry_run)


class RowsWhere:
    """The choice of rows for which a condition is true."""

    def __init__(self, predicate: Predicate, schema: pa.Schema) -> None:
        self._predicate = predicate
        self.reads_dead_letters = _suits_dead_letters(predicate, schema)

    def of_ours(self, target: Target, one: DataFile, schema: pa.Schema) -> np.ndarray | None:
        if one.is_bad and not self.reads_dead_letters:
            return None
        return self._mask(target, one.path, schema, one.topic, one.rows)

    def of_others(self, target: Target, one: LiveFile, schema: pa.Schema) -> np.ndarray | None:
        return self._mask(target, one.path, schema, one.topic, None)

    def takes_gone(self, _one: DataFile) -> bool:
        return False

    def _mask(self, target: Target, path: str, schema: pa.Schema, topic: str, rows: int | None) -> np.ndarray | None:
        """rows   that the file is to have. raises BrokenTarget, OSError, ValueError"""
        names = self._predicate.columns(schema)
        whole = str(target.root / path)
        with pq.ParquetFile(whole) as file:
            found = file.schema_arrow
            if rows not in (None, file.metadata.num_rows):
                raise BrokenTarget(f"{path} has {file.metadata.num_rows} rows, {rows} were committed")
            bounds = self._predicate.bounds(pa.schema([one for one in found if one.name in schema.names]))
            if bounds is not None and not _may_have(whole, found, bounds):
                return None
            masks = [
                self._predicate.mask(part)
                for part in _parts(file, [name for name in names if name in found.names], names, schema, topic)
            ]
        return np.concatenate(masks) if masks else None


def _suits_dead_letters(predicate: Predicate, schema: pa.Schema) -> bool:
    """Whether a condition means the same of them: it names kafka's columns, which the table has as they came."""
    try:
        named = predicate.columns(DEAD_SCHEMA)
    except ValueError:
        return False
    return all(name not in schema.names or schema.field(name).type == DEAD_SCHEMA.field(name).type for name in named)


def _may_have(path: str, schema: pa.Schema, bounds: ds.Expression) -> bool:
    """Whether statistics allow a row that the bounds are true for."""
    fragment = PARQUET.make_fragment(path, _LOCAL)
    return bool(fragment.split_by_row_group(bounds, schema=schema))


def _parts(
    file: pq.ParquetFile, there: list[str], names: tuple[str, ...], schema: pa.Schema, topic: str
) -> Iterator[pa.Table]:
    """The named columns, in the table's types, part by part in the file's order. Those that came later are null; a file of others in
    a Delta table has the topic in its partition."""
    for number in range(file.num_row_groups):
        part = file.read_row_group(number, columns=there)
        count = file.metadata.row_group(number).num_rows
        columns = []
        for name in names:
            kind = schema.field(name).type
            if name in there:
                columns.append(part[name].cast(kind))
            elif name == "topic" and topic:
                columns.append(pa.chunked_array([pa.array([topic] * count, kind)]))
            else:
                columns.append(pa.chunked_array([pa.nulls(count, kind)]))
        if names:
            yield pa.table(columns, schema=pa.schema([schema.field(name) for name in names]))
        else:
            yield pa.table({"_": pa.nulls(count, pa.int8())})


def _partitions(removal: Removal, lows: Mapping[TopicPartition, int] | None) -> tuple[PartitionDeletion, ...]:
    found = []
    for one in removal.deleted:
        name = TopicPartition(one.topic, one.partition)
        rows, bad = one.count()
        in_log = None if lows is None else sum(one.count(lows[name])) if name in lows else 0
        found.append(PartitionDeletion(one.topic, one.partition, rows, bad, in_log))
    return tuple(found)


def _lows(snapshot: Snapshot, bootstrap_servers: str | None) -> dict[TopicPartition, int] | None:
    """Where the logs begin, of loaded partitions that the cluster has; None: it is not to be asked. raises KafkaError, ConnectionFailed"""
    if bootstrap_servers is None:
        return None
    with Cluster(bootstrap_servers) as cluster:
        cluster.refresh(None)
        wanted = [
            name
            for name in snapshot.next_offsets()
            if name in cluster.partitions
            and same_topic(snapshot.offsets[name.topic].topic_id, cluster.topic_ids.get(name.topic, ""))
        ]
        return cluster.offsets(dict.fromkeys(wanted, EARLIEST)) if wanted else {}
