"""Replicas that go: alone, or with their topic."""

import pytest

from headrace.controller.admin import a05_stop_replica
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.cluster.slots import NO_SLOT
from headrace.controller.cluster.unwanted_replicas import with_unwanted
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.errors import ErrorCode
from headrace.limits import ROLES_WAIT_MS_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from headrace.shm.partition_table import PartitionRow, RowState
from tests.controller.admin.told import CONTROLLER, Controller, StopReplica

NONE = ErrorCode.NONE


@pytest.fixture
def controller(ensemble):
    return Controller(ensemble)


@pytest.fixture
def node(new_node, controller):
    """With a topic of two partitions, both on this node and on 7; a reassignment takes those of this node away."""
    node = new_node()
    states = {index: controller.state(7, 4, (7,)) for index in (0, 1)}
    node.topic_id = controller.put_topic("t", ((7, 0), (7, 0)), states, removing={0: (0,), 1: (0,)})
    node.turn()
    assert sorted(node.owner.directories) == ["t-0", "t-1"]
    return node


@pytest.mark.parametrize("version", range(5))
def test_every_version_deletes_a_replica_and_its_topic_stays(node, controller, version):
    node.owner.is_deaf = True
    waiting = controller.stop(node, "t", {0: (4, True)}, version, finish=False)
    node.turn()
    assert waiting.poll() is None
    assert node.view.topics["t"].partitions[0].slot == -1
    assert node.view.topics["t"].partitions[1].slot == 1
    assert [(one.topic, one.partition) for one in node.view.doomed] == [("t", 0)]
    assert node.view.deleted == ()
    node.owner.is_deaf = False
    assert waiting.finish() == {0: NONE}
    assert list(node.owner.directories) == ["t-1"]
    assert node.view.doomed == ()
    assert node.view.topics["t"].partitions[0].slot == -1, "the assignment still has it"
    assert node.known.slots.get("t", 0) == -1


def test_a_replica_that_waits_for_an_operator_is_not_deleted(node, controller):
    """Its log may be all that is left of what was acknowledged; whoever asks for its deletion does not know that."""
    node.known.held["t", 0] = HeldReplica("", end_offset=9, end_epoch=4, parted_at=3, parted_from=7, parted_in=4)
    assert controller.stop(node, "t", {0: (4, True), 1: (4, True)}) == {0: ErrorCode.KAFKA_STORAGE_ERROR, 1: NONE}
    assert list(node.owner.directories) == ["t-0"]


@pytest.mark.parametrize("version", range(5))
def test_nor_by_a_request_without_a_leader_epoch(node, controller, version):
    """Of before v3, or of a controller that could not read the state."""
    node.known.held["t", 0] = HeldReplica("", end_offset=9, end_epoch=4, parted_at=3, parted_from=7, parted_in=4)
    assert controller.stop(node, "t", {0: (-1, True)}, version) == {0: ErrorCode.KAFKA_STORAGE_ERROR}
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


def test_nor_one_of_which_it_is_not_known_whether_it_waits(node, controller):
    node.known.unread_holds = {"t"}
    assert controller.stop(node, "t", {0: (4, True)}) == {0: ErrorCode.KAFKA_STORAGE_ERROR}
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


@pytest.mark.parametrize("version", [1, 4])
def test_its_topic_is_deleted_all_the_same(node, controller, ensemble, version):
    node.known.held["t", 0] = HeldReplica("", end_offset=9, end_epoch=4, parted_at=3, parted_from=7, parted_in=4)
    ensemble.put(znodes.delete_topic_path("t"), b"")
    assert controller.stop(node, "t", {0: (-1 if version < 3 else -2, True)}, version) == {0: NONE}
    assert "t-0" not in node.owner.directories


def test_a_second_delivery_changes_nothing(node, controller):
    controller.stop(node, "t", {0: (4, True)})
    version = node.view.version
    assert controller.stop(node, "t", {0: (4, True)}) == {0: NONE}
    assert node.view.version == version


