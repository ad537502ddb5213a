"""A batch builder makes the bytes of `build_batch`, and refuses what it can't hold without a change; so do both of its forms.

Random calls of both, side by side: `builder_cases.py`, which `test_record_kernel.py` runs.
"""

import gc
import mmap
import random
import struct
import sys
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.protocol import batch_builder
from headrace.protocol.batch_builder import BATCH_BYTES_MAX, Column, PythonBatchBuilder, builder_over
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import HEADER_BYTES, Record, build_batch, compute_crc, iterate_records, parse_header
from tests.support import walkers

NO_LIMIT = 1 << 40
NOW_MS = 1_700_000_000_000
CODECS = [Codec.NONE, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]  # gzip's header has the time in it
BORDERS = st.sampled_from([0, 1, 55, 56, 57, 62, 63, 64, 127, 128, 8184, 8191, 8192]).map(bytes)
BODIES = st.none() | st.binary(max_size=80) | BORDERS
HEADERS = st.lists(st.tuples(st.text(max_size=70), BODIES), max_size=3).map(tuple)
NEAR = st.integers(NOW_MS - 9000, NOW_MS + 9000)
TIMES = st.one_of(  # no two of a batch are 2**63 apart
    st.lists(NEAR, min_size=1),
    st.lists(st.integers(-(2**63), -1), min_size=1),
    st.lists(st.integers(0, 2**63 - 1), min_size=1),
)
PRODUCERS = st.tuples(st.integers(-1, 2**63 - 1), st.integers(-1, 2**15 - 1), st.integers(-1, 2**31 - 1))


@pytest.fixture(scope="module", params=["kernel", "python"])
def make(request):
    """The class of either form."""
    if request.param == "python":
        return builder_over(None)
    kernel = walkers.built()
    if isinstance(kernel, str):
        pytest.skip(kernel)
    return builder_over(kernel.BatchBuilder)


def filled(make, count=3):
    builder = make()
    for index in range(count):
        builder.append(NOW_MS + index, b"k%d" % index, b"v" * index)
    return builder


def state_of(builder):
    with builder.records() as view:
        return builder.count, builder.size_bytes, builder.first_timestamp_ms, builder.max_timestamp_ms, bytes(view)


@settings(max_examples=150)
@given(
    times=TIMES,
    bodies=st.lists(st.tuples(BODIES, BODIES, HEADERS), min_size=1),
    codec=st.sampled_from(CODECS),
    producer=PRODUCERS,
)
def test_a_batch_is_that_of_build_batch(make, times, bodies, codec, producer):
    builder, records = make(), []
    for index, (key, value, headers) in enumerate(bodies):
        record = Record(index, times[index % len(times)], key, value, headers)
        records.append(record)
        size = builder.append(record.timestamp_ms, key, value, headers)
        assert size == builder.size_bytes
    producer_id, epoch, sequence = producer
    wanted = build_batch(
        records, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, attributes=0x10
    )
    assert builder.build(codec, producer_id, epoch, sequence, 0x10) == wanted
    assert builder.size_bytes == len(build_batch(records))
    assert builder.count == len(records)
    assert builder.first_timestamp_ms == records[0].timestamp_ms
    assert builder.max_timestamp_ms == max(record.timestamp_ms for record in records)
    assert builder.entries() == [(one.key, one.value, one.headers, one.timestamp_ms) for one in records]


@settings(max_examples=60)
@given(values=st.lists(BODIES), keys=st.lists(BODIES), limit=st.integers(0, 2000), start=st.integers(0, 9))
def test_extend_takes_what_fits_and_the_first_of_a_batch_always(make, values, keys, limit, start):
    keys = (keys + values)[: len(values)]
    start = min(start, len(values))
    one, other, at = make(), make(), start
    while at < len(values):
        at = one.extend(values, keys, NOW_MS, at, limit)
        for index in range(start, at):
            other.append(NOW_MS, keys[index], values[index])
        assert at > start
        assert one.size_bytes <= max(limit, 0) or one.count == 1
        assert one.build() == other.build()
        if at < len(values):
            other.append(NOW_MS, keys[at], values[at])
            assert other.size_bytes > limit
            assert one.extend(values, keys, NOW_MS, at, limit) == at
        start = at
        one.clear()
        other.clear()
    assert one.extend(values, keys, NOW_MS, len(values), limit) == len(values)
    assert one.count == 0


