"""The admin, a producer and a consumer against a node as users run it; what a controller does not answer, or not any more."""

import threading
import uuid

import pytest

from headrace.client.admin import Admin, GroupListing, NewTopic, OutcomeUnknown
from headrace.client.cluster import Cluster
from headrace.client.engine.administration import Administration
from headrace.client.failures import ConnectionFailed
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from tests.support import fake_broker
from tests.support.waiting import DEADLINE_S


@pytest.fixture
def cluster(node):
    with Cluster(node.bootstrap) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster):
    return Admin(cluster)


@pytest.fixture
def topic(admin):
    name = f"client-{uuid.uuid4().hex[:8]}"
    assert admin.create_topics([NewTopic(name, 3, configs={"segment.ms": "60000"})]) == {name: None}
    return name


def settings(admin, topic):
    return {config.name: (config.value, config.source) for config in admin.describe_configs([topic])[topic]}


@pytest.mark.process
def test_topics_are_created_changed_and_deleted(admin, cluster, topic):
    assert settings(admin, topic)["segment.ms"] == ("60000", "topic")
    admin.alter_configs(topic, {"segment.ms": None, "retention.ms": "5"})
    assert admin.create_partitions({topic: 5}) == {topic: None}
    cluster.refresh([topic])
    assert sum(name.topic == topic for name in cluster.partitions) == 5
    assert settings(admin, topic)["retention.ms"] == ("5", "topic")
    assert settings(admin, topic)["segment.ms"][1] == "default"
    assert admin.delete_topics([topic]) == {topic: None}
    with pytest.raises(KafkaError):
        cluster.refresh([topic])


@pytest.mark.process
def test_one_failure_hides_no_other(admin, topic):
    errors = admin.create_topics([NewTopic(topic), NewTopic("no/slash"), NewTopic(f"{topic}-2")])
    assert {name: error and error.code for name, error in errors.items()} == {
        topic: ErrorCode.TOPIC_ALREADY_EXISTS,
        "no/slash": ErrorCode.INVALID_TOPIC_EXCEPTION,
        f"{topic}-2": None,
    }
    errors = admin.create_partitions({topic: 1, f"{topic}-2": 4})
    assert errors[topic].code is ErrorCode.INVALID_PARTITIONS
    assert errors[f"{topic}-2"] is None
    errors = admin.delete_topics([f"{topic}-2", "absent"])
    assert errors[f"{topic}-2"] is None
    assert errors["absent"].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Deletions:
    """The controller of a fake broker: what it was asked to delete, with answers that are lost after the deletion."""

    def __init__(self, broker, lost):
        self._broker, self._lost = broker, lost
        self.asked = []

    def __call__(self, request, _error):
        kind = messages.DeleteTopicsResponse
        rows = []
        by_name = [messages.DeleteTopicsRequest.DeleteTopicState(name=one) for one in request.topic_names or ()]
        for state in request.topics or by_name:
            names = {bytes.fromhex(topic_id): name for name, topic_id in self._broker.topic_ids.items()}
            name = state.name or names.get(state.topic_id)
            self.asked.append(name)
            code = ErrorCode.NONE if name else ErrorCode.UNKNOWN_TOPIC_ID
            rows.append(kind.DeletableTopicResult(name=name, topic_id=state.topic_id, error_code=int(code)))
            if name in self._broker.topic_ids:
                self._broker.topic_ids[name] = "cd" * 16  # a producer creates it again at once
        if self._lost:
            self._lost -= 1
            raise ConnectionResetError
        return kind(responses=rows)


def deletions(broker, log, monkeypatch, lost, latest=6):
    log.create("clicks")
    found = Deletions(broker, lost)
    monkeypatch.setitem(fake_broker.SERVED, ApiKey.DELETE_TOPICS, (1, latest))
    monkeypatch.setitem(fake_broker.FLEXIBLE_FROM, ApiKey.DELETE_TOPICS, 4)
    monkeypatch.setattr(broker, "_delete_topics", found, raising=False)
    return found


