"""What a node does as another node's controller tells it: roles, and when it says that it has them."""

import pytest

from headrace.controller.admin import a04_leader_and_isr, controller_request
from headrace.controller.cluster.events import ReplicasStopped, StoppedReplica
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import ErrorCode
from headrace.limits import ROLES_WAIT_MS_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.shm.partition_table import PartitionRow, RowState
from tests.controller.admin.told import CONTROLLER, Controller, LeaderAndIsr

NONE = ErrorCode.NONE


@pytest.fixture
def controller(ensemble):
    return Controller(ensemble)


def set_out_of_service(node, name, index=0):
    partition = node.view.topics[name].partitions[index]
    node.seat.partitions.publish(partition.slot, PartitionRow(RowState.OFFLINE, partition.key, 1, -1, *(0,) * 15))


def shown(node, name, index=0):
    row = node.view.topics[name].partitions[index]
    return row.leader, row.leader_epoch, row.isr


@pytest.mark.parametrize("version", range(8))
def test_every_version_is_answered_once_the_rows_say_role_and_epoch(new_node, controller, version):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 0, (7, 0))})
    node.turn()
    state = controller.state(0, 1, (0,), 1)
    node.owner.is_deaf = True
    waiting = controller.lead(node, "t", topic_id, {0: state}, (0, 7), version, finish=False)
    node.turn()
    assert waiting.poll() is None, "the owner has not come to it"
    assert shown(node, "t") == (0, 1, (0,))
    node.owner.is_deaf = False
    assert waiting.finish() == {0: NONE}


@pytest.mark.parametrize("version", [5, 6, 7])
def test_answers_go_by_topic_id_from_version_5_on(new_node, controller, version):
    node = new_node()
    topic_id = controller.put_topic("t", ((0,),), {0: controller.state(0, 0, (0,))})
    node.turn()
    waiting = controller.lead(node, "t", topic_id, {0: controller.state(0, 1, (0,))}, (0,), version, finish=False)
    node.turn()
    response = decode_response(ApiKey.LEADER_AND_ISR, version, memoryview(waiting._pending.poll(0)))
    assert [(topic.topic_id.hex(), len(topic.partition_errors)) for topic in response.topics] == [(topic_id, 1)]


def test_a_second_delivery_changes_nothing(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 0, (7, 0))})
    node.turn()
    told = ("t", topic_id, {0: controller.state(0, 1, (0,), 1)}, (0, 7))
    assert controller.lead(node, *told) == {0: NONE}
    version = node.view.version
    assert controller.lead(node, *told) == {0: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert node.view.version == version


@pytest.mark.parametrize("is_lost", [False, True], ids=["opened", "out of service"])
def test_what_was_told_before_is_answered_when_its_log_is_open(new_node, controller, is_lost):
    """A new controller asks again in the same leader epoch: it elects, or deletes other logs, by this answer."""
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 0, (7, 0))})
    node.turn()
    node.owner.is_deaf = True
    told = ("t", topic_id, {0: controller.state(0, 1, (0,), 1)}, (0, 7))
    waiting = [controller.lead(node, *told, finish=False) for _ in range(2)]
    node.turn()
    assert [one.poll() for one in waiting] == [None, None]
    node.owner.is_deaf = False
    node.turn()
    if is_lost:
        set_out_of_service(node, "t", 0)
    first, again = (NONE, ErrorCode.STALE_CONTROLLER_EPOCH) if not is_lost else (ErrorCode.KAFKA_STORAGE_ERROR,) * 2
    assert [one.poll() for one in waiting] == [{0: first}, {0: again}]


def test_leaders_are_learnt_without_a_look_into_zookeeper(new_node, controller, ensemble):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 0, (7, 0))})
    node.turn()
    reads = []
    node.zk.on_read = lambda: reads.append(0)
    controller.put_state("t", 0, controller.state(0, 1, (0,)))
    assert controller.lead(node, "t", topic_id, {0: controller.state(0, 1, (0,), 1)}, (0, 7)) == {0: NONE}
    assert shown(node, "t") == (0, 1, (0,))
    assert not reads


