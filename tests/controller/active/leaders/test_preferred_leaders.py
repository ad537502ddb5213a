"""Elections that are asked for, and those of the balance."""

import pytest

from headrace.controller.active.leaders import preferred_leaders
from headrace.controller.active.leaders.preferred_leaders import BALANCE_FIRST_MS, Election
from headrace.controller.admin import a43_elect_leaders
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.admin_znodes import encode_preferred_election
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.errors import ErrorCode
from headrace.ids import NO_LEADER
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request

Request = messages.ElectLeadersRequest
ROWS = ((1, 2), (2, 1), (1, 2), (2, 3))


def start(ensemble, *brokers):
    for broker in brokers:
        ensemble.put(znodes.broker_path(broker), znodes.encode_broker("h", 9000 + broker, None, 0))


@pytest.fixture
def node(new_node, ensemble):
    start(ensemble, 1, 2, 3)
    node = new_node()
    node.create("t", ROWS)
    node.turn()
    return node


def write(node, ensemble, index, leader, isr):
    """Somebody else was the controller meanwhile."""
    path = znodes.state_path("t", index)
    now = znodes.decode_state(path, ensemble.data(path), ensemble.nodes[path].version)
    ensemble.put(path, znodes.encode_state(now._replace(leader=leader, isr=isr, leader_epoch=now.leader_epoch + 1)))
    node.react(znodes.topic_path("t"))


def leaders(ensemble):
    return [
        znodes.decode_state("", ensemble.data(znodes.state_path("t", index)), 0).leader for index in range(len(ROWS))
    ]


def elect(node, wanted, kind=Election.PREFERRED):
    errors = node.run(node.active.preferred_leaders().elect(wanted, kind))
    return {index: error and error.code for (_name, index), error in errors.items()}


