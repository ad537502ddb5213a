"""A chunk of columns being filled, which becomes one Arrow batch.

Runs in: Spark's Python workers. Only requested columns are gathered; `key_length` and
`value_length` cost no copy of any bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.decode import (
    FIELDS,
    HEADERS_LENGTH,
    HEADERS_START,
    KEY_LENGTH,
    KEY_START,
    OFFSET,
    TIMESTAMP,
    TYPE,
    VALUE_LENGTH,
    VALUE_START,
)
from headrace.arrow.errors import TimestampOverflow
from headrace.arrow.gathered import GATHER_BYTES_FIRST, BinaryColumn
from headrace.arrow.header_lists import HEADERS_TYPE, HeaderLists
from headrace.arrow.views import Views
from headrace.limits import REPEATED_ARRAYS_MAX

KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
ALL_COLUMNS = (*KAFKA_COLUMNS, "headers", "key_length", "value_length")
ARROW_TYPES: dict[str, Any] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "headers": HEADERS_TYPE,
    "key_length": pa.int32(),
    "value_length": pa.int32(),
}
TIMESTAMP_MS_MAX = (2**63 - 1) // 1000  # Spark counts microseconds in an int64

# The fields of a record that a column is made of; OFFSET is always read, to know how far
COLUMN_FIELDS = {
    "timestamp": (TIMESTAMP,),
    "timestampType": (TYPE,),
    "headers": (HEADERS_START, HEADERS_LENGTH),
    "key_length": (KEY_LENGTH,),
    "value_length": (VALUE_LENGTH,),
}
GATHERED_FIELDS = {"key": (KEY_START, KEY_LENGTH), "value": (VALUE_START, VALUE_LENGTH)}


def arrow_schema(columns: Sequence[str], are_views: bool = False) -> pa.Schema:
    """are_views   keys and values are views (Spark takes none)"""
    types = ARROW_TYPES | dict.fromkeys(("key", "value"), pa.binary_view()) if are_views else ARROW_TYPES
    return pa.schema([(name, types[name]) for name in columns])


def check_columns(columns: str | Sequence[str] | None, decoded: Sequence[str] = ()) -> tuple[str, ...]:
    """Column names from a list or a comma-separated string; None: all of kafka's. `decoded` ones may be named too.

    raises   ValueError, naming an unknown column, or one listed twice
    """
    if columns is None:
        return KAFKA_COLUMNS
    if isinstance(columns, str):
        columns = [part.strip() for part in columns.split(",") if part.strip()]
    known = dict.fromkeys((*decoded, *ALL_COLUMNS))
    unknown = [name for name in columns if name not in known]
    if unknown or not columns:
        raise ValueError(f"columns {unknown or list(columns)}: choose from {', '.join(known)}")
    twice = sorted({name for name in columns if list(columns).count(name) > 1})
    if twice:
        raise ValueError(f"columns {', '.join(twice)} are listed twice; select them twice from the DataFrame instead")
    return tuple(columns)


class Chunk:
    """Up to `capacity` rows of one partition.

    rows       filled so far; the kernels write into `target`, `take` gathers what they found
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
        self._views = Views({"key", "value"} & set(names) if are_views else (), capacity)
        gathered = () if are_views else tuple(name for name in ("key", "value") if name in names)
        sizes = {name: before.room_for(name) if before else GATHER_BYTES_FIRST for name in gathered}
        self._gathered = {name: BinaryColumn(capacity, sizes[name]) for name in gathered}
        self._headers = HeaderLists(capacity) if "headers" in names else None
        fields = {OFFSET, *(field for name in names for field in COLUMN_FIELDS.get(name, ()))}
        fields.update(field for name in gathered for field in GATHERED_FIELDS[name])
        self._slots = np.full(FIELDS, -1, np.int64)
        self._slots[sorted(fields)] = np.arange(len(fields))
        self.target = self._views.target(np.empty((len(fields), capacity), np.int64), self._slots)

    @property
    def size_bytes(self) -> int:
        """Of the keys, values and headers found so far."""
        headers = 0 if self._headers is None else self._headers.size_bytes
        return headers + self._views.size_bytes + sum(column.size_bytes for column in self._gathered.values())

    def buffer(self, source: Any) -> int:
        """The number of a source among the buffers of views, which the kernels are to write."""
        return self._views.number(source)

    def take(self, source: Any, last: int) -> None:
        """Gather the rows from `rows` up to `last`, which the kernels found in `source`.

        raises   CorruptRecord, for headers that contradict their record's length
        """
        first = self.rows
        if last == first:
            return
        self._views.hold(source)
        for name, column in self._gathered.items():
            starts, lengths = GATHERED_FIELDS[name]
            column.add(source, self._field(starts), self._field(lengths), first, last)
        if self._headers is not None:
            self._headers.add(source, self._field(HEADERS_START), self._field(HEADERS_LENGTH), first, last)
        self.rows = last

    @property
    def is_gathering(self) -> bool:
        """Whether `take` copies what was walked."""
        return bool(self._gathered)

    def room_for(self, name: str) -> int:
        """For a column's bytes in a chunk like this one, and a little more."""
        return max(self._gathered[name].size_bytes * 17 // 16, GATHER_BYTES_FIRST)

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
        return self.target.columns[slot]

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
            return self._gathered[name].array(rows) if name in self._gathered else self._views.array(name, rows)
        if name in ("topic", "partition"):
            value = self._topic if name == "topic" else self._partition
            return _repeated(name, value, self.capacity)[:rows]
        if name == "offset":
            return pa.array(self._field(OFFSET)[:rows])
        if name == "timestamp":
            return self._timestamps(self._field(TIMESTAMP)[:rows])
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
