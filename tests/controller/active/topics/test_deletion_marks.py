"""A mark is about a topic that is older than it: what ZooKeeper has of both is read before anything goes."""

import pytest

from headrace.controller.active.topics import deletions
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.znodes import TopicAssignment

MARK = znodes.delete_topic_path("t")
TOPIC = znodes.topic_path("t")
CONFIG = znodes.topic_config_path("t")
NEW = "f" * 32


def make(node):
    topic_id = node.create("t", ((0,),))
    node.publish()
    node.owner.follow()
    return topic_id


def make_another(ensemble):
    """What a broker of Kafka does for a producer (auto.create.topics.enable): straight into ZooKeeper."""
    ensemble.put(CONFIG, znodes.encode_config({"retention.ms": "77"}))
    ensemble.put(TOPIC, znodes.encode_topic(TopicAssignment(NEW, ((0,),))))


def delete(node):
    node.run(node.active.mark("t"))
    node.active.begin_deletion("t", "")
    node.publish()
    node.turn()


def is_new_there(node, ensemble):
    return (
        MARK not in ensemble.nodes
        and znodes.decode_topic("t", ensemble.data(TOPIC)).topic_id == NEW
        and b"77" in ensemble.data(CONFIG)
        and node.known.topics["t"].topic_id == NEW
    )


def test_a_removal_without_a_reply_removes_no_topic_that_was_made_since(new_node, ensemble):
    node = new_node()
    make(node)
    lost = []

    def after_write(_ordinal):
        if not lost and TOPIC not in ensemble.nodes:
            lost.append(1)
            make_another(ensemble)
            raise ZkLost("no reply within 10000 ms")

    ensemble.after_write = after_write
    delete(node)
    assert lost
    assert is_new_there(node, ensemble)
    delete(node)
    assert not {MARK, TOPIC, CONFIG} & ensemble.nodes.keys(), "it can be deleted like any other"


def test_one_that_was_made_and_marked_since_is_deleted_as_itself(new_node, ensemble):
    """The reply of the removal is lost. The mark is another one, of another topic, whose replicas were not deleted yet."""
    node = new_node()
    make(node)
    lost = []

    def after_write(_ordinal):
        if not lost and TOPIC not in ensemble.nodes:
            lost.append(1)
            make_another(ensemble)
            ensemble.put(MARK)
            node.owner.is_deaf = True
            raise ZkLost("no reply within 10000 ms")

    ensemble.after_write = after_write
    delete(node)
    assert lost
    assert {MARK, TOPIC} <= ensemble.nodes.keys()
    assert node.active.is_deleting("t")
    node.owner.is_deaf = False
    node.turn()
    assert not {MARK, TOPIC, CONFIG} & ensemble.nodes.keys()


def test_a_mark_without_a_topic_removes_none_that_is_made_after_it(new_node, ensemble):
    """A worker has not followed the view, and the deletion waits for it."""
    node = new_node()
    node.owner.is_deaf = True
    ensemble.put(MARK)
    node.follow()
    assert node.active.is_deleting("t")
    make_another(ensemble)
    node.owner.is_deaf = False
    node.turn()
    assert is_new_there(node, ensemble)


def test_a_mark_without_a_topic_leaves_overrides_of_one_that_is_being_made(new_node, ensemble):
    """A broker of Kafka writes the overrides first."""
    node = new_node()
    node.owner.is_deaf = True
    ensemble.put(MARK)
    node.follow()
    ensemble.put(CONFIG, znodes.encode_config({"retention.ms": "77"}))
    node.owner.is_deaf = False
    node.turn()
    assert MARK not in ensemble.nodes
    assert CONFIG in ensemble.nodes


def test_a_mark_that_is_older_than_a_known_topic_does_not_delete_it(new_node, ensemble):
    """A controller of Kafka died before it removed the mark, its last step; a producer had the topic made again."""
    node = new_node(join=False)
    for path in znodes.PERSISTENT_PATHS:
        ensemble.put(path)
    ensemble.put(MARK)
    make_another(ensemble)
    node.join()
    node.turn()
    assert not node.active.is_deleting("t")
    assert is_new_there(node, ensemble)


def test_a_topic_is_deleted_on_request_though_an_older_mark_is_there(new_node, ensemble):
    node = new_node()
    ensemble.put(MARK)
    make_another(ensemble)
    node.run(node.active.mark("t"))
    assert ensemble.nodes[MARK].created_zxid > ensemble.nodes[TOPIC].created_zxid
    node.turn()
    assert not {MARK, TOPIC, CONFIG} & ensemble.nodes.keys()


@pytest.mark.parametrize("step", [0, 1])
def test_a_mark_that_is_taken_back_ends_a_deletion(new_node, ensemble, monkeypatch, step):
    """Between two transactions of one removal as well."""
    monkeypatch.setattr(deletions, "ZNODES_PER_COMMIT", 1)
    node = new_node()
    make(node)
    taken = []

    def on_write(_ordinal):
        if MARK in ensemble.nodes and "t" in node.active._deletions and node.active._deletions._pending["t"].is_removed:
            taken.append(1)
            if len(taken) == step + 1:
                ensemble.remove(MARK)

    ensemble.on_write = on_write
    delete(node)
    assert len(taken) == step + 1
    assert TOPIC in ensemble.nodes
    assert not node.active.is_deleting("t")


def test_marks_that_can_not_be_read_are_read_later(new_node, ensemble):
    node = new_node()
    make(node)
    failures = []

    def on_read():
        if len(failures) < 3 and node.active._deletions._is_reading:
            failures.append(1)
            raise ZkLost("no reply within 10000 ms")

    node.zk.on_read = on_read
    ensemble.put(MARK)
    node.turn()
    assert failures
    assert not {MARK, TOPIC, CONFIG} & ensemble.nodes.keys()
