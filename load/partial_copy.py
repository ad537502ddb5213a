"""A data file of ours written again with some of its rows: what a removal of rows leaves, or what comes before an offset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from headrace.load.commits import DataFile, Snapshot
from headrace.load.committed_rows import committed_rows
from headrace.load.contents import DEAD_SCHEMA
from headrace.load.data_file_writer import ROW_GROUP_BYTES, DataFileWriter
from headrace.load.data_files import Attempt, file_name, folder_of
from headrace.load.table_columns import own_columns
from headrace.load.target import Target

COMPRESSION = "snappy"

# (rows of the file, how many of its rows come before these) -> which of them stay, as booleans
Stays = Callable[[pa.RecordBatch, int], pa.Array]


def partial_copy(
    target: Target, snapshot: Snapshot, one: DataFile, end: int, attempt: Attempt, stays: Stays
) -> DataFile:
    """The rows that stay, as a file of the range up to `end`. raises DamagedFile, OSError"""
    schema = DEAD_SCHEMA if one.is_bad else own_columns(snapshot)
    name = file_name(one.topic, one.partition, one.start, end, attempt)
    path = f"{folder_of(one.topic, one.hour, one.is_bad)}/{name}"
    writer = DataFileWriter(target.root / path, schema, COMPRESSION, 0)
    at = 0
    try:
        for batch in committed_rows(target.root, one, schema):
            kept = batch.filter(stays(batch, at))
            at += batch.num_rows
            if kept.num_rows:
                writer.add(kept)
            if writer.waiting_bytes >= ROW_GROUP_BYTES:
                writer.write()
        size, checksum = writer.finish()
    except BaseException:
        writer.discard()
        raise
    return replace(
        one,
        path=path,
        end=end,
        rows=writer.rows,
        bytes=size,
        first_offset=writer.first_offset,
        last_offset=writer.last_offset,
        checksum=checksum,
    )
