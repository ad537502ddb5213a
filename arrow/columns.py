"""A chunk of columns being filled, which becomes one Arrow batch.

Runs in: Spark's Python workers. Only requested columns are gathered; `key_length` and
`value_length` cost no copy of any bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.decode import gather
from headrace.arrow.errors import TimestampOverflow
from headrace.arrow.views import Views
from headrace.errors import HeadraceError
from headrace.protocol.record_batch import CorruptRecord
from headrace.protocol.varint import read_varlong

KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
ALL_COLUMNS = (*KAFKA_COLUMNS, "headers", "key_length", "value_length")
HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
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
FIELDS = 9
GATHER_BYTES_FIRST = 1 << 20
GATHER_BYTES_MAX = 2**31 - 1  # Arrow's int32 offsets
TIMESTAMP_MS_MAX = (2**63 - 1) // 1000  # Spark counts microseconds in an int64

(
    OFFSET,
    TIMESTAMP,
    TYPE,
    KEY_START,
    KEY_LENGTH,
    VALUE_START,
    VALUE_LENGTH,
    HEADERS_START,
    HEADERS_LENGTH,
) = range(FIELDS)


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


class BinaryColumn:
    """One binary column being gathered.

    size_bytes   of the values so far
    """

    def __init__(self, rows: int) -> None:
        self.data = np.empty(GATHER_BYTES_FIRST, np.uint8)
        self.offsets = np.zeros(rows + 1, np.int32)
        self.validity = np.full(rows // 8 + 1, 255, np.uint8)
        self.nulls = 0
        self.size_bytes = 0

    def add(self, source: Any, starts: Any, lengths: Any, first: int, last: int) -> None:
        needed = int(self.offsets[first]) + int(np.maximum(lengths[first:last], 0).sum())
        if needed > GATHER_BYTES_MAX:
            raise HeadraceError(f"{needed} bytes in one column of one Arrow batch, at most {GATHER_BYTES_MAX} fit")
        if needed > self.data.shape[0]:
            grown = np.empty(max(needed, 2 * self.data.shape[0]), np.uint8)
            grown[: self.data.shape[0]] = self.data
            self.data = grown
        nulls = gather(source, starts, lengths, first, last, self.data, self.offsets, self.validity)
        assert nulls >= 0
        self.nulls += nulls
        self.size_bytes = needed

    def array(self, rows: int) -> pa.Array:
        validity = pa.py_buffer(self.validity) if self.nulls else None
        size = int(self.offsets[rows])
        buffers = [validity, pa.py_buffer(self.offsets[: rows + 1]), pa.py_buffer(self.data[:size])]
        return pa.Array.from_buffers(pa.binary(), rows, buffers, null_count=self.nulls)


class Chunk:
    """Up to `capacity` rows of one partition.

    rows       filled so far; the kernels write `columns`, `take` gathers what they found
    are_views  keys and values are views into the sources, not copies
    """

    def __init__(
        self, topic: str, partition: int, names: Sequence[str], capacity: int, are_views: bool = False
    ) -> None:
        self.columns = np.empty((FIELDS, capacity), np.int64)
        self.rows = 0
        self.capacity = capacity
        self._topic = topic
        self._partition = partition
        self._names = names
        kind = Views if are_views else BinaryColumn
        self._key = kind(capacity) if "key" in names else None
        self._value = kind(capacity) if "value" in names else None
        self._schema = arrow_schema(names, are_views)
        self._headers: list[Any] | None = [] if "headers" in names else None

    @property
    def size_bytes(self) -> int:
        """Of the keys and values gathered so far."""
        return sum(column.size_bytes for column in (self._key, self._value) if column is not None)

    def take(self, source: Any, last: int) -> None:
        """Gather the rows from `rows` up to `last`, whose starts point into `source`.

        raises   CorruptRecord, for headers that contradict their record's length
        """
        first = self.rows
        if last == first:
            return
        if self._key is not None:
            self._key.add(source, self.columns[KEY_START], self.columns[KEY_LENGTH], first, last)
        if self._value is not None:
            self._value.add(source, self.columns[VALUE_START], self.columns[VALUE_LENGTH], first, last)
        if self._headers is not None:
            view = memoryview(source)
            self._headers += [
                _parse_headers(view, int(self.columns[HEADERS_START, row]), int(self.columns[HEADERS_LENGTH, row]))
                for row in range(first, last)
            ]
        self.rows = last

    def batch(self) -> pa.RecordBatch:
        """The rows as an Arrow batch."""
        rows = self.rows
        arrays = [self._array(name, rows) for name in self._names]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _timestamps(self, milliseconds: Any) -> pa.Array:
        """raises   TimestampOverflow"""
        if len(milliseconds) and not -TIMESTAMP_MS_MAX <= milliseconds.min() <= milliseconds.max() <= TIMESTAMP_MS_MAX:
            row = int(np.argmax((milliseconds > TIMESTAMP_MS_MAX) | (milliseconds < -TIMESTAMP_MS_MAX)))
            raise TimestampOverflow(
                f"{self._topic}-{self._partition}: the record at offset {self.columns[OFFSET, row]} has the timestamp "
                f"{milliseconds[row]}, which overflows Spark's timestamp; its producer may be writing microseconds or "
                "nanoseconds where Kafka has milliseconds; leave the column timestamp out to read the rest"
            )
        return pa.array(milliseconds * 1000).cast(ARROW_TYPES["timestamp"])

    def _array(self, name: str, rows: int) -> pa.Array:
        columns = self.columns
        if name == "key":
            assert self._key is not None
            return self._key.array(rows)
        if name == "value":
            assert self._value is not None
            return self._value.array(rows)
        if name == "topic":
            return pa.repeat(pa.scalar(self._topic, pa.string()), rows)
        if name == "partition":
            return pa.repeat(pa.scalar(self._partition, pa.int32()), rows)
        if name == "offset":
            return pa.array(columns[OFFSET, :rows])
        if name == "timestamp":
            return self._timestamps(columns[TIMESTAMP, :rows])
        if name == "timestampType":
            return pa.array(columns[TYPE, :rows].astype(np.int32))
        if name == "headers":
            return pa.array(self._headers, HEADERS_TYPE)
        lengths = columns[KEY_LENGTH if name == "key_length" else VALUE_LENGTH, :rows].astype(np.int32)
        return pa.array(lengths, mask=lengths < 0)


def _parse_headers(data: memoryview, position: int, length: int) -> list[dict[str, Any]] | None:
    """A record's headers; None where it has none, as the kafka source gives it.

    raises   CorruptRecord
    """
    held = data[position : position + length]
    headers = []
    try:
        count, at = read_varlong(held, 0)
        if not 0 <= count <= length:
            raise CorruptRecord(f"{count} headers can't fit in {length} bytes")
        for _ in range(count):
            name, at = _read_bytes(held, at)
            if name is None:
                raise CorruptRecord("a header's key is null")
            value, at = _read_bytes(held, at)
            headers.append({"key": name.decode("utf-8", "replace"), "value": value})
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"headers at byte {position}: {failure}") from None
    if at != length:
        raise CorruptRecord(f"headers at byte {position} take {at} bytes, their record has {length} left")
    return headers or None


def _read_bytes(held: memoryview, at: int) -> tuple[bytes | None, int]:
    size, at = read_varlong(held, at)
    if size < 0:
        return None, at
    if size > len(held) - at:
        raise CorruptRecord(f"header of {size} bytes, but {len(held) - at} bytes remain")
    return bytes(held[at : at + size]), at + size
