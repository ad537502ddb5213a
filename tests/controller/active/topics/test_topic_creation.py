"""What may be asked of a new topic, and what is written."""

import random

import pytest

from headrace.controller.active.topics import reconciliation
from headrace.controller.active.topics.topic_creation import check_assignment, place
from headrace.controller.agent.topic_configs import check_configs
from headrace.controller.cluster.topic_names import TopicNames
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode, KafkaError


def check_name(name, existing):
    names = TopicNames()
    for other in existing:
        names.add(other)
    names.check(name)


def code_of(call, *arguments):
    with pytest.raises(KafkaError) as failure:
        call(*arguments)
    return failure.value.code


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ä", "a\n", "t" * 250, "../../etc"])
def test_illegal_names(name):
    assert code_of(check_name, name, []) is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["a", "t" * 249, "A.b_c-9", "...", "-"])
def test_legal_names(name):
    check_name(name, ["other"])


def test_a_name_that_is_there_already():
    assert code_of(check_name, "t", ["t"]) is ErrorCode.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize(("name", "other"), [("a.b", "a_b"), ("a_b.c", "a.b_c")])
def test_names_that_metrics_could_not_tell_apart(name, other):
    assert code_of(check_name, name, [other]) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code_of(check_name, other, [name]) is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_overrides_are_checked_and_an_error_names_key_and_value():
    assert check_configs({"retention.ms": "-1", "cleanup.policy": "compact,delete"}) == {
        "retention.ms": "-1",
        "cleanup.policy": "compact,delete",
    }
    for bad in ({"retention.ms": "soon"}, {"no.such.key": "1"}, {"retention.ms": None}):
        with pytest.raises(KafkaError, match=next(iter(bad))) as failure:
            check_configs(bad)
        assert failure.value.code is ErrorCode.INVALID_CONFIG


def test_the_nodes_defaults_stand_in_for_minus_one(new_node):
    node = new_node(num_partitions="3")
    assert place(node.known.racks(), node.agent.settings, -1, -1, random.Random(1)) == ((0,), (0,), (0,))


@pytest.mark.parametrize("partitions", [0, -2, 100_001])
def test_a_count_of_partitions_that_can_not_be(new_node, partitions):
    node = new_node()
    arguments = (node.known.live(), node.agent.settings, partitions, 1, random.Random(1))
    assert code_of(place, *arguments) is ErrorCode.INVALID_PARTITIONS


def test_a_replication_factor_above_the_live_brokers_names_them(new_node):
    node = new_node()
    with pytest.raises(KafkaError, match=r"alive: \[0\]") as failure:
        place(node.known.racks(), node.agent.settings, 1, 3, random.Random(1))
    assert failure.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
    arguments = (node.known.live(), node.agent.settings, 1, 0, random.Random(1))
    assert code_of(place, *arguments) is ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(
    "assignment", [{1: [0]}, {0: [0], 2: [0]}, {0: []}, {0: [0, 0]}, {0: [0, 1], 1: [0]}, {0: [9]}]
)
def test_assignments_that_can_not_be(assignment):
    assert code_of(check_assignment, assignment, [0, 1]) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_an_assignment_is_taken_as_it_is():
    assert check_assignment({1: [1, 0], 0: [0, 1]}, [0, 1]) == ((0, 1), (1, 0))


def create(node, name, replicas=((0,),), configs=None):
    return node.create(name, replicas, configs or {})


def test_everything_of_a_topic_is_written_in_one_transaction(new_node, ensemble):
    node = new_node()
    writes = ensemble.writes
    topic_id = create(node, "t", ((0,), (0,)), {"retention.ms": "5"})
    assert ensemble.writes == writes + 1
    assert znodes.decode_topic("t", ensemble.data("/brokers/topics/t"))[:2] == (topic_id, ((0,), (0,)))
    assert znodes.decode_config("", ensemble.data("/config/topics/t")) == {"retention.ms": "5"}
    for index in range(2):
        state = znodes.decode_state("", ensemble.data(znodes.state_path("t", index)), 0)
        assert state == PartitionState(0, 0, (0,), node.agent.election.epoch)


def test_more_partitions_than_a_transaction_takes(new_node, ensemble, monkeypatch):
    monkeypatch.setattr(reconciliation, "PARTITIONS_PER_COMMIT", 4)
    node = new_node()
    writes = ensemble.writes
    create(node, "t", ((0,),) * 9)
    assert ensemble.writes == writes + 3
    assert all(znodes.state_path("t", index) in ensemble.nodes for index in range(9))


def test_overrides_of_a_deleted_topic_of_that_name_do_not_live_on(new_node, ensemble):
    node = new_node()
    ensemble.put("/config/topics/t", znodes.encode_config({"retention.ms": "1"}))
    create(node, "t")
    assert znodes.decode_config("", ensemble.data("/config/topics/t")) == {}


def test_a_topic_that_another_made_meanwhile_keeps_its_overrides(new_node, ensemble):
    node = new_node()
    ensemble.put("/brokers/topics/t", b'{"version":1,"partitions":{"0":[0]}}')
    ensemble.put("/config/topics/t", znodes.encode_config({"retention.ms": "1"}))
    assert code_of(create, node, "t") is ErrorCode.TOPIC_ALREADY_EXISTS
    assert znodes.decode_config("", ensemble.data("/config/topics/t")) == {"retention.ms": "1"}


def test_a_zombie_creates_nothing(new_node, ensemble):
    node = new_node()
    ensemble.put(znodes.CONTROLLER_EPOCH, b"9")
    with pytest.raises(ControllerMoved):
        create(node, "t")
    assert not [path for path in ensemble.nodes if path.endswith("/t")]
    assert "t" not in node.known.topics


def test_more_replicas_than_this_node_has_rows_for(new_node):
    node = new_node(headrace_partitions_max="16")
    with pytest.raises(KafkaError, match=r"partitions\.max=16") as failure:
        create(node, "t", ((0,),) * 17)
    assert failure.value.code is ErrorCode.POLICY_VIOLATION
    create(node, "t", ((0,),) * 16)


@pytest.mark.parametrize(
    ("partitions", "bound"), [(0, "larger than 0, got 0"), (100_001, "at most 100000, got 100001")]
)
def test_a_number_of_partitions_that_can_not_be_is_refused_with_the_bound_it_breaks(new_node, partitions, bound):
    node = new_node()
    with pytest.raises(KafkaError, match=f"must be {bound}"):
        place(node.known.racks(), node.agent.settings, partitions, 1, random.Random(1))


@pytest.mark.parametrize(("version", "has_id"), [("2.6", False), ("2.7", False), ("2.8", True), ("3.9", True)])
def test_topics_have_ids_from_inter_broker_protocol_2_8_on(new_node, ensemble, version, has_id):
    node = new_node(inter_broker_protocol_version=version)
    topic_id = create(node, "t", ((0,),))
    assert bool(topic_id) is has_id
    assert (b"topic_id" in ensemble.data(znodes.topic_path("t"))) is has_id
    node.turn()
    assert node.view.topics["t"].partitions[0].leader == 0
