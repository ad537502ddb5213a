"""One cycle of a network worker: who pipelines waits for the others, and what fails ends its own connection only."""

import socket

import pytest

from headrace.errors import CorruptRing
from headrace.limits import CONNECTION_REQUESTS_PER_CYCLE_MAX, NETWORK_CYCLE_MS_MAX, TRICKLE_DEADLINE_MS
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.frames import build_request
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import CorruptRecord, Record
from headrace.shm.messages import ADVANCED, REPLY, RESULT, RESULT_ENTRY, SLOT_ENTRY
from headrace.workers.network import loop as loop_module
from headrace.workers.network.fetch.fetch_purgatory import FetchPurgatory
from headrace.workers.network.handlers import a01_fetch, a10_find_coordinator
from tests.workers.network.network_rig import (
    CONTROLLER,
    CYCLES_MAX,
    PARTITION_WORKER,
    create_frame,
    fetch_frame,
    lead,
    produce_frame,
    receive_answers,
)

VERSIONS = build_request(ApiKey.API_VERSIONS, 0, 1, None, messages.ApiVersionsRequest())


@pytest.fixture
def handled(rig, monkeypatch):
    """The peers of the requests that were taken, in order; each is answered with nothing."""
    peers = []

    def note(_context, connection, _frame):
        peers.append(connection.peer)

    monkeypatch.setattr(loop_module, "route", note)
    return peers


def connected(rig, count):
    clients = [rig.connect() for _ in range(count)]
    rig.turn_until(lambda: len(rig.connections) == len(rig.clients))
    return clients


def name_of(client):
    return "{}:{}".format(*client.getsockname())


# Turns


def test_a_connection_that_pipelines_gets_so_many_requests_a_cycle_and_the_others_theirs(rig, handled):
    greedy, modest = connected(rig, 2)
    greedy.sendall(VERSIONS * 600)
    modest.sendall(VERSIONS)
    for _ in range(CYCLES_MAX):
        before = len(handled)
        rig.turn(10)
        assert handled[before:].count(name_of(greedy)) <= CONNECTION_REQUESTS_PER_CYCLE_MAX
        if name_of(modest) in handled:
            break
    assert handled.count(name_of(greedy)) <= 2 * CONNECTION_REQUESTS_PER_CYCLE_MAX
    rig.turn_until(lambda: handled.count(name_of(greedy)) == 600)


def test_one_that_sends_and_does_not_read_is_served_once_a_cycle(rig):
    """Its answers leave within the cycle, which made room for more of its requests without end."""
    greedy, modest = connected(rig, 2)
    greedy.sendall(VERSIONS * 700)
    modest.sendall(VERSIONS)
    rig.turn_until(lambda: any(each.cycle_requests for each in rig.connections))
    assert max(each.cycle_requests for each in rig.connections) <= CONNECTION_REQUESTS_PER_CYCLE_MAX
    assert receive_answers(rig, modest, 1) == [1]
    assert receive_answers(rig, greedy, 700) == [1] * 700


def test_all_connections_have_their_turn_however_few_requests_a_cycle_takes(rig, handled, monkeypatch):
    monkeypatch.setattr(loop_module, "NETWORK_REQUESTS_PER_CYCLE_MAX", 40)
    clients = connected(rig, 20)
    for client in clients:
        client.sendall(VERSIONS * 100)
    for _ in range(20):  # each takes 40: one turn and the beginning of another
        before = len(handled)
        rig.turn(10)
        assert len(handled) - before <= 40
    assert len(set(handled)) == 20, "those that were left out come first"
    rig.turn_until(lambda: len(handled) == 2_000)


