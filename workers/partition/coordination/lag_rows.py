"""Committed offsets of this worker's groups in the lag table.

Runs in: a partition worker, for its own section. A commit notes its key and value; twice a second what was noted
is written, the last value of each key alone, so that a commit pays a dict store.

Bound: `headrace.lag.rows.max` rows; offsets beyond are not shown, and the log says so once.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.limits import ROWS_PER_FLUSH_MAX
from headrace.shm.lag_table import LagTable
from headrace.workers.coordinators.effects import KeyValue
from headrace.workers.coordinators.group.records import commit_ms_of, offset_of, read_suffix

FLUSH_INTERVAL_MS: Final = 500
_PARTITION_BYTES: Final = 4  # at the end of an offset's key
_SIGN_MAX: Final = 127  # of its first byte

_log: Final = logging.getLogger(__name__)


class LagRows:
    """Rows by the key of their offset's record. Not more is noted than there are rows."""

    def __init__(self, table: LagTable, section: int) -> None:
        self._table = table
        self._section = section
        self._first = first = table.first_of(section)
        self._used = table.used(section)
        self._free = list(range(first + self._used - 1, first - 1, -1))  # of those that were in use
        self._places: dict[bytes, int] = {}
        self._noted: dict[bytes, bytes | None] = {}
        self._coming = 0  # noted keys without a row
        self._next_ms = 0
        self._is_full = False
        for place in self._free:
            table.free(place)  # a predecessor's rows

    def note(self, records: list[KeyValue]) -> None:
        """Records that are committed: offsets, tombstones of offsets, groups (which don't matter here).

        Nor do partitions below 0, which a log may name and a row can't.
        """
        noted, places = self._noted, self._places
        for key, value in records:
            if key[1] > 1 or key[0] or key[-_PARTITION_BYTES] > _SIGN_MAX:  # no partition of a log is below 0
                continue
            if key in places or key in noted:
                noted[key] = value
            elif value is not None:
                if self.has_room:
                    noted[key] = value
                    self._coming += 1
                else:
                    self._report_full()

    @property
    def has_room(self) -> bool:
        """Whether offsets of further partitions can be shown."""
        return self._coming < len(self._free) + self._table.rows_of_section - self._used

    def forget(self, prefixes: list[bytes]) -> None:
        """Groups that are hosted elsewhere from now on."""
        gone = set(prefixes)
        for key in {**self._places, **self._noted}:
            if key[: 4 + int.from_bytes(key[2:4], "big")] in gone:
                self._noted[key] = None

    def flush(self, now_ms: int) -> None:
        """Write what was noted, where it is time."""
        if not self._noted or now_ms < self._next_ms:
            return
        self._next_ms = now_ms + FLUSH_INTERVAL_MS
        for key in list(self._noted)[:ROWS_PER_FLUSH_MAX]:
            self._write(key, self._noted.pop(key))

    def _write(self, key: bytes, value: bytes | None) -> None:
        place = self._places.get(key)
        self._coming -= place is None
        if value is None:
            if place is not None:
                del self._places[key]
                self._table.free(place)
                self._free.append(place)
            return
        if place is not None:
            self._table.move(place, offset_of(value), commit_ms_of(value)[0])
        elif (place := self._free_place()) is not None:
            self._places[key] = place
            group_end = 4 + int.from_bytes(key[2:4], "big")
            topic, partition = read_suffix(key[group_end:])
            group = key[4:group_end].decode("utf-8", "replace")
            self._table.write(place, group, topic, partition, offset_of(value), commit_ms_of(value)[0])
        else:
            self._report_full()

    def _free_place(self) -> int | None:
        """A row that is free again, else one that never was in use; None where all are taken."""
        if self._free:
            return self._free.pop()
        if self._used >= self._table.rows_of_section:
            return None
        self._used += 1
        self._table.use(self._section, self._used)
        return self._first + self._used - 1

    def _report_full(self) -> None:
        if not self._is_full:
            self._is_full = True
            _log.warning("lag table full rows=%d headrace.lag.rows.max", self._table.rows_of_section)