def halted(node):
    return [partition.index for partition in node.view.topics["t"].partitions if partition.is_halted]


def test_a_replica_that_is_only_stopped_stays_and_follows_nobody(node, controller):
    assert controller.stop(node, "t", {0: (5, False), 1: (4, False)}) == {0: NONE, 1: NONE}
    assert sorted(node.owner.directories) == ["t-0", "t-1"]
    assert halted(node) == [0, 1]
    version = node.view.version
    assert controller.stop(node, "t", {0: (5, False)}) == {0: NONE}
    assert node.view.version == version


def test_it_follows_again_when_a_role_is_told_and_by_nothing_else(node, controller, ensemble):
    controller.stop(node, "t", {0: (4, False), 1: (4, False)})
    state = controller.state(7, 5, (7,), 1)
    assert controller.update(node, "t", node.topic_id, {0: state}, (7, 0)) is NONE
    for index in (0, 1):
        controller.put_state("t", index, state)
    node.run(node.agent.load())
    node.turn()
    assert halted(node) == [0, 1]
    assert node.view.topics["t"].partitions[0].leader_epoch == 5
    node = node.restarted()
    assert halted(node) == [0, 1]
    assert controller.lead(node, "t", node.known.topics["t"].topic_id, {0: state}, (7, 0)) == {0: NONE}
    assert halted(node) == [1]


def test_a_role_of_the_epoch_that_was_told_before_counts_for_a_stopped_one(node, controller):
    """Else it would follow nobody until the next election: nobody was elected since, and the controller has it online again."""
    told = {0: controller.state(7, 5, (7, 0), 1)}
    controller.lead(node, "t", node.topic_id, told, (7, 0))
    assert controller.lead(node, "t", node.topic_id, told, (7, 0)) == {0: ErrorCode.STALE_CONTROLLER_EPOCH}
    controller.stop(node, "t", {0: (5, False)})
    assert halted(node) == [0]
    assert controller.lead(node, "t", node.topic_id, told, (7, 0)) == {0: NONE}
    assert halted(node) == []


def test_a_stop_of_before_the_role_halts_nobody(node, controller):
    controller.lead(node, "t", node.topic_id, {0: controller.state(7, 6, (7, 0), 1)}, (7, 0))
    assert controller.stop(node, "t", {0: (5, False)}) == {0: ErrorCode.FENCED_LEADER_EPOCH}
    assert halted(node) == []


def test_a_stop_from_before_the_role_is_fenced(node, controller):
    told = {0: controller.state(7, 6, (7, 0), 1)}
    assert controller.lead(node, "t", node.topic_id, told, (7, 0)) == {0: NONE}
    assert controller.stop(node, "t", {0: (5, True)}) == {0: ErrorCode.FENCED_LEADER_EPOCH}
    assert "t-0" in node.owner.directories


def test_a_log_out_of_service_is_not_stopped(node, controller):
    partition = node.view.topics["t"].partitions[0]
    node.seat.partitions.publish(partition.slot, PartitionRow(RowState.OFFLINE, partition.key, 1, -1, *(0,) * 15))
    answer = controller.stop(node, "t", {0: (4, True)}, finish=False).poll()
    assert answer == {0: ErrorCode.KAFKA_STORAGE_ERROR}
    assert node.view.topics["t"].partitions[0].slot == partition.slot


def test_a_late_deletion_of_a_topic_does_not_delete_the_one_that_was_made_under_its_name(node, controller, ensemble):
    """A stop names no id; the one that counted was answered on another connection, and the topic has gone since."""
    assert controller.stop(node, "t", {0: (-2, True), 1: (-2, True)}) == dict.fromkeys(
        (0, 1), ErrorCode.FENCED_LEADER_EPOCH
    )
    node.turn()
    assert sorted(node.owner.directories) == ["t-0", "t-1"]
    assert node.view.doomed == ()
    ensemble.put(znodes.delete_topic_path("t"))
    assert controller.stop(node, "t", {0: (-2, True), 1: (-2, True)}) == {0: NONE, 1: NONE}
    assert not node.owner.directories


