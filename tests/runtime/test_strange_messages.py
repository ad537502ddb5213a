"""Each role's own cycle, and on each of its rings hostile messages: refused and logged, and no process ends."""

import random
import resource
import socket
from functools import partial

import pytest

from headrace.clock import SystemClock
from headrace.controller.process import ControllerProcess
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.runtime.poller import Poller
from headrace.shm.cluster_view import EMPTY_VIEW
from headrace.shm.messages import (
    ADVANCED,
    PRODUCE,
    PRODUCE_HEADER,
    PRODUCE_PART,
    RESULT,
    RESULT_ENTRY,
    RESULT_TEXT,
    ReplyStatus,
    RequestKind,
)
from headrace.workers.housekeeper.worker import Housekeeper
from headrace.workers.network.context import Context
from headrace.workers.network.loop import NetworkLoop
from headrace.workers.partition.worker import PartitionWorker
from tests.support.seats import CONTROLLER, HOUSEKEEPER, NAMES, NETWORK, OTHER_PARTITION, PARTITION, Asker, Seats

ROLES = (NETWORK, PARTITION, CONTROLLER, HOUSEKEEPER)
# (the role, who sends to it): every ring of a node
RINGS = [
    *((NETWORK, peer) for peer in (PARTITION, OTHER_PARTITION, CONTROLLER)),
    *((PARTITION, peer) for peer in (NETWORK, OTHER_PARTITION, CONTROLLER, HOUSEKEEPER)),
    *((CONTROLLER, peer) for peer in (NETWORK, PARTITION, OTHER_PARTITION)),
    *((HOUSEKEEPER, peer) for peer in (PARTITION, OTHER_PARTITION)),
]
OF_THE_PRODUCE_PATH = {NETWORK: (RESULT, RESULT_TEXT, ADVANCED), PARTITION: (PRODUCE, PRODUCE_PART)}


@pytest.fixture
def seats(tmp_path):
    seats = Seats(tmp_path / "logs")
    seats.seat(CONTROLLER).view_writer.publish(EMPTY_VIEW._replace(version=1))
    yield seats
    seats.close()


