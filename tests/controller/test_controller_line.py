"""A node's way to the active controller: over a socket or by a call, as long as the same node is elected."""

import pytest

from headrace.controller.agent.isr_changes import IsrChange
from headrace.controller.controller_line import ControllerLine
from headrace.controller.own_line import OwnLine
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.znodes import PartitionState, Registration
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.protocol.messages import ZERO_UUID
from headrace.runtime.tasks import Tasks
from tests.runtime.fake_node import Desk
from tests.runtime.runtime_fakes import CycleSeat

ID = "0" * 31 + "1"
KEY = ApiKey.ALTER_PARTITION
Response = messages.AlterPartitionResponse


class Known:
    """What the line asks of `KnownCluster`."""

    def __init__(self):
        self.node_id = 0
        self.controller_id = -1
        self.broker_epoch = 55
        self.brokers = {}


@pytest.fixture
def desk():
    desk = Desk(CycleSeat())
    yield desk
    desk.close()


@pytest.fixture
def rig(desk):
    return Rig(desk)


class Rig:
    def __init__(self, desk, version=3):
        self.desk = desk
        self.known = Known()
        self.own = []  # (version, body, reply) of what was asked here
        self.tasks = Tasks(lambda: 0, ZkLost)
        own = OwnLine(lambda _key, asked, body, reply: self.own.append((asked, body, reply)))
        self.line = ControllerLine(self.known, desk.peers, own, version)

    def elect(self, node_id, node=None):
        self.known.controller_id = node_id
        port = 1 if node is None else node.port
        self.known.brokers[node_id] = Registration(node_id, "127.0.0.1", port, None, 5)

    def alter(self, *changes):
        task = self.tasks.start(self.line.alter(changes), lambda _task: None)
        self.tasks.run(100)
        return task

    def finish(self, task):
        def is_done():
            self.tasks.run(100)
            return task.is_done

        self.desk.turn_until(is_done)
        return task.result()


def change(index=0, topic_id=ID):
    return IsrChange("t", topic_id, index, PartitionState(0, 4, (0, 7), 3, 8), (55, 66))


def row(index=0, error=0, isr=(0, 7)):
    return Response.PartitionData(index, error, 0, 4, list(isr), 0, 9)


def body_of(version, rows, topic_id=ID, error=0):
    topics = [Response.TopicData("t", bytes.fromhex(topic_id) or ZERO_UUID, rows)] if rows else []
    return bytes(encode_response(KEY, version, Response(error_code=error, topics=topics)))


def requests_of(desk, node, count=2):
    desk.turn_until(lambda: len(node.requests) >= count)
    return node.requests


@pytest.mark.parametrize(("served", "spoken"), [(3, 3), (2, 2), (1, 1), (0, 0), (9, 3)])
def test_another_node_is_asked_in_the_highest_version_that_both_serve(rig, desk, served, spoken):
    node = desk.node()
    rig.elect(7, node)
    task = rig.alter(change(0), change(1))
    requests_of(desk, node, 1)
    node.session.answer_versions(ALTER_PARTITION=(0, served))
    header, body = requests_of(desk, node)[1]
    assert header.api_version == spoken
    request = decode_request(KEY, spoken, memoryview(body))
    assert (request.broker_id, request.broker_epoch) == (0, 55)
    [topic] = request.topics
    assert topic.topic_id.hex() == ID if spoken >= 2 else topic.topic_name == "t"
    if spoken >= 3:
        assert [tuple(one) for one in topic.partitions[0].new_isr_with_epochs] == [(0, 55), (7, 66)]
    else:
        assert topic.partitions[0].new_isr == [0, 7]
    assert (topic.partitions[1].leader_epoch, topic.partitions[1].partition_epoch) == (4, 8)
    node.session.answer(1, b"\0" + body_of(spoken, [row(1, 107), row(0)]))
    outcomes = rig.finish(task)
    assert outcomes == [PartitionState(0, 4, (0, 7), 3, 9), ErrorCode.INELIGIBLE_REPLICA]


def test_a_topic_without_an_id_goes_by_its_name(rig, desk):
    node = desk.node()
    rig.elect(7, node)
    task = rig.alter(change(0, topic_id=""))
    requests_of(desk, node, 1)
    node.session.answer_versions(ALTER_PARTITION=(0, 3))
    assert requests_of(desk, node)[1][0].api_version == 1
    node.session.answer(1, b"\0" + body_of(1, [row(0)], topic_id=""))
    assert rig.finish(task) == [PartitionState(0, 4, (0, 7), 3, 9)]


def test_what_is_said_of_the_whole_request_holds_for_each_change(rig, desk):
    node = desk.node()
    rig.elect(7, node)
    task = rig.alter(change(0), change(1))
    requests_of(desk, node, 1)
    node.session.answer_versions(ALTER_PARTITION=(0, 3))
    requests_of(desk, node)
    node.session.answer(1, b"\0" + body_of(3, [], error=ErrorCode.NOT_CONTROLLER))
    assert rig.finish(task) == [ErrorCode.NOT_CONTROLLER] * 2


def test_a_node_that_does_not_serve_it_is_no_controller_of_ours(rig, desk):
    node = desk.node()
    rig.elect(7, node)
    task = rig.alter(change())
    requests_of(desk, node, 1)
    node.session.answer_versions(HEARTBEAT=(0, 1))
    assert rig.finish(task) == [ErrorCode.UNSUPPORTED_VERSION]


@pytest.mark.parametrize("garbage", [b"", b"\xff" * 40])
def test_an_answer_that_is_none_costs_the_request(rig, desk, garbage):
    node = desk.node()
    rig.elect(7, node)
    task = rig.alter(change())
    requests_of(desk, node, 1)
    node.session.answer_versions(ALTER_PARTITION=(0, 3))
    requests_of(desk, node)
    node.session.answer(1, b"\0" + garbage)
    assert rig.finish(task) == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_where_nobody_is_elected_nobody_is_asked(rig):
    assert rig.alter(change()).result() == [ErrorCode.NOT_CONTROLLER]


def test_another_election_ends_what_was_asked_of_the_last_one(rig, desk):
    first, second = desk.node(), desk.node()
    rig.elect(7, first)
    task = rig.alter(change())
    requests_of(desk, first, 1)
    rig.line.turn()
    assert len(desk.peers) == 1
    rig.elect(3, second)
    rig.line.turn()
    assert rig.finish(task)[0] in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE)
    task = rig.alter(change())
    requests_of(desk, second, 1)
    second.session.answer_versions(ALTER_PARTITION=(0, 3))
    requests_of(desk, second)
    second.session.answer(1, b"\0" + body_of(3, [row(0)]))
    assert rig.finish(task) == [PartitionState(0, 4, (0, 7), 3, 9)]


def test_this_node_is_asked_by_a_call(rig):
    rig.elect(0)
    task = rig.alter(change())
    [(version, body, reply)] = rig.own
    assert decode_request(KEY, version, memoryview(body)).broker_epoch == 55
    reply(body_of(version, [row(0)]))
    rig.tasks.run(100)
    assert task.result() == [PartitionState(0, 4, (0, 7), 3, 9)]
    task = rig.alter(change())
    rig.own[1][2].refuse()
    rig.tasks.run(100)
    assert task.result() == [ErrorCode.NETWORK_EXCEPTION]
