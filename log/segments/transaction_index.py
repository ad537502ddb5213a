"""The transaction index of a segment: the transactions whose abort marker lies in it.

    entry   version i16 BE = 0 | producer id i64 | first offset i64 | last offset i64 | last stable offset i64

`last offset` is that of the marker, `last stable offset` what that was once the marker was in the log: no
transaction that began below it was still open. The file is made with its first entry; most segments have none.
Entries are written whole, in the order of markers; a last one that is cut short does not count.

Runs in: the partition worker that owns the log; others read (`aborted_transactions.py`).
Source: Kafka `TransactionIndex`, `AbortedTxn`; KIP-98.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from headrace.errors import CorruptIndex
from headrace.log.disk import Disk
from headrace.log.index_layout import TXN_ENTRY, TXN_VERSION, AbortedTransaction
from headrace.log.reading.aborted_transactions import check_entries


class TransactionIndex:
    """The writing end."""

    __slots__ = ("_disk", "_fd", "_last_offset", "_size_bytes", "path")

    def __init__(self, path: Path, disk: Disk, is_new: bool = False) -> None:
        self._fd = -1
        self.path = path
        self._disk = disk
        self._size_bytes = -1  # not read yet
        self._last_offset = -1
        if is_new:
            disk.remove_file(path)

    def __del__(self) -> None:
        self.close()

    def append(self, aborted: AbortedTransaction) -> bool:
        """Write an entry, unless its marker is indexed already; raises OSError.

        returns   whether it is the first one
        """
        if self._fd < 0:
            self._open()
        if aborted.last_offset <= self._last_offset:
            return False
        is_first = not self._size_bytes
        entry = TXN_ENTRY.pack(TXN_VERSION, *aborted)
        self._size_bytes += self._disk.write_all(self._fd, [entry], self._size_bytes)
        self._last_offset = aborted.last_offset
        return is_first

    def truncate_to_offset(self, offset: int, progress: Callable[[int], None] | None = None) -> None:
        """Drop the entries whose marker lies at or after an offset, all of them where one can't be. raises OSError

        progress   called with 0 now and then: a sign of life
        """
        count, last_marker = 0, -1
        try:
            count, last_marker, _first, _end = check_entries(self.path, offset, progress)
        except (CorruptIndex, OSError) as failure:
            if isinstance(failure, OSError) and failure.errno != errno.EIO:
                raise  # else: what can't be read, or can't be, is made again from the segment
        if not count:
            self.close()
            self._disk.remove_file(self.path)
            return
        if self._fd < 0:
            self._fd = self._disk.open(self.path, os.O_RDWR)
        self._size_bytes, self._last_offset = count * TXN_ENTRY.size, last_marker
        self._disk.truncate(self._fd, self._size_bytes)

    def sync(self) -> None:
        """Make the entries durable; raises OSError."""
        if self._fd >= 0:
            self._disk.fdatasync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        """Open the file, or make it; it ends with the last whole entry that it has. raises OSError"""
        fd = self._disk.open(self.path, os.O_RDWR | os.O_CREAT)
        self._fd = fd
        size = os.fstat(fd).st_size
        self._size_bytes = size - size % TXN_ENTRY.size
        self._last_offset = -1
        if self._size_bytes:
            data = os.pread(fd, TXN_ENTRY.size, self._size_bytes - TXN_ENTRY.size)
            self._last_offset = TXN_ENTRY.unpack(data)[3]