@pytest.mark.parametrize("version", range(5))
def test_a_late_deletion_of_a_replica_does_not_delete_that_of_a_topic_made_under_the_name_since(
    new_node, controller, ensemble, version
):
    """A reassignment took this node away, the topic went, and another one has its name, and replicas here at no later an epoch."""
    node = new_node()
    controller.put_topic("t", ((7, 0),), {0: controller.state(7, 0, (7, 0))})
    node.turn()
    assert controller.stop(node, "t", {0: (4, True)}, version) == {0: ErrorCode.FENCED_LEADER_EPOCH}
    node.turn()
    assert list(node.owner.directories) == ["t-0"]
    assert node.view.doomed == ()


@pytest.mark.parametrize("adding", [{}, {0: (0,)}], ids=["there", "being added"])
def test_a_deletion_counts_only_where_the_assignment_is_to_be_without_this_node(new_node, controller, ensemble, adding):
    node = new_node()
    topic_id = controller.put_topic("t", ((0, 7),), {0: controller.state(7, 4, (7,))})
    node.turn()

    def assign(replicas, adding, removing):
        assignment = znodes.TopicAssignment(topic_id, (replicas,), adding, removing)
        ensemble.put(znodes.topic_path("t"), znodes.encode_topic(assignment))

    assign((0, 7), adding, {0: (7,)})
    assert controller.stop(node, "t", {0: (4, True)}) == {0: ErrorCode.FENCED_LEADER_EPOCH}
    assert "t-0" in node.owner.directories
    assign((7,), {}, {})  # as of a reassignment that was cancelled
    assert controller.stop(node, "t", {0: (4, True)}) == {0: NONE}
    assert "t-0" not in node.owner.directories


def test_the_assignment_of_another_topic_says_nothing_of_the_one_that_is_known(node, controller, ensemble):
    """This node has not read of the new one yet; the files are put aside when it does."""
    node.zk.watched.clear()
    controller.put_topic("t", ((7,), (7,)))
    assert controller.stop(node, "t", {0: (4, True)}) == {0: ErrorCode.FENCED_LEADER_EPOCH}
    assert "t-0" in node.owner.directories


def test_a_request_of_before_leader_epochs_deletes_a_topic_that_is_marked(new_node, controller, ensemble):
    node = new_node()
    controller.put_topic("t", ((7, 0),), {0: controller.state(7, 4, (7, 0))})
    node.turn()
    ensemble.put(znodes.delete_topic_path("t"))
    assert controller.stop(node, "t", {0: (-1, True)}, 2) == {0: NONE}
    assert not node.owner.directories


def test_a_topic_that_is_made_again_while_its_mark_is_read_is_not_the_one_that_is_deleted(node, controller, ensemble):
    ensemble.put(znodes.delete_topic_path("t"))
    made = znodes.new_uuid()

    def make_again():
        node.zk.on_read = lambda: None
        ensemble.remove(znodes.delete_topic_path("t"))
        controller.put_topic("t", ((7, 0),), topic_id=made)
        topic = Topic("t", made, ((7, 0),), {}, [controller.state(7, 0, (7, 0))])
        node.known.adopt(["t"], {"t": topic}, frozenset(), frozenset(), node.known.additions)

    node.zk.on_read = make_again
    assert controller.stop(node, "t", {0: (-2, True)}) == {0: ErrorCode.FENCED_LEADER_EPOCH}
    assert node.known.topics["t"].topic_id == made
    assert node.view.doomed == ()


