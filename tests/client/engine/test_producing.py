"""A producer over a model cluster: order, idempotence, failures; what it counts comes back to nothing on every path."""

import pytest

from headrace.client.delivery import metadata_of
from headrace.client.engine.identity import GivenIdentity, Identity
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.failures import DeliveryFailed
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import iterate_records, parse_header
from tests.support.model_clients import ModelProducer
from tests.support.model_cluster import ModelCluster
from tests.support.model_network import Network

NAME = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)


@pytest.fixture
def cluster():
    return ModelCluster(3, {"t": 3})


@pytest.fixture
def network(cluster):
    made = Network(cluster)
    yield made
    made.close()


def produced(cluster):
    """(partition, values) of each Produce request that a broker got."""
    return [
        part.index
        for broker in cluster.brokers.values()
        for key, _version, request in broker.asked
        if key is ApiKey.PRODUCE
        for topic in request.topic_data
        for part in topic.partition_data
    ]


def is_empty(producer):
    producing = producer.producing
    return producing.buffered_bytes == 0 and producing.outstanding == 0 and not any(producing._node_requests.values())


def values(cluster, name=NAME):
    return cluster.logs[name].values()


def test_a_batch_waits_for_linger_and_no_longer(network, cluster):
    producer = ModelProducer(network, linger_ms=50)
    began_s = network.now_s
    batch = producer.send(NAME, b"a")
    network.run_until(lambda: batch.is_done)
    assert 0.05 <= network.now_s - began_s < 0.1
    assert metadata_of(batch, 0).offset == 0
    assert is_empty(producer)


def test_batches_of_a_partition_are_pipelined_once_the_first_is_stored(network, cluster):
    network.delay_s = (0.05, 0.05)
    producer = ModelProducer(network, linger_ms=0, batch_size=150)
    producer.send(NAME, b"first")
    producer.flush()
    began_s = network.now_s
    for serial in range(10):
        producer.send(NAME, b"%d" % serial)
    producer.flush()
    assert values(cluster) == producer.sent[NAME]
    assert network.now_s - began_s < 10 * 0.1


@pytest.mark.parametrize(
    "code",
    [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR],
)
def test_a_retriable_refusal_keeps_the_order(network, cluster, code):
    producer = ModelProducer(network, linger_ms=0, batch_size=150)
    producer.send(NAME, b"first")
    producer.flush()
    cluster.partition_failures[NAME] += [code, 0, code, code]
    for serial in range(8):
        producer.send(NAME, b"%d" % serial)
    producer.flush()
    assert values(cluster) == producer.sent[NAME]
    assert is_empty(producer)


def test_an_answer_that_is_lost_stores_nothing_twice(network, cluster):
    producer = ModelProducer(network, linger_ms=0)
    producer.send(NAME, b"a")
    producer.flush()
    network.lost_answers = 1.0
    batch = producer.send(NAME, b"b")
    network.run(1)
    assert not batch.is_done
    network.lost_answers = 0
    producer.flush()
    assert values(cluster) == [b"a", b"b"]
    assert batch.base_offset == 1


def test_a_refused_record_fails_alone_and_later_ones_are_stored(network, cluster):
    producer = ModelProducer(network, linger_ms=0)
    producer.send(NAME, b"first")
    producer.flush()
    cluster.partition_failures[NAME].append(ErrorCode.INVALID_RECORD)
    batch = producer.send(NAME, b"bad")
    later = producer.send(OTHER, b"other")
    producer.flush()
    assert batch.failure.code is ErrorCode.INVALID_RECORD
    assert later.failure is None
    after = producer.send(NAME, b"after")
    producer.flush()  # its sequence does not follow: under another producer id
    assert after.failure is None
    assert values(cluster) == [b"first", b"after"]
    assert producer.producing.take_unseen() == (batch.failure, 1)
    assert is_empty(producer)


def test_a_producer_that_brokers_forgot_continues_under_another_id(network, cluster):
    cluster.takes_unknown_producers = False
    producer = ModelProducer(network, linger_ms=0)
    producer.send(NAME, b"a")
    producer.flush()
    cluster.logs[NAME].producers.clear()
    producer.send(NAME, b"b")
    producer.flush()
    assert values(cluster) == [b"a", b"b"]
    assert cluster.producer_ids == 2


def test_a_batch_that_does_not_follow_because_an_earlier_one_waits_keeps_its_producer_id(network, cluster):
    producer = ModelProducer(network, linger_ms=0, batch_size=150)
    producer.send(NAME, b"first")
    producer.flush()
    cluster.partition_failures[NAME].append(ErrorCode.NOT_ENOUGH_REPLICAS)
    for serial in range(4):
        producer.send(NAME, b"%d" % serial)
    producer.flush()
    assert values(cluster) == producer.sent[NAME]
    assert cluster.producer_ids == 1


