"""A range read from segment files and over the network: the same records as the plain reader finds."""

import contextlib
import dataclasses
import errno
import mmap
import random
import time
from types import SimpleNamespace

import numpy as np
import pytest

from headrace.arrow import local_range
from headrace.arrow import ranges as ranges_module
from headrace.arrow import rows as rows_module
from headrace.arrow.column_types import ALL_COLUMNS
from headrace.arrow.decode import whole_end
from headrace.arrow.errors import CorruptRange, TimestampOverflow, TopicRecreated
from headrace.arrow.local_range import local_directory
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.ranges import read_range
from headrace.client.cluster import Cluster
from headrace.client.connection import ConnectionFailed
from headrace.errors import HeadraceError, KafkaError
from headrace.limits import CLIENT_RETRIES_MAX
from headrace.log.names import path_of
from headrace.log.state.checkpoints import write_partition_metadata
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.message_set import encode_message
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    HEADER,
    LOG_APPEND_TIME_BIT,
    MAGIC_V2,
    Record,
    build_batch,
    compute_crc,
)
from tests.arrow.range_reading import NAME, compared, expected, range_of, rows_of
from tests.support.altered import altered
from tests.support.fake_broker import FakeBroker

pytestmark = pytest.mark.slow


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
    monkeypatch.setattr(rows_module, "BYTES_PER_BATCH", 100_000)
    value = random.Random(1).randbytes(30_000)
    for _ in range(20):
        log.append(NAME, [(None, value)], codec=codec)
    batches = list(read_range(range_of(broker), ["value"]))
    assert sum(batch.num_rows for batch in batches) == 20
    assert max(batch.nbytes for batch in batches) <= 100_000 + 30_100
    assert all(item == value for batch in batches for item in batch["value"].to_pylist())
    (viewed,) = read_range(range_of(broker), ["value"], are_views=True)  # of which nothing is copied
    assert viewed.num_rows == 20


def test_a_batch_larger_than_the_bound_comes_whole(log, broker, monkeypatch):
    monkeypatch.setattr(rows_module, "BYTES_PER_BATCH", 1000)
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

    def retired(directory, base):
        if base == 1:
            raise FileNotFoundError(base)
        return open_segment(directory, base)

    open_segment = local_range.SegmentFile
    monkeypatch.setattr(local_range, "SegmentFile", retired)
    assert [row["value"] for row in rows_of(range_of(broker))] == [b"a", b"b"]
    assert broker.asked[ApiKey.FETCH] == 1


@pytest.fixture
def retired(log, broker):
    """A range over three segments, planned before retention took the first one; the leader's log starts behind it."""
    for value in (b"a", b"b", b"c"):
        log.append(NAME, [(None, value)])
        log.roll(NAME)
    one = range_of(broker)
    path_of(log.partition_directory(NAME), 0, ".log").unlink()
    log.starts[NAME] = 1
    return one


def test_records_that_retention_took_since_the_plan_are_an_error_not_a_gap(retired):
    told = r"OFFSET_OUT_OF_RANGE: clicks-0: offset 0 of the range 0\.\.3 is not in the log, which holds 1\.\.3: .*failOnDataLoss=false"
    with pytest.raises(KafkaError, match=told):
        rows_of(retired)


def test_records_that_retention_took_are_skipped_with_a_warning_where_that_was_asked_for(retired, caplog):
    one = dataclasses.replace(retired, fails_on_data_loss=False)
    assert [row["value"] for row in rows_of(one)] == [b"b", b"c"]
    assert [record.levelname for record in caplog.records if "records lost" in record.message] == ["WARNING"]


