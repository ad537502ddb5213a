"""Topics that go, from the mark to the last znode."""

import pytest

from headrace.controller.active.leaders.leaders import Leaders
from headrace.controller.active.topics import deletions
from headrace.controller.agent.judgement import EPOCH_DURING_DELETE
from headrace.controller.cluster import events
from headrace.controller.cluster.unwanted_replicas import with_unwanted
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.errors import ErrorCode, KafkaError
from headrace.shm.cluster_view import DeletedTopic
from headrace.shm.partition_table import RowState
from tests.controller.fake_zk import Killed


def make(node, name, partitions=2):
    node.create(
        name,
        ((node.known.node_id,),) * partitions,
        {"retention.ms": "5"},
    )
    node.publish()
    node.owner.follow()


def left_of(ensemble, name):
    return sorted(path for path in ensemble.nodes if f"/{name}/" in f"{path}/")


def begin(node, name):
    node.run(node.active.mark(name))
    node.active.begin_deletion(name, "")
    node.publish()


def test_a_deletion_ends_with_nothing_left(new_node, ensemble):
    node = new_node()
    make(node, "t")
    begin(node, "t")
    assert "t" not in node.view.topics
    assert [replica.partition for replica in node.view.doomed] == [0, 1]
    node.turn()
    assert left_of(ensemble, "t") == []
    assert node.view.doomed == ()
    assert not node.owner.directories
    assert not node.agent.has_deletions


def test_znodes_stay_until_every_owner_said_deleted(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.owner.is_deaf = True
    begin(node, "t")
    before = left_of(ensemble, "t")
    node.turn()
    assert left_of(ensemble, "t") == before
    assert node.active.is_deleting("t")


def test_a_row_deleted_for_an_earlier_topic_in_the_same_slot_does_not_count(new_node, ensemble):
    node = new_node()
    make(node, "t", 1)
    begin(node, "t")
    node.turn()
    assert node.seat.partitions.read(0).state == RowState.DELETED
    node.create("t", ((0,),), {})
    node.publish()
    node.owner.is_deaf = True
    begin(node, "t")
    node.turn()
    assert node.active.is_deleting("t")


def test_slots_are_used_again_after_a_deletion(new_node):
    node = new_node()
    for _ in range(5):
        make(node, "t", 10)
        assert [row.slot for row in node.view.topics["t"].partitions] == list(range(10))
        begin(node, "t")
        node.turn()


def test_a_mark_that_somebody_else_made_is_carried_out(new_node, ensemble):
    node = new_node()
    make(node, "t")
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    assert left_of(ensemble, "t") == []


def test_a_mark_without_a_topic_is_removed(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.delete_topic_path("ghost"))
    node.turn()
    assert left_of(ensemble, "ghost") == []


def test_a_mark_that_was_read_before_its_deletion_ended_keeps_no_name(new_node):
    """The names of all topics are read after the marks, and their states after that: a deletion may end meanwhile."""
    node = new_node()
    make(node, "t")
    begin(node, "t")
    node.turn()
    node.active.take(events.Marked(frozenset({"t"})))
    make(node, "t", 2)
    node.turn()
    assert len(node.view.topics["t"].partitions) == 2


@pytest.mark.parametrize("unreadable", ["nothing", "overrides", "node"])
def test_replicas_of_a_marked_topic_that_is_not_known_are_deleted_first(new_node, ensemble, unreadable):
    node = new_node()
    make(node, "other", 1)
    broken = {"overrides": znodes.topic_config_path("t"), "node": znodes.topic_path("t")}
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment("0" * 31 + "1", ((0,),))))
    if unreadable in broken:
        ensemble.put(broken[unreadable], b"{")
    ensemble.put(znodes.delete_topic_path("t"))
    node.owner.is_deaf = True
    node.active.take(events.Marked(frozenset({"t"})))  # of names that were read before the topic was made
    node.turn()
    is_kept = unreadable != "node"
    assert bool(left_of(ensemble, "t")) is is_kept  # its replica here has not gone yet
    node.owner.is_deaf = False
    node.turn()
    assert left_of(ensemble, "t") == []


def test_a_mark_that_is_older_than_its_unknown_topic_is_removed_and_the_topic_stays(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.delete_topic_path("t"))
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment("0" * 31 + "1", ((0,),))))
    node.active._deletions.marks_read(["t"])
    node.settle()
    assert znodes.delete_topic_path("t") not in ensemble.nodes
    assert znodes.topic_path("t") in ensemble.nodes