def test_a_batch_that_is_too_large_is_halved_until_it_fits(network, cluster):
    cluster.batch_bytes_max = 200
    producer = ModelProducer(network, linger_ms=1000, batch_size=2000)
    batch = None
    for serial in range(15):
        batch = producer.send(NAME, b"%d" % serial * 10)
    producer.flush()
    assert values(cluster) == producer.sent[NAME]
    assert batch.failure is None
    assert is_empty(producer)


def test_records_of_halves_have_their_own_offsets(network, cluster):
    cluster.batch_bytes_max = 200
    producer = ModelProducer(network, linger_ms=1000, batch_size=2000)
    batch = None
    for serial in range(9):
        batch = producer.send(NAME, b"%d" % serial * 10)
    log = cluster.logs[NAME]
    original = log.append

    def append(data):  # another producer's records come between
        offset = original(data)
        log.end += 5
        return offset

    log.append = append
    producer.flush()
    stored = {}
    for base, _next, data in log.batches:
        from headrace.protocol.record_batch import iterate_records

        stored |= {record.value: base + place for place, record in enumerate(iterate_records(memoryview(data)))}
    assert [metadata_of(batch, place).offset for place in range(9)] == [stored[b"%d" % one * 10] for one in range(9)]


def test_a_half_that_is_refused_is_reported_by_a_flush(network, cluster):
    cluster.batch_bytes_max = 120
    producer = ModelProducer(network, linger_ms=1000, batch_size=2000)
    batch = producer.send(NAME, b"x")
    producer.send(NAME, b"y" * 300)
    producer.flush()
    failure, records = producer.producing.take_unseen()
    assert failure.code is ErrorCode.MESSAGE_TOO_LARGE
    assert records == 1
    assert metadata_of(batch, 0).offset == 0
    with pytest.raises(KafkaError):
        metadata_of(batch, 1)
    assert is_empty(producer)


def test_one_turn_sends_all_that_may_be_in_flight(network, cluster):
    network.delay_s = (0.05, 0.05)
    producer = ModelProducer(network, linger_ms=1000, batch_size=150)
    producer.send(NAME, b"first")
    producer.flush()
    for serial in range(20):
        producer.send(NAME, b"%d" % serial * 50)
    before = len(produced(cluster))
    producer.producing.turn(network.now_s)
    assert producer.producing._node_requests == {cluster.logs[NAME].leader: producer.producing.options.max_in_flight}
    producer.flush()
    assert len(produced(cluster)) == before + 20
    assert values(cluster) == producer.sent[NAME]


def test_memory_of_a_batch_is_used_again_once_it_is_done(network, cluster):
    producer = ModelProducer(network, linger_ms=1000)
    first = producer.send(NAME, b"a")
    builder = first.builder
    producer.flush()
    assert first.builder is None
    assert producer.send(NAME, b"b").builder is builder
    producer.flush()
    assert values(cluster) == [b"a", b"b"]


def test_a_retry_under_another_producer_id_leaves_the_bytes_that_a_socket_may_have(network, cluster):
    producer = ModelProducer(network, linger_ms=1000)
    batch = producer.send(NAME, b"a")
    producer.producing._close(producer.producing.routes["t"].queues[0])
    batch.number(Identity(7, 0))
    sent = batch.encoded(Identity(7, 0), Codec.NONE)
    before = bytes(sent)
    renewed = batch.encoded(Identity(8, 0), Codec.NONE)
    assert (bytes(sent), bytes(renewed) != before) == (before, True)
    assert [record.value for record in iterate_records(renewed)] == [b"a"]
    producer.flush()
    assert values(cluster) == [b"a"]


def test_a_batch_is_given_up_after_delivery_timeout(network, cluster):
    producer = ModelProducer(network, linger_ms=0, delivery_timeout_ms=2_000)
    producer.send(NAME, b"a")
    producer.flush()
    for node_id in cluster.brokers:
        cluster.stop(node_id)
    batch = producer.send(NAME, b"b")
    producer.flush(60)
    assert batch.failure.code is ErrorCode.REQUEST_TIMED_OUT
    assert "delivery.timeout.ms" in str(batch.failure)
    assert is_empty(producer)


def test_a_partition_without_a_leader_does_not_hold_up_others(network, cluster):
    cluster.logs[NAME].leader = -1
    cluster.tell()
    producer = ModelProducer(network, linger_ms=0)
    waiting = producer.send(NAME, b"a")
    other = producer.send(OTHER, b"b")
    network.run_until(lambda: other.is_done, 1)
    assert not waiting.is_done
    assert waiting.last_failure.code is ErrorCode.LEADER_NOT_AVAILABLE
    cluster.logs[NAME].leader = 2
    cluster.tell()
    producer.flush(10)
    assert waiting.failure is None