def test_a_record_that_ends_at_the_limit_fits(make):
    size = filled(make).append(NOW_MS, None, b"last")
    column = Column(struct.pack("=2i", 0, 4), b"last")
    for limit, taken in ((size - 1, 0), (size, 1)):
        assert filled(make).extend([b"last"], None, NOW_MS, 0, limit) == taken
        assert filled(make).extend_columns(column, None, NOW_MS, 0, 1, limit) == taken


ARROW_TYPES = [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()]


@pytest.mark.parametrize("kind", ARROW_TYPES, ids=str)
@pytest.mark.parametrize("has_nulls", [True, False])
def test_columns_of_arrow_are_taken_as_lists_are(make, kind, has_nulls):
    lot = random.Random(5)
    rows = [None if has_nulls and lot.random() < 0.3 else f"wört {index}" * lot.randrange(9) for index in range(300)]
    keys = [None if lot.random() < 0.1 else f"key {index}" for index in range(300)]
    times = pa.array([NOW_MS + lot.randrange(-9, 9) for _ in rows], pa.timestamp("ms"))
    encoded = [[one if one is None else one.encode() for one in column] for column in (rows, keys)]
    for cut in (0, 3, 8, 131):
        values, named = (pa.array(column, kind).slice(cut) for column in encoded)
        stamps = memoryview(times.buffers()[1])[8 * cut :]
        one, other = make(), make()
        at = 0
        while at < len(values):
            before = at
            at = one.extend_columns(Column.of(values), Column.of(named), stamps, at, len(values), 700)
            for index in range(cut + before, cut + at):
                other.append(times[index].value, encoded[1][index], encoded[0][index])
            assert one.build() == other.build()
            one.clear()
            other.clear()
        assert one.extend_columns(Column.of(values), None, NOW_MS, 0, len(values), NO_LIMIT) == len(values)
        assert other.extend(encoded[0][cut:], None, NOW_MS, 0, NO_LIMIT) == len(values)
        assert one.build() == other.build()


def test_an_empty_column_has_no_rows(make):
    column = Column.of(pa.array([], pa.binary()))
    assert make().extend_columns(column, None, 0, 0, 0, 100) == 0
    with pytest.raises(ValueError, match="values: the column has 0 rows, stop is 1"):
        make().extend_columns(column, None, 0, 0, 1, 100)


def test_an_array_that_is_not_bytes_is_refused():
    with pytest.raises(
        TypeError, match="array: int64 is not one of binary, string, large_binary, large_string: cast it"
    ):
        Column.of(pa.array([1]))


def test_values_of_any_kind_of_bytes_are_taken(make):
    builder, other = make(), make()
    for given_ in (b"abcd", bytearray(b"abcd"), memoryview(b"xabcd")[1:], memoryview(b"abcd").cast("i")):
        builder.append(0, given_, given_, [("h", given_)])
        other.append(0, b"abcd", b"abcd", (("h", b"abcd"),))
    assert builder.build() == other.build()


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((0, "k", b""), TypeError, "key: str is not bytes, bytearray or memoryview"),
        ((0, b"", 5), TypeError, "value: int is not bytes, bytearray or memoryview"),
        ((0, b"", memoryview(b"abcd")[::2]), TypeError, "value: the memoryview is not contiguous"),
        ((None, b"", b""), TypeError, "timestamp_ms: NoneType is not int"),
        ((2**63, b"", b""), ValueError, f"timestamp_ms: {2**63} is not within {-(2**63)} to {2**63 - 1}"),
        ((0, b"", b"", 5), TypeError, "headers: int is not a sequence of name and value"),
        ((0, b"", b"", "ab"), TypeError, "headers: str is not a sequence of name and value"),
        ((0, b"", b"", [("a", b""), ("b",)]), TypeError, "headers[1]: it is not a tuple of name and value"),
        ((0, b"", b"", [(b"a", b"")]), TypeError, "the name of headers[0]: bytes is not str"),
        ((0, b"", b"", [("a", "")]), TypeError, "the value of headers[0]: str is not bytes, bytearray or memoryview"),
        ((0, b"", b"", [("\udfff", b"")]), ValueError, "the name of headers[0]: '\\udfff' has no form in UTF-8"),
    ],
)
def test_an_argument_that_is_wrong_is_named(make, arguments, kind, words):
    builder = filled(make)
    before = state_of(builder)
    with pytest.raises(kind) as failure:
        builder.append(*arguments)
    assert str(failure.value) == words
    assert state_of(builder) == before


