import pytest

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.connection import ConnectionFailed
from headrace.client.consumer import Consumer, check_range, start_offsets
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
                Record(index, 1_000 + first + index, b"k", b"%d" % (first + index), ())
                for index in range(min(7, 100 - first))
            ]
            log.append(name, rows, codec=codec)
    return log


@pytest.fixture
def cluster(broker):
    with Cluster(broker.address, timeout_s=30) as cluster:
        yield cluster


def consumer_of(cluster, positions, ends=None, **options):
    cluster.refresh(sorted({name.topic for name in positions}))
    return Consumer(cluster, positions, ends, **options)


def read(consumer, polls=1_000, found=None):
    """All records until the consumer is done, by partition; also in `found`."""
    found = {} if found is None else found
    for _ in range(polls):
        if consumer.is_done:
            return found
        for name, records in consumer.poll(0.05):
            found.setdefault(name, []).extend(records)
    raise AssertionError(f"not done: {consumer.positions}")


def test_all_partitions_are_read_to_their_ends(clicks, cluster):
    found = read(consumer_of(cluster, dict.fromkeys(CLICKS, 0), dict.fromkeys(CLICKS, 100)))
    assert found == {name: clicks.records(name) for name in CLICKS}


def test_start_and_end_inside_of_batches_are_kept_to_the_record(clicks, cluster):
    consumer = consumer_of(cluster, {CLICKS[1]: 10}, {CLICKS[1]: 30})
    assert [record.offset for record in read(consumer)[CLICKS[1]]] == list(range(10, 30))
    assert consumer.is_done


def test_a_partition_without_an_end_goes_on(clicks, cluster):
    consumer = consumer_of(cluster, {CLICKS[0]: 95})
    assert [record.offset for _name, records in consumer.poll(1) for record in records] == list(range(95, 100))
    clicks.append(CLICKS[0], [(b"k", b"new")])
    for _ in range(100):
        records = [record for _name, found in consumer.poll(0.1) for record in found]
        if records:
            break
    assert [record.value for record in records] == [b"new"]
    assert not consumer.is_done
    assert consumer.positions == {CLICKS[0]: 101}


def test_an_empty_range_is_done_at_once(clicks, cluster, broker):
    consumer = consumer_of(cluster, {CLICKS[0]: 100}, {CLICKS[0]: 100})
    assert consumer.is_done
    assert consumer.poll(0) == []
    assert broker.asked[ApiKey.FETCH] == 0


def test_other_partitions_in_mid_flight_make_the_old_answer_void(clicks, cluster):
    consumer = consumer_of(cluster, {CLICKS[0]: 0})
    consumer.poll(0)
    consumer.assign({CLICKS[0]: 50, CLICKS[2]: 98}, {CLICKS[0]: 60, CLICKS[2]: 100})
    found = read(consumer)
    assert [record.offset for record in found[CLICKS[0]]] == list(range(50, 60))
    assert [record.offset for record in found[CLICKS[2]]] == [98, 99]


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH])
def test_an_error_that_passes_is_got_over(clicks, cluster, broker, error):
    broker.fail[ApiKey.FETCH, error] = 3
    assert len(read(consumer_of(cluster, {CLICKS[0]: 0}, {CLICKS[0]: 100}))[CLICKS[0]]) == 100


def test_a_connection_that_breaks_is_made_anew(clicks, cluster, broker):
    consumer = consumer_of(cluster, {CLICKS[0]: 0}, {CLICKS[0]: 100})
    broker.drop_connections = 2
    assert len(read(consumer)[CLICKS[0]]) == 100


def test_an_error_that_stays_ends_the_poll(clicks, cluster, broker, monkeypatch):
    monkeypatch.setattr("headrace.client.consumer.FAILING_MAX_S", 0.05)
    broker.fail[ApiKey.FETCH, ErrorCode.NOT_LEADER_OR_FOLLOWER] = 10**9
    with pytest.raises(KafkaError, match="clicks-0"):
        read(consumer_of(cluster, {CLICKS[0]: 0}, {CLICKS[0]: 100}))


def test_a_broker_that_has_gone_ends_the_poll(clicks, cluster, broker, monkeypatch):
    monkeypatch.setattr("headrace.client.consumer.FAILING_MAX_S", 0.05)
    consumer = consumer_of(cluster, {CLICKS[0]: 0}, {CLICKS[0]: 100})
    broker.__exit__()
    with pytest.raises(ConnectionFailed):
        read(consumer)


