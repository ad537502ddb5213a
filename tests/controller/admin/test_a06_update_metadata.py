"""What clients of a node are told of the cluster, as another node's controller says it."""

import pytest

from headrace.controller.admin import a06_update_metadata
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.errors import ErrorCode
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from tests.controller.admin.told import CONTROLLER, Controller, UpdateMetadata

NONE = ErrorCode.NONE


@pytest.fixture
def controller(ensemble):
    return Controller(ensemble)


@pytest.fixture
def node(new_node, controller):
    """With a topic of two partitions on 7 and 3; 3 is not alive."""
    node = new_node()
    states = {index: controller.state(7, 4, (7,)) for index in (0, 1)}
    node.topic_id = controller.put_topic("t", ((7, 3), (7, 3)), states)
    node.turn()
    return node


def row(node, index=0):
    return node.view.topics["t"].partitions[index]


@pytest.mark.parametrize("version", range(9))
def test_every_version_shows_leaders_and_in_sync_replicas(node, controller, version):
    told = {1: controller.state(-1, 5, (7,), 1)}
    assert controller.update(node, "t", node.topic_id, told, (7, 3), version) is NONE
    assert (row(node, 1).leader, row(node, 1).leader_epoch, row(node, 1).isr) == (-1, 5, (7,))
    assert row(node, 0).leader == 7


def test_replicas_out_of_service_are_shown_until_another_request_or_their_broker_comes_back(node, controller):
    assert row(node).offline == (3,)
    told = {0: controller.state(7, 5, (7,), 1)}
    controller.update(node, "t", node.topic_id, told, (7, 3), offline=(3, 7))
    assert row(node).offline == (7, 3)
    controller.update(node, "t", node.topic_id, told, (7, 3), offline=(3,))
    assert row(node).offline == (3,)
    controller.broker(3)
    node.turn()
    assert row(node).offline == ()


def test_a_leader_and_isr_says_nothing_of_replicas_out_of_service(node, controller):
    controller.update(node, "t", node.topic_id, {0: controller.state(7, 5, (7,), 1)}, (7, 3), offline=(7,))
    controller.lead(node, "t", node.topic_id, {0: controller.state(7, 6, (7,), 2)}, (7, 3))
    assert row(node).offline == (7, 3)


def test_brokers_are_those_of_zookeeper_read_again_where_a_request_names_others(node, controller):
    node.zk.watched.clear()  # its watches are late
    assert controller.update(node, brokers=(0, 7, 9)) is NONE
    node.turn()
    assert node.view.brokers.keys() == {0, 7}, "ZooKeeper does not have it"
    node.zk.watched.clear()
    controller.broker(9)
    controller.update(node, brokers=(0, 7, 9))
    node.turn()
    assert node.view.brokers.keys() == {0, 7, 9}


def test_a_topic_that_is_not_known_is_read(node, controller):
    node.zk.watched.clear()
    topic_id = controller.put_topic("u", ((7,),))
    controller.update(node, "u", topic_id, {0: controller.state(7, 0, (7,))}, (7,))
    assert node.view.topics["u"].partitions[0].leader == 7


def test_a_reassignment_is_shown_and_its_moves_stay(node, controller, ensemble):
    node.known.topics["t"].adding = {0: (0,)}
    controller.update(node, "t", node.topic_id, {0: controller.state(7, 5, (7,), 1)}, (7, 3, 0))
    assert row(node).replicas == (7, 3, 0)
    assert row(node).slot >= 0
    assert node.known.topics["t"].adding == {0: (0,)}


@pytest.mark.parametrize("version", range(9))
@pytest.mark.parametrize("is_marked", [False, True], ids=["late", "marked"])
def test_a_topic_whose_leader_is_minus_2_keeps_its_files(new_node, controller, ensemble, version, is_marked):
    """Up to v6 the request has no id: it may be of a topic that was deleted before. What deletes is the mark, or StopReplica."""
    node = new_node()
    topic_id = controller.put_topic("t", ((7, 0),), {0: controller.state(7, 4, (7, 0))})
    if is_marked:
        ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    held = dict(node.owner.directories)
    assert controller.update(node, "t", topic_id, {0: controller.state(-2, -2, ())}, (7, 0), version) is NONE
    node.turn()
    assert node.owner.directories == held
    assert node.view.doomed == node.view.deleted == ()
    if not is_marked:
        assert "t" in node.view.topics, "the one that clients see is the new one"
        return
    ensemble.remove(znodes.topic_path("t"))
    ensemble.remove(znodes.delete_topic_path("t"))
    node.turn()
    assert not node.owner.directories
    assert node.view.deleted == node.view.released == ()


