"""Calls of the batch builder, the send path, murmur2 and the listing for clients, by a seed: the kernel and Python have to give the same.

`kernel_cases.py` runs them among its checks, and the longer run of it with the sanitizers.
"""

import struct
from typing import NamedTuple

from headrace.client import partitioner, send_path
from headrace.protocol import client_records
from headrace.protocol.batch_builder import Column, PythonBatchBuilder, builder_over
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import HEADER_BYTES, CorruptRecord, Record, build_batch

NOW_MS = 1_700_000_000_000
TIMES = (0, -1, NOW_MS, NOW_MS + 5, NOW_MS - 70, 2**62, 2**63 - 1, -(2**63), 2**63 - 2, -(2**62) - 1)
SIZES = (0, 1, 2, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 127, 128, 129, 8183, 8184, 8185, 8191, 8192, 8193)
WRONG = ("text", 3, 1.5, [b"x"], object, memoryview(b"abcdef")[::2])
LIMITS = (0, -5, 61, 62, 69, 70, 200, 1000, 20_000, 2**31 - 1, 2**40)
CODECS = (Codec.NONE, Codec.NONE, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)  # gzip's has the time in it


class ClientRecord(NamedTuple):
    """As a client's user gets it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple
    leader_epoch: int | None


def body_of(lot, *, is_spoilt=False):
    """A key or a value, of any kind that is taken; seldom one that is not."""
    kind = lot.random()
    if is_spoilt and kind < 0.05:
        return lot.choice(WRONG)
    if kind < 0.2:
        return None
    body = lot.randbytes(lot.choice(SIZES) if kind < 0.5 else lot.randrange(90))
    if kind < 0.8:
        return body
    if kind < 0.85:
        return bytearray(body)
    if kind < 0.9:
        return memoryview(b"<" + body + b">")[1:-1]
    if kind < 0.95:
        return memoryview(body + bytes(-len(body) % 4)).cast("i")
    return type("Bytes", (bytes,), {})(body)


def headers_of(lot, *, is_spoilt=False):
    """Headers, as a tuple or a list."""
    count = lot.choice((0, 0, 0, 0, 1, 2, 8, 9, 65))
    found = [(lot.choice(("", "name", "ж" * 40, "\U0001f40c", "n" * 64)), body_of(lot)) for _ in range(count)]
    if is_spoilt and lot.random() < 0.1:
        wrong = (
            ("name",),
            ["name", b""],
            (b"name", b""),
            (None, b""),
            ("\ud800", b""),
            ("name", "text"),
            ("n", b"", 1),
            7,
        )
        found.insert(lot.randrange(len(found) + 1), lot.choice(wrong))
        if lot.random() < 0.2:
            return lot.choice((None, 7, "text", {}, {1}, b"ab"))
    return found if lot.random() < 0.5 else tuple(found)


def column_of(lot, count, *, is_spoilt=False):
    """A column of some rows, the first of which is not its first offset."""
    width, first = lot.choice((4, 8)), lot.choice((0, 0, 1, 7, 8, 13))
    rows = [lot.randbytes(lot.choice((0, 1, 20, 63, 64, 130))) for _ in range(first + count)]
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row))
    data, validity = b"".join(rows), None if lot.random() < 0.3 else lot.randbytes((first + count + 7) // 8)
    if is_spoilt and lot.random() < 0.3:
        place = lot.randrange(len(ends))
        ends[place] = lot.choice((-1, len(data) + 1, 2**31 - 1, -(2**31), 0))
        if lot.random() < 0.3:
            ends = ends[:place]
        elif lot.random() < 0.3:
            data = data[: lot.randrange(len(data) + 1)]
        elif validity:
            validity = validity[:-1]
    column = Column(struct.pack(f"={len(ends)}{'i' if width == 4 else 'q'}", *ends), data, validity, width, first)
    if is_spoilt and lot.random() < 0.1:
        wrong = {
            "width": (5, 3, "x", 2**70),
            "first": (-1, 2**62, None, first + 1),
            "offsets": ("x", b""),
            "data": (None,),
        }
        name = lot.choice(sorted(wrong))
        column = column._replace(**{name: lot.choice(wrong[name])})
    return column


def outcome(call, *arguments):
    """What a call gave, or the class and the words of its error."""
    try:
        return "gave", call(*arguments)
    except (TypeError, ValueError, BufferError) as failure:
        return type(failure), None if "bytes-like" in str(failure) else str(failure)


def call_of(lot):
    """(name, arguments) of one call."""
    is_spoilt = lot.random() < 0.4
    way = lot.randrange(12)
    time_ms = lot.choice(TIMES) if lot.random() < 0.3 else NOW_MS + lot.randrange(-9000, 9000)
    if is_spoilt and lot.random() < 0.1:
        time_ms = lot.choice((2**63, -(2**63) - 1, "now", None, 1.0, 2**80))
    if way < 6:
        arguments = [time_ms, body_of(lot, is_spoilt=is_spoilt), body_of(lot, is_spoilt=is_spoilt)]
        if lot.random() < 0.4:
            arguments.append(headers_of(lot, is_spoilt=is_spoilt))
        return "append", arguments
    count, limit = lot.choice((0, 1, 2, 5, 70)), lot.choice(LIMITS)
    if is_spoilt and lot.random() < 0.1:
        limit = lot.choice(("much", 2**64, None))
    if way < 8:
        values = [body_of(lot, is_spoilt=is_spoilt) for _ in range(count)]
        keys = None if lot.random() < 0.5 else [body_of(lot, is_spoilt=is_spoilt) for _ in range(count)]
        start = lot.choice((0, 0, 0, min(1, count), count))
        stop = (
            [lot.choice((start, count, (start + count) // 2, -1 if is_spoilt else count))] if lot.random() < 0.3 else []
        )
        if is_spoilt and lot.random() < 0.2:
            values, keys, start = lot.choice(
                ((b"ab", None, 0), (values, (), 0), (values, 3, 0), (values, None, -1), (values, None, "0"))
            )
        return "extend", [values if lot.random() < 0.5 else _tuple(values), keys, time_ms, start, limit, *stop]
    if way < 10:
        values = column_of(lot, count, is_spoilt=is_spoilt)
        keys = None if lot.random() < 0.5 else column_of(lot, count, is_spoilt=is_spoilt)
        if lot.random() < 0.3:
            time_ms = struct.pack(f"={count}q", *(lot.choice(TIMES[:5]) for _ in range(count)))
        stop = lot.choice((count, count, count, count // 2, count + is_spoilt))
        return "extend_columns", [values, keys, time_ms, lot.choice((0, 0, stop // 2, stop)), stop, limit]
    if way == 10 or lot.random() < 0.7:
        in_place = lot.random() < 0.4
        body = lot.choice((None, None, b"", b"compressed"))
        numbers = [lot.choice((-1, 0, 7, bound, -bound - 1)) for bound in (2**15 - 1, 2**63 - 1, 2**15 - 1, 2**31 - 1)]
        if is_spoilt:
            numbers[lot.randrange(4)] = lot.choice((2**63, -(2**63) - 1, None))
        return ("seal_in_place", numbers) if in_place else ("seal", [body, *numbers])
    return "clear", []


def _tuple(values):
    return tuple(values) if isinstance(values, list) else values


def state_of(builder):
    with builder.records() as view:
        return (builder.count, builder.size_bytes, builder.first_timestamp_ms, builder.max_timestamp_ms, bytes(view))


def check_builder(kernel, lot):
    """A run of calls: results, errors and what is built are the same after each."""
    first, other = builder_over(kernel.BatchBuilder)(), PythonBatchBuilder()
    for _ in range(lot.randrange(1, 25)):
        name, arguments = call_of(lot)
        is_viewed = lot.random() < 0.05
        views = [builder.records() for builder in (first, other)] if is_viewed else []
        found, wanted = (outcome(getattr(one, name), *arguments) for one in (first, other))
        assert found == wanted, (name, arguments)  # views are compared by their bytes
        del found, wanted
        for view in views:
            view.release()
        assert state_of(first) == state_of(other), (name, arguments)
    codec, numbers = lot.choice(CODECS), [lot.choice((-1, 0, 2**31 - 1)) for _ in range(2)]
    given = (codec, numbers[0], -1, numbers[1], 0x10, 3 if codec == Codec.ZSTD else None)
    built, same = (outcome(one.build, *given) for one in (first, other))
    assert built == same
    if first.count:
        entries = first.entries()
        assert entries == other.entries()
        assert first.entries(first.count // 2) == entries[first.count // 2 :]
        records = [
            Record(at, time_ms, key, value, headers) for at, (key, value, headers, time_ms) in enumerate(entries)
        ]
        assert built == (
            "gave",
            build_batch(records, codec=codec, producer_id=numbers[0], base_sequence=numbers[1], attributes=0x10),
        )


class Spreading:
    """A path of either form, with a route whose partitions get batches when a record needs one."""

    def __init__(self, classes, build, partitions, batch_size):
        path, route, self.target = classes
        self.path, self.route, self.build = path(tuple, None, None, batch_size), route(), build
        self.route.resize(partitions)
        self.partitions = partitions
        self.batches = []  # all there were: (partition, builder)
        self.open = {}

    def open_batch(self, partition):
        builder = self.build()
        target = self.open.get(partition)
        if target is None:
            target = self.open[partition] = self.target()
            if partition < 0:
                self.route.stick(target)
            else:
                self.route.place(partition, target)
        target.open(builder, self)
        self.batches.append((partition, builder))


def rows_of(lot, count, *, is_spoilt):
    """(keys, values, key by index) as lists or as columns."""
    if lot.random() < 0.5:
        keys, values = ([body_of(lot, is_spoilt=is_spoilt) for _ in range(count)] for _ in range(2))
        if lot.random() < 0.7:
            keys = [key if lot.random() < 0.1 else b"key %d" % lot.randrange(20) for key in keys]
        return keys, values, keys.__getitem__
    keys, values = column_of(lot, count), column_of(lot, count)
    if is_spoilt and count and lot.random() < 0.5:  # a row outside of its data
        values = values._replace(data=values.data[: lot.randrange(len(values.data) + 1)])
    return keys, values, keys.row


def check_spread(kernel, lot):
    """Records with keys into the open batches of their partitions: the same ones in both forms, call by call."""
    python = send_path.PythonSendPath, send_path.PythonSendRoute, send_path.PythonSendTarget
    compiled = kernel.SendPath, kernel.SendRoute, kernel.SendTarget
    partitions, batch_size = lot.choice((0, 1, 3, 12)), lot.choice((61, 150, 1_000, 20_000))
    both = [
        Spreading(compiled, builder_over(kernel.BatchBuilder), partitions, batch_size),
        Spreading(python, PythonBatchBuilder, partitions, batch_size),
    ]
    allowance = lot.choice((300, 5_000, 2**40))
    for one in both:
        one.path.allowance = allowance
    count = lot.choice((0, 1, 2, 30, 200))
    keys, values, key_of = rows_of(lot, count, is_spoilt=lot.random() < 0.3)
    is_listed, at = isinstance(keys, list), lot.choice((0, 0, 0, min(1, count)))
    time_ms = NOW_MS + lot.randrange(-9000, 9000)
    for _ in range(2 * count + 2):
        if is_listed:
            found, wanted = (outcome(one.path.spread, one.route, values, keys, time_ms, at) for one in both)
        else:
            found, wanted = (
                outcome(one.path.spread_columns, one.route, values, keys, time_ms, at, count) for one in both
            )
        assert found == wanted
        assert both[0].path.open_bytes == both[1].path.open_bytes
        if found[0] != "gave" or found[1] == count or both[0].path.open_bytes >= allowance:
            break
        at = found[1]
        key = key_of(at)
        partition = -1 if key is None else partitioner.partition_in_python(bytes(key), partitions) if partitions else 0
        if partition >= partitions:
            break
        for one in both:
            one.open_batch(partition)
    first, other = (one.batches for one in both)
    assert [partition for partition, _builder in first] == [partition for partition, _builder in other]
    assert [state_of(builder) for _partition, builder in first] == [state_of(builder) for _partition, builder in other]
    assert both[0].path.open_bytes == sum(builder.size_bytes - HEADER_BYTES for _partition, builder in first)


def check_hash(kernel, lot):
    """The hash of a key, and its partition."""
    key = lot.randbytes(lot.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, 100, 1000)))
    key = lot.choice((key, bytearray(key), memoryview(b"x" + key)[1:]))
    assert kernel.murmur2(key) == partitioner.murmur2_in_python(key)
    count = lot.choice((1, 2, 3, 50, 10_000, 2**31 - 1))
    assert kernel.partition_of(key, count) == partitioner.partition_in_python(key, count)


def runs_of(function, arguments):
    """(records of all runs, whether they ended with an error), with a function of the kernel or without."""
    before, client_records._list_client_records = client_records._list_client_records, function
    found = []
    try:
        for run in client_records.iterate_runs(*arguments):
            assert run
            found += run
    except CorruptRecord as failure:
        return found, str(failure)
    finally:
        client_records._list_client_records = before
    return found, None


def check_listing(kernel, data, header, lot):
    """Records for a client, of a batch that may be spoilt."""
    first = lot.choice((-(2**63), 0, header.base_offset, header.base_offset + 1, header.base_offset + 9, 2**63 - 1))
    first = min(max(first, -(2**63)), 2**63 - 1)
    arguments = (ClientRecord, "topic", 7, lot.choice((None, 3)), data, header, first)
    assert runs_of(kernel.list_client_records, arguments) == runs_of(None, arguments)
