"""A range read from segment files and over the network: the same records as the plain reader finds."""

import contextlib
import random

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.log.segment import path_of
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    HEADER,
    LOG_APPEND_TIME_BIT,
    MAGIC_V2,
    Record,
    build_batch,
)
from headrace.spark import ranges as ranges_module
from headrace.spark.columns import ALL_COLUMNS, arrow_schema
from headrace.spark.options import ScanOptions
from headrace.spark.planner import plan
from headrace.spark.ranges import CorruptSegment, OffsetRange, local_directory, read_range

NAME = TopicPartition("clicks", 0)


def range_of(broker, start=None, end=None, name=NAME):
    """The planned range, cut to start..end."""
    (one,) = [one for one in plan(ScanOptions(broker.address, (name.topic,))) if one.partition == name.partition]
    return OffsetRange(
        one.topic,
        one.partition,
        one.start if start is None else start,
        one.end if end is None else end,
        one.bootstrap_servers,
        one.cluster_id,
        one.replicas,
    )


def rows_of(one, columns=ALL_COLUMNS, rows_per_batch=1000):
    return pa.Table.from_batches(read_range(one, columns, rows_per_batch), arrow_schema(columns)).to_pylist()


def expected(log, start, end, name=NAME):
    return [
        {
            "key": record.key,
            "value": record.value,
            "offset": record.offset,
            "milliseconds": record.timestamp_ms,
            "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
            "key_length": None if record.key is None else len(record.key),
            "value_length": None if record.value is None else len(record.value),
            "topic": name.topic,
            "partition": name.partition,
        }
        for record in log.records(name)
        if start <= record.offset < end
    ]


def compared(rows):
    out = []
    for row in rows:
        row = dict(row)
        row["milliseconds"] = round(row.pop("timestamp").timestamp() * 1000)
        row.pop("timestampType")
        out.append(row)
    return out


def random_log(log, seed, name=NAME):
    """Batches of all codecs with nulls, empties, headers, gaps, control batches, over some segments."""
    dice = random.Random(seed)
    for number in range(40):
        if number % 13 == 12:
            log.roll(name)
        offset, records = 0, []
        for _ in range(dice.choice([1, 2, 30])):
            records.append(
                Record(
                    offset,
                    1_700_000_000_000 + dice.randrange(-5000, 5000),
                    dice.choice([None, b"", dice.randbytes(dice.randrange(20))]),
                    dice.choice([None, b"", dice.randbytes(dice.choice([1, 63, 64, 200, 9000]))]),
                    tuple((f"h{index}", dice.choice([None, b"", b"v"])) for index in range(dice.choice([0, 0, 2]))),
                )
            )
            offset += dice.choice([1, 1, 1, 4])  # compaction leaves gaps
        attributes = dice.choice([0, 0, LOG_APPEND_TIME_BIT, CONTROL_BIT])
        log.append(name, records, codec=dice.choice(list(Codec)), attributes=attributes)


@pytest.mark.parametrize("seed", range(8))
def test_files_and_network_give_what_the_plain_reader_gives(log, broker, remote_broker, seed):
    log.create(*NAME)
    random_log(log, seed)
    dice = random.Random(-seed)
    last = log.ends[NAME]
    for start, end in [(0, last), *(sorted(dice.sample(range(last + 1), 2)) for _ in range(5))]:
        wanted = expected(log, start, end)
        for rows_per_batch in (7, 1000):
            assert compared(rows_of(range_of(broker, start, end), rows_per_batch=rows_per_batch)) == wanted
        assert compared(rows_of(range_of(remote_broker, start, end))) == wanted
    assert broker.asked[ApiKey.FETCH] == 0
    assert remote_broker.asked[ApiKey.FETCH] > 0


def test_timestamps_keep_their_type(log, broker):
    log.append(NAME, [(None, b"a")], timestamp_ms=5000)
    log.append(NAME, [(None, b"b")], timestamp_ms=7000, attributes=LOG_APPEND_TIME_BIT)
    rows = rows_of(range_of(broker))
    assert [(row["timestamp"].timestamp(), row["timestampType"]) for row in rows] == [(5.0, 0), (7.0, 1)]


def test_only_the_columns_asked_for_come_in_their_order(log, broker):
    log.append(NAME, [(b"k", b"value"), (None, None)])
    (batch,) = read_range(range_of(broker), ["value_length", "key"])
    assert batch.schema.names == ["value_length", "key"]
    assert batch.to_pydict() == {"value_length": [5, None], "key": [b"k", None]}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_large_records_come_in_batches_of_bounded_bytes(log, broker, monkeypatch, codec):
    monkeypatch.setattr(ranges_module, "BYTES_PER_BATCH", 100_000)
    value = random.Random(1).randbytes(30_000)
    for _ in range(20):
        log.append(NAME, [(None, value)], codec=codec)
    batches = list(read_range(range_of(broker), ["value"]))
    assert sum(batch.num_rows for batch in batches) == 20
    assert max(batch.nbytes for batch in batches) <= 100_000 + 30_100
    assert all(item == value for batch in batches for item in batch["value"].to_pylist())