def test_preferred_replicas_lead_where_they_are_in_sync(node, ensemble):
    write(node, ensemble, 0, 2, (2, 1))
    write(node, ensemble, 2, 2, (2,))
    node.channels.told.clear()
    assert elect(node, [("t", 0), ("t", 1), ("t", 2), ("t", 9), ("t", 0)]) == {
        0: None,
        1: ErrorCode.ELECTION_NOT_NEEDED,
        2: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert leaders(ensemble) == [1, 2, 2, 2]
    assert node.channels.of("leaders") == [("t", [0], None, False)]


def test_of_all_partitions_only_those_that_need_it(node, ensemble):
    write(node, ensemble, 0, 2, (2, 1))
    assert elect(node, None) == {0: None}
    assert elect(node, None) == {}


def test_an_unclean_election_takes_any_that_lives(node, ensemble):
    write(node, ensemble, 3, NO_LEADER, (9,))
    assert elect(node, [("t", 3), ("t", 0)]) == {
        3: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        0: ErrorCode.ELECTION_NOT_NEEDED,
    }
    assert elect(node, [("t", 3), ("t", 0)], Election.UNCLEAN) == {3: None, 0: ErrorCode.ELECTION_NOT_NEEDED}
    assert leaders(ensemble)[3] == 2


def test_a_topic_that_is_to_go_has_no_elections(node):
    node.run(node.active.mark("t"))
    node.turn()
    assert elect(node, [("t", 0)]) == {0: ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_a_node_in_zookeeper_asks_for_them_and_goes(node, ensemble):
    for _ in range(2):
        write(node, ensemble, 0, 2, (2, 1))
        ensemble.put(znodes.PREFERRED_ELECTION, encode_preferred_election([("t", 0), ("absent", 3)]))
        node.follow()
        assert znodes.PREFERRED_ELECTION not in ensemble.nodes
        assert leaders(ensemble)[0] == 1
    ensemble.put(znodes.PREFERRED_ELECTION, b"[")
    node.follow()
    assert znodes.PREFERRED_ELECTION not in ensemble.nodes


def test_a_controller_that_is_elected_finds_the_node(node, ensemble):
    write(node, ensemble, 0, 2, (2, 1))
    node.zk.is_connected = False
    ensemble.put(znodes.PREFERRED_ELECTION, encode_preferred_election([("t", 0)]))
    successor = node.restarted()
    successor.follow()
    assert leaders(ensemble)[0] == 1
    assert znodes.PREFERRED_ELECTION not in ensemble.nodes


@pytest.mark.parametrize(("percentage", "moved"), [("40", True), ("50", False)])
def test_leaders_are_balanced_where_a_broker_lacks_more_than_the_setting(new_node, ensemble, percentage, moved):
    """Of the two that broker 1 should lead another one leads one: a half."""
    start(ensemble, 1, 2, 3)
    node = new_node(
        auto_leader_rebalance_enable="true", leader_imbalance_per_broker_percentage=percentage, join=False
    )  # fmt: skip
    node.run(node.joining())
    for _ in range(100):
        node.tasks.run(1)
    node.run(node.active.create("t", ROWS, {}))
    path = znodes.state_path("t", 0)
    now = znodes.decode_state(path, ensemble.data(path), 0)
    ensemble.put(path, znodes.encode_state(now._replace(leader=2)))
    node.agent.note([znodes.topic_path("t")])
    node.now_ms += BALANCE_FIRST_MS - 1000
    for _ in range(20):
        node.agent.follow()
        node.tasks.run(1)
    assert leaders(ensemble)[0] == 2
    node.now_ms += 1000
    for _ in range(20):
        node.tasks.run(1)
    assert leaders(ensemble)[0] == (1 if moved else 2)
    for task in node.tasks._open:
        task._coroutine.close()


@pytest.mark.parametrize("version", range(3))
def test_every_version_is_answered(node, ensemble, version):
    write(node, ensemble, 0, 2, (2, 1))

    def ask(**fields):
        body = encode_request(ApiKey.ELECT_LEADERS, version, Request(timeout_ms=1000, **fields))
        waiting = node.handle(a43_elect_leaders.handle, version, memoryview(bytes(body)))
        answer = decode_response(ApiKey.ELECT_LEADERS, version, memoryview(waiting.poll(0)))
        rows = {
            (topic.topic, row.partition_id): row.error_code
            for topic in answer.replica_election_results
            for row in topic.partition_result
        }
        return answer.error_code, rows

    asked = [Request.TopicPartitions("t", [0, 1]), Request.TopicPartitions("absent", [0])]
    assert ask(topic_partitions=asked) == (
        0,
        {("t", 0): 0, ("t", 1): ErrorCode.ELECTION_NOT_NEEDED, ("absent", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    )
    assert ask(topic_partitions=None) == (0, {})
    if version:
        refused = (
            ErrorCode.INVALID_REQUEST,
            {("t", 0): ErrorCode.INVALID_REQUEST, ("t", 1): ErrorCode.INVALID_REQUEST},
        )
        assert ask(topic_partitions=asked[:1], election_type=7) == refused
    ensemble.remove(znodes.CONTROLLER)
    ensemble.put(znodes.CONTROLLER, znodes.encode_controller(1, 0))
    node.follow()
    code, rows = ask(topic_partitions=asked)
    assert set(rows.values()) == {ErrorCode.NOT_CONTROLLER}
    assert code == (ErrorCode.NOT_CONTROLLER if version else 0)


@pytest.mark.parametrize("kind", Election)
def test_who_asks_for_a_leader_of_a_disputed_partition_reads_why(node, ensemble, kind):
    held = HeldReplica("", end_offset=9, end_epoch=9, parted_at=3, parted_from=1, parted_in=3)
    ensemble.put(held_znodes.held_path(2, "t"), held_znodes.encode_held({0: held}))
    write(node, ensemble, 0, NO_LEADER, (2, 1))
    errors = node.run(node.active.preferred_leaders().elect([("t", 0)], kind))
    assert "see headrace cluster describe --held" in str(errors["t", 0])
    ensemble.remove(held_znodes.held_path(2, "t"))
    assert node.run(node.active.preferred_leaders().elect([("t", 0)], kind)) == {("t", 0): None}


def test_a_balance_that_fails_is_tried_again_and_ends_no_process(new_node, monkeypatch, caplog):
    """For whatever reason: the process died 5 s after each start, and elections with it."""

    def fail(*_args):
        raise IndexError("tuple index out of range")

    node = new_node()
    node.create("t", ((0,),))
    monkeypatch.setattr(preferred_leaders, "count_leaders", fail)
    node.active.term.start(node.active.preferred_leaders()._balance_for_ever())
    for _ in range(3):
        node.tasks.run(1_000)
        node.now_ms += node.active.term.settings["leader.imbalance.check.interval.seconds"] * 1_000
    assert caplog.text.count("leaders not balanced reason=IndexError: tuple index out of range") == 2