@pytest.mark.parametrize(
    ("leader_epoch", "version"), [(3, 9), (4, 4), (4, 3)], ids=["older epoch", "the same", "older version"]
)
def test_what_is_older_than_what_is_known_changes_nothing(new_node, controller, leader_epoch, version):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 1, (7, 0))})
    node.turn()
    controller.update(node, "t", topic_id, {0: controller.state(7, 4, (7, 0), 4)}, (0, 7))
    other = controller.state(7, leader_epoch, (7, 0) if version == 4 else (7,), version)
    controller.lead(node, "t", topic_id, {0: other}, (0, 7))
    assert shown(node, "t") == (7, 4, (7, 0))


def test_what_zookeeper_shows_late_does_not_undo_what_was_told(new_node, controller, ensemble):
    """Our server of ZooKeeper is behind the controller's."""
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 0, (7, 0))})
    node.turn()
    controller.lead(node, "t", topic_id, {0: controller.state(0, 3, (0,), 5)}, (0, 7))
    node.react(znodes.topic_path("t"))
    node.publish()
    assert shown(node, "t") == (0, 3, (0,))
    controller.put_state("t", 0, controller.state(7, 4, (7,)))
    node.run(node.agent.load())
    node.publish()
    assert shown(node, "t") == (7, 4, (7,))


def test_a_topic_that_is_not_known_is_read_for_its_overrides(new_node, controller, ensemble):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7), (7, 0)))
    ensemble.put(znodes.topic_config_path("t"), znodes.encode_config({"retention.ms": "7"}))
    states = {0: controller.state(0, 0, (0, 7)), 1: controller.state(7, 0, (7, 0))}
    assert controller.lead(node, "t", topic_id, states, (0, 7)) == {0: NONE, 1: NONE}
    assert node.view.topics["t"].configs == {"retention.ms": "7"}
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


def test_a_topic_that_zookeeper_shows_a_moment_later_is_waited_for(new_node, controller, ensemble):
    node = new_node()
    topic_id = znodes.new_uuid()
    reads = []

    def late():
        reads.append(0)
        if len(reads) == 8:
            controller.put_topic("t", ((0,),), topic_id=topic_id)

    node.zk.on_read = late
    assert controller.lead(node, "t", topic_id, {0: controller.state(0, 0, (0,))}, (0,)) == {0: NONE}


def test_a_topic_that_zookeeper_does_not_have_is_not_served_by_the_defaults(new_node, controller):
    node = new_node()
    told = {0: controller.state(0, 0, (0,))}
    assert controller.lead(node, "t", znodes.new_uuid(), told, (0,)) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert "t" not in node.view.topics


def test_more_partitions_than_are_known_are_read(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((0,),), {0: controller.state(0, 0, (0,))})
    node.turn()
    node.zk.watched.clear()
    controller.put_topic("t", ((0,), (0,)), topic_id=topic_id)
    assert controller.lead(node, "t", topic_id, {1: controller.state(0, 0, (0,))}, (0,)) == {1: NONE}
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


def test_another_topic_of_the_name_is_refused(new_node, controller):
    node = new_node()
    controller.put_topic("t", ((0,),), {0: controller.state(0, 0, (0,))})
    node.turn()
    told = {0: controller.state(0, 9, (0,))}
    answer = controller.lead(node, "t", znodes.new_uuid(), told, (0,))
    assert answer == {0: ErrorCode.INCONSISTENT_TOPIC_ID}
    assert shown(node, "t") == (0, 0, (0,))


def test_a_topic_made_again_under_its_name_is_taken_once_zookeeper_has_it(new_node, controller, ensemble):
    node = new_node()
    controller.put_topic("t", ((0,),), {0: controller.state(0, 6, (0,))})
    node.turn()
    node.zk.watched.clear()  # its watches are late
    ensemble.remove(znodes.topic_path("t"))
    topic_id = controller.put_topic("t", ((0,),))
    assert controller.lead(node, "t", topic_id, {0: controller.state(0, 0, (0,))}, (0,)) == {0: NONE}
    assert node.view.topics["t"].topic_id == topic_id
    assert len(node.owner.strays) == 1, "nobody said that the old one was deleted"


