"""Rows of a data file, if its bytes are those that were committed.

For a copy of rows into another file (a merge, a rewind). The copy gets a checksum of its own and the original goes, so what
changed on the disk meanwhile would be right from then on, and no audit could say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.checksum import crc32c
from headrace.load.commits import DataFile
from headrace.load.data_file_writer import CHECKSUM_BYTES
from headrace.load.errors import DamagedFile


def committed_rows(root: Path, one: DataFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in the table's columns: those that came later are null. raises DamagedFile, before the first of them"""
    fault = _fault(root, one)
    if fault:
        raise DamagedFile(one.path, fault)
    path = root / one.path
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            columns = [
                batch.column(field.name).cast(field.type)
                if field.name in batch.schema.names
                else pa.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def is_as_committed(root: Path, one: DataFile) -> bool:
    """Whether a file can be copied."""
    return not _fault(root, one)


def _fault(root: Path, one: DataFile) -> str:
    try:
        size, checksum = checksum_of(root / one.path)
    except OSError as failure:
        return f"can't be read: {failure.strerror or failure}"
    if (size, checksum) == (one.bytes, one.checksum):
        return ""
    return (
        f"has {size} bytes with checksum {checksum:#010x}, {one.bytes} bytes with {one.checksum:#010x} were committed"
    )


def known_offsets(root: Path, one: DataFile) -> np.ndarray | None:
    """The offset of each row; None: the file is gone from the disk, or changed, and lacks some offsets between its first and its last."""
    if one.last_offset - one.first_offset + 1 == one.rows:
        return np.arange(one.first_offset, one.last_offset + 1)
    try:
        with pq.ParquetFile(root / one.path) as file:
            found = np.asarray(file.read(columns=["offset"])["offset"].to_numpy())
    except (OSError, ValueError):  # ArrowInvalid is a ValueError
        return None
    return found if len(found) == one.rows else None


def checksum_of(path: Path) -> tuple[int, int]:
    """(bytes, CRC-32C) of a file. raises OSError"""
    size, found = 0, 0
    with open(path, "rb") as file:
        while data := file.read(CHECKSUM_BYTES):
            size, found = size + len(data), crc32c(data, found)
    return size, found