def test_timestamps_may_go_back_but_not_by_64_bits(make):
    builder = make()
    builder.append(2**62, None, b"")
    builder.append(-(2**62), None, b"")
    assert builder.max_timestamp_ms == 2**62
    before = state_of(builder)
    with pytest.raises(ValueError, match=r"timestamp_ms: .* is 2\*\*63 or more from the first record's"):
        builder.append(-(2**62) - 1, None, b"")
    assert state_of(builder) == before
    assert [one.timestamp_ms for one in iterate_records(builder.build())] == [2**62, -(2**62)]


def test_an_error_in_the_middle_takes_back_all_of_a_call(make):
    builder = filled(make)
    before = state_of(builder)
    with pytest.raises(TypeError, match=r"values\[2\]: str is not bytes"):
        builder.extend([b"a", b"b", "c"], None, 9, 0, NO_LIMIT)
    assert state_of(builder) == before
    offsets = struct.pack("=4i", 0, 1, 2, 9)
    with pytest.raises(ValueError, match="keys: row 2 is from 2 to 9, the data has 3 bytes"):
        builder.extend_columns(Column(offsets, bytes(9)), Column(offsets, b"abc"), 9, 0, 3, NO_LIMIT)
    assert state_of(builder) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((b"ab", None, 0, 0, 9), "values: bytes is not list or tuple"),
        (([b""], 7, 0, 0, 9), "keys: int is not list or tuple"),
        (([b""], [], 0, 0, 9), "keys: 0 of them for 1 values"),
        (([b""], None, 0, 2, 9), "start: 2 is not within 0 to 1"),
        (([b""], None, 0, 0, None), "limit_bytes: NoneType is not int"),
    ],
)
def test_arguments_of_extend_are_checked(make, arguments, words):
    with pytest.raises((TypeError, ValueError)) as failure:
        make().extend(*arguments)
    assert str(failure.value) == words


@pytest.fixture(scope="module")
def large():
    """2 GiB of which no page is touched."""
    memory = mmap.mmap(-1, 2**31)
    view = memoryview(memory)
    yield view
    view.release()
    gc.collect()  # a traceback may still hold a view of it
    memory.close()


def test_a_batch_stays_below_two_gibibytes(make, large):
    builder = make()
    # attributes, timestamp, offset, key, 5 bytes of the value's length, headers, 5 bytes of the record's length
    over = BATCH_BYTES_MAX - HEADER_BYTES - 15 + 1
    words = f"a record of {over + 15} bytes does not fit into a batch of 61: the limit is {BATCH_BYTES_MAX}"
    for call in (
        lambda: builder.append(0, None, large[:over]),
        lambda: builder.extend([large[:over]], None, 0, 0, NO_LIMIT),
        lambda: builder.extend_columns(Column(struct.pack("=2q", 0, over), large, None, 8), None, 0, 0, 1, NO_LIMIT),
    ):
        with pytest.raises(ValueError, match="a record of") as failure:
            call()
        assert str(failure.value) == words
        assert builder.count == 0
    size = builder.append(0, None, b"first")
    before = state_of(builder)
    with pytest.raises(ValueError, match=f"does not fit into a batch of {size}"):
        builder.append(0, None, large[: over + 61 - size])
    assert builder.extend([large[: over + 61 - size]], None, 0, 0, NO_LIMIT) == 0
    assert state_of(builder) == before
    with pytest.raises(ValueError, match="body: 2147483648 bytes do not fit into a batch: the limit is 2147483647"):
        builder.seal(large, 0, -1, -1, -1)
    with pytest.raises(ValueError, match="a record of"):
        builder.append(0, None, b"", [("h", large[:over])])