def test_a_cycle_ends_by_the_time_it_took_and_beats_in_between(rig, handled, monkeypatch):
    beats = []
    rig.seat.beat = beats.append

    def slow(_context, connection, _frame):
        rig.clock.ms += NETWORK_CYCLE_MS_MAX
        handled.append(connection.peer)

    monkeypatch.setattr(loop_module, "route", slow)
    clients = connected(rig, 3)
    for client in clients:
        client.sendall(VERSIONS * 50)
    del beats[:]
    longest = 0
    while len(handled) < 150:
        before, seen = len(handled), len(beats)
        rig.turn(10)
        longest = max(longest, len(handled) - before)
        assert len(beats) > seen
    assert longest <= loop_module.CLOCK_MASK + 1
    first = [handled.index(name_of(client)) for client in clients]
    assert max(first) < 4 * len(clients), "nobody waits for all that another one has to say"


def test_fetches_that_come_due_together_are_answered_some_at_a_time(rig, monkeypatch):
    lead(rig)
    (client,) = connected(rig, 1)
    real = a01_fetch._Fetch.attempt
    parked = []

    def heavy(fetch, is_last):
        rig.context.heavy_requests += fetch in parked
        parked.append(fetch)
        return real(fetch, is_last)

    monkeypatch.setattr(a01_fetch._Fetch, "attempt", heavy)
    client.sendall(b"".join(fetch_frame(number, (0,)) for number in range(20)))
    rig.turn_until(lambda: len(rig.context.fetches) == 20)
    rig.clock.ms += 1 << 30
    rig.turn()
    assert len(rig.context.fetches) == 19
    assert receive_answers(rig, client, 20) == list(range(20))
    client.sendall(b"".join(fetch_frame(number, (0,)) for number in range(3)))
    rig.turn_until(lambda: len(rig.context.fetches) == 3)
    rig.seat.readers[PARTITION_WORKER].messages = [(ADVANCED, memoryview(SLOT_ENTRY.pack(0)))]
    rig.turn()
    assert rig.context.fetches.moved_count == 2
    rig.turn_until(lambda: not rig.context.fetches.moved_count)
    assert len(rig.context.fetches) == 3, "tried, and nothing was there"


def test_batches_of_one_produce_that_cost_much_together_end_the_turn_and_beat_in_between(rig):
    """Each is within its bound. A thousand of them took longer than a worker may be silent."""
    (client,) = connected(rig, 1)
    broken = bytearray(build_message_set([Record(0, 1, b"k", bytes(10))], 1, Codec.GZIP))
    broken[30] ^= 255
    request = messages.ProduceRequest
    data = [request.PartitionProduceData(0, bytes(broken))] * 200
    body = request(acks=1, timeout_ms=1000, topic_data=[request.TopicProduceData("t", data)])
    client.sendall(build_request(ApiKey.PRODUCE, 2, 7, "bench", body))
    beats, heavy = [], []
    rig.seat.beat = beats.append

    def is_heavy():
        heavy.append(rig.context.heavy_requests)
        return heavy[-1]

    rig.turn_until(is_heavy)
    assert heavy[-1] == 1
    assert len(beats) > len(heavy) + len(data) // 2


def test_a_frame_that_trickles_is_given_up_after_its_deadline(rig):
    slow, other = connected(rig, 2)
    rig.turn_until(lambda: len(rig.connections) == 2)
    slow.sendall(VERSIONS[:-1])
    rig.turn_until(lambda: any(each.frame_since_ms for each in rig.connections))
    for place in range(3):
        rig.clock.ms += TRICKLE_DEADLINE_MS // 3
        rig.turn()
        assert len(rig.connections) == 2, place
    rig.clock.ms += 1_001
    rig.turn_until(lambda: len(rig.connections) == 1)
    assert slow.recv(1) == b""
    other.sendall(VERSIONS)
    assert receive_answers(rig, other, 1) == [1]


# Failures


def assert_only_closes(rig, broken, other):
    """The connection that asked for it is closed; the other one is served."""
    rig.turn_until(lambda: len(rig.connections) == 1)
    assert broken.recv(1) == b""
    other.sendall(VERSIONS)
    assert receive_answers(rig, other, 1) == [1]
    assert not len(rig.context.fetches)