def test_retention_between_two_fetches_gives_no_record_twice(log, remote_broker, monkeypatch):
    for number in range(30):
        log.append(NAME, [(None, b"%03d" % number)])
    one = dataclasses.replace(range_of(remote_broker), fails_on_data_loss=False)
    real = Cluster.fetch_with_aborted

    def interrupted(self, name, start, end, read_committed):
        yield from real(self, name, start, min(start + 10, end))
        if not log.starts[name]:
            log.starts[name] = 20
            yield from real(self, name, 10, end)

    monkeypatch.setattr("headrace.client.cluster.FETCH_BYTES", 720)  # ten batches
    monkeypatch.setattr(Cluster, "fetch_with_aborted", interrupted)
    offsets = [row["offset"] for row in rows_of(one)]
    assert offsets == [*range(10), *range(20, 30)]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize("attributes", [0, CONTROL_BIT])
def test_nothing_behind_the_batch_of_the_last_offset_is_touched(log, broker, codec, attributes):
    log.append(NAME, [(None, b"a")])
    log.append(NAME, [(None, b"b")], codec=codec, attributes=attributes)
    one = range_of(broker)
    log.append_bytes(NAME, bytes(500))
    assert [row["value"] for row in rows_of(one)] == [b"a", b"b"][: 1 if attributes else 2]


def test_a_sealed_segment_that_was_cut_is_an_error_not_a_gap(log, broker):
    log.append(NAME, [(None, b"a")])
    log.append(NAME, [(None, b"b")])
    log.roll(NAME)
    log.append(NAME, [(None, b"c")])
    one = range_of(broker)
    path = path_of(log.partition_directory(NAME), 0, ".log")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 20])
    with pytest.raises(CorruptRange, match=r"20 bytes at byte"):
        rows_of(one)


@pytest.mark.parametrize("what", ["bases_among", "SegmentFile"])
def test_files_that_spark_may_not_read_come_over_the_network(log, broker, monkeypatch, what):
    log.append(NAME, [(None, b"a")])
    one = range_of(broker)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(local_range, what, refuse)
    assert [row["value"] for row in rows_of(one)] == [b"a"]
    assert broker.asked[ApiKey.FETCH] == 1


def test_files_that_end_below_the_range_are_not_taken_for_all_of_it(log, broker):
    log.append(NAME, [(None, b"a")])
    log.append(NAME, [(None, b"b")])
    one = range_of(broker)
    path = path_of(log.partition_directory(NAME), 0, ".log")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(HeadraceError):  # the broker has no more either
        rows_of(one)


def signed(data):
    """With the checksum that these bytes have."""
    return data[:17] + compute_crc(data).to_bytes(4, "big") + data[21:]


def record_batch(body, count):
    """A batch whose records are these bytes."""
    data = bytearray(build_batch([(None, b"")]))
    fields = list(HEADER.unpack_from(data))
    fields[1], fields[3], fields[12] = HEADER.size - 12 + len(body), MAGIC_V2, count
    return signed(HEADER.pack(*fields) + body)


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
    with pytest.raises(CorruptRange, match=rf"{0:020d}\.log: .*byte {size}"):
        rows_of(range_of(broker))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD, 6])
def test_a_batch_that_does_not_decompress_names_file_and_position(log, broker, codec):
    data = bytearray(build_batch([(None, bytes(500))], codec=codec if codec in list(Codec) else 0))
    data[22] |= codec
    data[65:75] = b"\xff" * 10
    log.create(*NAME)
    log.append_bytes(NAME, signed(bytes(data)))
    log.ends[NAME] = 1
    with pytest.raises(CorruptRange, match=rf"{0:020d}\.log: the batch at byte 0"):
        rows_of(range_of(broker))


def test_a_compressed_batch_that_announces_too_many_records_takes_no_memory(log, broker):
    data = bytearray(build_batch([(None, b"a")], codec=Codec.ZSTD))
    data[57:61] = (2**31 - 1).to_bytes(4, "big")
    log.create(*NAME)
    log.append_bytes(NAME, signed(bytes(data)))
    log.ends[NAME] = 1
    with pytest.raises(CorruptRange, match="records"):
        rows_of(range_of(broker))


