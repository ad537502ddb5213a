"""CreateTopics at the controller: what is checked, what is answered when, and what is refused with the rest made."""

import pytest

from headrace.controller.admin import a19_create_topics
from headrace.controller.cluster.view_room import VIEW_MARGIN_BYTES
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.shm import ring_sizes
from headrace.shm.partition_table import PartitionRow, RowState

Request = messages.CreateTopicsRequest
Topic = Request.CreatableTopic
VERSION = 6


def topic(name, partitions=1, factor=1, configs=(), assignments=()):
    return Topic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[Request.CreatableTopicConfig(name=key, value=value) for key, value in configs],
        assignments=[
            Request.CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in assignments
        ],
    )


def ask(node, *topics, version=VERSION, validate_only=False, timeout_ms=1000):
    request = Request(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)
    body = encode_request(ApiKey.CREATE_TOPICS, version, request)
    return node.handle(a19_create_topics.handle, version, memoryview(bytes(body)))


def answer(waiting, now_ms=0, version=VERSION):
    body = waiting.poll(now_ms)
    assert body is not None
    return {row.name: row for row in decode_response(ApiKey.CREATE_TOPICS, version, memoryview(body)).topics}


def codes(node, *topics, **options):
    waiting = ask(node, *topics, **options)
    node.owner.follow()
    return {name: ErrorCode(row.error_code) for name, row in answer(waiting).items()}


def test_the_answer_comes_once_the_partitions_are_served(new_node):
    node = new_node()
    waiting = ask(node, topic("t", 3))
    assert waiting.poll(0) is None
    node.owner.follow()
    row = answer(waiting)["t"]
    assert (row.error_code, row.num_partitions, row.replication_factor) == (0, 3, 1)


def test_a_row_that_is_loading_of_another_key_or_of_an_older_epoch_is_not_served(new_node):
    node = new_node()
    waiting = ask(node, topic("t"))
    key = node.view.topics["t"].partitions[0].key
    for state, row_key, epoch in (
        (RowState.LOADING, key, 0),
        (RowState.LEADER, key + 1, 0),
        (RowState.LEADER, key, -1),
    ):
        node.seat.partitions.publish(0, PartitionRow(state, row_key, 1, epoch, *(0,) * 15))
        assert waiting.poll(0) is None
    node.seat.partitions.publish(0, PartitionRow(RowState.LEADER, key, 1, 0, *(0,) * 15))
    assert answer(waiting)["t"].error_code == 0


def test_the_answer_at_the_deadline_says_timed_out_and_the_topic_is_there(new_node):
    node = new_node()
    waiting = ask(node, topic("t"), timeout_ms=50)
    assert waiting.poll(49) is None
    assert answer(waiting, 50)["t"].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "t" in node.view.topics


@pytest.mark.parametrize("version", range(7))
def test_every_version_is_answered(new_node, version):
    node = new_node()
    waiting = ask(node, topic("t"), version=version)
    node.owner.follow()
    assert answer(waiting, version=version)["t"].error_code == 0


def test_version_5_tells_the_configuration_and_where_each_value_comes_from(new_node):
    node = new_node(log_retention_bytes="77")
    waiting = ask(node, topic("t", configs=[("segment.ms", "1000")]))
    node.owner.follow()
    rows = {row.name: (row.value, row.config_source) for row in answer(waiting)["t"].configs}
    assert rows["segment.ms"] == ("1000", 1)
    assert rows["retention.bytes"] == ("77", 4)
    assert rows["flush.messages"] == (str(2**63 - 1), 5)


