"""Connections that come and go while answers are on their way: none is taken for another, none is forgotten."""

import socket
import struct

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import build_batch

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
    with socket.create_connection(address, 10) as sock:
        sock.sendall(hello)
        read_response(sock)
    for number in range(ROUNDS):
        for _ in range(LEAVERS):
            leaver = socket.create_connection(address, 10)
            leaver.sendall(produce * 3)
            if number % 2:
                leaver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            leaver.close()
        with socket.create_connection(address, 10) as sock:  # gets a number that one of them had
            sock.sendall(hello)
            read_response(sock)