def test_a_late_deletion_does_not_delete_what_zookeeper_has_lost(node, controller, ensemble):
    """The topic is released, its files stay: nobody has marked it."""
    for path in sorted((one for one in ensemble.nodes if one.startswith(znodes.topic_path("t"))), reverse=True):
        ensemble.remove(path)
    node.run(node.agent.load())
    node.turn()
    assert "t" in node.known.released
    assert controller.stop(node, "t", {0: (-2, True), 1: (-2, True)}) == dict.fromkeys(
        (0, 1), ErrorCode.FENCED_LEADER_EPOCH
    )
    node.turn()
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


def test_a_replica_that_is_wanted_again_before_it_was_deleted_keeps_its_log(node, controller):
    """It followed, and was in sync again, by an UpdateMetadata that came before the deletion: 930 records were lost once."""
    states = [controller.state(7, epoch, isr, epoch - 4) for epoch, isr in ((5, (7, 0)), (6, (7,)), (7, (7,)))]
    for state in states:
        controller.put_state("t", 0, state)
    controller.lead(node, "t", node.topic_id, {0: states[0]}, (7, 0))
    controller.update(node, "t", node.topic_id, {0: states[1]}, (7, 1))
    node.turn()
    assert node.view.topics["t"].partitions[0].slot == -1, "released"
    controller.update(node, "t", node.topic_id, {0: states[2]}, (7, 1, 0))
    node.turn()
    assert node.view.topics["t"].partitions[0].slot >= 0
    assert controller.stop(node, "t", {0: (6, True)}) == {0: ErrorCode.FENCED_LEADER_EPOCH}
    assert "t-0" in node.owner.directories
    assert controller.stop(node, "t", {0: (7, True)}) == {0: NONE}
    assert "t-0" not in node.owner.directories


def test_a_replica_whose_directory_fails_meanwhile_is_not_said_to_be_deleted(node, controller, ensemble):
    """It would come back with its directory, and with its records, under a name that somebody else has by then."""
    ensemble.put(znodes.delete_topic_path("t"))
    node.owner.is_deaf = True
    partition = node.view.topics["t"].partitions[0]
    waiting = controller.stop(node, "t", {0: (-2, True), 1: (-2, True)}, finish=False)
    node.seat.partitions.publish(partition.slot, PartitionRow(RowState.OFFLINE, partition.key, 1, -1, *(0,) * 15))
    assert waiting.poll() is None
    other = node.view.doomed[1]
    node.seat.partitions.publish(other.slot, PartitionRow(RowState.DELETED, other.key, 1, -1, *(0,) * 15))
    assert waiting.poll() == {0: ErrorCode.KAFKA_STORAGE_ERROR, 1: NONE}


def test_a_replica_comes_back_when_a_role_is_told_after_its_files_are_gone(node, controller):
    node.owner.is_deaf = True
    stopped = controller.stop(node, "t", {0: (4, True)}, finish=False)
    told = {0: controller.state(7, 5, (7, 0), 1)}
    role = controller.lead(node, "t", node.topic_id, told, (7, 0), finish=False)
    node.turn()
    assert node.view.topics["t"].partitions[0].slot == -1, "its files have to go first"
    node.owner.is_deaf = False
    assert stopped.finish() == {0: NONE}
    assert role.finish() == {0: NONE}
    assert node.view.topics["t"].partitions[0].slot >= 0
    assert "t-0" in node.owner.directories


def test_metadata_do_not_bring_a_deleted_replica_back(node, controller):
    controller.stop(node, "t", {0: (4, True)})
    controller.update(node, "t", node.topic_id, {0: controller.state(7, 5, (7,), 1)}, (7, 0))
    node.run(node.agent.load())
    node.turn()
    assert node.view.topics["t"].partitions[0].slot == -1
    assert "t-0" not in node.owner.directories


def test_a_killed_controller_process_goes_on_with_the_deletion(node, controller):
    node.owner.is_deaf = True
    controller.stop(node, "t", {0: (4, True)}, finish=False)
    node.owner.is_deaf = False
    node = node.restarted()
    node.turn()
    assert list(node.owner.directories) == ["t-1"]
    assert node.view.doomed == ()
    assert node.known.slots.get("t", 0) == -1