def test_a_batch_larger_than_the_bound_comes_whole(log, broker, monkeypatch):
    monkeypatch.setattr(ranges_module, "BYTES_PER_BATCH", 1000)
    log.append(NAME, [(None, bytes(500))] * 10)
    log.append(NAME, [(None, b"x")])
    assert [row["value_length"] for row in rows_of(range_of(broker))] == [500] * 10 + [1]


def test_what_is_written_behind_the_frozen_end_is_not_looked_at(log, broker):
    log.append(NAME, [(None, b"a"), (None, b"b")])
    one = range_of(broker)
    log.append(NAME, [(None, b"later")])
    log.append_bytes(NAME, b"\0" * 100)  # a torn write
    assert [row["value"] for row in rows_of(one)] == [b"a", b"b"]


@pytest.mark.parametrize(
    "properties", ["broker.id=7\ncluster.id=fake-cluster\n", "broker.id=0\ncluster.id=other\n", ""]
)
def test_a_directory_of_another_node_or_cluster_is_not_read(log, broker, properties):
    log.append(NAME, [(None, b"a")])
    (log.directory / "meta.properties").write_text(properties)
    assert local_directory(range_of(broker)) is None
    assert [row["value"] for row in rows_of(range_of(broker))] == [b"a"]
    assert broker.asked[ApiKey.FETCH] == 1


def test_a_segment_retired_under_the_reader_comes_over_the_network(log, broker, monkeypatch):
    log.append(NAME, [(None, b"a")])
    log.roll(NAME)
    log.append(NAME, [(None, b"b")])
    real = ranges_module.segment_bases
    monkeypatch.setattr(ranges_module, "segment_bases", lambda directory: [*real(directory)[:1], 1])

    def retired(directory, base):
        if base == 1:
            raise FileNotFoundError(base)
        return open_segment(directory, base)

    open_segment = ranges_module.SegmentFile
    monkeypatch.setattr(ranges_module, "SegmentFile", retired)
    assert [row["value"] for row in rows_of(range_of(broker))] == [b"a", b"b"]
    assert broker.asked[ApiKey.FETCH] == 1


def test_files_that_end_below_the_range_are_not_taken_for_all_of_it(log, broker):
    log.append(NAME, [(None, b"a")])
    log.append(NAME, [(None, b"b")])
    one = range_of(broker)
    path = path_of(log.partition_directory(NAME), 0, ".log")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(HeadraceError):  # the broker has no more either
        rows_of(one)


def record_batch(body, count):
    """A batch whose records are these bytes."""
    data = bytearray(build_batch([(None, b"")]))
    fields = list(HEADER.unpack_from(data))
    fields[1], fields[3], fields[12] = HEADER.size - 12 + len(body), MAGIC_V2, count
    return HEADER.pack(*fields) + body


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 200,
        record_batch(b"", 1),
        record_batch(b"\x80" * 11, 1),
        record_batch(b"\x7f" + bytes(20), 1),
        record_batch(bytes([20, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0]), 1),
        record_batch(bytes([20, 0, 0, 0, 1, 100, 0, 0, 0, 0, 0]), 1),
        record_batch(bytes(10), 2**31 - 1),
        record_batch(bytes(10), -1),
    ],
    ids=["zeros", "no bytes", "long varint", "record", "key", "value", "many", "negative"],
)
def test_bytes_that_contradict_themselves_name_file_and_position(log, broker, data):
    log.append(NAME, [(None, b"a")])
    size = path_of(log.partition_directory(NAME), 0, ".log").stat().st_size
    log.append_bytes(NAME, (1).to_bytes(8, "big") + data[8:])
    log.ends[NAME] += 1
    with pytest.raises(CorruptSegment, match=rf"{0:020d}\.log.*byte {size}"):
        rows_of(range_of(broker))


def test_a_compressed_batch_that_announces_too_many_records_takes_no_memory(log, broker):
    data = bytearray(build_batch([(None, b"a")], codec=Codec.ZSTD))
    data[57:61] = (2**31 - 1).to_bytes(4, "big")
    log.create(*NAME)
    log.append_bytes(NAME, bytes(data))
    log.ends[NAME] = 1
    with pytest.raises(CorruptSegment, match="records"):
        rows_of(range_of(broker))


@pytest.mark.parametrize("seed", range(5))
def test_any_flipped_byte_gives_valid_columns_or_an_error_of_ours(log, broker, seed, monkeypatch):
    monkeypatch.setattr(ranges_module, "_read_remote", lambda one, rows: iter(()))
    dice = random.Random(seed)
    for codec in (Codec.NONE, Codec.LZ4):
        log.append(NAME, [Record(0, 1, b"key", b"value" * 9, (("h", b"v"),)), Record(1, 2, None, b"x")], codec=codec)
    path = path_of(log.partition_directory(NAME), 0, ".log")
    whole = path.read_bytes()
    one = range_of(broker)
    for _ in range(300):
        broken = bytearray(whole)
        broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
        path.write_bytes(broken)
        with contextlib.suppress(HeadraceError):
            for batch in read_range(one, ALL_COLUMNS):
                batch.validate(full=True)
    path.write_bytes(whole)
    assert len(rows_of(one)) == 4


def test_a_range_goes_through_bytes():
    one = OffsetRange("a", 1, 2, 3, "h:1", "c", ((0, "host", "/data"), (1, "other", "")))
    assert OffsetRange.from_bytes(one.to_bytes()) == one