def test_without_acks_a_flush_waits_for_the_socket(network, cluster):
    producer = ModelProducer(network, linger_ms=0, acks=0)
    for serial in range(20):
        producer.send(NAME, b"%d" % serial)
    producer.flush()
    network.run(1)
    assert values(cluster) == producer.sent[NAME]
    assert is_empty(producer)


def old(cluster, produce=(0, 2)):
    for broker in cluster.brokers.values():
        broker.versions[ApiKey.PRODUCE] = produce
        broker.versions[ApiKey.METADATA] = (0, 1)
        del broker.versions[ApiKey.INIT_PRODUCER_ID]


def test_a_broker_before_0_11_gets_sets_of_v1(network, cluster):
    old(cluster)
    producer = ModelProducer(network, linger_ms=0)
    producer.send(NAME, b"a")
    producer.send(NAME, b"b")
    producer.flush()
    assert values(cluster) == [b"a", b"b"]
    assert is_empty(producer)


def test_records_with_headers_fail_alone_where_the_broker_is_old(network, cluster):
    old(cluster)
    cluster.logs[OTHER].leader = cluster.logs[NAME].leader  # in one request
    cluster.tell()
    producer = ModelProducer(network, linger_ms=10)
    bad = producer.send(NAME, b"a", headers=(("h", b"1"),))
    good = producer.send(OTHER, b"b")
    producer.flush()
    assert bad.failure.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert good.failure is None
    assert values(cluster, OTHER) == [b"b"]
    assert is_empty(producer)


def test_idempotence_that_was_asked_for_is_not_given_up(network, cluster):
    old(cluster)
    producer = ModelProducer(network, linger_ms=0, is_idempotent=True)
    batch = producer.send(NAME, b"a")
    producer.flush()
    assert batch.failure.code is ErrorCode.UNSUPPORTED_VERSION
    assert is_empty(producer)


def test_a_codec_that_the_broker_lacks_does_not_end_idempotence(network, cluster):
    for broker in cluster.brokers.values():
        broker.versions[ApiKey.PRODUCE] = (0, 6)
    producer = ModelProducer(network, linger_ms=0, codec=Codec.ZSTD)
    batch = producer.send(NAME, b"a")
    producer.flush()
    assert batch.failure.code is ErrorCode.UNSUPPORTED_VERSION
    assert producer.producing._is_idempotent


def test_a_record_that_its_batch_refused_holds_up_nothing(network, cluster):
    producer = ModelProducer(network, linger_ms=0)
    producer.send(OTHER, b"first")
    producer.flush()
    with pytest.raises(TypeError):
        producer.send(NAME, "text")  # no bytes
    batch = producer.send(OTHER, b"b")
    network.run_until(lambda: batch.is_done, 1)
    producer.flush(1)
    assert is_empty(producer)


def test_what_is_closed_without_waiting_fails_once(network, cluster):
    producer = ModelProducer(network, linger_ms=1000)
    batches = [producer.send(name, b"x") for name in (NAME, OTHER)]
    done = []
    for batch in batches:
        batch.on_done(done.append)
    network.delay_s = (1, 1)
    producer.producing.turn(network.now_s, is_flushing=True)
    producer.producing.fail_all(HeadraceError("closed"))
    network.run(10)
    assert done == batches
    assert is_empty(producer)


def test_a_given_identity_continues_at_its_sequences_and_each_batch_is_reported(network, cluster):
    cluster.takes_unknown_producers = True
    given = GivenIdentity(1 << 62, 3, {NAME: 7})
    producer = ModelProducer(network, given, linger_ms=0, batch_size=150)
    for serial in range(4):
        producer.send(NAME, b"%d" % serial)
    producer.send(OTHER, b"x")
    producer.flush()
    headers = [parse_header(data) for name in (NAME, OTHER) for _base, _next, data in cluster.logs[name].batches]
    assert [(one.producer_id, one.producer_epoch, one.base_sequence) for one in headers] == [
        *((1 << 62, 3, sequence) for sequence in range(7, 11)),
        (1 << 62, 3, 0),
    ]
    assert sorted(producer.stored) == [*((NAME, offset, 1) for offset in range(4)), (OTHER, 0, 1)]
    assert cluster.producer_ids == 0
    assert is_empty(producer)