@pytest.mark.parametrize("by", ["deadline", "data"])
@pytest.mark.parametrize("failure", [OverflowError("int too large to convert"), CorruptRecord("no record")])
def test_a_waiting_fetch_that_fails_closes_its_connection_only(rig, monkeypatch, by, failure):
    lead(rig)
    broken, other = connected(rig, 2)

    real = a01_fetch._Fetch.attempt

    def fail(fetch, is_last):
        if is_last or rig.context.fetches._deadlines:
            raise failure
        return real(fetch, is_last)

    monkeypatch.setattr(a01_fetch._Fetch, "attempt", fail)
    broken.sendall(fetch_frame(1, (0, 1)))
    rig.turn_until(lambda: rig.context.fetches._deadlines)
    if by == "deadline":
        rig.clock.ms = rig.context.fetches.next_deadline_ms()
        for connection in rig.connections:
            connection.last_active_ms = rig.clock.ms  # none is closed for being idle
    else:
        rig.seat.readers[PARTITION_WORKER].messages = [(ADVANCED, memoryview(SLOT_ENTRY.pack(0)))]
    assert_only_closes(rig, broken, other)


def test_a_fetch_that_fails_while_it_parks_closes_its_connection_only(rig, monkeypatch):
    lead(rig)
    broken, other = connected(rig, 2)
    attempts = iter((False, None))

    def fail(_fetch, _is_last):
        if next(attempts) is None:
            raise CorruptRecord("no record")
        return False

    monkeypatch.setattr(a01_fetch._Fetch, "attempt", fail)
    broken.sendall(fetch_frame(1, (0, 1)))
    assert_only_closes(rig, broken, other)


def test_an_answer_that_can_not_be_made_closes_its_connection_only(rig, monkeypatch):
    broken, other = connected(rig, 2)
    broken.sendall(produce_frame(partitions=(0, 1)))
    written = rig.seat.writers[PARTITION_WORKER].written
    rig.turn_until(lambda: len(written) == 2)
    (request_id,) = {int.from_bytes(header[:8], "little") for _kind, header in written}

    def fail(*_args):
        raise ValueError("too long")

    (pending,) = rig.context.produce._pending.values()
    pending.respond = fail
    body = b"".join(RESULT_ENTRY.pack(request_id, index, 0, 0, -1, 0) for index in (0, 1))
    rig.seat.readers[PARTITION_WORKER].messages = [(RESULT, memoryview(body))]
    assert_only_closes(rig, broken, other)


def test_an_answer_of_another_process_that_can_not_be_used_closes_its_connection_only(rig, monkeypatch):
    broken, other = connected(rig, 2)
    request = messages.FindCoordinatorRequest(key="g")
    broken.sendall(build_request(ApiKey.FIND_COORDINATOR, 1, 1, "bench", request))  # the offsets topic is made first
    written = rig.seat.writers[CONTROLLER].written
    rig.turn_until(lambda: written)

    def fail(*_args):
        raise CorruptRecord("no")

    monkeypatch.setattr(a10_find_coordinator, "_respond", fail)
    rig.seat.readers[CONTROLLER].messages = [(REPLY, memoryview(written[-1][1][:8] + bytes(8) + b"\0"))]
    assert_only_closes(rig, broken, other)


def test_shared_memory_that_is_not_as_it_has_to_be_ends_the_worker(rig, monkeypatch):
    (client,) = connected(rig, 1)

    def fail(*_args):
        raise CorruptRing("a length that can't be")

    monkeypatch.setattr(loop_module, "route", fail)
    client.sendall(create_frame())
    with pytest.raises(CorruptRing):
        rig.turn_until(lambda: False)


def test_fetches_of_a_connection_that_left_are_not_tried(rig):
    purgatory = FetchPurgatory(rig.seat.partitions, 0)
    (client,) = connected(rig, 1)
    (connection,) = rig.connections
    tried = []
    answers = iter((False, False))

    def attempt(is_last):
        tried.append(is_last)
        return next(answers)

    purgatory.park(connection, [1], 10, attempt)
    purgatory.advance([1], lambda: True)
    assert purgatory.moved_count == 1
    purgatory.drop(connection)
    assert (purgatory.moved_count, purgatory.advance([1]), tried) == (0, 0, [False])
    assert isinstance(client, socket.socket)