def test_nothing_is_written_while_the_records_are_viewed(make):
    builder = filled(make)
    view = builder.records()
    assert view.readonly
    assert bytes(view) == build_batch(iterate_records(builder.build()))[HEADER_BYTES:]
    before = (builder.count, builder.size_bytes, builder.max_timestamp_ms)
    for call in (
        lambda: builder.append(NOW_MS + 90, None, b""),
        lambda: builder.extend([b""], None, NOW_MS + 90, 0, NO_LIMIT),
        builder.clear,
    ):
        with pytest.raises(BufferError, match="a view of the records is held: release it first"):
            call()
    assert (builder.count, builder.size_bytes, builder.max_timestamp_ms) == before
    assert len(builder.build()) == builder.size_bytes
    view.release()
    builder.append(0, None, b"")
    assert bytes(make().records()) == b""


def test_a_view_outlives_its_builder(make):
    view = filled(make).records()
    assert bytes(view) == bytes(filled(make).records())


def test_a_batch_is_built_again_with_another_sequence(make):
    builder = filled(make)
    first, again = builder.build(0, 7, 1, 5), builder.build(0, 7, 2, 0)
    assert parse_header(first)[9:12] == (7, 1, 5)
    assert parse_header(again)[9:12] == (7, 2, 0)
    assert first[HEADER_BYTES:] == again[HEADER_BYTES:]
    assert parse_header(again).crc == compute_crc(again)


def test_gzip_differs_in_the_time_alone(make):
    builder = filled(make, 90)
    assert list(iterate_records(builder.build(Codec.GZIP))) == list(iterate_records(builder.build()))
    assert parse_header(builder.build(Codec.GZIP)).codec == Codec.GZIP


@pytest.mark.parametrize(("codec", "low", "high"), [(Codec.GZIP, 1, 9), (Codec.LZ4, 1, 12), (Codec.ZSTD, 1, 19)])
def test_a_level_is_taken(make, codec, low, high):
    builder, lot = make(), random.Random(3)
    words = [lot.randbytes(5).hex().encode() for _ in range(99)]
    builder.extend([b" ".join(lot.choices(words, k=20)) for _ in range(900)], None, 0, 0, NO_LIMIT)
    batches = [builder.build(codec, level=level) for level in (low, high)]
    assert len(batches[1]) < len(batches[0])
    assert list(iterate_records(batches[1])) == list(iterate_records(builder.build()))


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"codec": 5}, "codec: 5 is not within 0 to 4"),
        ({"codec": -1}, "codec: -1 is not within 0 to 4"),
        ({"attributes": 3}, "attributes: 3 has bits of the codec, 7"),
        ({"attributes": 2**16}, "attributes: 65536 is not within -32768 to 32767"),
        ({"level": 1}, "level: 1 is set, codec none has no levels"),
        ({"codec": 2, "level": 1}, "level: 1 is set, codec snappy has no levels"),
        ({"codec": 4, "level": 23}, "level: 23 is not within -131072 to 22"),
        ({"codec": 1, "level": "9"}, "level: str is not int"),
        ({"producer_id": 2**63}, f"producer_id: {2**63} is not within {-(2**63)} to {2**63 - 1}"),
        ({"producer_epoch": 2**15}, "producer_epoch: 32768 is not within -32768 to 32767"),
        ({"base_sequence": 2**31}, "base_sequence: 2147483648 is not within -2147483648 to 2147483647"),
    ],
)
def test_what_a_batch_is_built_with_is_checked(make, named, words):
    with pytest.raises((TypeError, ValueError)) as failure:
        filled(make).build(**named)
    assert str(failure.value) == words


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_an_empty_batch_is_not_built(make, codec):
    builder = make()
    assert (builder.count, builder.size_bytes) == (0, HEADER_BYTES)
    assert (builder.first_timestamp_ms, builder.max_timestamp_ms) == (-1, -1)
    assert builder.entries() == []
    with pytest.raises(ValueError, match="the batch has no records"):
        builder.build(codec)