def put_unwanted(ensemble, broker, has_id=True):
    """A topic with a replica that a reassignment has left on a broker."""
    assignment = TopicAssignment(znodes.new_uuid() if has_id else "", ((0,),))
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(with_unwanted(assignment, {0: (broker,)})))


def test_a_replica_that_a_reassignment_left_on_a_broker_holds_the_name_until_it_is_deleted(new_node, ensemble):
    register(ensemble, 7)
    node = new_node()
    put_unwanted(ensemble, 7)
    node.turn()
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    assert node.active.is_deleting("t")
    assert node.active._deletions._pending["t"].left == {(0, 7)}
    assert left_of(ensemble, "t") != []
    node.channels.answer_stops({7})
    node.turn()
    assert left_of(ensemble, "t") == []


@pytest.mark.parametrize("goes", ["before", "meanwhile", "after it refused"])
def test_a_broker_that_never_comes_back_holds_no_name_of_a_topic(new_node, ensemble, goes, caplog):
    """It is what the topic was moved for: no DeleteTopics ever ended, and no topic of the name could be made again."""
    register(ensemble, 7)
    node = new_node()
    put_unwanted(ensemble, 7)
    node.turn()
    if goes == "before":
        ensemble.remove(znodes.broker_path(7))
        node.turn()
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    if goes == "after it refused":
        node.channels.answer_stops({7}, ErrorCode.KAFKA_STORAGE_ERROR)
        node.turn()
    if goes != "before":
        ensemble.remove(znodes.broker_path(7))
    node.turn()
    assert left_of(ensemble, "t") == []
    assert not node.active.is_deleting("t")
    assert "files of unassigned replicas stay on brokers that are away topic=t" in caplog.text
    assert "wanted=NonExistentReplica" not in caplog.text
    node.create("t", ((0,),), {})
    node.channels.told.clear()
    register(ensemble, 7)
    node.turn()
    assert stops_of(node, "t") == [], "the one that is there now is another topic"


def test_without_an_id_its_files_could_be_taken_for_another_topics_and_it_is_waited_for(new_node, ensemble):
    node = new_node(inter_broker_protocol_version="2.7")
    put_unwanted(ensemble, 7, has_id=False)
    node.turn()
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    assert left_of(ensemble, "t") != []
    register(ensemble, 7)
    node.turn()
    node.channels.answer_stops({7})
    node.turn()
    assert left_of(ensemble, "t") == []


def test_an_assigned_replica_whose_broker_is_away_holds_the_name_all_the_same(new_node, ensemble):
    node = new_node()
    assignment = with_unwanted(TopicAssignment(znodes.new_uuid(), ((0, 8),)), {0: (7,)})
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(assignment))
    node.turn()
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    assert left_of(ensemble, "t") != []
    register(ensemble, 8)
    node.turn()
    node.channels.answer_stops({8})
    node.turn()
    assert left_of(ensemble, "t") == []


def test_where_deletion_is_disabled_a_mark_is_removed_and_the_topic_stays(new_node, ensemble):
    node = new_node(delete_topic_enable="false")
    make(node, "t")
    ensemble.put(znodes.delete_topic_path("t"))
    node.turn()
    assert znodes.delete_topic_path("t") not in ensemble.nodes
    assert "t" in node.view.topics


def test_marking_twice_is_marking_once(new_node):
    node = new_node()
    make(node, "t")
    node.run(node.active.mark("t"))
    node.run(node.active.mark("t"))


def test_many_znodes_go_in_several_transactions_the_mark_last(new_node, ensemble, monkeypatch):
    monkeypatch.setattr(deletions, "ZNODES_PER_COMMIT", 3)
    node = new_node()
    make(node, "t", 5)
    begin(node, "t")
    seen = []
    ensemble.after_write = lambda _ordinal: seen.append(left_of(ensemble, "t"))
    node.turn()
    assert len(seen) > 3
    assert all(znodes.delete_topic_path("t") in left for left in seen[:-1])
    assert seen[-1] == []


def test_a_zombie_deletes_nothing(new_node, ensemble):
    node = new_node()
    make(node, "t")
    begin(node, "t")
    node.owner.follow()
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    ensemble.remove(znodes.CONTROLLER)
    ensemble.put(znodes.CONTROLLER, znodes.encode_controller(7, 0))
    node.zk.take_changes()  # it has not heard of that
    before = left_of(ensemble, "t")
    node.turn()
    assert left_of(ensemble, "t") == before
    assert not node.agent.election.is_active
    assert not node.active.is_deleting("t")