def test_a_topic_that_is_given_an_id_takes_its_role_again(new_node, controller, ensemble):
    node = new_node()
    controller.put_topic("t", ((0,),), {0: controller.state(0, 0, (0,))}, topic_id="")
    node.turn()
    told = {0: controller.state(0, 1, (0,))}
    assert controller.lead(node, "t", "", told, (0,), version=4) == {0: NONE}
    topic_id = znodes.new_uuid()
    controller.put_topic("t", ((0,),), topic_id=topic_id)
    assert controller.lead(node, "t", topic_id, told, (0,)) == {0: NONE}
    assert controller.lead(node, "t", topic_id, told, (0,)) == {0: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert node.view.topics["t"].topic_id == topic_id


def test_a_node_that_is_no_replica_says_so(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((7,),), {0: controller.state(7, 0, (7,))})
    node.turn()
    told = {0: controller.state(7, 1, (7,))}
    assert controller.lead(node, "t", topic_id, told, (7,)) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_log_out_of_service_is_said_at_once_and_after_a_role_was_taken(new_node, controller):
    node = new_node()
    replicas = ((0,), (0,))
    topic_id = controller.put_topic("t", replicas, {index: controller.state(0, 0, (0,)) for index in (0, 1)})
    node.turn()
    set_out_of_service(node, "t", 0)
    node.owner.is_deaf = True
    told = {index: controller.state(0, 1, (0,)) for index in (0, 1)}
    waiting = controller.lead(node, "t", topic_id, told, (0,), finish=False)
    assert waiting.poll() is None
    set_out_of_service(node, "t", 1)
    assert waiting.poll() == dict.fromkeys((0, 1), ErrorCode.KAFKA_STORAGE_ERROR)


def test_beside_a_failed_directory_a_new_replica_is_made_and_another_one_is_not(new_node, controller):
    """KAFKA-10314: what is not found there may lie in the directory that failed, unless the controller says that it is new."""
    node = new_node()
    topic_id = controller.put_topic("t", ((7, 0), (7, 0)), {index: controller.state(7, 4, (7,)) for index in (0, 1)})
    node.turn()
    node.seat.report_offline_dirs(1)
    for index in (0, 1):
        set_out_of_service(node, "t", index)
    told = {0: controller.state(7, 5, (7,), 1)}
    assert controller.lead(node, "t", topic_id, told, (7, 0)) == {0: ErrorCode.KAFKA_STORAGE_ERROR}
    assert node.owner.told_new == []
    told = {1: controller.state(7, 5, (7,), 1)}
    waiting = controller.lead(node, "t", topic_id, told, (7, 0), finish=False, is_new=True)
    assert waiting.poll() is None
    assert node.owner.told_new == [node.view.topics["t"].partitions[1].key]
    assert waiting.finish() == {1: NONE}


@pytest.mark.parametrize(("known_isr", "told_isr"), [((7,), (7, 0)), ((7, 0), (7,))], ids=["as told", "as known"])
def test_a_replica_that_is_in_sync_is_not_new_whoever_says_so(new_node, controller, known_isr, told_isr):
    """A controller that was just elected says it again of replicas that are being added, and an empty log would be in the ISR."""
    node = new_node()
    topic_id = controller.put_topic("t", ((7, 0),), {0: controller.state(7, 4, known_isr)})
    node.turn()
    node.seat.report_offline_dirs(1)
    set_out_of_service(node, "t", 0)
    told = {0: controller.state(7, 5, told_isr, 1)}
    assert controller.lead(node, "t", topic_id, told, (7, 0), is_new=True) == {0: ErrorCode.KAFKA_STORAGE_ERROR}
    assert node.owner.told_new == []


def test_owners_are_not_told_which_replicas_are_new_where_all_directories_work(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((7, 0),), {0: controller.state(7, 0, (7, 0))})
    assert controller.lead(node, "t", topic_id, {0: controller.state(7, 0, (7, 0))}, (7, 0), is_new=True) == {0: NONE}
    assert node.owner.told_new == []


def test_an_owner_that_does_not_hear_what_is_new_is_not_waited_for_forever(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((7, 0),), {0: controller.state(7, 4, (7,))})
    node.turn()
    node.seat.report_offline_dirs(1)
    set_out_of_service(node, "t", 0)
    node.owner.is_deaf = True
    told = {0: controller.state(7, 5, (7,), 1)}
    waiting = controller.lead(node, "t", topic_id, told, (7, 0), finish=False, is_new=True)
    assert waiting.poll() == {0: ErrorCode.KAFKA_STORAGE_ERROR}


def test_an_owner_that_does_not_come_is_not_waited_for_forever(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((0,),), {0: controller.state(0, 0, (0,))})
    node.turn()
    node.owner.is_deaf = True
    waiting = controller.lead(node, "t", topic_id, {0: controller.state(0, 1, (0,))}, (0,), finish=False)
    node.now_ms += ROLES_WAIT_MS_MAX
    assert waiting.poll() == {0: ErrorCode.REQUEST_TIMED_OUT}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"controller_epoch": 4}, ErrorCode.STALE_CONTROLLER_EPOCH),
        ({"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
        ({"is_kraft_controller": True}, ErrorCode.INVALID_REQUEST),
        ({"type": 2}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_request_that_does_not_count_changes_nothing(new_node, controller, fields, error):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 0, (7, 0))})
    node.turn()
    view = node.view
    assert controller.lead(node, "t", topic_id, {0: controller.state(0, 1, (0,))}, (0, 7), **fields) is error
    assert node.view == view


