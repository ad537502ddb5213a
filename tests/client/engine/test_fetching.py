"""A consumer's reading over a model cluster: resets, truncation, replicas, sessions, and what the caller moves meanwhile."""

import pytest

from headrace.client.engine.fetching import LogTruncation, OffsetReset
from headrace.client.engine.offsets import EARLIEST, LATEST, offsets_for
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import Record, build_batch
from tests.support.model_clients import ModelConsumer
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


def write(cluster, name, *values):
    for value in values:
        cluster.logs[name].append(build_batch([Record(0, 1_000, None, value, ())]))
    cluster.wake_fetches()


def fetches(cluster, node_id=None):
    return [
        request
        for broker in cluster.brokers.values()
        for key, _version, request in broker.asked
        if key is ApiKey.FETCH and node_id in (None, broker.node_id)
    ]


def subject_of(consumer, name=NAME):
    return consumer.fetching.subjects[name]


def test_it_reads_from_the_policy_and_goes_with_the_log(network, cluster):
    write(cluster, NAME, b"a", b"b")
    consumer = ModelConsumer(network, [NAME])
    late = ModelConsumer(network, [NAME], reset=OffsetReset.LATEST)
    consumer.read_until(lambda: consumer.has(NAME, 2))
    network.run(1)
    write(cluster, NAME, b"c")
    consumer.read_until(lambda: consumer.has(NAME, 3))
    late.read_until(lambda: late.has(NAME, 1))
    assert late.got == {NAME: [b"c"]}


def test_without_a_policy_it_fails_for_that_partition_alone(network, cluster):
    write(cluster, OTHER, b"a")
    consumer = ModelConsumer(network, [NAME, OTHER], reset=OffsetReset.NONE)
    consumer.fetching.seek(OTHER, 0)
    consumer.read_until(lambda: consumer.has(OTHER, 1) and consumer.failures)
    (failure,) = consumer.failures
    assert failure.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert str(NAME) in str(failure)


def test_a_partition_without_a_leader_holds_up_no_other(network, cluster):
    write(cluster, OTHER, b"a")
    cluster.logs[NAME].leader = -1
    cluster.tell()
    consumer = ModelConsumer(network, [NAME, OTHER])
    consumer.read_until(lambda: consumer.has(OTHER, 1), 2)
    cluster.logs[NAME].leader = 1
    cluster.tell()
    write(cluster, NAME, b"b")
    consumer.read_until(lambda: consumer.has(NAME, 1), 5)


def test_a_leader_that_does_not_respond_holds_up_no_other(network, cluster):
    write(cluster, OTHER, b"a")
    cluster.stop(cluster.logs[NAME].leader)
    consumer = ModelConsumer(network, [NAME, OTHER])
    consumer.read_until(lambda: consumer.has(OTHER, 1), 5)


def test_a_topic_that_may_not_be_read_fails_alone(network, cluster):
    cluster.create("u", 1)
    cluster.tell()
    write(cluster, NAME, b"a")
    consumer = ModelConsumer(network, [NAME, TopicPartition("u", 0)])
    cluster.partition_failures[TopicPartition("u", 0)].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    consumer.read_until(lambda: consumer.has(NAME, 1) and consumer.failures, 5)
    assert consumer.failures[0].code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_brokers_that_start_later_are_found(network, cluster):
    write(cluster, NAME, b"a")
    for node_id in cluster.brokers:
        cluster.stop(node_id)
    consumer = ModelConsumer(network, [NAME])
    network.run(60)
    for node_id in cluster.brokers:
        cluster.start(node_id)
    consumer.read_until(lambda: consumer.has(NAME, 1), 10)


def test_a_log_that_moved_on_is_read_from_its_start(network, cluster):
    write(cluster, NAME, b"a", b"b", b"c")
    consumer = ModelConsumer(network, [NAME])
    consumer.fetching.seek(NAME, 0)
    cluster.logs[NAME].start = 2
    cluster.logs[NAME].batches = cluster.logs[NAME].batches[2:]
    consumer.read_until(lambda: consumer.has(NAME, 1))
    assert consumer.got[NAME] == [b"c"]


def test_a_position_out_of_range_waits_for_the_caller_without_asking_all_the_time(network, cluster):
    write(cluster, NAME, b"a")
    consumer = ModelConsumer(network, [NAME])
    network.run_until(lambda: consumer.fetching.has_something)
    cluster.logs[NAME].start = cluster.logs[NAME].end = 50
    cluster.logs[NAME].batches = []
    before = len(fetches(cluster))
    network.run(5)
    assert len(fetches(cluster)) - before < 60
    consumer.take()
    write(cluster, NAME, b"b")
    consumer.read_until(lambda: consumer.has(NAME, 2))