@pytest.mark.parametrize("seed", range(5))
def test_any_flipped_byte_gives_valid_columns_or_an_error_of_ours(log, broker, seed, monkeypatch):
    monkeypatch.setattr(ranges_module, "read_remote", lambda one, rows: iter(()))
    dice = random.Random(seed)
    for codec in (Codec.NONE, Codec.LZ4):
        log.append(NAME, [Record(0, 1, b"key", b"value" * 9, (("h", b"v"),)), Record(1, 2, None, b"x")], codec=codec)
    path = path_of(log.partition_directory(NAME), 0, ".log")
    whole = path.read_bytes()
    one = dataclasses.replace(range_of(broker), checks_crcs=False)
    for _ in range(300):
        broken = bytearray(whole)
        broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
        path.write_bytes(broken)
        with contextlib.suppress(HeadraceError):
            for batch in read_range(one, ALL_COLUMNS):
                batch.validate(full=True)
    path.write_bytes(whole)
    assert len(rows_of(one)) == 4


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_flipped_bit_never_gives_other_rows(log, broker, seed, codec, monkeypatch):
    monkeypatch.setattr(ranges_module, "read_remote", lambda one, rows: iter(()))
    dice = random.Random(seed)
    log.append(NAME, [Record(0, 1, b"key", b"value" * 9, (("h", b"v"),)), Record(1, 2, None, b"x")], codec=codec)
    path = path_of(log.partition_directory(NAME), 0, ".log")
    whole = path.read_bytes()
    one = range_of(broker)
    for bit in dice.sample(range(8 * 21, 8 * len(whole)), 150):  # what the checksum covers
        broken = bytearray(whole)
        broken[bit // 8] ^= 1 << bit % 8
        path.write_bytes(broken)
        with pytest.raises(HeadraceError):
            rows_of(one)


def test_a_damaged_batch_is_told_with_topic_offset_file_and_both_sums(log, broker, remote_broker):
    for number in range(3):
        log.append(NAME, [(None, b"value-%d" % number)])
    path = path_of(log.partition_directory(NAME), 0, ".log")
    size = path.stat().st_size // 3
    data = bytearray(path.read_bytes())
    was = compute_crc(data[size : 2 * size])
    data[2 * size - 3] ^= 4
    path.write_bytes(data)
    told = rf"corrupt: its checksum is {compute_crc(data[size : 2 * size]):#010x}, expected {was:#010x}"
    with pytest.raises(
        CorruptRange, match=rf"clicks-0: the batch at offset 1 \(.*{0:020d}\.log, byte {size}\) is {told}"
    ):
        rows_of(range_of(broker))
    with pytest.raises(CorruptRange, match=rf"offset 1 \(fetch of clicks-0, byte {size}\) is {told}"):
        rows_of(range_of(remote_broker))
    as_it_is = [row["value"] for row in rows_of(dataclasses.replace(range_of(broker), checks_crcs=False))]
    assert as_it_is == [b"value-0", bytes(data[2 * size - 8 : 2 * size - 1]), b"value-2"]


@pytest.mark.parametrize("timestamp_ms", [1795200000000000000, 2**63 - 1, 9223372036854776, -9223372036854776])
def test_a_time_that_spark_can_not_hold_is_refused_by_name(log, broker, timestamp_ms):
    log.append(NAME, [Record(0, 1000, None, b"a"), Record(1, timestamp_ms, None, b"b")])
    with pytest.raises(TimestampOverflow, match=rf"clicks-0: the record at offset 1 has the timestamp {timestamp_ms}"):
        rows_of(range_of(broker))
    assert rows_of(range_of(broker), ("offset",)) == [{"offset": 0}, {"offset": 1}]


@pytest.mark.parametrize("timestamp_ms", [-1, 0, 9223372036854775, -9223372036854775])
def test_times_at_the_edge_are_as_they_are(log, broker, timestamp_ms):
    log.append(NAME, [Record(0, timestamp_ms, None, b"a")])
    (batch,) = read_range(range_of(broker), ["timestamp"])
    assert batch["timestamp"].cast("int64").to_pylist() == [1000 * timestamp_ms]


def test_a_segment_is_read_in_windows_and_a_batch_that_is_larger_than_one_comes_whole(log, broker, monkeypatch):
    monkeypatch.setattr(local_range, "WINDOW_BYTES", mmap.ALLOCATIONGRANULARITY)
    lengths = []
    window = local_range._window
    monkeypatch.setattr(local_range, "_window", lambda fd, at, size: lengths.append(size) or window(fd, at, size))
    log.create(*NAME)
    for seed in range(3):
        random_log(log, seed)
    log.append(NAME, [(None, random.Random(1).randbytes(5 * mmap.ALLOCATIONGRANULARITY))])
    log.append(NAME, [(None, b"x")])
    wanted = expected(log, 0, log.ends[NAME])
    assert compared(rows_of(range_of(broker))) == wanted
    assert compared(rows_of(range_of(broker, 500, log.ends[NAME] - 1))) == [
        row for row in wanted if 500 <= row["offset"] < log.ends[NAME] - 1
    ]
    assert len(lengths) > 50
    assert broker.asked[ApiKey.FETCH] == 0


def test_old_entries_come_whole_through_windows_as_well(log, broker, monkeypatch):
    monkeypatch.setattr(local_range, "WINDOW_BYTES", mmap.ALLOCATIONGRANULARITY)
    log.create(*NAME)
    for number in range(300):
        log.append_bytes(
            NAME, encode_message(number, number % 2, number if number % 2 else -1, b"k", b"%070d" % number)
        )
    log.ends[NAME] = 300
    assert [row["value"] for row in rows_of(range_of(broker))] == [b"%070d" % number for number in range(300)]
    assert broker.asked[ApiKey.FETCH] == 0


def fail_to_map(*_, **__):
    raise OSError(errno.ENOMEM, "Cannot allocate memory")


def test_where_memory_can_not_be_mapped_the_file_is_read(log, broker, monkeypatch):
    log.append(NAME, [(None, b"a")] * 100)
    monkeypatch.setattr(local_range, "mmap", altered(mmap, mmap=fail_to_map))
    assert len(rows_of(range_of(broker))) == 100
    assert broker.asked[ApiKey.FETCH] == 0


def test_nothing_after_the_batch_of_the_last_offset_is_touched_by_the_search_for_the_end_of_a_window(log):
    data = b"".join(build_batch([(None, b"x")], base_offset=offset) for offset in range(5))
    size = len(data) // 5
    for high in range(1, 6):
        for after in (b"\0", b"\xff"):
            cut = np.frombuffer(data[: high * size] + after * len(data[high * size :]), np.uint8)
            assert whole_end(cut, 0, len(data), high) == high * size
    after_a_gap = np.frombuffer(data[:size] + (10).to_bytes(8, "big") + data[size + 8 :], np.uint8)
    assert whole_end(after_a_gap, 0, len(data), 5) == size


@pytest.mark.parametrize("key", ["broker.id", "node.id"])
def test_a_directory_of_a_node_of_zookeeper_or_of_kraft_is_read(log, broker, key):
    log.append(NAME, [(None, b"a")])
    (log.directory / "meta.properties").write_text(f"version=1\n{key}=0\ncluster.id=fake-cluster\n")
    assert len(rows_of(range_of(broker))) == 1
    assert broker.asked[ApiKey.FETCH] == 0


OLD_ID, NEW_ID = "aa" * 16, "bb" * 16


def test_a_range_of_a_topic_that_was_created_again_is_refused_by_the_files(log, broker):
    log.append(NAME, [(None, b"a")])
    write_partition_metadata(log.partition_directory(NAME) / "partition.metadata", NEW_ID)
    assert len(rows_of(dataclasses.replace(range_of(broker), topic_id=NEW_ID))) == 1
    with pytest.raises(TopicRecreated, match=rf"clicks-0: the topic was deleted and created again.*{OLD_ID}.*{NEW_ID}"):
        rows_of(dataclasses.replace(range_of(broker), topic_id=OLD_ID))


def test_files_that_tell_no_id_are_left_to_the_leader(log, broker):
    log.append(NAME, [(None, b"a")])
    broker.topic_ids["clicks"] = OLD_ID
    assert len(rows_of(dataclasses.replace(range_of(broker), topic_id=OLD_ID))) == 1
    assert broker.asked[ApiKey.FETCH] == 1


def test_a_range_of_a_topic_that_was_created_again_is_refused_over_the_network(log, remote_broker):
    log.append(NAME, [(None, b"a")])
    remote_broker.topic_ids["clicks"] = OLD_ID
    one = range_of(remote_broker)
    assert one.topic_id == OLD_ID
    assert len(rows_of(one)) == 1
    remote_broker.topic_ids["clicks"] = NEW_ID
    with pytest.raises(TopicRecreated, match=rf"clicks-0.*{OLD_ID}.*{NEW_ID}"):
        rows_of(one)
    assert remote_broker.asked[ApiKey.FETCH] == 1


def test_a_topic_created_again_between_two_fetches_is_refused(log, remote_broker, monkeypatch):
    log.append(NAME, [(None, b"a")])
    remote_broker.topic_ids["clicks"] = OLD_ID
    one = range_of(remote_broker)
    real = Cluster.fetch_with_aborted

    def fetch(self, name, start, end, read_committed):
        remote_broker.topic_ids["clicks"] = NEW_ID
        yield from real(self, name, start, end)

    monkeypatch.setattr(Cluster, "fetch_with_aborted", fetch)
    with pytest.raises(TopicRecreated):
        rows_of(one)


def pauses_go_to(sleep, monkeypatch):
    """The client's pauses, and no other thread's: a background thread of another test sleeps by the same module."""
    monkeypatch.setattr("headrace.client.cluster.time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))


def test_a_node_that_is_away_longer_than_the_clients_tries_is_waited_for(log, monkeypatch):
    for number in range(20):
        log.append(NAME, [(None, b"%03d" % number)])
    monkeypatch.setattr("headrace.client.cluster.FETCH_BYTES", 720)  # ten batches
    pauses = []
    with contextlib.ExitStack() as back, FakeBroker(log, tells_directories=False) as first:
        one = range_of(first)

        def wait(seconds):
            pauses.append(seconds)
            if len(pauses) == 3 * CLIENT_RETRIES_MAX:  # some 27 s
                back.enter_context(FakeBroker(log, tells_directories=False, port=one_port))

        one_port = first.port
        pauses_go_to(wait, monkeypatch)
        reading = read_range(one, ["offset"], rows_per_batch=1)
        found = [next(reading)]
        first.__exit__()
        found += reading
    assert [offset for batch in found for offset in batch["offset"].to_pylist()] == list(range(20))
    assert len(pauses) == 3 * CLIENT_RETRIES_MAX


def test_patience_ends_and_is_not_spent_on_a_topic_that_is_gone(log, monkeypatch):
    log.append(NAME, [(None, b"a")])
    pauses = []
    pauses_go_to(pauses.append, monkeypatch)
    with FakeBroker(log, tells_directories=False) as broker:
        one = range_of(broker)
        log.ends.clear()
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            rows_of(one)
        assert len(pauses) == CLIENT_RETRIES_MAX
    with pytest.raises(ConnectionFailed, match="no broker responded"):
        rows_of(dataclasses.replace(one, patience_s=0))
    assert len(pauses) == 2 * CLIENT_RETRIES_MAX


def test_a_cluster_that_tells_no_ids_is_read_as_before(log, remote_broker):
    log.append(NAME, [(None, b"a")])
    one = range_of(remote_broker)
    assert one.topic_id == ""
    assert len(rows_of(one)) == 1


def test_a_range_goes_through_bytes():
    one = OffsetRange("a", 1, 2, 3, "h:1", "c", ((0, "host", "/data"), (1, "other", "")))
    assert OffsetRange.from_bytes(one.to_bytes()) == one
