"""What a client knows of the cluster: all versions, stale brokers, topics that come, go and come again."""

import pytest

from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from tests.support.model_cluster import ModelCluster
from tests.support.model_network import Network

NAME = TopicPartition("t", 0)


@pytest.fixture
def cluster():
    return ModelCluster(3, {"t": 2})


@pytest.fixture
def network(cluster):
    made = Network(cluster)
    yield made
    made.close()


@pytest.fixture
def engine(network):
    made = network.client()
    made.metadata.want(["t"])
    return made


def refresh(network, engine):
    network.result(engine.metadata.refresh())
    return engine.metadata


def asked(cluster):
    return sum(key is ApiKey.METADATA for broker in cluster.brokers.values() for key, *_rest in broker.asked)


@pytest.mark.parametrize("version", range(13))
def test_every_version_says_the_leaders(network, cluster, engine, version):
    for broker in cluster.brokers.values():
        broker.versions[ApiKey.METADATA] = (version, version)
    cluster.logs[NAME].leader = 2
    cluster.logs[NAME].epoch = 4
    cluster.tell()
    metadata = refresh(network, engine)
    assert metadata.leader(NAME) == 2
    assert metadata.partition(NAME).leader_epoch == (4 if version >= 9 else -1)
    assert set(metadata.topics) == {"t"}


def test_a_broker_that_is_late_does_not_take_a_leader_back(network, cluster, engine):
    refresh(network, engine)
    cluster.move(NAME, 1)
    cluster.tell(0)
    cluster.brokers[1].is_up = cluster.brokers[2].is_up = False
    metadata = refresh(network, engine)
    assert metadata.partition(NAME).leader == 1
    cluster.start(1)
    cluster.stop(0)  # broker 1 has the older view
    metadata = refresh(network, engine)
    assert metadata.partition(NAME).leader == 1


def test_a_topic_that_was_created_again_begins_with_its_own_epochs(network, cluster, engine):
    cluster.logs[NAME].epoch = 9
    cluster.tell()
    refresh(network, engine)
    cluster.delete("t")
    cluster.create("t", 1)
    cluster.tell()
    metadata = refresh(network, engine)
    assert metadata.partition(NAME).leader_epoch == 0
    assert metadata.partition(TopicPartition("t", 1)) is None


def test_a_broker_that_knows_no_brokers_is_not_believed(network, cluster, engine):
    refresh(network, engine)
    for broker in cluster.brokers.values():
        broker.view.brokers = []
    task = engine.metadata.refresh()
    network.run(1)
    assert set(engine.metadata.brokers) == {0, 1, 2}
    cluster.tell()
    network.result(task)


def test_what_is_stale_stays_so_until_a_broker_responds(network, cluster, engine):
    for node_id in cluster.brokers:
        cluster.stop(node_id)
    engine.metadata.mark_stale()
    network.run(120)
    for node_id in cluster.brokers:
        cluster.start(node_id)
    network.run_until(lambda: engine.metadata.version > 0, 5)


def test_refreshes_keep_a_distance_and_many_askers_share_one(network, cluster, engine):
    refresh(network, engine)
    before = asked(cluster)
    for _ in range(100):
        engine.metadata.mark_stale()
        network.run(0.01)
    assert asked(cluster) - before <= 12
    assert engine.metadata.refresh() is engine.metadata.refresh()


def test_it_is_refreshed_when_it_is_old(network, cluster, engine):
    refresh(network, engine)
    before = asked(cluster)
    network.run(1000)
    assert asked(cluster) - before == 3


def test_a_topic_that_comes_late_is_waited_for(network, cluster):
    engine = network.client()
    task = engine.start(engine.metadata.known("new"), "new")
    network.run(0.3)
    cluster.create("new", 1)
    cluster.tell()
    assert len(network.result(task, 5).partitions) == 1


def test_a_topic_that_never_comes_is_an_error(network):
    engine = network.client()
    with pytest.raises(KafkaError, match="typo") as caught:
        network.result(engine.start(engine.metadata.known("typo"), "typo"))
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_may_not_be_seen_is_an_error_at_once(network, cluster):
    engine = network.client()
    cluster.failures[ApiKey.METADATA].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    began_s = network.now_s
    with pytest.raises(KafkaError) as caught:
        network.result(engine.start(engine.metadata.known("t"), "t"))
    assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert network.now_s - began_s < 1


def test_a_topic_that_is_gone_for_a_moment_keeps_its_partitions(network, cluster, engine):
    refresh(network, engine)
    cluster.failures[ApiKey.METADATA] += [ErrorCode.LEADER_NOT_AVAILABLE]
    metadata = refresh(network, engine)
    assert metadata.topics["t"].failure.code is ErrorCode.LEADER_NOT_AVAILABLE
    assert metadata.leader(NAME) >= 0
    network.run_until(lambda: metadata.topics["t"].failure is None, 5)


def test_a_leader_that_a_response_named_counts_if_it_is_newer(network, cluster, engine):
    metadata = refresh(network, engine)
    metadata.moved(NAME, 2, 1)
    assert metadata.leader(NAME) == 2
    metadata.moved(NAME, 1, 1)
    metadata.moved(NAME, 99, 5)  # a broker that is not known
    assert metadata.leader(NAME) == 2


def test_all_topics_are_known_to_a_pattern_and_deleted_ones_forgotten(network, cluster):
    engine = network.client()
    cluster.create("u", 1)
    cluster.tell()
    engine.metadata.want_all()
    assert set(refresh(network, engine).topics) == {"t", "u"}
    cluster.delete("u")
    cluster.tell()
    assert set(refresh(network, engine).topics) == {"t"}