def test_a_row_that_was_freed_is_used_again(node, controller):
    controller.stop(node, "t", {0: (4, True)})
    topic_id = controller.put_topic("u", ((0,),))
    assert controller.lead(node, "u", topic_id, {0: controller.state(0, 0, (0,))}, (0,)) == {0: NONE}
    assert node.view.topics["u"].partitions[0].slot == 0


def test_a_topic_that_is_deleted_goes_whole_and_stays_away_while_zookeeper_has_it(node, controller, ensemble):
    ensemble.put(znodes.delete_topic_path("t"))
    assert controller.stop(node, "t", {0: (-2, False), 1: (-2, False)}) == {0: NONE, 1: NONE}
    assert "t" in node.view.topics
    node.owner.is_deaf = True
    waiting = controller.stop(node, "t", {0: (-2, True), 1: (-2, True)}, finish=False)
    assert waiting.poll() is None
    assert [one.name for one in node.view.deleted] == ["t"], "offsets are forgotten as well"
    node.owner.is_deaf = False
    assert waiting.finish() == {0: NONE, 1: NONE}
    assert not node.owner.directories
    assert "t" not in node.view.topics
    ensemble.remove(znodes.topic_path("t"))
    ensemble.remove(znodes.delete_topic_path("t"))
    node.turn()
    assert node.view.deleted == node.view.doomed == node.view.released == ()
    assert not node.known.has("t")


def test_a_replica_that_is_not_here_is_stopped_already(node, controller):
    assert controller.stop(node, "nobody", {0: (3, True)}) == {0: NONE}
    assert controller.stop(node, "t", {9: (3, True)}) == {9: NONE}


def test_a_topic_that_is_not_known_yet_is_read_before_its_replica_counts_as_gone(node, controller, ensemble):
    controller.put_topic("u", ((0,),))  # the watch on the names has not fired here
    ensemble.put(znodes.delete_topic_path("u"))
    node.owner.is_deaf = True
    waiting = controller.stop(node, "u", {0: (-2, True)}, finish=False)
    node.turn()
    assert waiting.poll() is None
    assert [(one.topic, one.partition) for one in node.view.doomed] == [("u", 0)]
    node.owner.is_deaf = False
    assert waiting.finish() == {0: NONE}


def test_nothing_is_said_of_a_topic_that_can_not_be_read(node, controller, ensemble):
    ensemble.put(znodes.topic_config_path("u"), b"{")
    controller.put_topic("u", ((0,),))
    ensemble.put(znodes.delete_topic_path("u"))
    node.turn()
    assert not node.known.has("u")
    assert controller.stop(node, "u", {0: (-2, True)}) == {0: ErrorCode.UNKNOWN_SERVER_ERROR}


def test_a_replica_that_finds_no_row_is_not_said_to_be_deleted(node, controller, ensemble, monkeypatch):
    ensemble.put(znodes.delete_topic_path("t"))
    monkeypatch.setattr(node.known.slots, "take", lambda name, index: NO_SLOT)
    assert controller.stop(node, "t", {0: (-2, True)}) == {0: ErrorCode.UNKNOWN_SERVER_ERROR}


def test_a_stop_of_the_controller_before_counts_no_more_once_another_one_was_heard_of(
    node, controller, ensemble, monkeypatch
):
    ensemble.put(znodes.delete_topic_path("t"))
    read = node.agent.zk.get_many

    async def read_and_hear(paths, watch=False):
        node.agent.note_controller(controller.epoch + 1)
        return await read(paths, watch)

    monkeypatch.setattr(node.agent.zk, "get_many", read_and_hear)
    assert controller.stop(node, "t", {0: (-2, True)}) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert node.view.doomed == ()