def test_a_deletion_goes_on_under_the_next_controller_once_the_other_broker_is_back(new_node, ensemble):
    first, second = new_node(0), new_node(1)
    first.turn()
    first.create("t", ((0, 1),), {})
    first.turn()
    second.turn()
    first.run(first.active.mark("t"))
    first.zk.expire()
    second.turn(10)
    assert not second.owner.directories  # its own replica is gone
    assert znodes.delete_topic_path("t") in left_of(ensemble, "t")
    assert znodes.topic_path("t") in left_of(ensemble, "t")
    register(ensemble, 0)
    second.turn()
    assert second.channels.answer_stops({0}) == [(0, "t", 0, -2, False), (0, "t", 0, -2, True)]
    second.turn()
    assert left_of(ensemble, "t") == []


def test_who_was_told_to_delete_and_is_elected_then_goes_on(new_node, ensemble):
    """It kept the topic for as long as ZooKeeper had the mark, as a follower does, which it was to remove itself: for ever."""
    first, second = new_node(0), new_node(1)
    first.turn()
    first.create("t", ((0, 1),), {})
    first.turn()
    second.turn()
    first.run(first.active.mark("t"))
    stopped = {("t", 0): events.StoppedReplica(EPOCH_DURING_DELETE, is_deleted=True)}
    second.agent.apply(events.ReplicasStopped(0, 1, stopped))
    second.turn()
    assert not second.owner.directories
    first.zk.expire()
    second.turn(10)
    register(ensemble, 0)
    second.turn()
    second.channels.answer_stops({0})
    second.turn()
    assert left_of(ensemble, "t") == []
    assert not second.agent.has_deletions
    second.create("t", ((1, 0),), {})


def register(ensemble, *brokers):
    """Brokers of another kind come."""
    for broker in brokers:
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("127.0.0.1", 9092, None, 0))


def stops_of(node, name):
    """(broker, partition, leader epoch, is_deleted) of what brokers were asked since the term began."""
    stops = node.channels.of("stop")
    return [(broker, index, epoch, gone) for broker, topic, index, epoch, gone, _done in stops if topic == name]


@pytest.fixture
def shared(new_node, ensemble):
    """A node that is active, beside two other brokers; a topic with replicas on all of them."""
    register(ensemble, 1, 2)
    node = new_node(0)
    make(node, "t")
    node.create("shared", ((0, 1, 2), (1, 2, 0)))
    node.turn()
    return node


def test_every_replica_elsewhere_is_stopped_and_deleted_and_only_then_the_znodes_go(shared, ensemble):
    begin(shared, "shared")
    shared.turn()
    assert "shared" in shared.active.term.leaving
    assert ("shared", None, None) in shared.channels.of("metadata")  # brokers are told: leader -2
    wanted = {(broker, index, -2, gone) for broker in (1, 2) for index in (0, 1) for gone in (False, True)}
    assert set(stops_of(shared, "shared")) == wanted
    assert znodes.state_path("shared", 0) in ensemble.nodes
    shared.channels.answer_stops({1})
    shared.turn()
    assert znodes.state_path("shared", 0) in ensemble.nodes
    shared.channels.answer_stops({2})
    shared.turn()
    assert left_of(ensemble, "shared") == []
    assert "shared" not in shared.active.term.leaving
    shared.create("shared", ((0, 1, 2),))


def test_a_deletion_waits_for_an_absent_broker_and_goes_on_when_it_is_back(shared, ensemble):
    ensemble.remove(znodes.broker_path(2))
    shared.turn()
    begin(shared, "shared")
    shared.turn()
    shared.channels.answer_stops({1})
    shared.turn()
    assert {znodes.delete_topic_path("shared"), znodes.topic_path("shared")} <= set(left_of(ensemble, "shared"))
    with pytest.raises(KafkaError, match="exists"):
        shared.create("shared", ((0, 1),))
    assert not [stop for stop in stops_of(shared, "shared") if stop[0] == 2]
    register(ensemble, 2)
    shared.turn()
    assert {stop[0] for stop in stops_of(shared, "shared")} == {2}
    shared.channels.answer_stops({2})
    shared.turn()
    assert left_of(ensemble, "shared") == []


def test_a_broker_that_goes_before_it_answers_is_asked_again(shared, ensemble):
    begin(shared, "shared")
    shared.turn()
    ensemble.remove(znodes.broker_path(1))
    shared.turn()
    shared.channels.answer_stops({2})
    shared.channels.told.clear()
    shared.turn()
    assert left_of(ensemble, "shared") != []
    register(ensemble, 1)
    shared.turn()
    assert {stop[:3] for stop in stops_of(shared, "shared")} == {(1, 0, -2), (1, 1, -2)}
    shared.channels.answer_stops({1})
    shared.turn()
    assert left_of(ensemble, "shared") == []