def test_an_offset_out_of_range_names_partition_and_offset(clicks, cluster):
    with pytest.raises(KafkaError, match="clicks-2 at offset 101") as failure:
        read(consumer_of(cluster, {CLICKS[2]: 101}, {CLICKS[2]: 200}))
    assert failure.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_what_others_have_is_returned_before_the_failure_of_one_partition_is_raised(clicks, cluster):
    consumer = consumer_of(cluster, {CLICKS[0]: 0, CLICKS[1]: 90, CLICKS[2]: 101})
    found = {}
    with pytest.raises(KafkaError, match="clicks-2 at offset 101"):
        read(consumer, found=found)
    assert found == {CLICKS[0]: clicks.records(CLICKS[0]), CLICKS[1]: clicks.records(CLICKS[1])[90:]}
    assert consumer.positions == {CLICKS[0]: 100, CLICKS[1]: 100, CLICKS[2]: 101}


def test_a_failure_that_was_not_raised_yet_ends_with_the_assignment(clicks, cluster):
    consumer = consumer_of(cluster, {CLICKS[0]: 0, CLICKS[2]: 101})
    while not consumer.poll(0.05):
        pass
    consumer.assign({CLICKS[0]: 95}, {CLICKS[0]: 100})
    assert [record.offset for record in read(consumer)[CLICKS[0]]] == [*range(95, 100)]


def test_a_batch_that_does_not_match_its_checksum_is_never_handed_out(clicks, cluster):
    data = bytearray(clicks.batches(CLICKS[0])[0][1])
    data[-1] ^= 1
    bad = TopicPartition("bad", 0)
    clicks.create(*bad)
    clicks.append_batch(bad, bytes(data))
    with pytest.raises(CorruptRecord, match="bad-0: checksum mismatch in the batch at offset 0"):
        read(consumer_of(cluster, {bad: 0}, {bad: 7}))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_old_formats_are_read_as_well(clicks, cluster, magic, codec):
    name = TopicPartition("old", 0)
    clicks.create(*name)
    rows = [Record(offset, 1_000 + offset, b"k", b"%d" % offset, ()) for offset in range(10)]
    clicks.append_bytes(name, build_message_set(rows, magic, codec))
    clicks.ends[name] = 10
    clicks.append(name, [(b"k", b"new")])
    found = read(consumer_of(cluster, {name: 4}, {name: 11}))[name]
    assert [record.offset for record in found] == list(range(4, 11))
    assert [record.value for record in found] == [b"%d" % offset for offset in range(4, 10)] + [b"new"]


def test_control_batches_and_records_of_aborted_transactions(clicks, cluster, broker):
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
    everything = read(consumer_of(cluster, {name: 0}, {name: 7}))[name]
    assert [record.value for record in everything] == [b"aborted", b"committed", b"plain", b"second try"]
    committed = read(consumer_of(cluster, {name: 0}, {name: 7}, is_read_committed=True))[name]
    assert [record.value for record in committed] == [b"committed", b"plain", b"second try"]


def test_offsets_for_times(clicks, cluster):
    wanted = {CLICKS[0]: 1_050, CLICKS[1]: EARLIEST, CLICKS[2]: 9_999_999}
    assert start_offsets(cluster, wanted) == {CLICKS[0]: 50, CLICKS[1]: 0, CLICKS[2]: 100}
    assert start_offsets(cluster, dict.fromkeys(CLICKS, LATEST)) == dict.fromkeys(CLICKS, 100)


def test_offsets_that_a_partition_does_not_have_are_named(clicks, cluster):
    check_range(cluster, {CLICKS[0]: 0, CLICKS[1]: 100})
    with pytest.raises(
        KafkaError, match="offset 101 of clicks-1 is out of range: valid offsets are 0 to 100"
    ) as failure:
        check_range(cluster, {CLICKS[0]: 0, CLICKS[1]: 101})
    assert failure.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_consumer_with_nothing_to_read_waits(clicks, cluster, monkeypatch):
    slept = []
    monkeypatch.setattr("headrace.client.consumer.select.select", lambda *arguments: slept.append(arguments[3]))
    consumer = consumer_of(cluster, {})
    assert [consumer.poll(0.5) for _ in range(3)] == [[], [], []]
    assert len(slept) == 3


def test_a_topic_that_brokers_forget_for_a_moment_is_read_on_and_one_that_is_gone_is_not(
    clicks, cluster, broker, monkeypatch
):
    monkeypatch.setattr("headrace.client.consumer.GONE_AFTER_S", 0.2)
    for fetches, lookups in ((5, 3), (10**9, 10**9)):
        broker.fail.clear()
        consumer = consumer_of(cluster, {CLICKS[0]: 0}, {CLICKS[0]: 100})
        broker.fail[ApiKey.FETCH, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] = fetches
        broker.fail[ApiKey.METADATA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] = lookups
        if fetches == 5:
            assert len(read(consumer)[CLICKS[0]]) == 100
        else:
            with pytest.raises(KafkaError, match="topic clicks"):
                read(consumer, 10**6)
