"""A chunk of columns being filled, which becomes one Arrow batch.

Runs in: Spark's Python workers. Only requested columns are filled; `key_length` and
`value_length` cost no copy of any bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.column_types import ARROW_TYPES, TIMESTAMP_MS, arrow_schema
from headrace.arrow.errors import TimestampOverflow
from headrace.arrow.gathered import GATHER_BYTES_FIRST, BinaryColumn
from headrace.arrow.header_lists import HeaderLists
from headrace.arrow.target import (
    BODY_MAX,
    BYTES,
    FIELDS,
    HEADERS_LENGTH,
    HEADERS_START,
    KEY_LENGTH,
    KEY_NULLS,
    OFFSET,
    SUMS,
    TIMESTAMP,
    TYPE,
    VALUE_LENGTH,
    VALUE_NULLS,
    Target,
)
from headrace.arrow.views import Views
from headrace.limits import REPEATED_ARRAYS_MAX

TIMESTAMP_MS_MAX = (2**63 - 1) // 1000  # Spark counts microseconds in an int64

# The fields of a record that a column is made of; OFFSET is always read, to know how far
COLUMN_FIELDS = {
    "timestamp": (TIMESTAMP,),
    TIMESTAMP_MS: (TIMESTAMP,),
    "timestampType": (TYPE,),
    "headers": (HEADERS_START, HEADERS_LENGTH),
    "key_length": (KEY_LENGTH,),
    "value_length": (VALUE_LENGTH,),
}
NULLS = {"key": KEY_NULLS, "value": VALUE_NULLS}


class Chunk:
    """Up to `capacity` rows of one partition.

    rows       filled so far; the walk writes into `target`, `take` makes them the chunk's
    target     where the walk puts rows, by what is wanted
    are_views  keys and values are views into the sources, not copies
    before     the chunk before it, which was about as large: its buffers need not grow from small ones
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        names: Sequence[str],
        capacity: int,
        are_views: bool = False,
        before: Chunk | None = None,
    ) -> None:
        self.rows = 0
        self.capacity = capacity
        self._topic = topic
        self._partition = partition
        self._names = names
        self._schema = arrow_schema(names, are_views)
        wanted = tuple(name for name in NULLS if name in names)
        self._views = Views(wanted if are_views else (), capacity)
        copied = () if are_views else wanted
        self._copies = {name: BinaryColumn(capacity, _first_bytes(name, before)) for name in copied}
        self._headers = HeaderLists(capacity) if "headers" in names else None
        fields = {OFFSET, *(field for name in names for field in COLUMN_FIELDS.get(name, ()))}
        self._slots = np.full(FIELDS, -1, np.int64)
        self._slots[sorted(fields)] = np.arange(len(fields))
        self._columns = np.empty((len(fields), capacity), np.int64)
        self._sums = np.zeros(SUMS, np.int64)
        self.target = self._target()

    @property
    def size_bytes(self) -> int:
        """Of the keys, values and headers found so far."""
        return int(self._sums[BYTES]) + (0 if self._headers is None else self._headers.size_bytes)

    def buffer(self, source: Any) -> int:
        """The number of a source among the buffers of views, which the walk is to write."""
        return self._views.number(source)

    def reserve(self, body_bytes: int) -> bool:
        """Room for copies out of this number of bytes of records; False, where a chunk without rows would have it.

        raises   HeadraceError, where one batch is more than a column can hold
        """
        columns = self._copies.values()
        if self.rows and not all(column.has_room_for(body_bytes) for column in columns):
            return False
        for column in columns:
            column.reserve_bytes(body_bytes)
        self.target = self._target()
        return True

    def take(self, sources: Sequence[Any], last: int) -> None:
        """The rows from `rows` up to `last`, which the walk found in `sources` (in one, if it `has_headers`).

        raises   CorruptRecord, for headers that contradict their record's length
        """
        first = self.rows
        if last == first:
            return
        self._views.hold(sources)
        for name, column in self._copies.items():
            column.size_bytes, column.nulls = int(column.offsets[last]), int(self._sums[NULLS[name]])
        if self._headers is not None:
            (source,) = sources
            self._headers.add(source, self._field(HEADERS_START), self._field(HEADERS_LENGTH), first, last)
        self.rows = last

    @property
    def has_headers(self) -> bool:
        """Whether `take` copies headers out of what was walked."""
        return self._headers is not None

    def first_bytes(self, name: str) -> int:
        """For a column's bytes in a chunk like this one, and a little more."""
        return self._copies[name].size_bytes * 17 // 16 + int(self._sums[BODY_MAX])

    def last_offset(self) -> int:
        """Of the last row."""
        return int(self._field(OFFSET)[self.rows - 1])

    def batch(self) -> pa.RecordBatch:
        """The rows as an Arrow batch, once: its arrays are the chunk's own memory."""
        rows = self.rows
        arrays = [self._array(name, rows) for name in self._names]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _field(self, field: int) -> Any:
        """A field of all rows. It was asked for, else it has no slot."""
        slot = int(self._slots[field])
        assert slot >= 0
        return self._columns[slot]

    def _target(self) -> Target:
        key, value = self._place("key"), self._place("value")
        return Target(self.capacity, self._columns, self._slots, *key, *value, self._sums)

    def _place(self, name: str) -> tuple[Any, Any, Any]:
        """(room for a column's copies, or views; ends; validity) as a Target has them."""
        if name in self._copies:
            column = self._copies[name]
            return column.data, column.offsets, column.validity
        views, validity = self._views.places.get(name, (None, None))
        return views, None, validity

    def _timestamps(self, milliseconds: Any) -> pa.Array:
        """raises   TimestampOverflow"""
        if len(milliseconds) and not -TIMESTAMP_MS_MAX <= milliseconds.min() <= milliseconds.max() <= TIMESTAMP_MS_MAX:
            row = int(np.argmax((milliseconds > TIMESTAMP_MS_MAX) | (milliseconds < -TIMESTAMP_MS_MAX)))
            raise TimestampOverflow(
                f"{self._topic}-{self._partition}: the record at offset {self._field(OFFSET)[row]} has the timestamp "
                f"{milliseconds[row]}, which overflows Spark's timestamp; its producer may be writing microseconds or "
                "nanoseconds where Kafka has milliseconds; leave the column timestamp out to read the rest"
            )
        microseconds = np.multiply(milliseconds, 1000, out=milliseconds)  # this chunk's own, and its last use
        return pa.Array.from_buffers(ARROW_TYPES["timestamp"], len(microseconds), [None, pa.py_buffer(microseconds)])

    def _array(self, name: str, rows: int) -> pa.Array:
        if name in ("key", "value"):
            if name in self._copies:
                return self._copies[name].array(rows)
            return self._views.array(name, rows, int(self._sums[NULLS[name]]))
        if name in ("topic", "partition"):
            value = self._topic if name == "topic" else self._partition
            return _repeated(name, value, self.capacity)[:rows]
        if name == "offset":
            return pa.array(self._field(OFFSET)[:rows])
        if name == "timestamp":
            return self._timestamps(self._field(TIMESTAMP)[:rows])
        if name == TIMESTAMP_MS:
            return pa.array(self._field(TIMESTAMP)[:rows])
        if name == "timestampType":
            return pa.array(self._field(TYPE)[:rows].astype(np.int32))
        if name == "headers":
            assert self._headers is not None
            return self._headers.array(rows)
        lengths = self._field(KEY_LENGTH if name == "key_length" else VALUE_LENGTH)[:rows].astype(np.int32)
        return pa.array(lengths, mask=lengths < 0)


@functools.lru_cache(maxsize=REPEATED_ARRAYS_MAX)
def _repeated(column: str, value: Any, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, ARROW_TYPES[column]), rows)


def _first_bytes(name: str, before: Chunk | None) -> int:
    return GATHER_BYTES_FIRST if before is None else max(before.first_bytes(name), GATHER_BYTES_FIRST)