def test_a_deletion_whose_answer_was_lost_does_not_delete_the_topic_that_came_after(log, broker, monkeypatch):
    broker.topic_ids["clicks"] = "ab" * 16
    found = deletions(broker, log, monkeypatch, lost=2)
    with Cluster(broker.address) as cluster:
        assert Admin(cluster).delete_topics(["clicks"]) == {"clicks": None}
    assert found.asked == ["clicks", None, None]


@pytest.mark.parametrize(("topic_id", "latest"), [("", 6), ("ab" * 16, 5)])
def test_a_deletion_by_name_is_not_repeated_and_the_reason_is_given(log, broker, monkeypatch, topic_id, latest):
    if topic_id:
        broker.topic_ids["clicks"] = topic_id
    found = deletions(broker, log, monkeypatch, lost=1, latest=latest)
    with (
        Cluster(broker.address) as cluster,
        pytest.raises(OutcomeUnknown, match="deletion of clicks: the controller may"),
    ):
        Admin(cluster).delete_topics(["clicks"])
    assert found.asked == ["clicks"]


def iter_of(result):
    """A procedure that returns at once."""
    return result
    yield


def test_a_topic_that_was_deleted_meanwhile_is_unknown(log, broker, monkeypatch):
    broker.topic_ids["clicks"] = "ab" * 16
    deletions(broker, log, monkeypatch, lost=0)
    with Cluster(broker.address) as cluster:
        ids = {"clicks": bytes.fromhex("ef" * 16)}
        monkeypatch.setattr(Administration, "_topic_ids", lambda _self, _names: iter_of(ids))
        assert Admin(cluster).delete_topics(["clicks"])["clicks"].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Creations:
    """The controller of a fake broker: answers that are lost after the creation, and those of one that is not the controller any more."""

    def __init__(self, log, lost=0, moved=0):
        self._log, self._lost, self._moved = log, lost, moved
        self.asked = 0

    def __call__(self, request, _error):
        kind = messages.CreateTopicsResponse
        self.asked += 1
        rows = []
        for topic in request.topics:
            code = ErrorCode.NONE
            if self._moved:
                code = ErrorCode.NOT_CONTROLLER
            elif any(name.topic == topic.name for name in self._log.ends):
                code = ErrorCode.TOPIC_ALREADY_EXISTS
            else:
                self._log.create(topic.name)
            rows.append(kind.CreatableTopicResult(name=topic.name, error_code=int(code)))
        if self._moved:
            self._moved -= 1
        elif self._lost:
            self._lost -= 1
            raise ConnectionResetError
        return kind(topics=rows)


def creations(broker, log, monkeypatch, **faults):
    found = Creations(log, **faults)
    monkeypatch.setitem(fake_broker.SERVED, ApiKey.CREATE_TOPICS, (0, 6))
    monkeypatch.setitem(fake_broker.FLEXIBLE_FROM, ApiKey.CREATE_TOPICS, 5)
    monkeypatch.setattr(broker, "_create_topics", found, raising=False)
    return found


def test_a_creation_whose_answer_was_lost_is_done_and_a_topic_that_was_there_is_an_error(log, broker, monkeypatch):
    found = creations(broker, log, monkeypatch, lost=1)
    with Cluster(broker.address) as cluster:
        assert Admin(cluster).create_topics([NewTopic("clicks"), NewTopic("views")]) == {"clicks": None, "views": None}
        assert found.asked == 2
        errors = Admin(cluster).create_topics([NewTopic("clicks"), NewTopic("more")])
    assert errors["clicks"].code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert errors["more"] is None


def test_a_controller_that_moved_is_looked_up_again(log, broker, monkeypatch):
    found = creations(broker, log, monkeypatch, moved=2)
    with Cluster(broker.address) as cluster:
        assert Admin(cluster).create_topics([NewTopic("clicks")]) == {"clicks": None}
    assert found.asked == 3
    assert broker.asked[ApiKey.METADATA] >= 3


def test_a_program_deletes_by_the_id_as_well(log, broker, monkeypatch):
    """Its request is repeated: the topic of that name that was created since stays."""
    broker.topic_ids["clicks"] = "ab" * 16
    found = deletions(broker, log, monkeypatch, lost=1)
    with Kafka(broker.address) as kafka, kafka.admin() as admin:
        admin.delete_topic("clicks")
    assert found.asked == ["clicks", None]


