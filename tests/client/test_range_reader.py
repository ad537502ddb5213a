"""Records between two offsets: all of them, in order, of every format; what can't be read is named, and others come first."""

import pytest

from headrace.client.failures import WaitTimedOut
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT, CorruptRecord, Record

CLICKS = [TopicPartition("clicks", partition) for partition in range(3)]
ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"


@pytest.fixture
def clicks(log):
    """Three partitions of 100 records in batches of 7, each compressed otherwise."""
    for name, codec in zip(CLICKS, (Codec.NONE, Codec.ZSTD, Codec.GZIP), strict=True):
        for first in range(0, 100, 7):
            rows = [
                Record(index, 1_000 + first + index, b"k", b"%d" % (first + index), (("h", b"x"),))
                for index in range(min(7, 100 - first))
            ]
            log.append(name, rows, codec=codec)
    return log


@pytest.fixture
def kafka(broker):
    with Kafka(broker.address) as made:
        yield made


def read(kafka, starts, ends, found=None, **options):
    """All records, by partition; also in `found`."""
    found = {} if found is None else found
    for records in read_ranges(kafka, starts, ends, **options):
        found.setdefault(records[0].topic_partition, []).extend(records)
    return found


def test_all_partitions_are_read_to_their_ends(clicks, kafka):
    found = read(kafka, dict.fromkeys(CLICKS, 0), dict.fromkeys(CLICKS, 100))
    for name in CLICKS:
        fields = [(one.offset, one.timestamp_ms, one.key, one.value, one.headers) for one in found[name]]
        assert fields == [tuple(record) for record in clicks.records(name)]


def test_start_and_end_inside_of_batches_are_kept_to_the_record(clicks, kafka):
    found = read(kafka, {CLICKS[1]: 10, CLICKS[2]: 99}, {CLICKS[1]: 30, CLICKS[2]: 100})
    assert [record.offset for record in found[CLICKS[1]]] == list(range(10, 30))
    assert [record.offset for record in found[CLICKS[2]]] == [99]


def test_an_empty_range_is_done_at_once(clicks, kafka, broker):
    assert read(kafka, {CLICKS[0]: 100}, {CLICKS[0]: 100}) == {}
    assert not broker.asked


def test_an_end_that_the_log_has_not_reached_is_waited_for(clicks, kafka):
    found = []
    for records in read_ranges(kafka, {CLICKS[0]: 95}, {CLICKS[0]: 101}):
        found += [record.value for record in records]
        if len(found) == 5:
            clicks.append(CLICKS[0], [(b"k", b"new")])
    assert found == [b"95", b"96", b"97", b"98", b"99", b"new"]


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH])
def test_an_error_that_passes_is_got_over(clicks, kafka, broker, error):
    broker.fail[ApiKey.FETCH, error] = 3
    assert len(read(kafka, {CLICKS[0]: 0}, {CLICKS[0]: 100})[CLICKS[0]]) == 100


def test_a_connection_that_breaks_is_made_again(clicks, kafka, broker):
    found = []
    for records in read_ranges(kafka, {CLICKS[0]: 0, CLICKS[1]: 50}, {CLICKS[0]: 100, CLICKS[1]: 100}):
        if not found:
            broker.drop_connections = 2
        found += records
    assert len(found) == 150


def test_an_error_that_stays_ends_the_reading_and_says_where_it_is(clicks, kafka, broker):
    broker.fail[ApiKey.FETCH, ErrorCode.NOT_LEADER_OR_FOLLOWER] = 10**9
    with pytest.raises(WaitTimedOut, match=r"clicks-0 at offset 3 of 100: no progress within 0\.3 s; waiting for"):
        read(kafka, {CLICKS[0]: 3}, {CLICKS[0]: 100}, silent_s=0.3)


def test_a_broker_that_has_gone_ends_the_reading(clicks, kafka, broker):
    broker.__exit__()
    with pytest.raises(WaitTimedOut, match="clicks-0 at offset 0 of 100"):
        read(kafka, {CLICKS[0]: 0}, {CLICKS[0]: 100}, silent_s=0.3)