def test_a_replica_that_a_reassignment_left_here_goes_with_its_topic(node, controller, ensemble):
    """It is no replica any more; the topic's node names it until it is deleted."""
    assignment = with_unwanted(TopicAssignment(znodes.new_uuid(), ((7,),)), {0: (0,)})
    ensemble.put(znodes.topic_path("u"), znodes.encode_topic(assignment))
    node.turn()
    ensemble.put(znodes.delete_topic_path("u"))
    node.owner.is_deaf = True
    waiting = controller.stop(node, "u", {0: (-2, True)}, finish=False)
    node.turn()
    assert [(one.topic, one.partition) for one in node.view.doomed] == [("u", 0)]
    node.owner.is_deaf = False
    assert waiting.finish() == {0: NONE}


def test_an_owner_that_does_not_come_is_not_waited_for_forever(node, controller):
    node.owner.is_deaf = True
    waiting = controller.stop(node, "t", {0: (4, True)}, finish=False)
    node.now_ms += ROLES_WAIT_MS_MAX
    assert waiting.poll() == {0: ErrorCode.REQUEST_TIMED_OUT}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"controller_epoch": 4}, ErrorCode.STALE_CONTROLLER_EPOCH),
        ({"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
        ({"is_kraft_controller": True}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_request_that_does_not_count_deletes_nothing(node, controller, fields, error):
    assert controller.stop(node, "t", {0: (9, True)}, **fields) is error
    node.turn()
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


def make_again(controller, ensemble):
    """The topic is deleted and made under its name, and nobody reads in between; returns the new one's id."""
    for path in (znodes.topic_path("t"), znodes.delete_topic_path("t")):
        ensemble.remove(path)
    return controller.put_topic("t", ((0,),), {0: controller.state(0, 0, (0,))})


def test_a_topic_whose_mark_is_gone_when_its_name_is_there_again_was_deleted(node, controller, ensemble):
    """This node's controller took it for done: it had it deleted here, and then the node was killed and read it again."""
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    topic_id = make_again(controller, ensemble)
    node.turn()
    assert node.view.topics["t"].topic_id == topic_id
    assert list(node.owner.directories) == ["t-0"]
    assert node.owner.strays == []


@pytest.fixture
def late(new_node, controller, ensemble):
    """A node that begins when the topic has been marked."""
    controller.put_topic("t", ((0,),), {0: controller.state(0, 3, (0,))})
    ensemble.put(znodes.delete_topic_path("t"))
    node = new_node()
    node.turn()
    return node


def test_a_node_that_starts_makes_no_replica_of_a_topic_that_is_marked(late, controller, ensemble):
    """It may have said already that it has none any more: nobody would ask again."""
    assert late.owner.directories == {}
    assert "t" not in late.view.topics
    topic_id = make_again(controller, ensemble)
    late.turn()
    assert late.view.topics["t"].topic_id == topic_id
    assert list(late.owner.directories) == ["t-0"]


def test_its_replica_is_deleted_when_the_controller_says_so(late, controller):
    late.owner.is_deaf = True
    waiting = controller.stop(late, "t", {0: (-2, True)}, finish=False)
    late.turn()
    assert [(one.topic, one.partition) for one in late.view.doomed] == [("t", 0)]
    assert waiting.poll() is None
    late.owner.is_deaf = False
    assert waiting.finish() == {0: NONE}


def test_a_topic_whose_mark_was_taken_back_is_served(late, ensemble):
    ensemble.remove(znodes.delete_topic_path("t"))
    late.turn()
    assert list(late.owner.directories) == ["t-0"]


def test_a_marked_topic_that_gets_a_role_is_served(late, controller):
    topic_id = late.known.topics["t"].topic_id
    assert controller.lead(late, "t", topic_id, {0: controller.state(0, 4, (0,), 1)}, (0,)) == {0: NONE}
    assert list(late.owner.directories) == ["t-0"]


# Who has the records


def take_away(node, ensemble):
    """The topic's node is without this node, and names its replicas as ones to be deleted."""
    assignment = TopicAssignment(node.topic_id, ((7,), (7,)), {}, {}, {"headrace_unwanted": {"0": [0], "1": [0]}})
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(assignment))
    node.turn()


@pytest.mark.parametrize(("leader", "isr"), [(0, (0,)), (7, (7, 0)), (-1, (0,))])
def test_a_replica_that_zookeeper_has_in_sync_is_not_deleted_whatever_the_assignment_says(
    node, controller, ensemble, leader, isr, caplog
):
    """A controller died between two of its writes: what is not assigned any more may be the only log with all records."""
    controller.put_state("t", 0, controller.state(leader, 4, isr))
    take_away(node, ensemble)
    assert controller.stop(node, "t", {0: (4, True), 1: (4, True)}) == {0: ErrorCode.FENCED_LEADER_EPOCH, 1: NONE}
    node.turn()
    assert list(node.owner.directories) == ["t-0"]
    assert "replicas not deleted, the state of partition 0 has this node in sync topic=t" in caplog.text
    controller.put_state("t", 0, controller.state(7, 5, (7,)))
    node.turn()
    assert controller.stop(node, "t", {0: (5, True)}) == {0: NONE}
    assert not node.owner.directories


def test_nor_does_one_that_was_read_while_the_stop_waited_for_that(node, controller, ensemble, caplog):
    """What is known is lowered by then, and the log's owner has not reported it yet: its row says in which epoch it was served."""
    controller.lead(node, "t", node.topic_id, {0: controller.state(0, 9, (0,), 9)}, (0, 7))
    node.turn()
    node.agent.is_loaded = False  # another session begins
    row = StopReplica.StopReplicaTopicState("t", [StopReplica.StopReplicaPartitionState(0, 4, True)])
    request = StopReplica(controller_id=CONTROLLER, controller_epoch=controller.epoch, topic_states=[row])
    body = memoryview(bytes(encode_request(ApiKey.STOP_REPLICA, 4, request)))
    task = node.tasks.start(a05_stop_replica.handle(node.context, 4, body), lambda _task: None)
    node.tasks.run(1_000)
    assert not task.is_done
    assignment = TopicAssignment(node.topic_id, ((7,), (7,)), {}, {}, {"headrace_unwanted": {"0": [0], "1": [0]}})
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(assignment))
    node.run(node.agent.load())
    node.settle(task)
    node.publish()
    node.owner.follow()
    assert node.view.doomed == ()
    assert node.known.topics["t"].states[0].leader_epoch == 4
    assert "t-0" in node.owner.directories
    assert "is older than its log here, which was served in leader epoch 9" in caplog.text


def test_a_state_of_the_past_deletes_nothing(node, controller, ensemble):
    """This node led a moment ago, in a later leader epoch than the backup knows that ZooKeeper was put back to."""
    controller.lead(node, "t", node.topic_id, {0: controller.state(0, 9, (0,), 9)}, (0, 7))
    take_away(node, ensemble)
    assert controller.stop(node, "t", {0: (7, True), 1: (7, True)}) == {0: ErrorCode.FENCED_LEADER_EPOCH, 1: NONE}
    node.turn()
    assert list(node.owner.directories) == ["t-0"]


@pytest.mark.parametrize("data", [None, b"{"])
def test_nor_does_one_that_is_not_there_or_can_not_be_read(node, controller, ensemble, data):
    take_away(node, ensemble)
    ensemble.remove(znodes.state_path("t", 0))
    if data is not None:
        ensemble.put(znodes.state_path("t", 0), data)
    assert controller.stop(node, "t", {0: (4, True), 1: (4, True)}) == {0: ErrorCode.FENCED_LEADER_EPOCH, 1: NONE}
    node.turn()
    assert list(node.owner.directories) == ["t-0"]