def test_the_highest_controller_epoch_that_was_told_counts(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 0, (7, 0))})
    node.turn()
    assert controller.update(node, controller_epoch=8) is NONE
    told = ("t", topic_id, {0: controller.state(0, 1, (0,))}, (0, 7))
    assert controller.lead(node, *told, controller_epoch=7) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert controller.lead(node, *told, controller_epoch=8) == {0: NONE}


@pytest.mark.parametrize("when", ["while topics are read", "between slices"])
def test_what_a_later_controller_has_stopped_follows_no_more_by_a_request_that_is_under_way(
    new_node, controller, monkeypatch, when
):
    """A request of many partitions is taken in slices: the later controller's stop comes in between."""
    monkeypatch.setattr(controller_request, "TOLD_PARTITIONS_PER_STEP", 1)
    node = new_node()
    state = controller.state(7, 4, (7, 0))
    topics = {name: controller.put_topic(name, ((7, 0),), {0: state}) for name in "tu"}
    node.turn()
    controller.lead(node, "u", topics["u"], {0: state}, (7, 0))
    owner = node.agent.orders if when == "while topics are read" else node.context.tasks
    name = "learn" if when == "while topics are read" else "pause"
    real = getattr(owner, name)

    async def overtaken(*arguments):
        monkeypatch.setattr(owner, name, real)
        stops = {("u", 0): StoppedReplica(4, False)}
        node.agent.note_controller(controller.epoch + 1)
        node.agent.apply(ReplicasStopped(8, controller.epoch + 1, stops))
        await real(*arguments)

    monkeypatch.setattr(owner, name, overtaken)
    rows = [
        LeaderAndIsr.LeaderAndIsrTopicState(one, bytes.fromhex(topic_id), [role(one, state)])
        for one, topic_id in topics.items()
    ]
    request = LeaderAndIsr(controller_id=CONTROLLER, controller_epoch=controller.epoch, topic_states=rows)
    pending = node.handle(
        a04_leader_and_isr.handle, 7, memoryview(bytes(encode_request(ApiKey.LEADER_AND_ISR, 7, request)))
    )
    node.turn()
    answer = decode_response(ApiKey.LEADER_AND_ISR, 7, memoryview(pending.poll(node.now_ms)))
    errors = {one.topic_id.hex(): ErrorCode(one.partition_errors[0].error_code) for one in answer.topics}
    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    assert errors == {topics["t"]: NONE if when == "between slices" else stale, topics["u"]: stale}
    assert node.view.topics["u"].partitions[0].is_halted


