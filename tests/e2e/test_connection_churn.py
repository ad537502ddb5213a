"""Connections that come and go while answers are on their way: none is taken for another, none is forgotten."""

import os
import resource
import socket
import struct
from pathlib import Path

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import build_batch
from tests.support.waiting import DEADLINE_S, wait_until

ROUNDS = 400
LEAVERS = 4  # connections that leave in each round
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends a reset


@pytest.fixture
def single_worker(node_factory):
    return node_factory("churn", "headrace.network.workers=1", "headrace.partition.workers=1", "num.partitions=1")


def produce_frame(topic):
    request = messages.ProduceRequest
    batch = build_batch([(None, b"v" * 1000)] * 50, timestamp_ms=1_795_000_000_000)
    data = request.TopicProduceData(topic, [request.PartitionProduceData(0, batch)])
    return build_request(ApiKey.PRODUCE, 8, 7, "churn", request(acks=-1, timeout_ms=1000, topic_data=[data]))


def read_response(sock):
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
        piece = sock.recv(65536)
        assert piece, "the node closed the connection"
        data += piece
    return data


def test_a_new_connection_is_not_mixed_up_with_one_whose_answer_is_still_to_come(single_worker):
    address = single_worker.address
    metadata = messages.MetadataRequest
    first = metadata(topics=[metadata.MetadataRequestTopic(name="churn")], allow_auto_topic_creation=True)
    hello = build_request(ApiKey.METADATA, 4, 9, "churn", first)
    produce = produce_frame("churn")
    with socket.create_connection(address, DEADLINE_S) as sock:
        sock.sendall(hello)
        read_response(sock)
    for number in range(ROUNDS):
        for _ in range(LEAVERS):
            leaver = socket.create_connection(address, DEADLINE_S)
            leaver.sendall(produce * 3)
            if number % 2:
                leaver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            leaver.close()
        with socket.create_connection(address, DEADLINE_S) as sock:  # gets a number that one of them had
            sock.sendall(hello)
            read_response(sock)


def create_topic(sock, name):
    topic = messages.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    request = messages.CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    sock.sendall(build_request(ApiKey.CREATE_TOPICS, 4, 1, "churn", request))
    read_response(sock)


def test_a_fetch_that_waits_is_answered_when_its_topic_is_deleted(single_worker):
    request = messages.FetchRequest
    wanted = request.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    fetch = request(
        replica_id=-1,
        max_wait_ms=120_000,
        min_bytes=1,
        max_bytes=1000,
        topics=[request.FetchTopic(topic="gone", partitions=[wanted])],
    )
    with socket.create_connection(single_worker.address, DEADLINE_S) as admin:
        create_topic(admin, "gone")
        with socket.create_connection(single_worker.address, DEADLINE_S) as waiting:
            waiting.sendall(build_request(ApiKey.FETCH, 11, 5, "churn", fetch))
            waiting.settimeout(0.5)
            with pytest.raises(TimeoutError):
                waiting.recv(1)
            deletion = messages.DeleteTopicsRequest(topic_names=["gone"], timeout_ms=60_000)
            admin.sendall(build_request(ApiKey.DELETE_TOPICS, 3, 2, "churn", deletion))
            read_response(admin)
            waiting.settimeout(DEADLINE_S)
            read_response(waiting)


def test_a_worker_without_descriptors_says_so_and_accepts_again_when_it_has_some(single_worker):
    pid = single_worker.pid("hr-network-0")
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    in_use = len(os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (in_use + 5, hard))
    crowd = [socket.create_connection(single_worker.address, DEADLINE_S) for _ in range(20)]
    hello = build_request(ApiKey.API_VERSIONS, 0, 9, "late", messages.ApiVersionsRequest())
    late = socket.create_connection(single_worker.address, DEADLINE_S)
    late.sendall(hello)
    wait_until(lambda: "connection not accepted" in (single_worker.directory / "node.log").read_text())
    used_s = cpu_s(pid)
    for sock in crowd:
        sock.close()
    read_response(late)
    late.close()
    assert cpu_s(pid) - used_s < 1.0
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