@pytest.fixture
def turn_of(seats):
    """role -> its duty cycle; whatever it opened is closed."""
    ends = []

    def make(role):
        seat = seats.seat(role)
        if role == NETWORK:
            listener = socket.create_server(("127.0.0.1", 0))
            context = Context(seat, SystemClock(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            poller = Poller(seat.doorbell)
            loop = NetworkLoop(seat, context, listener, poller)
            ends.extend((loop.drain, loop.close, poller.close))
            return loop.do_work
        if role == PARTITION:
            return PartitionWorker(seat, SystemClock()).do_work
        if role == CONTROLLER:
            poller = Poller(seat.doorbell)
            ends.append(poller.close)
            return ControllerProcess(seat, SystemClock(), poller).do_work
        return Housekeeper(seat, SystemClock()).do_work

    yield make
    for end in ends:
        end()


def write(seat, role, message, body):
    assert seat.writers[role].write(message, body)
    seat.writers[role].commit()


def turn(work, peer, cycles=4):
    for _ in range(cycles):
        work()
        peer.turn()


def said(caplog, sender):
    """What was logged of refusals of what a process sent."""
    lines = [record.getMessage() for record in caplog.records]
    return [line for line in lines if "refused" in line and f"process={sender} " in line]


@pytest.mark.parametrize(("role", "sender"), RINGS, ids=lambda one: NAMES[one])
def test_a_message_of_an_unknown_kind_on_any_ring_is_refused_and_logged_and_ends_no_process(
    seats, turn_of, role, sender, caplog
):
    work, peer = turn_of(role), Asker(seats.seat(sender))
    for _ in range(3):
        write(peer.seat, role, 77, b"of a later version")
        turn(work, peer)
    assert said(caplog, sender) == [f"messages refused process={sender} kind=77 reason=unknown kind"]
    peer.ask(role, -32_000, b"of a later version")
    turn(work, peer)
    assert peer.replies == [(ReplyStatus.UNKNOWN_KIND, b"")]
    assert said(caplog, sender)[1:] == [f"request refused process={sender} kind=-32000 reason=unknown kind"]


@pytest.mark.parametrize(("role", "sender"), RINGS, ids=lambda one: NAMES[one])
def test_bodies_of_any_length_end_no_process(seats, turn_of, role, sender):
    chance = random.Random(role * 10 + sender)
    work, peer = turn_of(role), Asker(seats.seat(sender))
    for message in range(1, 12):
        for size in range(17):
            for body in (bytes(size), b"\xff" * size, chance.randbytes(size)):
                write(peer.seat, role, message, body)
        turn(work, peer, 20)
    peer.ask(role, -32_000)
    turn(work, peer)
    assert peer.replies[-1] == (ReplyStatus.UNKNOWN_KIND, b"")


@pytest.mark.parametrize("role", OF_THE_PRODUCE_PATH, ids=lambda one: NAMES[one])
def test_a_short_message_of_the_produce_path_is_refused_and_those_after_it_are_taken(seats, turn_of, role, caplog):
    sender = PARTITION if role == NETWORK else NETWORK
    work, peer = turn_of(role), Asker(seats.seat(sender))
    for message in OF_THE_PRODUCE_PATH[role]:
        assert peer.seat.writers[role].write(message, b"abc")
        assert peer.seat.writers[role].write(77, b"after it")
    peer.seat.writers[role].commit()
    turn(work, peer)
    lines = said(caplog, sender)
    for message in OF_THE_PRODUCE_PATH[role]:
        assert [line for line in lines if f"message refused process={sender} kind={message} reason=" in line]
    assert [line for line in lines if "kind=77" in line]


def test_a_produce_after_a_short_one_is_answered(seats, turn_of):
    work, network = turn_of(PARTITION), seats.seat(NETWORK)
    writer, reader = network.writers[PARTITION], network.readers[PARTITION]
    assert writer.write(PRODUCE, bytes(31))
    assert writer.write(PRODUCE, PRODUCE_HEADER.pack(7, 3, 4, 5, 1000, -1, 9, 0), bytes(100))
    writer.commit()
    work()
    [(kind, body)] = reader.poll(10)
    assert kind == RESULT
    assert RESULT_ENTRY.unpack(body)[:2] == (7, 5)


ROWS_OF_16 = (RequestKind.NEW_REPLICAS, RequestKind.LOG_EPOCHS)
RIGHT_LENGTHS = {
    (RequestKind.SWAP_SEGMENTS, 16),
    (RequestKind.WRITE_MARKERS, 0),
    *((kind, size) for kind in ROWS_OF_16 for size in (0, 16)),
}


@pytest.mark.parametrize("kind", list(RequestKind))
@pytest.mark.parametrize("size", [0, 1, 7, 9, 15, 16, 33])
def test_a_request_of_ours_with_a_wrong_length_is_refused(seats, turn_of, kind, size):
    work, housekeeper = turn_of(PARTITION), Asker(seats.seat(HOUSEKEEPER))
    housekeeper.ask(PARTITION, kind, bytes(size))
    turn(work, housekeeper)
    [(status, _body)] = housekeeper.replies
    is_controllers = kind in (
        RequestKind.FOLLOWED, RequestKind.ALTER_ISR, RequestKind.OPENED_LOG, RequestKind.AHEAD_LOG,
    )  # fmt: skip
    refused = ReplyStatus.UNKNOWN_KIND if is_controllers else ReplyStatus.REFUSED
    assert status is refused or ((kind, size) in RIGHT_LENGTHS and status is ReplyStatus.ANSWERED)


def test_a_request_of_a_client_with_any_bytes_is_refused_and_the_next_is_answered(seats, turn_of):
    chance = random.Random(7)
    work, network = turn_of(PARTITION), Asker(seats.seat(NETWORK))
    kinds = [
        ApiKey.JOIN_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.DELETE_RECORDS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.LIST_GROUPS,
    ]
    for kind in kinds:
        for size in range(20):
            network.ask(PARTITION, kind, chance.randbytes(size), version=chance.randint(-3, 12))
    turn(work, network, 20)
    assert len(network.replies) == 100
    request = encode_request(ApiKey.LIST_GROUPS, 4, messages.ListGroupsRequest())
    network.ask(PARTITION, ApiKey.LIST_GROUPS, request, version=4)
    turn(work, network)
    status, body = network.replies[-1]
    assert status is ReplyStatus.ANSWERED
    assert decode_response(ApiKey.LIST_GROUPS, 4, body).groups == []


@pytest.mark.parametrize("body", [b"", bytes(7), bytes(9)])
def test_news_of_a_wrong_length_do_not_end_the_controller(seats, turn_of, body, caplog):
    work, owner = turn_of(CONTROLLER), Asker(seats.seat(PARTITION))
    owner.mailbox.tell(CONTROLLER, RequestKind.FOLLOWED, body)
    turn(work, owner)
    assert f"request refused kind={RequestKind.FOLLOWED.value}" in caplog.text


def test_the_controller_takes_news_while_it_takes_no_more_requests(seats, turn_of, monkeypatch):
    monkeypatch.setattr("headrace.controller.process.PENDING_RESPONSES_MAX", 0)
    work = turn_of(CONTROLLER)
    owner, network = Asker(seats.seat(PARTITION)), Asker(seats.seat(NETWORK))
    network.ask(CONTROLLER, -32_000)
    owner.ask(CONTROLLER, -32_000)
    for each in (owner, network):
        turn(work, each)
    assert (len(owner.replies), len(network.replies)) == (1, 0)


def test_a_busy_partition_worker_still_looks_at_the_other_rings(seats, turn_of):
    work, network, controller = turn_of(PARTITION), seats.seat(NETWORK), Asker(seats.seat(CONTROLLER))
    controller.ask(PARTITION, -32_000)
    cycles = 0
    produce = partial(write, network, PARTITION, PRODUCE)
    while not controller.replies:
        produce(PRODUCE_HEADER.pack(7, 3, 4, 5, 1000, -1, 9, 0))
        assert work()
        network.readers[PARTITION].poll(10)
        network.readers[PARTITION].release()
        controller.turn()
        cycles += 1
        assert cycles < 20
