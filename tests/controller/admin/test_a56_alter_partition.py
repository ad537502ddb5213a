import pytest

from headrace.controller.admin import a56_alter_partition
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import Registration
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request

Request = messages.AlterPartitionRequest
VERSIONS = range(4)
EPOCH = 70  # of broker 0; broker 1 has the next one


@pytest.fixture
def node(new_node, ensemble):
    """The active one of two brokers, with topic t."""
    session = ensemble.session()
    data = znodes.encode_broker("b", 1, None, 0)
    ensemble.run(session.create(znodes.broker_path(1), data, is_ephemeral=True))
    node = new_node()
    node.turn()
    node.topic_id = node.create("t", ((0, 1), (0, 1)), {})
    node.turn()
    node.known.brokers = {one: Registration(one, "b", 1, None, EPOCH + one) for one in (0, 1)}
    return node


def row(version, index, isr, epochs=(EPOCH, EPOCH + 1), leader_epoch=0, partition_epoch=0):
    kind = Request.PartitionData
    if version >= 3:
        members = [Request.BrokerState(broker_id=one, broker_epoch=epochs[one]) for one in isr]
        return kind(
            partition_index=index,
            leader_epoch=leader_epoch,
            new_isr_with_epochs=members,
            partition_epoch=partition_epoch,
        )
    return kind(partition_index=index, leader_epoch=leader_epoch, new_isr=list(isr), partition_epoch=partition_epoch)


def ask(node, version, *rows, broker_id=0, broker_epoch=EPOCH, name="t", topic_id=None):
    digits = topic_id or node.topic_id
    topic = Request.TopicData(topic_name=name, topic_id=bytes.fromhex(digits), partitions=list(rows))
    request = Request(broker_id=broker_id, broker_epoch=broker_epoch, topics=[topic])
    body = encode_request(ApiKey.ALTER_PARTITION, version, request)
    waiting = node.handle(a56_alter_partition.handle, version, memoryview(bytes(body)))
    return decode_response(ApiKey.ALTER_PARTITION, version, memoryview(node.answer(waiting)))


def codes(response):
    return [ErrorCode(one.error_code) for topic in response.topics for one in topic.partitions]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_answered_with_the_new_state(node, version):
    response = ask(node, version, row(version, 0, (0,)), row(version, 1, (0, 1)))
    assert response.error_code == 0
    [topic] = response.topics
    assert (topic.topic_name, topic.topic_id.hex()) == (("t", "0" * 32) if version < 2 else ("", node.topic_id))
    assert [
        (one.partition_index, one.error_code, one.leader_id, one.leader_epoch, list(one.isr), one.partition_epoch)
        for one in topic.partitions
    ] == [(0, 0, 0, 0, [0], 1), (1, 0, 0, 0, [0, 1], 0)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("broker_epoch", [EPOCH - 1, EPOCH + 1, -1])
def test_another_broker_epoch_is_refused_as_a_whole(node, version, broker_epoch):
    response = ask(node, version, row(version, 0, (0,)), broker_epoch=broker_epoch)
    assert (ErrorCode(response.error_code), response.topics) == (ErrorCode.STALE_BROKER_EPOCH, [])
    assert ask(node, version, broker_id=9).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert node.known.topics["t"].states[0].version == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_that_is_unknown_is_refused_by_what_names_it(node, version):
    response = ask(node, version, row(version, 0, (0,)), name="gone", topic_id="ab" * 16)
    assert codes(response) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if version < 2 else ErrorCode.UNKNOWN_TOPIC_ID]
    assert codes(ask(node, version, row(version, 7, (0,)))) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_replica_that_may_not_join_is_refused_as_the_version_can_say_it(node, version):
    del node.known.brokers[1]
    ask(node, version, row(version, 0, (0,)))
    response = ask(node, version, row(version, 0, (0, 1), partition_epoch=1))
    assert codes(response) == [ErrorCode.OPERATION_NOT_ATTEMPTED if version < 2 else ErrorCode.INELIGIBLE_REPLICA]


def test_a_replica_that_was_restarted_since_it_fetched_may_not_join(node):
    ask(node, 3, row(3, 0, (0,)))
    assert codes(ask(node, 3, row(3, 0, (0, 1), epochs=(EPOCH, EPOCH), partition_epoch=1))) == [
        ErrorCode.INELIGIBLE_REPLICA
    ]
    assert codes(ask(node, 3, row(3, 0, (0, 1), partition_epoch=1))) == [ErrorCode.NONE]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_node_that_is_not_the_controller_says_so(node, version):
    node.agent.election.step_down()
    response = ask(node, version, row(version, 0, (0,)))
    assert (ErrorCode(response.error_code), response.topics) == (ErrorCode.NOT_CONTROLLER, [])


def test_a_zombie_says_so(node, ensemble):
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    assert ask(node, 3, row(3, 0, (0,))).error_code == ErrorCode.NOT_CONTROLLER


def test_where_zookeeper_does_not_answer_the_outcome_is_unknown(node):
    node.zk.is_connected = False
    assert ask(node, 3, row(3, 0, (0,))).error_code == ErrorCode.REQUEST_TIMED_OUT
