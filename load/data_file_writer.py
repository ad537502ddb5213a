"""One Parquet file being written: hidden until it is whole and on the disk.

    .name.parquet.tmp, written -> footer, fsync -> rename to name.parquet    (the caller syncs the directory)

Rows wait until they make a row group.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from headrace.arrow.parquet_files import parquet_writer
from headrace.checksum import crc32c
from headrace.load.data_files import hidden
from headrace.load.durable import make_directory

ROW_GROUP_BYTES = 16 << 20
CHECKSUM_BYTES = 1 << 20


class DataFileWriter:
    """One file.

    path    its name when it is done
    turn    a number of the caller's: when it was used last
    rows    that it got; first_offset and last_offset of them
    """

    def __init__(self, path: Path, schema: pa.Schema, compression: str, turn: int) -> None:
        make_directory(path.parent)
        self.path = path
        self.turn = turn
        self.rows = 0
        self.first_offset = -1
        self.last_offset = -1
        self.waiting: list[pa.RecordBatch] = []
        self.waiting_bytes = 0
        self._writer = parquet_writer(hidden(path), schema, compression)

    def add(self, batch: pa.RecordBatch) -> None:
        """Rows with `offset`, in order; they wait."""
        offsets = batch.column("offset")
        if self.rows == 0:
            self.first_offset = offsets[0].as_py()
        self.last_offset = offsets[len(offsets) - 1].as_py()
        self.rows += batch.num_rows
        self.waiting.append(batch)
        self.waiting_bytes += batch.nbytes

    def write(self) -> None:
        """What waits, as a row group."""
        if self.waiting:
            table = pa.Table.from_batches(self.waiting)
            self._writer.write_table(table, row_group_size=table.num_rows)
        self.waiting, self.waiting_bytes = [], 0

    def finish(self) -> tuple[int, int]:
        """(bytes, checksum) of the whole file, on the disk under its name."""
        self.write()
        self._writer.close()
        path = hidden(self.path)
        with open(path, "rb") as file:
            checksum, size = 0, 0
            while data := file.read(CHECKSUM_BYTES):
                checksum, size = crc32c(data, checksum), size + len(data)
            os.fsync(file.fileno())
        os.rename(path, self.path)
        return size, checksum

    def discard(self) -> None:
        """Nothing of it stays."""
        self.waiting = []
        try:
            self._writer.close()
        finally:
            hidden(self.path).unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