def test_an_offset_out_of_range_names_partition_and_offset(clicks, kafka):
    with pytest.raises(KafkaError, match="clicks-2 at offset 101") as failure:
        read(kafka, {CLICKS[2]: 101}, {CLICKS[2]: 200})
    assert failure.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_what_others_have_comes_whatever_one_partition_fails_with(clicks, kafka):
    """As far as it was fetched with the failure; a consumer that goes on gets the rest."""
    starts = {CLICKS[0]: 0, CLICKS[1]: 90, CLICKS[2]: 101}
    found, failures = {CLICKS[0]: [], CLICKS[1]: []}, []
    with kafka.consumer(partitions=CLICKS, start="none") as consumer:
        consumer.start_at(starts)
        for _ in range(200):
            try:
                for record in consumer.poll(0.1):
                    found[record.topic_partition].append(record.offset)
            except KafkaError as failure:
                failures.append(failure)
            if failures and sum(map(len, found.values())) == 110:
                break
    assert found == {CLICKS[0]: [*range(100)], CLICKS[1]: [*range(90, 100)]}
    assert [failure.code for failure in failures] == [ErrorCode.OFFSET_OUT_OF_RANGE]


def test_a_batch_that_does_not_match_its_checksum_is_never_handed_out(clicks, kafka):
    data = bytearray(clicks.batches(CLICKS[0])[0][1])
    data[-1] ^= 1
    bad = clicks.create("bad")
    clicks.append_batch(bad, bytes(data))
    with pytest.raises(CorruptRecord, match="bad-0: checksum mismatch in the batch at offset 0"):
        read(kafka, {bad: 0}, {bad: 7})


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_old_formats_are_read_as_well(clicks, kafka, magic, codec):
    name = clicks.create("old")
    rows = [Record(offset, 1_000 + offset, b"k", b"%d" % offset, ()) for offset in range(10)]
    clicks.append_bytes(name, build_message_set(rows, magic, codec))
    clicks.ends[name] = 10
    clicks.append(name, [(b"k", b"new")])
    found = read(kafka, {name: 4}, {name: 11})[name]
    assert [record.offset for record in found] == list(range(4, 11))
    assert [record.value for record in found] == [b"%d" % offset for offset in range(4, 10)] + [b"new"]


def test_control_batches_and_records_of_aborted_transactions(clicks, kafka, broker):
    name = TopicPartition("paid", 0)
    transactional = {"producer_epoch": 0, "base_sequence": 0, "attributes": TRANSACTIONAL_BIT}
    marker = {"producer_epoch": 0, "attributes": TRANSACTIONAL_BIT | CONTROL_BIT}
    clicks.append(name, [(None, b"aborted")], producer_id=1, **transactional)  # 0
    clicks.append(name, [(None, b"committed")], producer_id=2, **transactional)  # 1
    clicks.append(name, [(None, b"plain")])  # 2
    clicks.append(name, [(ABORT, b"")], producer_id=1, **marker)  # 3
    clicks.append(name, [(None, b"second try")], producer_id=1, **transactional)  # 4
    clicks.append(name, [(COMMIT, b"")], producer_id=1, **marker)  # 5
    clicks.append(name, [(COMMIT, b"")], producer_id=2, **marker)  # 6
    broker.aborted = [(1, 0)]
    everything = read(kafka, {name: 0}, {name: 7})[name]
    assert [record.value for record in everything] == [b"aborted", b"committed", b"plain", b"second try"]
    committed = read(kafka, {name: 0}, {name: 7}, is_read_committed=True)[name]
    assert [record.value for record in committed] == [b"committed", b"plain", b"second try"]


def test_a_topic_that_brokers_forget_for_a_moment_is_read_on(clicks, kafka, broker):
    broker.fail[ApiKey.FETCH, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] = 5
    found = []
    for records in read_ranges(kafka, {CLICKS[0]: 0}, {CLICKS[0]: 100}):
        if not found:
            broker.fail[ApiKey.METADATA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] = 3
        found += records
    assert len(found) == 100
