"""The cluster as the controller knows it: what ZooKeeper says, what each event changes of it, what of that is published."""

import json

import pytest

from headrace.controller.admin import a19_create_topics, a20_delete_topics
from headrace.controller.agent.view_publisher import ViewPublisher
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.errors import ErrorCode
from headrace.limits import PARTITIONS_PER_PUBLICATION_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.shm.cluster_table import ClusterTable
from headrace.shm.cluster_view import DeletedTopic
from headrace.shm.counters import TOPICS_RELEASED
from headrace.shm.fabric import VIEW
from headrace.shm.region import Region
from headrace.shm.seat import Seat
from headrace.shm.view_reader import ClusterViewReader
from headrace.shm.view_writer import ClusterViewWriter
from tests.controller.fake_node import Node
from tests.controller.fake_zk import Killed


def make(node, name, partitions=1, configs=None):
    node.create(name, ((node.known.node_id,),) * partitions, configs or {})
    node.publish()


def test_the_view_has_what_zookeeper_has(new_node):
    node = new_node()
    make(node, "t", 2, {"retention.ms": "5"})
    topic = node.view.topics["t"]
    assert topic.configs == {"retention.ms": "5"}
    assert [(row.leader, row.isr, row.replicas, row.offline) for row in topic.partitions] == [(0, (0,), (0,), ())] * 2
    assert [row.slot for row in topic.partitions] == [0, 1]
    assert len({row.key for row in topic.partitions} - {0}) == 2
    assert node.view.cluster_id == node.known.cluster_id
    assert node.view.brokers[0].port == 9092
    assert node.view.controller_id == 0


def test_a_view_that_says_nothing_new_is_not_published(new_node):
    node = new_node()
    make(node, "t")
    version = node.view.version
    assert not node.agent.publish()
    node.react(znodes.TOPICS)
    assert node.view.version == version


def test_the_first_view_of_a_boot_has_all_topics_however_many(new_node, ensemble):
    """To a partition worker a topic that comes later is new: it would make an empty log of one whose directory failed."""
    names = {f"t{number}" for number in range(5)}
    for name in names:
        replicas = ((0,),) * (PARTITIONS_PER_PUBLICATION_MAX // 2)
        ensemble.put(znodes.topic_path(name), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), replicas)))
    node = new_node(join=False)
    node.run(node.joining())
    assert node.agent.publish()
    assert node.view.topics.keys() == names
    assert node.view.brokers.keys() == {0}


def test_a_restart_with_nothing_new_does_not_publish_and_keeps_the_slots(new_node):
    node = new_node()
    for name in ("c", "a", "b"):
        make(node, name)
    before = node.view
    successor = node.restarted()
    assert successor.view == before
    make(successor, "d")
    assert {topic.partitions[0].slot for topic in successor.view.topics.values()} == {0, 1, 2, 3}


def test_a_leader_that_is_not_alive_is_not_shown(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((5, 6),))))
    node.turn()
    row = node.view.topics["t"].partitions[0]
    assert (row.leader, row.offline, row.slot) == (-1, (5, 6), -1)


def test_internal_topics_are_marked(new_node):
    node = new_node()
    make(node, "__consumer_offsets")
    make(node, "plain")
    assert [topic.internal for topic in node.view.topics.values()] == [True, False]


def test_a_broken_topic_is_left_out_and_the_others_are_served(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.topic_path("broken"), b"{")
    ensemble.put(znodes.topic_path("hole"), b'{"version":1,"partitions":{"1":[0]}}')
    make(node, "good")
    successor = node.restarted()
    assert list(successor.view.topics) == ["good"]


def test_a_broken_broker_is_left_out(new_node, ensemble):
    ensemble.put(znodes.broker_path(7), b"[]")
    ensemble.put(f"{znodes.BROKER_IDS}/not-a-number", b"{}")
    assert list(new_node().view.brokers) == [0]


def test_what_no_view_can_hold_stops_no_publication(new_node, ensemble):
    """Half of a surrogate pair, a broker id beyond 64 bits: others wrote them."""
    broker = znodes.encode_broker("host", 9092, "rack", 0)
    ensemble.put(f"{znodes.BROKER_IDS}/{1 << 64}", broker)
    ensemble.put(znodes.broker_path(3), broker.replace(b':"rack"', b':"r\\ud800"'))
    node = new_node()
    make(node, "t")
    ensemble.put(znodes.topic_config_path("t"), b'{"version":1,"config":{"others.key":"\\udfff"}}')
    ensemble.put(f"{znodes.CONFIG_CHANGES}/config_change_0000000001", b"{}")
    node.turn()
    assert node.view.topics["t"].configs == {"others.key": "?"}
    assert {node_id: one.rack for node_id, one in node.view.brokers.items()} == {0: None, 3: "r?"}