def test_a_log_that_lost_its_tail_is_reported(network, cluster):
    write(cluster, NAME, b"a")
    consumer = ModelConsumer(network, [NAME])
    consumer.read_until(lambda: consumer.has(NAME, 1))
    write(cluster, NAME, b"b")
    consumer.read_until(lambda: consumer.has(NAME, 2))
    cluster.logs[NAME].truncate(1)
    cluster.move(NAME)
    cluster.tell()
    consumer.read_until(lambda: consumer.failures)
    (failure,) = consumer.failures
    assert isinstance(failure, LogTruncation)
    assert (failure.partition, failure.offset, failure.diverged) == (NAME, 2, 1)
    consumer.fetching.seek(NAME, 1)
    write(cluster, NAME, b"c")
    consumer.read_until(lambda: consumer.has(NAME, 3))


def test_a_topic_that_was_created_again_is_reported(network, cluster):
    write(cluster, NAME, b"a")
    consumer = ModelConsumer(network, [NAME])
    consumer.read_until(lambda: consumer.has(NAME, 1))
    cluster.delete("t")
    cluster.create("t", 3)
    for value in (b"x", b"y", b"z"):
        write(cluster, NAME, value)
    cluster.tell()
    consumer.read_until(lambda: consumer.failures)
    assert "created again" in str(consumer.failures[0])
    assert consumer.got == {NAME: [b"a"]}


def test_a_topic_that_was_created_again_is_reported_where_its_leader_moved_too(network, cluster):
    write(cluster, NAME, b"a")
    consumer = ModelConsumer(network, [NAME])
    consumer.read_until(lambda: consumer.has(NAME, 1))
    subject = subject_of(consumer)
    cluster.delete("t")
    cluster.create("t", 3)
    write(cluster, NAME, b"x", b"y", b"z")
    subject.state = type(subject.state).VALIDATING  # as after a leader that moved just before
    consumer.fetching._withdraw(subject)
    consumer.fetching._due[subject] = None
    cluster.tell()
    consumer.engine.metadata.mark_stale()
    consumer.read_until(lambda: consumer.failures)
    assert isinstance(consumer.failures[0], LogTruncation)


def test_leaders_that_move_are_followed(network, cluster):
    write(cluster, NAME, b"0")
    consumer = ModelConsumer(network, [NAME])
    for count in range(1, 10):
        consumer.read_until(lambda count=count: consumer.has(NAME, count))
        cluster.move(NAME)
        if count % 2:
            cluster.tell()
        else:
            network.after(3, cluster.tell)
        write(cluster, NAME, b"%d" % count)
    consumer.read_until(lambda: consumer.has(NAME, 10))
    assert consumer.got[NAME] == [b"%d" % serial for serial in range(10)]


def test_a_replica_of_our_rack_is_read_from(network, cluster):
    write(cluster, NAME, b"a")
    cluster.readers[NAME] = {"rack2": 2}
    consumer = ModelConsumer(network, [NAME], rack="rack2")
    consumer.read_until(lambda: consumer.has(NAME, 1))
    assert fetches(cluster, 2)


def test_a_replica_that_can_not_be_reached_is_left_for_the_leader(network, cluster):
    write(cluster, NAME, b"a")
    cluster.readers[NAME] = {"rack2": 2}
    consumer = ModelConsumer(network, [NAME], rack="rack2")
    consumer.read_until(lambda: consumer.has(NAME, 1))
    cluster.stop(2)
    cluster.readers.clear()
    write(cluster, NAME, b"b")
    consumer.read_until(lambda: consumer.has(NAME, 2), 5)


def test_a_replica_that_is_not_known_does_not_make_it_ask_all_the_time(network, cluster):
    write(cluster, NAME, b"a")
    cluster.readers[NAME] = {"rack2": 9}
    consumer = ModelConsumer(network, [NAME], rack="rack2")
    network.run(5)
    assert len(fetches(cluster)) < 60
    cluster.readers.clear()
    consumer.read_until(lambda: consumer.has(NAME, 1), 5)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_a_session_that_ended_begins_again(network, cluster, code):
    write(cluster, NAME, b"a")
    consumer = ModelConsumer(network, [NAME, OTHER])
    consumer.read_until(lambda: consumer.has(NAME, 1))
    cluster.failures[ApiKey.FETCH] += [code, code]
    write(cluster, NAME, b"b")
    consumer.read_until(lambda: consumer.has(NAME, 2), 5)