def test_a_batch_is_split_by_its_entries(make):
    builder = filled(make, 9)
    halves = []
    for part in (builder.entries()[:4], builder.entries(4)):
        half = make()
        for key, value, headers, timestamp_ms in part:
            half.append(timestamp_ms, key, value, headers)
        halves += [(one.timestamp_ms, one.key, one.value) for one in iterate_records(half.build())]
    assert halves == [(one.timestamp_ms, one.key, one.value) for one in iterate_records(builder.build())]


def test_clear_begins_a_new_batch(make):
    builder = filled(make, 50)
    builder.clear()
    assert state_of(builder) == state_of(make())
    builder.append(5, b"k", b"v")
    assert builder.build() == build_batch([Record(0, 5, b"k", b"v")])


class Entered(Sequence):
    """Headers that append to the builder while they are read."""

    def __init__(self, builder):
        self.builder = builder

    def __len__(self):
        return 1

    def __getitem__(self, index):
        raise AssertionError

    def __iter__(self):
        self.builder.append(7, b"inner", bytes(5000))
        self.builder.append(7, b"inner", bytes(5000))
        yield ("name", b"value")


def test_headers_may_use_the_builder_while_they_are_read(make):
    builder = make()
    builder.append(8, b"outer", b"x", Entered(builder))
    assert [(one.key, one.headers) for one in iterate_records(builder.build())] == [
        (b"inner", ()),
        (b"inner", ()),
        (b"outer", (("name", b"value"),)),
    ]


@pytest.fixture
def kernel_builder():
    kernel = walkers.built()
    if isinstance(kernel, str):
        pytest.skip(kernel)
    return builder_over(kernel.BatchBuilder)()


def test_memory_doubles_at_most_and_is_kept(kernel_builder):
    empty = sys.getsizeof(kernel_builder)
    for index in range(3000):
        size = kernel_builder.append(index, None, bytes(index % 40))
        assert size <= sys.getsizeof(kernel_builder) - empty <= max(2 * size, 512)
    full = sys.getsizeof(kernel_builder)
    kernel_builder.clear()
    assert sys.getsizeof(kernel_builder) == full


def test_nothing_that_was_given_is_kept(kernel_builder):
    key, value, name = bytes(9), bytearray(9), "name" * 9
    headers, wrong = [(name, value)] * 20, [(name, value)] * 9 + [(name, 5)]
    column = Column(struct.pack("=2i", 0, 9), value)
    held = [key, value, name, *headers[0], column.offsets, headers, wrong, headers[0]]
    before = [sys.getrefcount(one) for one in held]
    for _ in range(50):
        kernel_builder.append(0, key, value, headers)
        kernel_builder.extend([key, value], [value, key], 0, 0, NO_LIMIT)
        kernel_builder.extend_columns(column, column, bytes(8), 0, 1, NO_LIMIT)
        for call in (
            lambda: kernel_builder.append(0, key, value, wrong),
            lambda: kernel_builder.extend([value, 5], [value, key], 0, 0, NO_LIMIT),
            lambda: kernel_builder.extend_columns(column, column._replace(width=5), 0, 0, 1, NO_LIMIT),
        ):
            with pytest.raises((TypeError, ValueError)):
                call()
    assert [sys.getrefcount(one) for one in held] == before
    value.append(1)  # no buffer of it is held


def test_the_chosen_form_has_the_methods_of_the_reference(make):
    public = [name for name in dir(PythonBatchBuilder) if name[0] != "_"]
    assert [name for name in public if not hasattr(make, name)] == []
    assert [name for name in public if not hasattr(batch_builder.BatchBuilder, name)] == []
    with pytest.raises(TypeError):
        make(5)
