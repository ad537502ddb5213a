"""The records of one batch of v2, encoded as they are appended: what a producer holds between its caller and the network.

A record is written once, into memory that follows room for the batch's header: no object for a record is made or kept. An
uncompressed batch is that memory itself (`seal_in_place`), or one copy of it. The memory doubles as it grows, and `clear` keeps it.

`BatchBuilder` is the kernel's type (`kernel/batch_builder.c`) where that is built, else `PythonBatchBuilder`, which is the reference:
same methods, same bytes, same errors. Bytes are those of `record_batch.build_batch` over the same records.

A `Column` is how Arrow keeps binary and string arrays, so a table is sent without an object for a value.

An error leaves a builder as it was. All arguments of `append`, `extend` and `extend_columns` are positional. For one thread at a time.

Source: Kafka `MemoryRecordsBuilder`, `DefaultRecord`; the Arrow columnar format, "Variable-size Binary Layout".
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from headrace.ids import NO_PRODUCER_ID, NO_TIMESTAMP_MS
from headrace.protocol import record_kernel
from headrace.protocol.compression import Codec, compress
from headrace.protocol.compression_levels import LEVELS, compress_at
from headrace.protocol.record_batch import (
    CODEC_MASK,
    HEADER_BYTES,
    MAGIC_V2,
    NO_SEQUENCE,
    Buffer,
    Header,
    Record,
    RecordBatchHeader,
    encode_records,
    read_records,
    seal_batch,
)
from headrace.protocol.varint import encode_varlong

BATCH_BYTES_MAX: Final = 2**31 - 1
_INT64: Final = (-(2**63), 2**63 - 1)
_INT32: Final = (-(2**31), 2**31 - 1)
_INT16: Final = (-(2**15), 2**15 - 1)
_ROWS: Final = (0, 2**62 - 1)
_TIME_BYTES: Final = 8
_VIEW_IS_HELD: Final = "a view of the records is held: release it first"
_OFFSET_BYTES: Final = {"binary": 4, "string": 4, "large_binary": 8, "large_string": 8}  # by Arrow's type

Entry = tuple[bytes | None, bytes | None, tuple[Header, ...], int]


class ArrowArray(Protocol):
    """What is used of `pyarrow.Array`."""

    @property
    def offset(self) -> int: ...
    @property
    def type(self) -> object: ...
    def buffers(self) -> list[Any]: ...


class Column(NamedTuple):
    """The buffers of a binary or string array.

    offsets    where each row begins in the data, and where the last one ends; in the processor's byte order
    validity   a bit for each row, 0 is null; None: no row is null
    width      bytes of an offset, 4 or 8
    first      index of row 0 in offsets and validity
    """

    offsets: Any
    data: Any
    validity: Any = None
    width: int = 4
    first: int = 0

    @classmethod
    def of(cls, array: ArrowArray) -> Column:
        """The column of an array, without a copy; a chunked array has one for each chunk.

        raises   TypeError, where it is not binary, large_binary, string or large_string
        """
        width = _OFFSET_BYTES.get(str(array.type))
        if width is None:
            raise TypeError(f"array: {array.type} is not one of {', '.join(_OFFSET_BYTES)}: cast it")
        validity, offsets, data = array.buffers()
        return cls(offsets or b"", data or b"", validity, width, array.offset)

    def row(self, row: int) -> memoryview | None:
        """The bytes of a row. raises ValueError, where there is no such row, or it is outside of the data"""
        return _Rows("column", self, row + 1).row(row)


class PythonBatchBuilder:
    """One batch being built.

    count                                  records so far
    size_bytes                             of the batch uncompressed, its header included
    first_timestamp_ms, max_timestamp_ms   over the records; -1 where there are none
    """

    __slots__ = ("_data", "count", "first_timestamp_ms", "max_timestamp_ms")

    def __init__(self) -> None:
        self._data = bytearray(HEADER_BYTES)
        self.count = 0
        self.first_timestamp_ms = self.max_timestamp_ms = NO_TIMESTAMP_MS

    @property
    def size_bytes(self) -> int:
        return len(self._data)

    @property
    def capacity_bytes(self) -> int:
        """Of the memory that it has."""
        return self._data.__alloc__()

    def append(
        self, timestamp_ms: int, key: Buffer | None, value: Buffer | None, headers: Sequence[Header] = (), /
    ) -> int:
        """Append a record; `size_bytes` after it.

        raises   TypeError, where an argument is of another type; ValueError, where the batch would pass 2**31 - 1 bytes or the timestamp is
                 2**63 or more from the first one's; BufferError, while a view of `records` is held
        """
        _check("timestamp_ms", timestamp_ms, _INT64)
        self._put(timestamp_ms, span_of("key", key), span_of("value", value), _headers(headers), None)
        return self.size_bytes

    def extend(
        self,
        values: list[Any] | tuple[Any, ...],
        keys: list[Any] | tuple[Any, ...] | None,
        timestamp_ms: int,
        start: int,
        limit_bytes: int,
        stop: int | None = None,
        /,
    ) -> int:
        """Append `values[start:stop]`, until the next record would take the batch beyond `limit_bytes`; the first of a batch always fits.

        keys      one for each value
        returns   the index of the first value that was not taken
        raises    as `append`, also for a `start` or `stop` outside of the values
        """
        for name, listed in (("values", values), ("keys", keys)):
            if not isinstance(listed, list | tuple) and not (name == "keys" and listed is None):
                raise TypeError(f"{name}: {type(listed).__name__} is not list or tuple")
        if keys is not None and len(keys) != len(values):
            raise ValueError(f"keys: {len(keys)} of them for {len(values)} values")
        _check("timestamp_ms", timestamp_ms, _INT64)
        _check("start", start, (0, len(values)))
        _check("limit_bytes", limit_bytes, _INT64)
        if stop is None:
            stop = len(values)
        _check("stop", stop, (start, len(values)))
        before = self._state()
        try:
            for index in range(start, stop):
                key = None if keys is None else span_of(f"keys[{index}]", keys[index])
                if not self._put(timestamp_ms, key, span_of(f"values[{index}]", values[index]), (), limit_bytes):
                    return index
        except BaseException:
            self._go_back(before)
            raise
        return stop

    def extend_columns(
        self,
        values: Column,
        keys: Column | None,
        timestamp_ms: int | Buffer,
        start: int,
        stop: int,
        limit_bytes: int,
        /,
    ) -> int:
        """The same for the rows `start` to `stop` of columns.

        timestamp_ms   of all rows; or a buffer with an int64 for each, in the processor's byte order
        raises         also ValueError, where a column has fewer rows than `stop`, or a row is outside of the column's data
        """
        _check("stop", stop, _ROWS)
        _check("start", start, (0, stop))
        _check("limit_bytes", limit_bytes, _INT64)
        if isinstance(timestamp_ms, int):
            _check("timestamp_ms", timestamp_ms, _INT64)
            times = None
        else:
            times = memoryview(timestamp_ms).cast("B")
        value_rows = _Rows("values", values, stop)
        key_rows = None if keys is None else _Rows("keys", keys, stop)
        if times is not None and len(times) // _TIME_BYTES < stop:
            raise ValueError(f"timestamp_ms: the column has {len(times) // _TIME_BYTES} rows, stop is {stop}")
        before = self._state()
        try:
            for row in range(start, stop):
                key = None if key_rows is None else key_rows.row(row)
                value = value_rows.row(row)
                time_ms = timestamp_ms if times is None else _native(times, _TIME_BYTES * row, _TIME_BYTES)
                if not self._put(cast(int, time_ms), key, value, (), limit_bytes):
                    return row
        except BaseException:
            self._go_back(before)
            raise
        return stop

    def records(self) -> memoryview:
        """The encoded records, without a copy. Nothing can be appended or cleared until the view is released."""
        return memoryview(self._data)[HEADER_BYTES:].toreadonly()

    def clear(self) -> None:
        """Begin a new batch in the same memory. raises BufferError, while a view of `records` is held"""
        self._go_back((HEADER_BYTES, 0, NO_TIMESTAMP_MS, NO_TIMESTAMP_MS))

    def seal(
        self, body: Buffer | None, attributes: int, producer_id: int, producer_epoch: int, base_sequence: int, /
    ) -> bytes:
        """The batch with `body` after its header: the records compressed, or None for the records as they are.

        raises   ValueError, where there are no records, or a number does not fit its field
        """
        stamp = self._stamp(attributes, producer_id, producer_epoch, base_sequence)
        found = self.records() if body is None else span_of("body", body)
        assert found is not None
        if len(found) > BATCH_BYTES_MAX - HEADER_BYTES:
            raise ValueError(f"body: {len(found)} bytes do not fit into a batch: the limit is {BATCH_BYTES_MAX}")
        return bytes(seal_batch(stamp, found))

    def seal_in_place(
        self, attributes: int, producer_id: int, producer_epoch: int, base_sequence: int, /
    ) -> memoryview:
        """The batch with the records as they are, without a copy. Nothing can be appended or cleared until the view is released.

        raises   as `seal`; BufferError, while another view is held
        """
        stamp = self._stamp(attributes, producer_id, producer_epoch, base_sequence)
        with self.records() as plain:
            sealed = seal_batch(stamp, plain)
        try:
            self._data.append(0)  # refused while a view is held
        except BufferError:
            raise BufferError(_VIEW_IS_HELD) from None
        del self._data[-1]
        self._data[:HEADER_BYTES] = sealed[:HEADER_BYTES]
        return memoryview(self._data).toreadonly()

    def build(
        self,
        codec: int = Codec.NONE,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = -1,
        base_sequence: int = NO_SEQUENCE,
        attributes: int = 0,
        level: int | None = None,
    ) -> bytes:
        """The whole batch with its checksum. The builder stays as it is: a retry may build again, with another sequence.

        attributes   further bits: TRANSACTIONAL_BIT, CONTROL_BIT
        level        of gzip, lz4 or zstd; None: the one that costs least
        raises       ValueError, where there are no records, or an argument is out of range
        """
        if not Codec.NONE <= codec <= Codec.ZSTD:
            raise ValueError(f"codec: {codec} is not within {int(Codec.NONE)} to {int(Codec.ZSTD)}")
        if attributes & CODEC_MASK:
            raise ValueError(f"attributes: {attributes} has bits of the codec, {CODEC_MASK}")
        if level is not None:
            low, high = LEVELS.get(Codec(codec), (0, -1))
            if low > high:
                raise ValueError(f"level: {level} is set, codec {Codec(codec).name.lower()} has no levels")
            _check("level", level, (low, high))
        if not codec or not self.count:
            return self.seal(None, attributes, producer_id, producer_epoch, base_sequence)
        with self.records() as plain:
            body = compress(codec, plain) if level is None else compress_at(codec, plain, level)
        return self.seal(body, attributes | codec, producer_id, producer_epoch, base_sequence)

    def entries(self, start: int = 0) -> list[Entry]:
        """(key, value, headers, timestamp) of each record from index `start` on: a batch that is too large is split by them."""
        header = RecordBatchHeader(
            0, 0, -1, MAGIC_V2, 0, 0, self.count - 1, self.first_timestamp_ms, self.max_timestamp_ms,
            NO_PRODUCER_ID, -1, NO_SEQUENCE, self.count,
        )  # fmt: skip
        with self.records() as view:
            plain = bytes(view)
        return [
            (record.key, record.value, record.headers, record.timestamp_ms)
            for record in read_records(plain, header)
            if record.offset >= start
        ]

    def _put(
        self,
        timestamp_ms: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: tuple[Header, ...],
        limit_bytes: int | None,
    ) -> bool:
        """Append a record; False, where it would pass the limit, and is not the first."""
        first_ms = self.first_timestamp_ms if self.count else timestamp_ms
        delta_ms = timestamp_ms - first_ms
        if not _INT64[0] <= delta_ms <= _INT64[1]:
            raise ValueError(f"timestamp_ms: {timestamp_ms} is 2**63 or more from the first record's {first_ms}")
        whole = _record_bytes(delta_ms, self.count, key, value, headers)
        limit = None if limit_bytes is None else min(max(limit_bytes, 0), BATCH_BYTES_MAX)
        if self.count and limit is not None and self.size_bytes + whole > limit:
            return False
        if self.size_bytes + whole > BATCH_BYTES_MAX:
            raise ValueError(
                f"a record of {whole} bytes does not fit into a batch of {self.size_bytes}: the limit is {BATCH_BYTES_MAX}"
            )
        record = Record(self.count, timestamp_ms, cast("bytes | None", key), cast("bytes | None", value), headers)
        try:
            self._data += encode_records((record,), first_ms)
        except BufferError:
            raise BufferError(_VIEW_IS_HELD) from None
        self.first_timestamp_ms = first_ms
        self.max_timestamp_ms = max(self.max_timestamp_ms, timestamp_ms) if self.count else timestamp_ms
        self.count += 1
        return True

    def _stamp(self, attributes: int, producer_id: int, producer_epoch: int, base_sequence: int) -> RecordBatchHeader:
        """The header, without sizes and checksum."""
        _check("attributes", attributes, _INT16)
        _check("producer_id", producer_id, _INT64)
        _check("producer_epoch", producer_epoch, _INT16)
        _check("base_sequence", base_sequence, _INT32)
        if not self.count:
            raise ValueError("the batch has no records")
        return RecordBatchHeader(
            0, 0, -1, MAGIC_V2, 0, attributes, self.count - 1, self.first_timestamp_ms, self.max_timestamp_ms,
            producer_id, producer_epoch, base_sequence, self.count,
        )  # fmt: skip

    def _state(self) -> tuple[int, int, int, int]:
        return self.size_bytes, self.count, self.first_timestamp_ms, self.max_timestamp_ms

    def _go_back(self, state: tuple[int, int, int, int]) -> None:
        size_bytes, count, first_ms, max_ms = state
        try:
            del self._data[size_bytes:]
        except BufferError:
            raise BufferError(_VIEW_IS_HELD) from None
        self.count, self.first_timestamp_ms, self.max_timestamp_ms = count, first_ms, max_ms


class _Rows:
    """A column that is read row by row."""

    __slots__ = ("_column", "_data", "_name", "_offsets", "_validity")

    def __init__(self, name: str, column: Column, stop: int) -> None:
        if not isinstance(column, tuple) or len(column) != len(Column._fields):
            raise TypeError(f"{name}: {type(column).__name__} is not a Column")
        self._name = name
        self._column = column = Column(*column)
        self._offsets = memoryview(column.offsets).cast("B")
        self._data = memoryview(column.data).cast("B")
        self._validity = None if column.validity is None else memoryview(column.validity).cast("B")
        _check("width", column.width, (4, 8))
        _check("first", column.first, _ROWS)
        if column.width not in (4, 8):
            raise ValueError(f"width: {column.width} is not 4 or 8")
        rows = len(self._offsets) // column.width - 1 - column.first
        if self._validity is not None:
            rows = min(rows, 8 * len(self._validity) - column.first)
        if stop > max(rows, 0):
            raise ValueError(f"{name}: the column has {max(rows, 0)} rows, stop is {stop}")

    def row(self, row: int) -> memoryview | None:
        at, width = self._column.first + row, self._column.width
        if self._validity is not None and not self._validity[at >> 3] >> (at & 7) & 1:
            return None
        begin, end = _native(self._offsets, at * width, width), _native(self._offsets, (at + 1) * width, width)
        if not 0 <= begin <= end <= len(self._data):
            raise ValueError(f"{self._name}: row {row} is from {begin} to {end}, the data has {len(self._data)} bytes")
        return self._data[begin:end]


def _native(buffer: memoryview, position: int, width: int) -> int:
    return int.from_bytes(buffer[position : position + width], sys.byteorder, signed=True)


def _check(name: str, number: int, within: tuple[int, int]) -> None:
    if not isinstance(number, int):
        raise TypeError(f"{name}: {type(number).__name__} is not int")
    if not within[0] <= number <= within[1]:
        raise ValueError(f"{name}: {number} is not within {within[0]} to {within[1]}")


def span_of(name: str, given: Buffer | None) -> Buffer | None:
    """The bytes of an argument, as something whose `len` is their number. raises TypeError, which names it"""
    if given is None or isinstance(given, bytes | bytearray):
        return given
    if not isinstance(given, memoryview):
        raise TypeError(f"{name}: {type(given).__name__} is not bytes, bytearray or memoryview")
    if not given.c_contiguous:
        raise TypeError(f"{name}: the memoryview is not contiguous")
    return given.cast("B") if given.nbytes else b""


def _headers(given: Sequence[Header]) -> tuple[Header, ...]:
    if isinstance(given, str | dict) or not hasattr(type(given), "__getitem__"):
        raise TypeError(f"headers: {type(given).__name__} is not a sequence of name and value")
    found = []
    for index, header in enumerate(tuple(given)):
        if not isinstance(header, tuple) or len(header) != 2:
            raise TypeError(f"headers[{index}]: it is not a tuple of name and value")
        name, value = header
        if not isinstance(name, str):
            raise TypeError(f"the name of headers[{index}]: {type(name).__name__} is not str")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"the name of headers[{index}]: {name!a} has no form in UTF-8") from None
        found.append((name, cast("bytes | None", span_of(f"the value of headers[{index}]", value))))
    return tuple(found)


def _record_bytes(
    delta_ms: int, index: int, key: Buffer | None, value: Buffer | None, headers: tuple[Header, ...]
) -> int:
    """What a record takes, its length included."""
    body = 1 + _varlong_bytes(delta_ms) + _varlong_bytes(index) + _sized_bytes(key) + _sized_bytes(value)
    body += _varlong_bytes(len(headers))
    body += sum(_sized_bytes(name.encode()) + _sized_bytes(content) for name, content in headers)
    return _varlong_bytes(body) + body


def _varlong_bytes(value: int) -> int:
    return len(encode_varlong(value))


def _sized_bytes(given: Buffer | None) -> int:
    return 1 if given is None else _varlong_bytes(len(given)) + len(given)


def builder_over(kernel_type: Any) -> type[PythonBatchBuilder]:
    """The kernel's type with what is done once for a batch; in Python where there is none."""
    if kernel_type is None:
        return PythonBatchBuilder
    once = {"build": PythonBatchBuilder.build, "entries": PythonBatchBuilder.entries}
    return cast(
        type[PythonBatchBuilder],
        type("BatchBuilder", (kernel_type,), {"__slots__": (), "__module__": __name__, **once}),
    )


if TYPE_CHECKING:
    BatchBuilder = PythonBatchBuilder
else:
    BatchBuilder = builder_over(record_kernel.BatchBuilder)