def test_what_is_not_done_in_time_is_a_connection_that_failed(broker, monkeypatch):
    answer = broker._answer
    monkeypatch.setattr(broker, "_answer", lambda frame: None if frame[1] == ApiKey.LIST_GROUPS else answer(frame))
    with Cluster(broker.address, timeout_s=0.1) as cluster, pytest.raises(ConnectionFailed, match=r"groups: not done"):
        Admin(cluster).list_groups()


@pytest.mark.process
def test_a_bad_setting_is_an_error_that_names_it(admin, topic):
    with pytest.raises(KafkaError, match=r"retention\.ms") as failure:
        admin.alter_configs(topic, {"retention.ms": "soon"})
    assert failure.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.process
def test_trials_change_nothing(admin, cluster, topic):
    assert admin.create_topics([NewTopic(f"{topic}-x")], validate_only=True) == {f"{topic}-x": None}
    assert admin.create_partitions({topic: 9}, validate_only=True) == {topic: None}
    admin.alter_configs(topic, {"retention.ms": "5"}, validate_only=True)
    cluster.refresh(None)
    assert sum(name.topic.startswith(topic) for name in cluster.partitions) == 3
    assert settings(admin, topic)["retention.ms"][1] != "topic"


@pytest.mark.process
@pytest.mark.parametrize("codec", list(Codec))
def test_what_the_producer_wrote_the_consumer_reads(node, cluster, topic, codec):
    with Kafka(node.bootstrap) as kafka, kafka.producer(compression=codec.name.lower(), batch_size=5_000) as producer:
        for number in range(3_000):
            producer.send(topic, b"value %d" % number, key=b"%d" % (number % 50), headers=[("n", b"%d" % number)])
    cluster.refresh([topic])
    names = [name for name in cluster.partitions if name.topic == topic]
    found = {}
    with Kafka(node.bootstrap) as kafka:
        for records in read_ranges(kafka, dict.fromkeys(names, 0), cluster.offsets(dict.fromkeys(names, -1))):
            found.setdefault(records[0].topic_partition, []).extend(records)
    assert sum(map(len, found.values())) == 3_000
    for records in found.values():
        assert [record.offset for record in records] == list(range(len(records)))
        numbers = [int(record.value.split()[1]) for record in records]
        assert numbers == sorted(numbers)
        assert [dict(record.headers)["n"] for record in records] == [b"%d" % number for number in numbers]


@pytest.mark.process
def test_a_partition_that_is_not_there(node, topic):
    with (
        Kafka(node.bootstrap) as kafka,
        kafka.producer() as producer,
        pytest.raises(KafkaError, match="partitions 0 to 2"),
    ):
        producer.send(topic, b"v", partition=7)


def test_groups_are_asked_for_again_while_a_broker_loads_them(broker):
    broker.fail[ApiKey.LIST_GROUPS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] = 3
    with Cluster(broker.address) as cluster:
        assert Admin(cluster).list_groups() == [GroupListing("billing", "consumer", "Empty")]
    assert broker.asked[ApiKey.LIST_GROUPS] == 4


def test_a_cluster_with_patience_waits_for_a_broker_that_starts_late(log, broker, monkeypatch):
    monkeypatch.setattr("headrace.client.engine.metadata.REFRESH_TRIES", 1)
    broker.__exit__()
    with Cluster(broker.address) as cluster, pytest.raises(ConnectionFailed):
        cluster.run(lambda engine: Administration(engine).brokers(), "brokers")
    late = []
    timer = threading.Timer(0.3, lambda: late.append(fake_broker.FakeBroker(log, port=broker.port).__enter__()))
    timer.start()
    try:
        with Cluster(broker.address, patience_s=DEADLINE_S) as cluster:
            found = cluster.run(lambda engine: Administration(engine).brokers(), "brokers")
        assert [one.port for one in found] == [broker.port]
    finally:
        timer.join()
        late[0].__exit__()
