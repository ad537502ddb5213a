"""Requests that ask for the same again and again, or for what nobody should keep or can undo."""

import os

import pytest

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response
from headrace.protocol.frames import build_request
from headrace.shm.counters import CONNECTIONS_CLOSED_BAD
from headrace.workers.network.forwarding import group_owners
from headrace.workers.network.handlers import (
    a00_produce,
    a10_find_coordinator,
    a15_describe_groups,
    a34_alter_replica_log_dirs,
    a42_delete_groups,
)
from tests.support.altered import altered
from tests.workers.network.network_rig import Rig


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    rig.asked = []

    def ask(_exchange, key, version, body, _on_result, _owner=None):
        rig.asked.append(decode_request(key, version, memoryview(body)))

    rig.context.forwarder.ask = ask
    yield rig
    for client in rig.clients:
        client.close()
    rig.loop.drain()
    rig.loop.close()
    rig.poller.close()


def send(rig, key, version, request):
    rig.connect().sendall(build_request(key, version, 7, "bench", request))


def answer(rig, key, version):
    rig.turn_until(lambda: rig.connections and rig.connections[0].outbox.bytes_sent)
    frame = rig.clients[0].recv(1 << 20)
    return decode_response(key, version, memoryview(frame)[8:])


def test_a_replica_is_moved_to_the_last_directory_that_is_named(rig, tmp_path):
    request = messages.AlterReplicaLogDirsRequest
    topics = [request.AlterReplicaLogDirTopic("t", [0, 0, 1])]
    ways = [f"{tmp_path}{'/.' * count}" for count in range(1, 4)]
    dirs = [request.AlterReplicaLogDir(path, topics) for path in ("/elsewhere", *ways)]
    send(rig, ApiKey.ALTER_REPLICA_LOG_DIRS, 1, request(dirs))
    rig.turn_until(lambda: rig.asked)
    [asked] = rig.asked
    assert [(one.path, [(t.name, t.partitions) for t in one.topics]) for one in asked.dirs] == [
        (str(tmp_path), [("t", [0, 1])])
    ]


def test_a_directory_of_many_names_is_compared_and_not_looked_for(rig, monkeypatch):
    looked = []
    paths = altered(os.path, realpath=lambda path: looked.append(path) or os.path.realpath(path))
    monkeypatch.setattr(a34_alter_replica_log_dirs, "os", altered(os, path=paths))
    request = messages.AlterReplicaLogDirsRequest
    dirs = [
        request.AlterReplicaLogDir(f"/{number}" + "/x" * 1_000, [request.AlterReplicaLogDirTopic("t", [number])])
        for number in range(3)
    ]
    send(rig, ApiKey.ALTER_REPLICA_LOG_DIRS, 1, request(dirs))
    [topic] = answer(rig, ApiKey.ALTER_REPLICA_LOG_DIRS, 1).results
    assert {row.error_code for row in topic.partitions} == {ErrorCode.LOG_DIR_NOT_FOUND}
    assert looked
    assert not [path for path in looked if "/x" in path]


def test_records_are_deleted_once(rig):
    request = messages.DeleteRecordsRequest
    rows = [request.DeleteRecordsPartition(0, offset) for offset in range(5)]
    send(rig, ApiKey.DELETE_RECORDS, 1, request([request.DeleteRecordsTopic("t", rows)] * 2, 1000))
    rig.turn_until(lambda: rig.asked)
    [asked] = rig.asked
    assert [[(row.partition_index, row.offset) for row in topic.partitions] for topic in asked.topics] == [[(0, 4)]]


def test_names_that_no_topic_has_are_not_kept(rig):
    request = messages.ProduceRequest
    data = [request.TopicProduceData("n" * 250, [request.PartitionProduceData(0, b"")])]
    before = len(a00_produce._templates)
    send(rig, ApiKey.PRODUCE, 8, request(acks=-1, timeout_ms=1000, topic_data=data))
    [topic] = answer(rig, ApiKey.PRODUCE, 8).responses
    assert topic.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(a00_produce._templates) == before


def naming(key, count):
    """A request that names so many groups."""
    names = [f"g{number}" for number in range(count)]
    if key is ApiKey.FIND_COORDINATOR:
        return 4, messages.FindCoordinatorRequest(key_type=0, coordinator_keys=names)
    if key is ApiKey.DESCRIBE_GROUPS:
        return 4, messages.DescribeGroupsRequest(groups=names)
    return 1, messages.DeleteGroupsRequest(groups_names=names)


@pytest.mark.parametrize("key", [ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_GROUPS])
def test_the_groups_that_one_request_names_are_bounded_and_many_end_its_turn(rig, monkeypatch, key):
    monkeypatch.setattr(group_owners, "GROUPS_NAMED_MAX", 60)
    monkeypatch.setattr(group_owners, "GROUPS_NAMED_MANY", 30)
    turns = []
    real = group_owners.check_named

    def noting(context, groups):
        real(context, groups)
        turns.append(context.heavy_requests)

    for module in (a10_find_coordinator, a15_describe_groups, a42_delete_groups):
        monkeypatch.setattr(module, "check_named", noting)
    for count in (30, 31, 60):
        send(rig, key, *naming(key, count))
    rig.turn_until(lambda: len(turns) == 3)
    assert sorted(turns) == [0, 1, 1], "the others wait for the next cycle"
    send(rig, key, *naming(key, 61))
    rig.turn_until(lambda: rig.seat.counters.get(CONNECTIONS_CLOSED_BAD))
    rig.turn_until(lambda: len(rig.connections) == 3)
    assert rig.clients[3].recv(1) == b""
