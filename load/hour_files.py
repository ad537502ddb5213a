"""The files that one attempt writes: one for each hour of its records' time, with bounded memory.

Rows wait until a row group is full; when all that wait are LOAD_BUFFER_BYTES_MAX, the largest part is written. At most LOAD_OPEN_FILES_MAX
files are open: for one more, that not used for longest is finished, and another is begun if its hour comes again.

    .name.parquet.tmp, written -> footer, fsync -> rename to name.parquet -> fsync of the directory
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from headrace.arrow.offset_range import OffsetRange
from headrace.limits import LOAD_BUFFER_BYTES_MAX, LOAD_OPEN_FILES_MAX
from headrace.load.commits import DataFile
from headrace.load.data_file_writer import ROW_GROUP_BYTES, DataFileWriter
from headrace.load.data_files import Attempt, file_name, folder_of
from headrace.load.durable import sync_directory

HOUR_US = 3_600_000_000
NO_HOUR = "__HIVE_DEFAULT_PARTITION__"  # of records without a time, as readers of such folders know it
_NO_HOUR = -(2**62)


def hour_text(hour: int) -> str:
    """YYYY-MM-DD-HH of hours since 1970, also before the year 1 and after 9999; NO_HOUR for what no hour has."""
    return NO_HOUR if hour == _NO_HOUR else str(np.datetime64(hour, "h")).replace("T", "-")


class HourFiles:
    """The files of one attempt at a range."""

    def __init__(self, root: Path, one: OffsetRange, topic_id: str, attempt: Attempt, compression: str) -> None:
        self._root = root
        self._one = one
        self._topic_id = topic_id
        self._attempt = attempt
        self._compression = compression
        self._open: dict[tuple[str, bool], DataFileWriter] = {}
        self._begun: dict[tuple[str, bool], int] = {}
        self._done: list[DataFile] = []
        self._turn = 0

    def add(self, batch: pa.RecordBatch, is_bad: bool = False) -> None:
        """Rows with `timestamp` and `offset`, in order."""
        if batch.num_rows == 0:
            return
        times = batch.column("timestamp")
        hours = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) // HOUR_US
        if times.null_count:
            hours = np.where(times.is_null().to_numpy(zero_copy_only=False), _NO_HOUR, hours)
        if hours.min() == hours.max():
            self._add(hour_text(int(hours[0])), batch, is_bad)
            return
        for hour in np.unique(hours):
            self._add(hour_text(int(hour)), batch.filter(pa.array(hours == hour)), is_bad)

    def _add(self, hour: str, batch: pa.RecordBatch, is_bad: bool) -> None:
        self._turn += 1
        file = self._open.get((hour, is_bad))
        if file is None:
            if len(self._open) >= LOAD_OPEN_FILES_MAX:
                self._finish(min(self._open, key=lambda key: self._open[key].turn))
            again = self._begun.get((hour, is_bad), 0)
            self._begun[hour, is_bad] = again + 1
            one = self._one
            name = file_name(one.topic, one.partition, one.start, one.end, self._attempt, again)
            path = self._root / folder_of(one.topic, hour, is_bad) / name
            file = self._open[hour, is_bad] = DataFileWriter(path, batch.schema, self._compression, self._turn)
        file.turn = self._turn
        file.add(batch)
        if file.waiting_bytes >= ROW_GROUP_BYTES:
            file.write()
        elif sum(one.waiting_bytes for one in self._open.values()) >= LOAD_BUFFER_BYTES_MAX:
            max(self._open.values(), key=lambda one: one.waiting_bytes).write()

    def _finish(self, key: tuple[str, bool]) -> None:
        file = self._open[key]
        size, checksum = file.finish()
        del self._open[key]
        one = self._one
        self._done.append(
            DataFile(
                str(file.path.relative_to(self._root)),
                one.topic,
                self._topic_id,
                one.partition,
                key[0],
                one.start,
                one.end,
                file.rows,
                size,
                file.first_offset,
                file.last_offset,
                checksum,
                key[1],
            )
        )

    def finish(self) -> list[DataFile]:
        """All files, on the disk."""
        for key in sorted(self._open):
            self._finish(key)
        for folder in {(self._root / one.path).parent for one in self._done}:
            sync_directory(folder)
        return self._done

    def discard(self) -> None:
        """Nothing of the attempt stays."""
        for file in self._open.values():
            file.discard()
        for one in self._done:
            (self._root / one.path).unlink(missing_ok=True)