def test_topics_of_a_request_fail_by_themselves(new_node):
    node = new_node()
    assert codes(
        node,
        topic("good"),
        topic(".."),
        topic("zero", 0),
        topic("wide", 1, 2),
        topic("config", configs=[("retention.ms", "soon")]),
        topic("null", configs=[("retention.ms", None)]),
        topic("lags", configs=[("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")]),
        topic("__cluster_metadata"),
        topic("both", 1, 1, assignments=[(0, [0])]),
        topic("gap", -1, -1, assignments=[(1, [0])]),
        topic("manual", -1, -1, assignments=[(0, [0]), (1, [0])]),
    ) == {
        "good": ErrorCode.NONE,
        "..": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "lags": ErrorCode.INVALID_CONFIG,
        "__cluster_metadata": ErrorCode.INVALID_REQUEST,
        "zero": ErrorCode.INVALID_PARTITIONS,
        "wide": ErrorCode.INVALID_REPLICATION_FACTOR,
        "config": ErrorCode.INVALID_CONFIG,
        "null": ErrorCode.INVALID_CONFIG,
        "both": ErrorCode.INVALID_REQUEST,
        "gap": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "manual": ErrorCode.NONE,
    }
    assert sorted(node.view.topics) == ["good", "manual"]


def test_a_name_that_stands_twice_is_refused_and_not_created(new_node):
    node = new_node()
    assert codes(node, topic("t"), topic("u"), topic("t", 2)) == {
        "t": ErrorCode.INVALID_REQUEST,
        "u": ErrorCode.NONE,
    }
    assert list(node.view.topics) == ["u"]


