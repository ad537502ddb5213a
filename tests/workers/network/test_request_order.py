"""One order on a connection: what comes after a produce is served once that has its results; an acks=0 that failed closes it."""

import pytest

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from tests.workers.network.network_rig import PARTITION_WORKER, produce_frame
from tests.workers.network.produce.test_refused_batches import answer

STORED = ErrorCode.NONE


def question(correlation_id):
    return build_request(ApiKey.API_VERSIONS, 0, correlation_id, "bench", messages.ApiVersionsRequest())


def answered(client):
    """Correlation ids of the answers that are here."""
    client.setblocking(False)
    try:
        data = client.recv(1 << 20)
    except BlockingIOError:
        return []
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        found.append(int.from_bytes(data[4:8], "big"))
        data = data[4 + size :]
    return found


def turn(rig, times=20):
    for _ in range(times):
        rig.turn(1)


@pytest.mark.parametrize("acks", [0, -1])
def test_a_request_after_a_produce_waits_for_its_results(rig, acks):
    client = rig.connect()
    written = rig.seat.writers[PARTITION_WORKER].written
    client.sendall(produce_frame(acks) + question(50) + question(51) + produce_frame(acks, (0,)))
    rig.turn_until(lambda: len(written) == 2)
    turn(rig)
    assert answered(client) == []
    assert len(written) == 2, "nor is anything after it taken"
    answer(rig, STORED, STORED)
    rig.turn_until(lambda: len(written) == 3)
    turn(rig)
    assert answered(client) == ([50, 51] if acks == 0 else [7, 50, 51])


def test_an_acks_0_that_failed_closes_the_connection_and_nothing_after_it_is_answered(rig):
    client = rig.connect()
    written = rig.seat.writers[PARTITION_WORKER].written
    client.sendall(produce_frame(0) + question(50))
    rig.turn_until(lambda: len(written) == 2)
    answer(rig, ErrorCode.CORRUPT_MESSAGE, STORED)
    rig.turn_until(lambda: not rig.connections)
    client.setblocking(True)
    assert client.recv(100) == b""
    assert not len(rig.context.produce)


def test_an_acks_0_whose_owner_died_closes_the_connection(rig):
    client = rig.connect()
    written = rig.seat.writers[PARTITION_WORKER].written
    client.sendall(produce_frame(0) + question(50))
    rig.turn_until(lambda: len(written) == 2)
    rig.loop.peers_changed(frozenset({PARTITION_WORKER}))
    rig.turn_until(lambda: not rig.connections)
    assert not len(rig.context.produce)


def test_a_request_that_waits_goes_with_its_connection(rig):
    client = rig.connect()
    written = rig.seat.writers[PARTITION_WORKER].written
    client.sendall(produce_frame(0) + question(50))
    rig.turn_until(lambda: len(written) == 2)
    client.close()
    turn(rig)
    answer(rig, STORED, STORED)
    rig.turn_until(lambda: not rig.connections)
    assert not len(rig.context.produce)