def role(name, state):
    return LeaderAndIsr.LeaderAndIsrPartitionState(
        topic_name=name,
        partition_index=0,
        controller_epoch=state.controller_epoch,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=list(state.isr),
        partition_epoch=state.version,
        replicas=[7, 0],
    )


def test_a_broker_epoch_at_or_above_ours_counts(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((0,),), {0: controller.state(0, 0, (0,))})
    node.turn()
    own = node.view.brokers[0].epoch
    assert own > 0
    for leader_epoch, broker_epoch in enumerate((-1, own, own + 1), 1):
        told = {0: controller.state(0, leader_epoch, (0,))}
        assert controller.lead(node, "t", topic_id, told, (0,), broker_epoch=broker_epoch) == {0: NONE}
    told = {0: controller.state(0, 9, (0,))}
    answer = controller.lead(node, "t", topic_id, told, (0,), broker_epoch=own - 1)
    assert answer is ErrorCode.STALE_BROKER_EPOCH


def test_a_leader_whose_broker_is_not_known_has_the_brokers_read(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 3),), {0: controller.state(0, 0, (0,))})
    node.turn()
    node.zk.watched.clear()  # its watches are late
    controller.broker(3)
    controller.lead(node, "t", topic_id, {0: controller.state(3, 1, (3, 0))}, (0, 3))
    assert shown(node, "t") == (3, 1, (3, 0))


def test_a_node_that_has_not_read_everything_waits(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((0,),), {0: controller.state(0, 0, (0,))})
    node.turn()
    node.agent.is_loaded = False
    started = node.tasks.start(node.context.wait_loaded(), lambda _task: None)
    node.tasks.run(10)
    assert not started.is_done
    node.agent.is_loaded = True
    node.settle(started)
    assert started.failure is None
    assert controller.lead(node, "t", topic_id, {0: controller.state(0, 1, (0,))}, (0,)) == {0: NONE}


def test_a_session_that_ends_leaves_the_request_without_an_answer(new_node, controller):
    """The connection closes, and the controller sends it again."""
    node = new_node()
    node.agent.is_loaded = False
    started = node.tasks.start(node.context.wait_loaded(), lambda _task: None)
    node.tasks.run(10)
    node.tasks.cancel(ZkLost("the session has ended"))
    node.settle(started)
    assert isinstance(started.failure, ZkLost)


def test_a_partition_that_moved_elsewhere_frees_its_row_and_keeps_its_files(new_node, controller):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7), (0, 7)), {i: controller.state(7, 0, (7, 0)) for i in (0, 1)})
    node.turn()
    assert node.known.slots.get("t", 0) == 0
    controller.update(node, "t", topic_id, {0: controller.state(7, 1, (7,), 1)}, (7, 3))
    node.turn()
    assert node.view.topics["t"].partitions[0].slot == -1
    assert node.view.topics["t"].partitions[1].slot == 1
    assert node.known.slots.get("t", 0) == -1
    assert sorted(node.owner.directories) == ["t-0", "t-1"]
    told = {0: controller.state(7, 2, (7,), 2)}
    assert controller.lead(node, "t", topic_id, told, (7, 0)) == {0: NONE}
    assert node.view.topics["t"].partitions[0].slot == 0


def test_a_role_of_a_partition_that_the_topic_has_not_any_more_is_not_waited_for(new_node, controller):
    """ZooKeeper was put back to before it was added: whoever waits for the role would end the process."""
    node = new_node()
    topic_id = controller.put_topic("t", ((0,), (0,)), {index: controller.state(0, 0, (0,)) for index in (0, 1)})
    node.turn()
    node.owner.is_deaf = True
    told = {index: controller.state(0, 1, (0,)) for index in (0, 1)}
    waiting = controller.lead(node, "t", topic_id, told, (0,), finish=False)
    before = node.known.topics["t"]
    node.known.add(Topic("t", topic_id, before.replicas[:1], {}, before.states[:1]))
    assert waiting.poll() is None
    assert node.agent.rows.is_served((before, 1))
    set_out_of_service(node, "t", 0)
    assert waiting.poll() == {0: ErrorCode.KAFKA_STORAGE_ERROR, 1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