def test_broken_overrides_leave_those_of_before(new_node, ensemble):
    node = new_node()
    make(node, "t", 1, {"retention.ms": "5"})
    ensemble.put(znodes.topic_config_path("t"), b"{")
    ensemble.put(f"{znodes.CONFIG_CHANGES}/config_change_0000000001", b"{}")
    node.turn()
    assert node.view.topics["t"].configs == {"retention.ms": "5"}


def test_replicas_beyond_the_rows_are_shown_but_not_hosted(new_node, ensemble):
    node = new_node(headrace_partitions_max="16")
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((0,),) * 20)))
    node.turn()
    slots = [row.slot for row in node.view.topics["t"].partitions]
    assert sorted(slots) == [-1] * 4 + list(range(16))


def test_a_topic_that_zookeeper_lost_is_released_and_served_again_when_it_is_back(new_node, ensemble, caplog):
    node = new_node()
    make(node, "t", 2)
    make(node, "u")
    node.turn()
    lost = {path: found for path, found in ensemble.nodes.items() if f"{path}/".startswith("/brokers/topics/t/")}
    before = node.view.topics["t"]
    for each in (lambda: node, node.restarted):  # while we look, and while we were away
        ensemble.remove(znodes.topic_path("t"))
        now = each()
        now.turn()
        assert list(now.view.topics) == ["u"]
        assert now.view.doomed == now.view.deleted == ()
        assert {"t-0", "t-1"} <= node.owner.directories.keys()
        assert "topic released, its files and offsets are kept topic=t" in caplog.text
        assert f"{before.topic_id} replicas_here=2" in caplog.text
        assert now.seat.counters.get(TOPICS_RELEASED) == 1
        for path, found in lost.items():
            ensemble.put(path, found.data)
        now.turn()
        after = now.view.topics["t"]
        assert [row.key for row in after.partitions] == [row.key for row in before.partitions]
        assert len({row.slot for topic in now.view.topics.values() for row in topic.partitions}) == 3
        assert node.owner.strays == []
        caplog.clear()


@pytest.mark.parametrize("away", [False, True])
def test_the_name_of_a_released_topic_is_taken_until_somebody_deletes_it(new_node, ensemble, away):
    node = new_node()
    make(node, "t")
    node.turn()
    ensemble.remove(znodes.topic_path("t"))
    node.turn()
    node = node.restarted() if away else node
    assert [topic.name for topic in node.view.released] == ["t"]
    row = messages.CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    request = encode_request(ApiKey.CREATE_TOPICS, 5, messages.CreateTopicsRequest(topics=[row], timeout_ms=0))
    answer = decode_response(
        ApiKey.CREATE_TOPICS, 5, memoryview(node.handle(a19_create_topics.handle, 5, memoryview(request)).poll(0))
    )
    assert answer.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert "restore its znode, or delete the topic first" in answer.topics[0].error_message
    assert node.owner.directories
    request = encode_request(ApiKey.DELETE_TOPICS, 5, messages.DeleteTopicsRequest(topic_names=["t"], timeout_ms=9))
    waiting = node.handle(a20_delete_topics.handle, 5, memoryview(request))
    node.turn()
    answer = decode_response(ApiKey.DELETE_TOPICS, 5, memoryview(waiting.poll(0)))
    assert answer.responses[0].error_code == 0
    assert not node.owner.directories
    assert node.view.released == node.view.deleted == ()
    make(node, "t")
    assert "t" in node.view.topics