def test_validate_only_creates_nothing(new_node, ensemble):
    node = new_node()
    writes = ensemble.writes
    assert codes(node, topic("t"), topic("..", 1), validate_only=True) == {
        "t": ErrorCode.NONE,
        "..": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    assert ensemble.writes == writes
    assert not node.view.topics


def test_a_topic_that_is_there_or_on_its_way_out_exists_already(new_node):
    node = new_node()
    codes(node, topic("t"))
    assert codes(node, topic("t")) == {"t": ErrorCode.TOPIC_ALREADY_EXISTS}
    node.active.begin_deletion("t", "")
    assert codes(node, topic("t")) == {"t": ErrorCode.TOPIC_ALREADY_EXISTS}


def test_a_follower_says_not_controller(new_node):
    new_node(0)
    assert codes(new_node(1), topic("t")) == {"t": ErrorCode.NOT_CONTROLLER}


def test_a_zombie_says_not_controller(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    assert codes(node, topic("t")) == {"t": ErrorCode.NOT_CONTROLLER}
    assert not node.view.topics


def test_without_zookeeper_the_outcome_is_unknown(new_node):
    node = new_node()
    node.zk.is_connected = False
    assert codes(node, topic("t")) == {"t": ErrorCode.REQUEST_TIMED_OUT}


def test_a_topic_whose_creation_lost_its_reply_is_served_all_the_same(new_node, ensemble):
    node = new_node()

    def lose(_ordinal):
        raise ZkLost("no reply")

    ensemble.after_write = lose
    assert codes(node, topic("t")) == {"t": ErrorCode.REQUEST_TIMED_OUT}
    ensemble.after_write = lambda _ordinal: None
    node.turn()
    assert "t-0" in node.owner.directories
    assert codes(node, topic("t")) == {"t": ErrorCode.TOPIC_ALREADY_EXISTS}


def test_a_topic_deleted_while_its_creation_waits_does_not_wait_for_ever(new_node):
    node = new_node()
    waiting = ask(node, topic("t"))
    node.run(node.active.mark("t"))
    node.active.begin_deletion("t", "")
    assert answer(waiting)["t"].error_code == 0


@pytest.mark.parametrize("version", [4, 6])
def test_a_refusal_that_repeats_much_of_the_request_is_cut(new_node, version):
    node = new_node()
    long = topic("n" * 32_767)
    brokers = topic("t", -1, -1, assignments=[(0, range(20_000))])
    rows = answer(ask(node, long, long, brokers, version=version), version=version)
    assert ErrorCode(rows["n" * 32_767].error_code) is ErrorCode.INVALID_REQUEST
    assert ErrorCode(rows["t"].error_code) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert all(len(row.error_message) == 4_000 for row in rows.values())


def test_a_flood_of_topics_is_looked_at_once_each_and_told_without_their_settings(new_node):
    node = new_node()
    node.create("a.0", ((0,),), {})
    flood = [topic(f"a_{index}") for index in range(5_000)]
    rows = answer(ask(node, *flood, validate_only=True))
    assert rows.pop("a_0").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION  # a.0 is there
    assert {row.error_code for row in rows.values()} == {0}
    assert (
        sum(row.num_partitions == 1 and bool(row.configs) for row in rows.values())
        == a19_create_topics.CONFIGS_RETURNED_MAX
    )
    assert {row.topic_config_error_code for row in rows.values()} == {0, ErrorCode.POLICY_VIOLATION}


def test_names_of_one_request_collide_too(new_node):
    assert codes(new_node(), topic("a.b"), topic("a_b")) == {
        "a.b": ErrorCode.NONE,
        "a_b": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }


def test_the_partitions_of_a_request_are_bounded_in_all(new_node):
    rows = answer(ask(new_node(), *(topic(f"t{index}", 60_000) for index in range(3)), validate_only=True))
    assert [row.error_code for row in rows.values()] == [0, ErrorCode.POLICY_VIOLATION, ErrorCode.POLICY_VIOLATION]


def test_a_request_that_takes_long_leaves_the_rest_to_another(new_node, monkeypatch):
    node = new_node()
    now_ms = iter(range(0, 1_000_000, 4_000))
    monkeypatch.setattr(node.agent, "monotonic_ms", lambda: next(now_ms))
    assert list(codes(node, topic("a"), topic("b"), topic("c"), topic("d"), timeout_ms=1 << 30).values()) == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REQUEST_TIMED_OUT,
    ]


def test_overrides_are_no_place_to_store_things(new_node):
    bulky = topic("t", configs=[("retention.ms", "1" + " " * 1_000)])
    assert codes(new_node(), bulky) == {"t": ErrorCode.INVALID_CONFIG}


def test_topics_for_which_the_view_has_no_room_are_not_made(new_node, monkeypatch):
    """They would be in ZooKeeper, and no node could publish its view any more."""
    monkeypatch.setattr(ring_sizes, "CLUSTER_VIEW_BYTES_MIN", VIEW_MARGIN_BYTES + (1 << 16))
    node = new_node(headrace_partitions_max="1024", headrace_cluster_partitions_max="1024")
    made = 0
    for number in range(400):
        name = f"{number:03d}".ljust(249, "n")
        found = one(node, topic(name))
        if found.error_code:
            break
        made += 1
    assert found.error_code == ErrorCode.POLICY_VIOLATION
    assert "headrace.cluster.partitions.max=1024" in found.error_message
    assert made > 100
    assert len(node.view.topics) == made
    for name in list(node.view.topics):
        node.run(node.active.mark(name))
        node.active.begin_deletion(name, "")
    node.publish()
    assert not node.view.topics  # as doomed replicas they have room too
    assert len(node.view.doomed) == made


def test_partitions_for_which_the_cluster_table_has_no_row_are_not_made(new_node):
    """Though other brokers hold them."""
    node = new_node(headrace_cluster_partitions_max="64")
    new_node(1)
    node.turn()
    for name, code in (("t", 0), ("u", 0), ("v", 0), ("w", ErrorCode.POLICY_VIOLATION)):
        found = one(node, topic(name, -1, -1, assignments=[(index, [1]) for index in range(20)]))
        assert found.error_code == code
    assert "no room for 20 more partitions of the cluster in its view: headrace.cluster.partitions.max=64" in (
        found.error_message
    )
    assert one(node, topic("w", -1, -1, assignments=[(index, [1]) for index in range(4)])).error_code == 0
    assert node.seat.view_writer.room_rows() == 0
    assert [partition.leader for partition in node.view.topics["w"].partitions] == [1] * 4


def one(node, asked):
    """The answer for one topic."""
    waiting = ask(node, asked)
    node.owner.follow()
    return answer(waiting)[asked.name]