@pytest.mark.parametrize("version", [2, 3, 4, 6, 7, 11, 12, 13, 16])
def test_every_version_of_fetch_reads_the_same(network, cluster, version):
    cluster.has_sessions = version != 11
    for broker in cluster.brokers.values():
        broker.versions[ApiKey.FETCH] = (0, version)
        if version < 12:
            broker.versions[ApiKey.METADATA] = (0, max(0, version - 3))
            broker.versions[ApiKey.LIST_OFFSETS] = (0, 0 if version == 2 else 2)
            broker.versions.pop(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    write(cluster, NAME, b"x" * 500, b"y" * 3000, b"z")
    consumer = ModelConsumer(network, [NAME, OTHER], max_partition_fetch_bytes=100)
    consumer.read_until(lambda: consumer.has(NAME, 3))
    write(cluster, OTHER, b"later")
    consumer.read_until(lambda: consumer.has(OTHER, 1))
    assert [value[:1] for value in consumer.got[NAME]] == [b"x", b"y", b"z"]


def test_no_more_than_two_chunks_wait_for_the_caller(network, cluster):
    write(cluster, NAME, *[b"x" * 200] * 10)
    consumer = ModelConsumer(network, [NAME], max_partition_fetch_bytes=1)
    network.run(5)
    assert len(subject_of(consumer).chunks) == 2
    consumer.read_until(lambda: consumer.has(NAME, 10))


def test_an_answer_for_a_position_that_was_moved_is_dropped(network, cluster):
    network.delay_s = (0.1, 0.1)
    write(cluster, NAME, b"a", b"b", b"c")
    consumer = ModelConsumer(network, [NAME], max_partition_fetch_bytes=1)
    network.run_until(lambda: fetches(cluster))
    consumer.fetching.seek(NAME, 2)
    consumer.read_until(lambda: consumer.has(NAME, 1))
    network.run(1)
    consumer.take()
    assert consumer.got[NAME] == [b"c"]
    consumer.fetching.seek(NAME, 0)
    consumer.fetching.seek(NAME, 2)
    consumer.read_until(lambda: consumer.has(NAME, 2))
    assert consumer.got[NAME] == [b"c", b"c"]


def test_a_paused_partition_keeps_what_came_and_reads_on_after_it(network, cluster):
    write(cluster, NAME, b"a", b"b", b"c")
    consumer = ModelConsumer(network, [NAME], max_partition_fetch_bytes=1)
    network.run_until(lambda: consumer.fetching.has_something)
    consumer.fetching.pause(NAME)
    network.run(2)
    consumer.take()
    assert consumer.got == {}
    consumer.fetching.resume(NAME)
    consumer.read_until(lambda: consumer.has(NAME, 3))
    assert consumer.got[NAME] == [b"a", b"b", b"c"]


def test_a_partition_that_is_given_away_and_comes_back_begins_again(network, cluster):
    write(cluster, NAME, b"a", b"b")
    consumer = ModelConsumer(network, [NAME, OTHER], max_partition_fetch_bytes=1)
    network.run_until(lambda: consumer.fetching.has_something)
    consumer.fetching.assign([OTHER])
    consumer.fetching.assign([NAME, OTHER])
    consumer.read_until(lambda: consumer.has(NAME, 2))
    assert consumer.got[NAME] == [b"a", b"b"]


def test_offsets_by_time_and_at_the_ends(network, cluster):
    for serial in range(3):
        cluster.logs[NAME].append(build_batch([Record(0, 1_000 + serial, None, b"x", ())]))
    engine = network.client()

    def asked(at):
        (found,) = network.result(
            engine.start(offsets_for(engine.tasks, engine.metadata, {NAME: at}), "offsets")
        ).values()
        return found.offset

    assert [asked(at) for at in (EARLIEST, LATEST, 1_001, 9_999)] == [0, 3, 1, -1]


def test_offsets_of_a_partition_that_there_is_not_are_an_error(network, cluster):
    engine = network.client()
    with pytest.raises(KafkaError, match="t-7"):
        network.result(
            engine.start(offsets_for(engine.tasks, engine.metadata, {TopicPartition("t", 7): LATEST}), "offsets")
        )
