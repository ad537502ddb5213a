"""Where other brokers' logs end, asked over sockets: in batches, and who does not answer is not known."""

import pytest

from headrace.controller import log_ends
from headrace.controller.agent.hold_decision import EPOCH_UNKNOWN, LogEnd
from headrace.controller.log_ends import LogEnds
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.znodes import Registration
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.runtime.tasks import Tasks
from tests.runtime.fake_node import Desk
from tests.runtime.runtime_fakes import CycleSeat

VERSION = 5
Response = messages.ListOffsetsResponse


class Known:
    def __init__(self):
        self.node_id = 0
        self.brokers = {}


class Rig:
    def __init__(self, desk):
        self.desk = desk
        self.known = Known()
        self.tasks = Tasks(lambda: 0, ZkLost)
        self.ends = LogEnds(self.known, desk.peers, self.tasks, VERSION)

    def broker(self, number):
        node = self.desk.node()
        self.known.brokers[number] = Registration(number, "127.0.0.1", node.port, None, 5)
        return node

    def ask(self, wanted):
        return self.tasks.start(self.ends.ask(wanted), lambda _task: None)

    def until(self, is_so):
        def turn():
            self.tasks.run(100)
            return is_so()

        self.desk.turn_until(turn)


@pytest.fixture
def rig():
    desk = Desk(CycleSeat())
    yield Rig(desk)
    desk.close()


def asked_of(node, index=0):
    header, body = node.requests[index]
    assert (header.api_key, header.api_version) == (ApiKey.LIST_OFFSETS, VERSION)
    request = decode_request(ApiKey.LIST_OFFSETS, VERSION, memoryview(body))
    assert request.replica_id == -2
    assert all(row.timestamp == -1 for topic in request.topics for row in topic.partitions)
    return [(topic.name, row.partition_index) for topic in request.topics for row in topic.partitions]


def answer(node, *rows, index=0, time_ms=-2):
    """rows   topic, partition, error, offset, epoch"""
    kind = Response.ListOffsetsPartitionResponse
    topics = [
        Response.ListOffsetsTopicResponse(name, [kind(number, error, [], time_ms, offset, epoch)])
        for name, number, error, offset, epoch in rows
    ]
    node.session.answer(index, encode_response(ApiKey.LIST_OFFSETS, VERSION, Response(topics=topics)))


def test_each_broker_is_asked_once_for_all_its_partitions(rig):
    first, second = rig.broker(1), rig.broker(2)
    task = rig.ask({1: [("t", 0), ("t", 3), ("u", 0)], 2: [("t", 0)]})
    rig.until(lambda: first.requests and second.requests)
    assert asked_of(first) == [("t", 0), ("t", 3), ("u", 0)]
    assert asked_of(second) == [("t", 0)]
    answer(first, ("t", 0, 0, 88, 4), ("t", 3, 6, -1, -1), ("u", 0, 0, 0, -1))
    answer(second, ("t", 0, 0, 90, 4), time_ms=-1)  # as Apache's, whose epoch is not the log's
    rig.until(lambda: task.is_done)
    assert task.result() == {
        1: {("t", 0): LogEnd(4, 88), ("u", 0): LogEnd(-1, 0)},
        2: {("t", 0): LogEnd(EPOCH_UNKNOWN, 90)},
    }
    assert not len(rig.desk.peers)


def test_many_partitions_are_several_requests(rig, monkeypatch):
    monkeypatch.setattr(log_ends, "LOG_ENDS_PER_REQUEST_MAX", 2)
    node = rig.broker(1)
    task = rig.ask({1: [("t", 0), ("t", 1), ("t", 2)]})
    for index in range(2):
        rig.until(lambda index=index: len(node.requests) > index)
        answer(node, *((name, number, 0, number, 1) for name, number in asked_of(node, index)), index=index)
    rig.until(lambda: task.is_done)
    assert len(task.result()[1]) == 3


def test_who_does_not_answer_is_not_known(rig):
    first, second = rig.broker(1), rig.broker(2)
    task = rig.ask({1: [("t", 0)], 2: [("t", 0)], 3: [("t", 0)]})
    rig.until(lambda: first.requests and second.requests)
    first.session.close()
    second.session.answer(0, b"\xff" * 9)
    rig.until(lambda: task.is_done)
    assert task.result() == {1: {}, 2: {}, 3: {}}