def test_slots_of_a_released_topic_are_free_when_every_worker_has_followed(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.turn()
    node.owner.is_deaf = True
    ensemble.remove(znodes.topic_path("t"))
    node.turn()
    make(node, "early")
    assert node.view.topics["early"].partitions[0].slot == 1
    node.owner.is_deaf = False
    node.turn()
    make(node, "late")
    assert node.view.topics["late"].partitions[0].slot == 0
    assert not node.agent.has_deletions


def test_slots_of_a_released_topic_are_held_over_the_death_of_the_controller(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.turn()
    node.owner.is_deaf = True
    ensemble.remove(znodes.topic_path("t"))
    node.turn()
    node = node.restarted()
    make(node, "early")
    assert node.view.topics["early"].partitions[0].slot == 1, "somebody may still write the row of the released one"
    node.owner.is_deaf = False
    node.turn()
    make(node, "late")
    assert node.view.topics["late"].partitions[0].slot == 0


@pytest.mark.parametrize("away", [False, True])
def test_a_released_log_whose_owner_was_killed_keeps_its_slot_until_it_is_back(new_node, ensemble, away):
    node = new_node()
    make(node, "t")
    node.turn()
    lost = {path: found for path, found in ensemble.nodes.items() if f"{path}/".startswith("/brokers/topics/t/")}
    [row] = node.view.topics["t"].partitions
    node.owner.is_deaf = True
    ensemble.remove(znodes.topic_path("t"))
    node.turn()
    [owner] = node.seat.wiring.partition_ids
    node.seat.processes.raise_generation(owner)  # killed before it followed; its successor never sees the topic
    node.owner.is_deaf = False
    node.turn()
    assert not node.agent.has_deletions
    node = node.restarted() if away else node
    make(node, "other")
    node.turn()
    assert node.view.topics["other"].partitions[0].slot != row.slot
    assert node.seat.partitions.read(row.slot).key == row.key
    for path, found in lost.items():
        ensemble.put(path, found.data)
    node.turn()
    assert node.view.topics["t"].partitions[0].slot == row.slot


@pytest.mark.parametrize("away", [False, True])
def test_another_topic_of_a_name_is_in_the_view_when_everybody_has_forgotten_the_first(
    new_node, ensemble, caplog, away
):
    node = new_node()
    make(node, "t")
    node.turn()
    old = node.view.topics["t"]
    node.owner.is_deaf = True
    ensemble.remove(znodes.topic_path("t"))
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((0,),))))
    node = node.restarted() if away else node
    node.turn()
    assert node.view.deleted == (DeletedTopic("t", old.topic_id),)
    assert node.view.doomed == ()
    assert "t" not in node.view.topics
    node.owner.is_deaf, node.owner.follows = False, False
    node.turn()
    assert "t" not in node.view.topics, "coordinators still have its offsets"
    node.owner.follows = True
    node.turn()
    row = node.view.topics["t"].partitions[0]
    assert node.view.deleted == ()
    assert node.owner.directories == {"t-0": row.key}
    assert node.owner.strays == [old.partitions[0].key] != [row.key]
    assert (
        f"topic name reused by another topic, files of the old one are kept as *-stray topic=t topic_id={old.topic_id}"
        in caplog.text
    )


def test_a_topic_made_under_the_name_of_a_released_one_waits_as_well(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.turn()
    old_id = node.view.topics["t"].topic_id
    ensemble.remove(znodes.topic_path("t"))
    node.turn()
    make(node, "t")
    assert node.view.deleted == (DeletedTopic("t", old_id),)
    assert "t" not in node.view.topics
    node.turn()
    assert node.view.deleted == ()
    assert "t" in node.view.topics


@pytest.mark.parametrize("path", [znodes.topic_path("t"), znodes.topic_config_path("t"), znodes.state_path("t", 0)])
@pytest.mark.parametrize("away", [False, True])
def test_a_topic_with_a_node_that_can_not_be_read_is_served_as_it_was_known(new_node, ensemble, path, away):
    node = new_node()
    make(node, "t", 2, {"retention.ms": "5"})
    node.turn()
    before, data = node.view.topics["t"], ensemble.data(path)
    ensemble.put(path, b"{")
    node = node.restarted() if away else node
    for changed in (znodes.TOPICS, znodes.topic_path("t")):
        node.react(changed)
    node.turn()
    assert node.view.topics["t"] == before
    ensemble.put(path, data)
    node.restarted().turn()
    assert node.view.topics["t"] == before
    assert node.view.deleted == node.view.doomed == ()


def test_leaders_are_followed_where_the_assignment_can_not_be_read(new_node, ensemble):
    node = new_node()
    make(node, "t")
    ensemble.put(znodes.topic_path("t"), b"{")
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(PartitionState(0, 7, (0,), 1)))
    assert node.restarted().view.topics["t"].partitions[0].leader_epoch == 7


