"""The records inside of an entry, decoded with a bound on memory.

An entry above INSPECTED_ENTRY_BYTES_MAX, or one that would grow beyond it, is refused by name: no node takes such a batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from headrace.limits import INSPECTED_ENTRY_BYTES_MAX
from headrace.log.inspection.entry_scan import Entry
from headrace.protocol.control_record import ABORT, COMMIT, CONTROL_KEY, MARKER_VALUE
from headrace.protocol.message_set import iterate_entry_records
from headrace.protocol.record_batch import CorruptRecord, Record


class Marker(NamedTuple):
    """The control record that ends a transaction."""

    version: int
    is_commit: bool
    coordinator_epoch: int  # -1 where it says none


def entry_data(fd: int, entry: Entry) -> memoryview:
    """The bytes of a whole entry; raises CorruptRecord, where they are too many or gone; OSError."""
    if entry.data is not None:
        return entry.data
    if entry.size > INSPECTED_ENTRY_BYTES_MAX:
        raise CorruptRecord(f"an entry of {entry.size} bytes is not decoded, the limit is {INSPECTED_ENTRY_BYTES_MAX}")
    data = os.pread(fd, entry.size, entry.position)
    if len(data) < entry.size:
        raise CorruptRecord(f"{len(data)} of {entry.size} bytes are left: the file was truncated")
    return memoryview(data)


def entry_records(fd: int, entry: Entry) -> Iterator[Record]:
    """raises   CorruptRecord or CompressionError, where they are not what the header says; OSError"""
    return iterate_entry_records(entry_data(fd, entry), INSPECTED_ENTRY_BYTES_MAX)


def marker_of(record: Record) -> Marker | None:
    """The end of a transaction that a control record is; None for another kind; raises CorruptRecord."""
    key, value = record.key or b"", record.value or b""
    if len(key) < CONTROL_KEY.size:
        raise CorruptRecord(f"the key of the control record at offset {record.offset} has {len(key)} bytes")
    version, kind = CONTROL_KEY.unpack_from(key)
    if kind not in (ABORT, COMMIT):
        return None
    epoch = MARKER_VALUE.unpack_from(value)[1] if len(value) >= MARKER_VALUE.size else -1
    return Marker(version, kind == COMMIT, epoch)