def test_a_broker_that_was_restarted_between_two_reads_is_asked_again(shared, ensemble):
    begin(shared, "shared")
    shared.turn()
    shared.channels.told.clear()
    ensemble.remove(znodes.broker_path(1))
    register(ensemble, 1)
    known = shared.known.brokers
    known[1] = known[1]._replace(epoch=1)
    shared.active.term.brokers[1] = 0
    shared.active.term.take_brokers()
    shared.settle()
    assert {stop[0] for stop in stops_of(shared, "shared")} == {1}


def test_a_replica_in_a_failed_directory_is_waited_for_until_its_broker_starts_again(shared, ensemble):
    begin(shared, "shared")
    shared.turn()
    shared.channels.answer_stops({1})
    shared.channels.answer_stops({2}, ErrorCode.KAFKA_STORAGE_ERROR)
    shared.turn()
    shared.now_ms += 3_600_000
    shared.turn()
    assert left_of(ensemble, "shared") != []
    assert not stops_of(shared, "shared")
    ensemble.remove(znodes.broker_path(2))
    shared.turn()
    register(ensemble, 2)
    shared.turn()
    shared.channels.answer_stops({2})
    shared.turn()
    assert left_of(ensemble, "shared") == []


def tell_of_directories(ensemble, broker):
    path = f"{znodes.LOG_DIR_EVENT_PREFIX}{ensemble.writes:010d}"
    ensemble.put(path, znodes.encode_log_dir_event(broker))


def test_a_broker_that_started_again_within_its_session_is_asked_again(shared, ensemble):
    """Nobody sees it go: it tells that its directories may be back."""
    leaders_of(shared).leaders_answered(2, {("shared", 0): ErrorCode.KAFKA_STORAGE_ERROR})
    begin(shared, "shared")
    shared.turn()
    shared.channels.answer_stops({1})
    shared.channels.answer_stops({2}, ErrorCode.KAFKA_STORAGE_ERROR)
    shared.turn()
    tell_of_directories(ensemble, 1)  # not who is waited for
    shared.turn()
    assert not stops_of(shared, "shared")
    tell_of_directories(ensemble, 2)
    shared.turn()
    assert {stop[:2] for stop in stops_of(shared, "shared")} == {(2, 0), (2, 1)}
    shared.channels.answer_stops({2}, ErrorCode.KAFKA_STORAGE_ERROR)  # it is not back
    shared.turn()
    assert not stops_of(shared, "shared")
    tell_of_directories(ensemble, 2)
    shared.turn()
    shared.channels.answer_stops({2})
    shared.turn()
    assert left_of(ensemble, "shared") == []


def test_a_replica_whose_directory_failed_before_is_asked_for_too(shared, ensemble):
    """Its broker has started again, and said so, before the topic was marked; what it has to say of its replicas is still to come."""
    leaders_of(shared).leaders_answered(2, {("shared", 0): ErrorCode.KAFKA_STORAGE_ERROR})
    tell_of_directories(ensemble, 2)
    shared.turn()
    shared.channels.told.clear()
    begin(shared, "shared")
    shared.turn()
    assert {stop[:2] for stop in stops_of(shared, "shared")} == {(1, 0), (1, 1), (2, 0), (2, 1)}
    shared.channels.answer_stops({1, 2})
    shared.turn()
    assert left_of(ensemble, "shared") == []


def leaders_of(node):
    [leaders] = [part for part in node.active.term.parts() if isinstance(part, Leaders)]
    return leaders


def test_another_error_is_tried_again_after_a_pause(shared, ensemble):
    begin(shared, "shared")
    shared.turn()
    shared.channels.answer_stops({1, 2}, ErrorCode.UNKNOWN_SERVER_ERROR)
    shared.settle()
    assert len(stops_of(shared, "shared")) == 8
    shared.channels.answer_stops({1, 2})
    shared.turn()
    assert left_of(ensemble, "shared") == []