@pytest.mark.parametrize("how", ["state alone", "while away", "the topic, put back without its states"])
def test_states_that_are_gone_are_written_again_with_the_next_epoch_and_the_same_replicas_in_sync(
    new_node, ensemble, how
):
    node = new_node()
    ensemble.put(znodes.broker_path(1), znodes.encode_broker("b", 1, None, 0))
    node.turn()
    node.create("t", ((0, 1),), {})
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(PartitionState(0, 7, (0,), 1)))
    node = node.restarted()
    data = ensemble.data(znodes.topic_path("t"))
    ensemble.remove(znodes.partition_path("t", 0))
    if how.startswith("the topic"):
        ensemble.remove(znodes.topic_path("t"))
        node.turn()
        ensemble.put(znodes.topic_path("t"), data)
    node = node.restarted() if how == "while away" else node
    node.react(znodes.topic_path("t"))
    node.turn()
    row = node.view.topics["t"].partitions[0]
    assert (row.leader, row.leader_epoch, row.isr) == (0, 8, (0,))


def test_overrides_whose_node_is_gone_are_kept(new_node, ensemble):
    node = new_node()
    make(node, "t", 1, {"cleanup.policy": "compact"})
    ensemble.remove(znodes.topic_config_path("t"))
    ensemble.put(f"{znodes.CONFIG_CHANGES}/config_change_0000000001", znodes.encode_config_change("t"))
    node.turn()
    assert node.view.topics["t"].configs == {"cleanup.policy": "compact"}
    assert node.restarted().view.topics["t"].configs == {"cleanup.policy": "compact"}


def test_a_topic_whose_overrides_nobody_knows_is_not_served_by_the_defaults(new_node, ensemble, caplog):
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((0,),))))
    ensemble.put(znodes.topic_config_path("t"), b"{")
    node = new_node()
    assert node.view.topics == {}
    assert "topic not served, its files are kept reason=/config/topics/t" in caplog.text


def test_a_broker_whose_node_can_not_be_read_is_alive(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.broker_path(7), znodes.encode_broker("far", 1, None, 0))
    node.turn()
    before = node.view.brokers[7]
    ensemble.put(znodes.broker_path(7), b"[]")
    node.react(znodes.BROKER_IDS)
    assert node.view.brokers[7] == before
    node = node.restarted()
    assert node.view.brokers[7] == before
    ensemble.remove(znodes.broker_path(7))
    node.turn()
    assert 7 not in node.view.brokers


def test_a_rack_reaches_the_view(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.broker_path(7), znodes.encode_broker("far", 1, "r7", 0))
    node.turn()
    assert node.view.brokers[7].rack == "r7"
    assert json.loads(ensemble.data(znodes.broker_path(7)))["rack"] == "r7"


def test_an_override_that_nobody_can_read_is_as_it_was_known_or_left_out(new_node, ensemble, caplog):
    node = new_node()
    make(node, "t", 1, {"retention.ms": "5"})
    path = znodes.topic_config_path("t")
    ensemble.put(
        path, znodes.encode_config({"retention.ms": "soon", "segment.ms": "7", "their.key": "x", "flush.ms": "y"})
    )
    ensemble.put(f"{znodes.CONFIG_CHANGES}/config_change_0000000001", znodes.encode_config_change("t"))
    node.turn()
    assert node.view.topics["t"].configs == {"retention.ms": "5", "segment.ms": "7", "their.key": "x"}
    assert "override kept topic=t reason=invalid value 'soon'" in caplog.text
    assert "override ignored topic=t reason=invalid value 'y'" in caplog.text
    assert node.restarted().view.topics["t"].configs == {"retention.ms": "5", "segment.ms": "7", "their.key": "x"}
    assert json.loads(ensemble.data(path))["config"]["retention.ms"] == "soon"