def test_batches_under_a_given_identity_go_one_after_the_other(network, cluster):
    network.delay_s = (0.05, 0.05)
    producer = ModelProducer(network, GivenIdentity(1 << 62, 0, {}), linger_ms=0, batch_size=150)
    for serial in range(4):
        producer.send(NAME, b"%d" % serial)
    queue = producer.producing.routes["t"].queues[0]
    most = 0

    def is_done():
        nonlocal most
        most = max(most, len(queue.in_flight))
        return not producer.producing.outstanding

    producer.producing.turn(network.now_s, is_flushing=True)
    network.run_until(is_done)
    assert most == 1
    assert values(cluster) == producer.sent[NAME]


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                                   ErrorCode.DUPLICATE_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH])  # fmt: skip
def test_what_a_broker_says_of_a_given_identity_ends_the_producer(network, cluster, error):
    """Another producer of that identity may have written: nothing is sent under another id, and nothing after it."""
    producer = ModelProducer(network, GivenIdentity(1 << 62, 0, {}), linger_ms=0, batch_size=150)
    producer.send(NAME, b"first")
    producer.flush()
    cluster.partition_failures[NAME].append(error)
    batches = [producer.send(NAME, b"%d" % serial) for serial in range(3)]
    batches.append(producer.send(OTHER, b"elsewhere"))
    producer.producing.turn(network.now_s, is_flushing=True)
    network.run_until(lambda: producer.producing.ended is not None)
    assert {batch.failure.code for batch in batches[:3]} == {error}
    with pytest.raises(DeliveryFailed, match=error.name):
        producer.send(NAME, b"more")
    network.run(1)
    assert values(cluster) == [b"first"]
    assert cluster.producer_ids == 0
    assert is_empty(producer)


def test_a_given_identity_is_not_given_up_where_the_broker_has_no_idempotence(network, cluster):
    old(cluster)
    producer = ModelProducer(network, GivenIdentity(1 << 62, 0, {}), linger_ms=0, is_idempotent=True)
    batch = producer.send(NAME, b"a")
    producer.flush()
    assert batch.failure.code is ErrorCode.UNSUPPORTED_VERSION
    assert values(cluster) == []


@pytest.mark.parametrize("refused", [1, 2])
def test_a_failure_ends_a_producer_that_asks_for_that(network, cluster, refused):
    """Nothing that comes after a lost record is stored in its partition, and what is lost is counted."""
    producer = ModelProducer(network, linger_ms=0, batch_size=150, ends_at_failure=True)
    producer.send(NAME, b"first")
    producer.flush()
    cluster.partition_failures[NAME] += [ErrorCode.NONE] * (refused - 1) + [ErrorCode.INVALID_RECORD]
    for serial in range(4):
        producer.send(NAME, b"%d" % serial)
    producer.producing.turn(network.now_s, is_flushing=True)
    network.run_until(lambda: producer.producing.ended is not None)
    network.run(1)
    assert values(cluster) == producer.sent[NAME][:refused]
    assert producer.producing.ended.cause.code is ErrorCode.INVALID_RECORD
    assert producer.producing.ended.records == 5 - refused
    with pytest.raises(DeliveryFailed, match=f"{5 - refused} records were not acknowledged: INVALID_RECORD"):
        producer.send(OTHER, b"more")
    assert is_empty(producer)


def test_a_producer_that_ends_at_its_failures_ends_at_the_delivery_timeout(network, cluster):
    producer = ModelProducer(network, linger_ms=0, delivery_timeout_ms=2_000, ends_at_failure=True)
    producer.send(NAME, b"a")
    producer.flush()
    for node_id in cluster.brokers:
        cluster.stop(node_id)
    batches = [producer.send(name, b"b") for name in (NAME, OTHER)]
    producer.flush(60)
    assert {batch.failure.code for batch in batches} == {ErrorCode.REQUEST_TIMED_OUT}
    assert producer.producing.ended.records == 2
    assert is_empty(producer)


def test_a_record_larger_than_the_buffer_is_refused(network):
    producer = ModelProducer(network, batch_size=100, buffer_memory=1000)
    with pytest.raises(KafkaError, match=r"buffer\.memory"):
        producer.send(NAME, b"x" * 2000)


def test_a_missing_row_of_a_response_is_a_failure(network, cluster):
    producer = ModelProducer(network, linger_ms=0)
    for broker in cluster.brokers.values():
        broker._produce = lambda _version, request, _code: __import__(
            "headrace.protocol.messages", fromlist=["x"]
        ).ProduceResponse(responses=[])
    batch = producer.send(NAME, b"a")
    producer.flush()
    assert "missing in the response" in str(batch.failure)
    assert is_empty(producer)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"acks": 2}, "acks"),
        ({"acks": 1, "is_idempotent": True}, "enable.idempotence"),
        ({"batch_size": 0}, "batch.size"),
        ({"max_in_flight": 6}, "max.in.flight"),
        ({"delivery_timeout_ms": 1, "linger_ms": 2}, "delivery.timeout.ms"),
    ],
)
def test_options_that_do_not_fit_are_named(options, text):
    with pytest.raises(ValueError, match=text):
        ProducingOptions(**options)