def test_replicas_that_a_reassignment_adds_or_removes_go_too(shared, ensemble):
    register(ensemble, 3)
    assignment = shared.known.topics["shared"].assignment._replace(
        replicas=((3, 0, 1, 2), (1, 2, 0)), adding={0: (3,)}, removing={0: (2,)}
    )
    ensemble.put(znodes.topic_path("shared"), znodes.encode_topic(assignment))
    shared.turn()
    begin(shared, "shared")
    shared.turn()
    stopped = {(broker, index) for broker, index, _epoch, gone in stops_of(shared, "shared") if gone}
    assert stopped == {(1, 0), (2, 0), (1, 1), (2, 1), (3, 0)}
    shared.channels.answer_stops({1, 2})
    shared.turn()
    assert left_of(ensemble, "shared") != []
    shared.channels.answer_stops({3})
    shared.turn()
    assert left_of(ensemble, "shared") == []


def test_the_next_controller_asks_every_broker_again(shared, ensemble):
    begin(shared, "shared")
    shared.turn()
    shared.channels.answer_stops({1})
    shared.turn()
    successor = shared.restarted()
    successor.turn()
    assert {stop[0] for stop in stops_of(successor, "shared")} == {1, 2}
    assert not [notice for notice in successor.channels.of("leaders") if notice[0] == "shared"]
    successor.channels.answer_stops({1, 2})
    successor.turn()
    assert left_of(ensemble, "shared") == []


def test_a_topic_that_is_being_deleted_gets_no_leader(shared, ensemble):
    ensemble.remove(znodes.broker_path(2))
    shared.turn()
    before = ensemble.data(znodes.state_path("shared", 1))
    begin(shared, "shared")
    shared.turn()
    ensemble.remove(znodes.broker_path(1))  # the leader of partition 1
    shared.turn()
    assert ensemble.data(znodes.state_path("shared", 1)) == before


@pytest.mark.parametrize("fault", ["on_write", "after_write"])
@pytest.mark.parametrize("failure", [Killed, ZkLost])
def test_a_deletion_interrupted_at_any_write_is_finished(new_node, ensemble, monkeypatch, fault, failure):
    """The controller process dies at each of its writes in turn, or misses the reply; a topic of that name comes after."""
    monkeypatch.setattr(deletions, "ZNODES_PER_COMMIT", 2)
    node = new_node()
    ordinal = 0
    while True:
        make(node, "t", 3)
        ensemble.writes = 0

        def strike(number, at=ordinal):
            if number == at:
                raise failure("here")

        setattr(ensemble, fault, strike)
        try:
            begin(node, "t")
            node.turn()
        except failure:
            pass
        if ensemble.writes <= ordinal:
            break  # there is no such write any more: all of them were tried
        setattr(ensemble, fault, lambda _ordinal: None)
        if failure is Killed:
            node = node.restarted()
        if "t" in node.known.topics and not node.active.is_deleting("t"):
            begin(node, "t")  # the client asks again: its request was not answered
        node.turn()
        assert left_of(ensemble, "t") == [], ordinal
        assert not node.owner.directories, ordinal
        assert node.view.doomed == (), ordinal
        ordinal += 1
    assert ordinal > 4


@pytest.mark.parametrize("cut", range(4))
def test_a_process_killed_between_the_steps_of_a_deletion_is_followed_by_one_that_goes_on(new_node, ensemble, cut):
    node = new_node()
    make(node, "t")
    steps = [
        lambda: node.run(node.active.mark("t")),
        lambda: node.active.begin_deletion("t", ""),
        node.publish,
        node.owner.follow,
    ]
    for step in steps[: cut + 1]:
        step()
    successor = node.restarted()
    successor.turn()
    assert left_of(ensemble, "t") == []
    assert not node.owner.directories
    make(successor, "t")
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


def test_a_name_is_free_only_when_the_coordinators_have_forgotten_the_old_topic(new_node, ensemble):
    node = new_node()
    make(node, "t")
    topic_id = node.view.topics["t"].topic_id
    node.owner.follows = False
    begin(node, "t")
    node.turn()
    assert not node.owner.directories
    assert node.view.deleted == (DeletedTopic("t", topic_id),)
    assert znodes.topic_path("t") in ensemble.nodes
    with pytest.raises(KafkaError, match="exists"):
        make(node, "t")
    successor = node.restarted()
    successor.turn()
    assert znodes.topic_path("t") in ensemble.nodes
    successor.owner.follows = True
    successor.turn()
    assert left_of(ensemble, "t") == []
    assert successor.view.deleted == ()
    assert not successor.agent.has_deletions


def test_a_deletion_counts_only_words_that_come_after_it(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.owner.follow()
    node.owner.follows = False
    node.run(node.active.mark("t"))
    node.active.begin_deletion("t", "")
    node.turn()  # not published yet
    assert znodes.topic_path("t") in ensemble.nodes
    node.publish()
    node.turn()
    assert znodes.topic_path("t") in ensemble.nodes