@pytest.mark.parametrize("policy", ["compact", "compact,delete", "delete", None])
@pytest.mark.parametrize("key", ["retention.ms", "retention.bytes", "cleanup.policy"])
def test_nothing_is_deleted_while_an_override_that_says_what_is_was_never_read(new_node, ensemble, caplog, key, policy):
    path = znodes.topic_config_path("t")
    policies = {"cleanup.policy": policy} if policy else {}
    ensemble.put(path, znodes.encode_config({"retention.ms": "5", "retention.bytes": "5", **policies, key: "soon"}))
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((0,),))))
    node = new_node()
    node.turn()
    policies = {"cleanup.policy": "delete"} if key == "cleanup.policy" else policies
    assert node.view.topics["t"].configs == {**policies, "retention.bytes": "-1", "retention.ms": "-1"}
    assert f"retention is off for the topic, an override can't be read topic=t key={key}" in caplog.text
    ensemble.put(path, znodes.encode_config({"retention.ms": "7"}))
    ensemble.put(f"{znodes.CONFIG_CHANGES}/config_change_0000000001", znodes.encode_config_change("t"))
    node.turn()
    assert node.view.topics["t"].configs == {"retention.ms": "7"}


def test_what_did_not_change_is_not_made_again_for_a_view(new_node, monkeypatch):
    node = new_node()
    for name in ("a", "b"):
        make(node, name, 3)
    made = []
    partition_view = ViewPublisher._partition_view
    monkeypatch.setattr(
        ViewPublisher,
        "_partition_view",
        lambda self, topic, index: (made.append((topic.name, index)), partition_view(self, topic, index))[1],
    )
    make(node, "c")
    assert made == [("c", 0)]
    a, b = node.known.topics["a"], node.known.topics["b"]
    node.known.set_states(a, {1: a.states[1]._replace(leader_epoch=1)})
    assert node.agent.publish()
    assert made == [("c", 0), ("a", 1)]
    node.known.set_configs(b, {"retention.ms": "7"})
    assert node.agent.publish()
    assert len(made) == 5, "b is made anew, all of it"
    assert node.view.topics["b"].configs == {"retention.ms": "7"}
    assert [row.leader_epoch for row in node.view.topics["a"].partitions] == [0, 1, 0]
    node.known.set_brokers({})
    assert node.agent.publish()
    assert [row.leader for row in node.view.topics["c"].partitions] == [-1]


@pytest.mark.parametrize("place", ["claim", "write", "write again", "note", "announce"])
def test_a_controller_process_killed_while_it_publishes_has_a_successor_that_tells_everybody(
    new_node, ensemble, monkeypatch, place
):
    """Two leaders changed: rows of both may have, or of one, and nobody was told."""
    node = new_node()
    make(node, "t", 4)
    reader = ClusterViewReader(Region.attach(node.seat.wiring.region_name(VIEW), writable=False))
    assert [one.leader_epoch for one in reader.follow()[0].topics["t"].partitions] == [0] * 4
    topic = node.known.topics["t"]
    for index in (1, 3):
        state = topic.states[index]._replace(leader_epoch=7)
        node.known.set_states(topic, {index: state})
        ensemble.put(znodes.state_path("t", index), znodes.encode_state(state))
    owner, name = (ClusterViewWriter, "_announce") if place == "announce" else (ClusterTable, place.split()[0])
    called = []

    def killed(*arguments):
        called.append(arguments)
        if len(called) > place.count("again"):
            raise Killed
        return kept(*arguments)

    kept = getattr(owner, name)
    monkeypatch.setattr(owner, name, killed)
    with pytest.raises(Killed):
        node.publish()
    monkeypatch.undo()
    assert reader.follow()[1] == {}
    seat = Seat(node.seat.wiring, node.seat.process_id)
    successor = Node(seat, node.zk.successor(), node.owner)
    successor.join()
    view, changes = reader.follow()
    assert [one.leader_epoch for one in view.topics["t"].partitions] == [0, 7, 0, 7]
    assert changes == {"t": {1, 3}} or changes == {"t": None}
    assert view == successor.view


def test_a_state_that_was_read_before_a_later_one_was_written_changes_nothing(new_node):
    """Also on the active node: only the begin of a session can find that ZooKeeper was put back."""
    node = new_node()
    make(node, "t", 2)
    topic = node.known.topics["t"]
    before = topic.states[0]
    later = before._replace(leader_epoch=before.leader_epoch + 1, version=before.version + 1)
    node.known.set_states(topic, {0: later})
    assert node.known.is_authority
    node.known.set_states(topic, {0: before})
    assert topic.states[0] == later
    again = Topic("t", topic.topic_id, topic.replicas, {}, [before, before])
    node.known.add(again)
    assert node.known.topics["t"].states[0] == later