def test_what_zookeeper_has_lost_keeps_its_files_whatever_an_update_says(new_node, controller, ensemble):
    node = new_node()
    topic_id = controller.put_topic("t", ((7, 0),), {0: controller.state(7, 4, (7, 0))})
    node.turn()
    for path in sorted((one for one in ensemble.nodes if one.startswith(znodes.topic_path("t"))), reverse=True):
        ensemble.remove(path)
    node.run(node.agent.load())
    node.turn()
    assert "t" in node.known.released
    controller.update(node, "t", topic_id, {0: controller.state(-2, -2, ())}, (7, 0), 6)
    node.turn()
    assert "t" in node.known.released
    assert list(node.owner.directories) == ["t-0"]


def test_a_topic_of_other_nodes_leaves_the_metadata_where_it_is_marked_as_well(node, controller, ensemble):
    told = {0: controller.state(-2, -2, ())}
    controller.update(node, "t", node.topic_id, told, (7, 3))
    node.turn()
    assert "t" in node.view.topics, "nobody has marked it"
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    assert "t" in node.view.topics, "nobody has begun to delete it"
    controller.update(node, "t", node.topic_id, told, (7, 3))
    node.turn()
    assert "t" not in node.view.topics
    ensemble.remove(znodes.delete_topic_path("t"))
    node.turn()
    assert "t" in node.view.topics, "its mark was taken back"


@pytest.mark.parametrize("version", [7, 8])
def test_the_deletion_of_another_topic_of_the_name_is_not_this_one_s(node, controller, version):
    told = {0: controller.state(-2, -2, ())}
    assert controller.update(node, "t", znodes.new_uuid(), told, (7, 3), version) is NONE
    node.turn()
    assert "t" in node.view.topics


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"controller_epoch": 4}, ErrorCode.STALE_CONTROLLER_EPOCH),
        ({"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
        ({"is_kraft_controller": True}, ErrorCode.INVALID_REQUEST),
        ({"type": 2}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_request_that_does_not_count_changes_nothing(node, controller, fields, error):
    view = node.view
    told = {0: controller.state(-2, -2, ())}
    assert controller.update(node, "t", node.topic_id, told, (7, 3), **fields) is error
    node.turn()
    assert node.view == view


def test_a_request_that_is_under_way_counts_no_more_once_a_later_controller_is_heard(node, controller, monkeypatch):
    """Else it would give the partition the replicas back that the later one has taken away."""
    real = node.agent.orders.learn
    before = node.known.topics["t"].replicas

    async def overtaken(told):
        node.agent.note_controller(controller.epoch + 1)
        await real(told)

    monkeypatch.setattr(node.agent.orders, "learn", overtaken)
    state = node.known.topics["t"].states[0]
    error = controller.update(node, "t", node.known.topics["t"].topic_id, {0: state}, (5, 6, 7))
    assert error is ErrorCode.STALE_CONTROLLER_EPOCH
    assert node.known.topics["t"].replicas == before


def test_a_topic_that_is_made_again_while_another_one_is_read_is_not_the_one_that_is_deleted(node, controller):
    """The request says so of the one before it, and has to wait for a topic that is not known here."""
    node.zk.watched.clear()
    unknown_id = controller.put_topic("u", ((7,),))
    row = UpdateMetadata.UpdateMetadataPartitionState
    topics = [
        UpdateMetadata.UpdateMetadataTopicState("t", bytes.fromhex(node.topic_id), [row(leader=-2, leader_epoch=-2)]),
        UpdateMetadata.UpdateMetadataTopicState("u", bytes.fromhex(unknown_id), [row(leader=7, isr=[7], replicas=[7])]),
    ]
    request = UpdateMetadata(controller_id=CONTROLLER, controller_epoch=controller.epoch, topic_states=topics)
    made = znodes.new_uuid()

    def make_again():
        node.zk.on_read = lambda: None
        topic = Topic("t", made, ((7, 3),), {}, [controller.state(7, 0, (7,))])
        node.known.adopt(["t"], {"t": topic}, frozenset(), frozenset(), node.known.additions)

    node.zk.on_read = make_again
    node.handle(a06_update_metadata.handle, 8, memoryview(bytes(encode_request(ApiKey.UPDATE_METADATA, 8, request))))
    assert "u" in node.known.topics
    assert node.known.topics["t"].topic_id == made
