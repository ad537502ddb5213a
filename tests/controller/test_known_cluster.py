import json

from headrace.controller import znodes
from headrace.controller.cluster import Cluster
from headrace.controller.topic_creation import create
from headrace.controller.znodes import TopicAssignment


def make(node, name, partitions=1, configs=None):
    create(node.zk, node.office.election, node.cluster, name, ((node.cluster.node_id,),) * partitions, configs or {})
    node.office.publish()


def test_the_view_has_what_zookeeper_has(new_node):
    node = new_node()
    make(node, "t", 2, {"retention.ms": "5"})
    topic = node.view.topics["t"]
    assert topic.configs == {"retention.ms": "5"}
    assert [(row.leader, row.isr, row.replicas, row.offline) for row in topic.partitions] == [(0, (0,), (0,), ())] * 2
    assert [row.slot for row in topic.partitions] == [0, 1]
    assert len({row.key for row in topic.partitions} - {0}) == 2
    assert node.view.cluster_id == node.cluster.cluster_id
    assert node.view.brokers[0].port == 9092
    assert node.view.controller_id == 0


def test_a_view_that_says_nothing_new_is_not_published(new_node):
    node = new_node()
    make(node, "t")
    version = node.view.version
    assert not node.cluster.publish()
    node.office.react(znodes.TOPICS)
    assert node.view.version == version


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


def test_a_topic_deleted_while_the_controller_process_was_away_is_doomed_and_its_slot_comes_back(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.turn()
    assert node.owner.directories
    ensemble.remove(znodes.topic_path("t"))
    successor = node.restarted()
    assert [replica.topic for replica in successor.view.doomed] == ["t"]
    successor.turn()
    assert successor.view.doomed == ()
    assert not node.owner.directories
    make(successor, "u")
    assert successor.view.topics["u"].partitions[0].slot == 0


def test_a_topic_recreated_while_we_were_away_is_hosted_only_after_the_old_files_are_gone(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.turn()
    old_key = node.view.topics["t"].partitions[0].key
    ensemble.remove(znodes.topic_path("t"))
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), ((0,),))))
    successor = node.restarted()
    assert [replica.key for replica in successor.view.doomed] == [old_key]
    assert successor.view.topics["t"].partitions[0].slot == -1
    successor.turn()
    row = successor.view.topics["t"].partitions[0]
    assert (row.slot, successor.view.doomed) == (0, ())
    assert node.owner.directories == {"t-0": row.key}
    assert row.key != old_key


def test_a_rack_reaches_the_view(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.broker_path(7), znodes.encode_broker("far", 1, "r7", 0))
    node.turn()
    assert node.view.brokers[7].rack == "r7"
    assert json.loads(ensemble.data(znodes.broker_path(7)))["rack"] == "r7"


def test_an_override_that_nobody_can_read_is_left_out_and_stays_where_it_is(new_node, ensemble, caplog):
    node = new_node()
    make(node, "t", 1, {"retention.ms": "5"})
    path = znodes.topic_config_path("t")
    ensemble.put(path, znodes.encode_config({"retention.ms": "soon", "segment.ms": "7", "their.key": "x"}))
    ensemble.put(f"{znodes.CONFIG_CHANGES}/config_change_0000000001", znodes.encode_config_change("t"))
    node.turn()
    assert node.view.topics["t"].configs == {"segment.ms": "7", "their.key": "x"}
    assert "override ignored topic=t" in caplog.text
    assert node.restarted().view.topics["t"].configs == {"segment.ms": "7", "their.key": "x"}
    assert json.loads(ensemble.data(path))["config"]["retention.ms"] == "soon"


def test_what_did_not_change_is_not_made_again_for_a_view(new_node, monkeypatch):
    node = new_node()
    for name in ("a", "b"):
        make(node, name, 3)
    made = []
    topic_view = Cluster._topic_view
    monkeypatch.setattr(
        Cluster,
        "_topic_view",
        lambda self, topic, doomed: (made.append(topic.name), topic_view(self, topic, doomed))[1],
    )
    make(node, "c")
    assert made == ["c"]
    node.cluster.topics["b"].configs = {"retention.ms": "7"}
    state = node.cluster.topics["a"].states[1]
    node.cluster.topics["a"].states[1] = state._replace(leader_epoch=state.leader_epoch + 1)
    assert node.cluster.publish()
    assert made == ["c", "a", "b"]
    assert node.view.topics["b"].configs == {"retention.ms": "7"}
    assert [row.leader_epoch for row in node.view.topics["a"].partitions] == [0, 1, 0]
    node.cluster.brokers.pop(0)
    assert node.cluster.publish()
    assert [row.leader for row in node.view.topics["c"].partitions] == [-1]
