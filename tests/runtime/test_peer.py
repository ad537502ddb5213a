"""A connection to another node: what is asked is told, once, whatever the node does; nothing blocks."""

import errno
import os
import socket
import struct
from types import SimpleNamespace

import pytest

from headrace.errors import BadFrame, Fenced
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peer_states import IGNORED, TABLE, Act, PeerEvent, PeerState
from headrace.runtime.wire import Wire, WireBroken
from tests.runtime.fake_node import HEARTBEAT, Desk, response
from tests.support.scrambled import Scrambled

BIG = messages.HeartbeatRequest(group_id="g" * 30_000, member_id="m" * 30_000)


@pytest.fixture
def node(desk):
    return desk.node()


def connect(desk, node, **options):
    """A peer that has answered once."""
    peer = desk.open(node, **options)
    assert desk.ask(peer, "hello")
    if options.get("asks_versions"):
        desk.turn_until(lambda: node.requests)
        node.session.answer_versions(HEARTBEAT=(0, 4))
        node.session.requests.clear()
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: desk.told)
    desk.told.clear()
    node.session.requests.clear()
    return peer


def test_what_is_asked_is_answered_in_its_order_many_on_their_way(desk, node):
    peer = desk.open(node)
    assert all(desk.ask(peer, number) for number in range(20))
    assert not desk.told, "never within ask"
    desk.turn_until(lambda: len(node.requests) == 20)
    for number in range(20):
        node.session.answer(number, b"body %d" % number)
    desk.turn_until(lambda: len(desk.told) == 20)
    assert desk.told == [(number, Outcome.ANSWERED, b"body %d" % number) for number in range(20)]
    assert peer.state is PeerState.READY
    assert len(node.sessions) == 1
    assert len(peer) == 0
    assert len(desk.peers.deadlines) <= 64, "deadlines of what is answered go"


def test_what_was_asked_in_one_cycle_leaves_in_one_send(desk, node):
    peer = connect(desk, node)
    sent = []

    class Noted:
        def __init__(self, sock):
            self._sock = sock

        def __getattr__(self, name):
            return getattr(self._sock, name)

        def sendmsg(self, parts):
            sent.append(len(parts))
            return self._sock.sendmsg(parts)

    peer._wire._sock = Noted(peer._wire._sock)
    for number in range(5):
        desk.ask(peer, number)
    desk.peers.turn()
    assert sent == [5]


def test_a_connection_that_nobody_uses_is_not_made(desk, node):
    peer = desk.open(node)
    desk.turn()
    assert peer.state is PeerState.IDLE
    assert not node.sessions


def test_connections_are_numbered_so_that_an_owner_finds_another_one_though_it_asked_nothing(desk, node):
    peer = desk.open(node)
    assert peer.connection == 0
    desk.ask(peer, "first")
    assert peer.connection == 0, "not there yet"
    desk.turn_until(lambda: node.requests)
    assert peer.connection == 1
    node.session.answer()
    desk.turn_until(lambda: desk.told)
    node.session.requests.clear()
    node.session.reset()
    desk.turn_until(lambda: peer.state is not PeerState.READY)
    assert peer.connection == 0
    desk.pass_ms(60_000)
    desk.ask(peer, "second")
    desk.turn_until(lambda: node.requests)
    assert peer.connection == 2


def test_versions_come_first_where_they_are_asked_for(desk, node):
    peer = desk.open(node, asks_versions=True)
    desk.ask(peer, "exact", version=1)
    desk.ask(peer, "best", version=3, version_min=0)
    desk.ask(peer, "more than it has", version=4, version_min=3)
    desk.ask(peer, "unknown", key=ApiKey.LEAVE_GROUP, version=1, version_min=0, message=messages.LeaveGroupRequest())
    assert peer.version_of(HEARTBEAT, 0, 3) is None, "not known yet"
    desk.turn_until(lambda: node.requests)
    assert [header.api_key for header, _ in node.requests] == [ApiKey.API_VERSIONS]
    assert peer.state is PeerState.GREETING
    node.session.answer_versions(HEARTBEAT=(0, 2))
    desk.turn_until(lambda: len(node.requests) == 3)
    assert [header.api_version for header, _ in node.requests[1:]] == [1, 2]
    assert [(what, outcome) for what, outcome, _ in desk.told] == [
        ("more than it has", Outcome.UNSUPPORTED),
        ("unknown", Outcome.UNSUPPORTED),
    ]
    node.session.answer(1)
    node.session.answer(2)
    desk.turn_until(lambda: len(desk.told) == 4)
    assert desk.outcomes[2:] == ["ANSWERED"] * 2
    assert peer.version_of(HEARTBEAT, 0, 3) == 2
    assert peer.version_of(HEARTBEAT, 3, 4) is None


@pytest.mark.parametrize("size", [50, 5_000, 3_000_000])
@pytest.mark.parametrize("has_room", [True, False])
def test_a_response_is_received_into_the_memory_of_its_asker(desk, node, size, has_room):
    mine = memoryview(bytearray(size + 4 if has_room else size + 3))
    bodies = []
    peer = connect(desk, node)
    desk.ask(peer, "mine", into=mine, on_reply=lambda _outcome, body: bodies.append(body))
    desk.turn_until(lambda: node.requests)
    data = response(node.session.ids[0], b"x" * size)
    while data:
        node.session.say(data[:200_000])
        data = data[200_000:]
        desk.turn()
    desk.turn_until(lambda: desk.told)
    assert desk.told == [("mine", Outcome.ANSWERED, b"x" * size)]
    assert (bodies[0].obj is mine.obj) == has_room


def test_a_process_is_woken_for_256_kib_of_a_large_response_and_for_its_rest(desk, node):
    peer = connect(desk, node, receive_buffer_bytes=1 << 20)
    size = (1 << 20) + 20_000
    desk.ask(peer, "large")
    desk.turn_until(lambda: node.requests)
    data = response(node.session.ids[0], b"x" * size)
    woken = 0
    while data:
        node.session.say(data[:8192])
        data = data[8192:]
        woken += desk.turn() > 0
    desk.turn_until(lambda: desk.told)
    assert desk.told == [("large", Outcome.ANSWERED, b"x" * size)]
    assert woken <= 10, "of 131 bursts"
    desk.told.clear()
    node.session.requests.clear()
    desk.ask(peer, "small")
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: desk.told, "any byte of the next response wakes it")


def test_the_system_finds_out_whether_the_other_end_is_there_while_nothing_comes(desk, node):
    """Else a follower waited 30 s for an answer of a node that was killed while the network between them was cut."""
    sock = connect(desk, node)._wire._sock
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    names = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
    idle_s, interval_s, probes, unacknowledged_ms = (sock.getsockopt(socket.IPPROTO_TCP, name) for name in names)
    assert idle_s + interval_s * probes <= 10
    assert 0 < unacknowledged_ms <= 10_000


def test_a_node_that_goes_within_a_large_response_is_noticed_at_once(desk, node):
    peer = connect(desk, node, receive_buffer_bytes=1 << 20)
    desk.ask(peer, "large")
    desk.turn_until(lambda: node.requests)
    node.session.say(response(node.session.ids[0], b"x" * (1 << 20))[:50_000])
    desk.turn()
    node.session.say(b"x" * 100)
    node.session.close()
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["LOST"]
    assert peer.state is PeerState.BACKING_OFF


# A node that is not there, or dies


def test_nobody_listens_and_then_somebody_does(desk, node):
    node.hang_up()
    peer = desk.open(node)
    desk.ask(peer, "first")
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["NOT_SENT"]
    assert peer.state is PeerState.BACKING_OFF
    node.listen()
    desk.ask(peer, "second")
    for _ in range(5):
        desk.turn()
    assert not node.sessions, "it waits for the end of the back-off"
    desk.pass_ms(51)
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: len(desk.told) == 2)
    assert desk.outcomes == ["NOT_SENT", "ANSWERED"]


def test_back_offs_are_doubled_up_to_a_bound_and_an_answer_ends_that(desk, node):
    node.hang_up()
    peer = desk.open(node, backoff_first_ms=100, backoff_max_ms=500)
    bounds = []
    for _ in range(5):
        desk.told.clear()
        desk.ask(peer, "again")
        desk.turn_until(lambda: desk.told)
        bounds.append(desk.peers.sleep_bound_ms(10_000))
        desk.pass_ms(bounds[-1])
    assert bounds == [100, 200, 400, 500, 500]
    assert peer.state is PeerState.IDLE
    node.listen()
    desk.ask(peer, "there")
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: desk.outcomes[-1] == "ANSWERED")
    node.session.close()
    desk.turn_until(lambda: peer.state is PeerState.BACKING_OFF)
    assert desk.peers.sleep_bound_ms(10_000) == 100


@pytest.mark.parametrize(("chance", "backoff_ms"), [(0.0, 80), (0.5, 100), (0.999999, 120)])
def test_back_offs_of_many_nodes_are_spread(seat, chance, backoff_ms):
    desk = Desk(seat)
    desk.peers.chance = lambda: chance
    node = desk.node()
    node.hang_up()
    desk.ask(desk.open(node, backoff_first_ms=100), "one")
    desk.turn_until(lambda: desk.told)
    assert desk.peers.sleep_bound_ms(10_000) == backoff_ms
    desk.close()


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("count", range(13))
def test_a_node_that_dies_at_each_byte_of_a_response(desk, node, end, count):
    peer = connect(desk, node)
    desk.ask(peer, "first")
    desk.ask(peer, "second")
    desk.turn_until(lambda: len(node.requests) == 2)
    data = response(node.session.ids[0], b"four")
    node.session.say(data[:count])
    if end == "reset":
        desk.turn()  # what came before an RST is read, where it was there in time
    getattr(node.session, end)()
    desk.turn_until(lambda: len(desk.told) == 2)
    assert desk.outcomes == ["ANSWERED" if count == len(data) else "LOST", "LOST"]
    assert peer.state is PeerState.BACKING_OFF
    for _ in range(3):
        desk.turn()
    assert len(desk.told) == 2, "each once"


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("count", [0, 3, 4, 7, 8, 9, 20])
def test_a_node_that_dies_while_it_says_its_versions(desk, node, end, count):
    peer = desk.open(node, asks_versions=True)
    desk.ask(peer, "waits")
    desk.turn_until(lambda: node.requests)
    node.session.say((struct.pack(">ii", 100, node.session.ids[0]) + bytes(96))[:count])
    getattr(node.session, end)()
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["NOT_SENT"], "nothing but ApiVersions was sent"
    assert peer.state is PeerState.BACKING_OFF


def test_versions_that_are_refused_end_the_connection(desk, node, caplog):
    peer = desk.open(node, asks_versions=True)
    desk.ask(peer, "waits")
    desk.turn_until(lambda: node.requests)
    node.session.answer_versions(error_code=35)
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["NOT_SENT"]
    assert "versions refused by error 35" in caplog.text


def test_a_node_that_goes_before_it_accepts(desk, node):
    """The system of the other side has taken the connection, and bytes: they may have been read for all we know."""
    node.accepts = False
    peer = desk.open(node)
    desk.ask(peer, "first")
    desk.turn_until(lambda: peer.state is PeerState.READY)
    node.hang_up()
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["LOST"]


def test_a_node_that_never_accepts_is_late(desk):
    """A full backlog: SYNs are dropped."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        peer = desk.peers.open(*listener.getsockname(), PeerOptions(setup_ms=500))
        desk.ask(peer, "first")
        for _ in range(3):
            desk.turn()
        assert peer.state is PeerState.CONNECTING
        desk.pass_ms(499)
        assert not desk.told
        desk.pass_ms(1)
        assert desk.outcomes == ["NOT_SENT"]
        for filler in fillers:
            filler.close()


def test_a_node_that_never_says_its_versions_is_late(desk, node):
    peer = desk.open(node, asks_versions=True, setup_ms=500)
    desk.ask(peer, "first")
    desk.turn_until(lambda: node.requests)
    desk.pass_ms(500)
    assert desk.outcomes == ["NOT_SENT"]
    assert peer.state is PeerState.BACKING_OFF


def test_a_node_that_never_answers_is_given_up_at_the_deadline(desk, node):
    peer = connect(desk, node)
    desk.ask(peer, "patient", timeout_ms=50_000)
    desk.ask(peer, "hasty", timeout_ms=300)
    desk.turn_until(lambda: len(node.requests) == 2)
    desk.pass_ms(299)
    assert not desk.told
    desk.pass_ms(1)
    assert [(what, outcome.name) for what, outcome, _ in desk.told] == [("patient", "LOST"), ("hasty", "TIMED_OUT")]
    assert peer.state is PeerState.BACKING_OFF
    desk.turn_until(lambda: node.session.is_over)


def test_a_deadline_of_what_waits_for_a_connection_harms_nobody_else(desk, node):
    node.hang_up()
    peer = desk.open(node, backoff_first_ms=1_000)
    desk.ask(peer, "first")
    desk.turn_until(lambda: desk.told)
    desk.ask(peer, "hasty", timeout_ms=100)
    desk.ask(peer, "patient", timeout_ms=5_000)
    desk.pass_ms(100)
    assert desk.told[1:] == [("hasty", Outcome.NOT_SENT, b"")]
    assert 0 < peer.unsent_bytes < 60, "of the patient one"
    node.listen()
    desk.pass_ms(900)
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: len(desk.told) == 3)
    assert desk.told[2][:2] == ("patient", Outcome.ANSWERED)


@pytest.mark.parametrize(
    ("say", "complaint", "outcomes"),
    [
        (lambda ids: response(ids[0]) * 2, "correlation id {0} from", ["ANSWERED", "LOST"]),
        (lambda ids: response(ids[1]), "correlation id {1} from", ["LOST", "LOST"]),
        (lambda ids: response(12_345), "correlation id 12345 from", ["LOST", "LOST"]),
        (
            lambda ids: struct.pack(">ii", 0x7FFFFFFF, ids[0]),
            "invalid response size 2147483647 bytes",
            ["LOST", "LOST"],
        ),
        (lambda ids: struct.pack(">i", -1), "invalid response size -1 bytes", ["LOST", "LOST"]),
        (lambda ids: b"\x15\x03\x03\0\x02\x02\x46", "answered with a TLS alert", ["LOST", "LOST"]),
    ],
    ids=["twice", "out of order", "unknown", "giant", "negative", "TLS"],
)
def test_an_answer_that_can_not_be_ends_the_connection(desk, node, caplog, say, complaint, outcomes):
    peer = connect(desk, node)
    desk.ask(peer, "first")
    desk.ask(peer, "second")
    desk.turn_until(lambda: len(node.requests) == 2)
    node.session.say(say(node.session.ids))
    desk.turn_until(lambda: len(desk.told) == 2)
    assert desk.outcomes == outcomes
    assert complaint.format(*node.session.ids) in caplog.text
    assert peer.state is PeerState.BACKING_OFF


def test_an_answer_to_nothing_ends_the_connection(desk, node, caplog):
    peer = connect(desk, node)
    node.session.say(response(7))
    desk.turn_until(lambda: peer.state is PeerState.BACKING_OFF)
    assert "no request is in flight" in caplog.text
    desk.pass_ms(100)
    assert peer.state is PeerState.IDLE


def test_many_on_their_way_when_a_node_is_killed_each_is_told_once(desk, node):
    peer = connect(desk, node)
    for number in range(200):
        assert desk.ask(peer, number)
    desk.turn_until(lambda: len(node.requests) == 200)
    for number in range(77):
        node.session.answer(number)
    desk.turn_until(lambda: len(desk.told) == 77)
    for number in range(200, 210):
        desk.ask(peer, number)  # not sent yet when it goes
    node.session.reset()
    desk.poller.wait(1_000)
    desk.poller.dispatch()
    assert [what for what, _, _ in desk.told] == list(range(210))
    assert desk.outcomes == ["ANSWERED"] * 77 + ["LOST"] * 123 + ["NOT_SENT"] * 10
    desk.turn()
    assert len(desk.told) == 210


def test_what_a_node_said_before_it_died_is_heard_though_a_send_finds_it_dead_first(desk, node):
    peer = connect(desk, node)
    desk.ask(peer, "first")
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.poller.wait(60_000)  # the answer is here, and not read
    desk.poller._ready.clear()
    node.session.reset()
    desk.ask(peer, "second")
    desk.peers.turn()
    desk.turn_until(lambda: len(desk.told) == 2)
    assert desk.outcomes[0] == "ANSWERED"
    assert desk.outcomes[1] in ("LOST", "NOT_SENT")


def test_a_process_does_not_sleep_over_what_was_asked(desk, node):
    peer = connect(desk, node)
    assert desk.peers.sleep_bound_ms(100) == 100
    desk.ask(peer, "first", timeout_ms=70)
    assert desk.peers.sleep_bound_ms(100) == 0, "to be sent"
    desk.peers.turn()
    assert desk.peers.sleep_bound_ms(100) == 70, "its deadline"


# Back-pressure


def test_a_node_that_does_not_read_costs_a_bound_and_what_did_not_leave_is_known(desk):
    node = desk.node(receive_buffer_bytes=4096)
    peer = connect(desk, node, send_buffer_bytes=4096, unsent_bytes_max=200_000)
    node.session.reads = False
    asked = 0
    while desk.ask(peer, asked, message=BIG):
        asked += 1
        desk.turn()
        assert peer.unsent_bytes <= 200_000
    assert 3 <= asked < 20, asked
    node.session.reads = True
    desk.turn_until(lambda: len(node.requests) == asked)
    assert peer.unsent_bytes == 0
    for number in range(asked):
        node.session.answer(number)
    desk.turn_until(lambda: len(desk.told) == asked)
    assert set(desk.outcomes) == {"ANSWERED"}


@pytest.mark.parametrize("is_late", [True, False])
def test_half_a_request_that_left_was_not_done(desk, is_late):
    node = desk.node(receive_buffer_bytes=4096)
    peer = connect(desk, node, send_buffer_bytes=4096, unsent_bytes_max=400_000)
    node.session.reads = False
    for number in range(5):
        desk.ask(peer, number, message=BIG, timeout_ms=1_000)
    desk.turn()
    queue = peer._wire._queue
    assert queue.unsent_bytes
    whole = sum(1 for request in peer._requests if request.end <= queue.taken_bytes)
    assert whole < 5
    if is_late:
        desk.pass_ms(1_000)
    else:
        node.session.reset()
        desk.turn_until(lambda: desk.told)
    assert len(desk.told) == 5
    assert desk.outcomes[whole:] == ["NOT_SENT"] * (5 - whole)
    assert set(desk.outcomes[:whole]) <= {"LOST", "TIMED_OUT"}


def test_no_more_is_asked_than_the_bound(desk, node):
    peer = connect(desk, node, requests_max=1)
    assert desk.ask(peer, "one")
    assert not desk.ask(peer, "two")
    desk.turn_until(lambda: node.requests)
    assert not desk.ask(peer, "three"), "sent, not answered"
    node.session.answer()
    desk.turn_until(lambda: desk.told)
    assert desk.ask(peer, "four")


def test_all_peers_of_a_process_have_a_bound_together(seat):
    desk = Desk(seat, requests_max=5)
    nodes = [desk.node() for _ in range(3)]
    peers = [desk.open(node) for node in nodes]
    assert [desk.ask(peers[number % 3], number) for number in range(7)] == [True] * 5 + [False] * 2
    desk.turn_until(lambda: all(peer.state is PeerState.READY for peer in peers))
    desk.turn_until(lambda: sum(len(node.requests) for node in nodes) == 5)
    nodes[0].session.answer()
    desk.turn_until(lambda: desk.told)
    assert desk.ask(peers[1], "room again")
    desk.close()
    assert len(desk.told) == 6
    assert desk.peers._waiting == 0


def test_one_node_that_says_much_leaves_others_their_turn(desk, monkeypatch):
    monkeypatch.setattr("headrace.runtime.wire.PEER_BYTES_PER_CYCLE_MAX", 100_000)
    node = desk.node()
    peer = connect(desk, node, receive_buffer_bytes=1 << 22)
    desk.ask(peer, "much")
    desk.turn_until(lambda: node.requests)
    node.session.say(response(node.session.ids[0], bytes(1_500_000)))
    turns = 0
    while not desk.told:
        desk.turn()
        turns += 1
        assert turns < 1_000
    assert turns > 3


# What hears an outcome may do anything


def test_an_owner_who_asks_again_at_once_is_no_busy_loop(desk, node):
    node.hang_up()
    peer = desk.open(node)

    def again(_outcome, _body):
        desk.ask(peer, "again", on_reply=again)

    desk.ask(peer, "first", on_reply=again)
    desk.turn_until(lambda: desk.told)
    for _ in range(20):
        desk.turn()
    assert len(desk.told) == 1
    desk.pass_ms(1_000)
    desk.turn_until(lambda: len(desk.told) == 2)


def test_a_reply_may_ask_the_next_one(desk, node):
    peer = connect(desk, node, requests_max=1)
    desk.ask(peer, "first", on_reply=lambda _outcome, _body: desk.ask(peer, "second"))
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: len(node.requests) == 2)
    node.session.answer(1)
    desk.turn_until(lambda: len(desk.told) == 2)


def test_a_reply_may_close_the_connection(desk, node):
    peer = connect(desk, node)
    desk.ask(peer, "first", on_reply=lambda _outcome, _body: desk.peers.close(peer))
    desk.ask(peer, "second")
    desk.turn_until(lambda: len(node.requests) == 2)
    node.session.say(response(node.session.ids[0]) + response(node.session.ids[1]))
    desk.turn_until(lambda: len(desk.told) == 2)
    assert desk.outcomes == ["ANSWERED", "LOST"]
    assert peer.state is PeerState.CLOSED
    assert not desk.ask(peer, "third")
    assert not desk.poller.has_sockets


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (ValueError("ours"), "reply dropped outcome=ANSWERED"),
        (BadFrame("theirs"), "response refused api=12 version=0 reason=theirs"),
    ],
)
def test_a_reply_that_fails_harms_no_other(desk, node, caplog, failure, said):
    peer = connect(desk, node)

    def fail(_outcome, _body):
        raise failure

    desk.ask(peer, "first", on_reply=fail)
    desk.ask(peer, "second")
    desk.turn_until(lambda: len(node.requests) == 2)
    node.session.answer(0)
    node.session.answer(1)
    desk.turn_until(lambda: len(desk.told) == 2)
    assert desk.outcomes == ["ANSWERED"] * 2
    assert said in caplog.text
    assert peer.state is PeerState.READY


def test_a_reply_that_must_end_the_process_does(desk, node):
    peer = connect(desk, node)

    def fail(_outcome, _body):
        raise Fenced("replaced")

    desk.ask(peer, "first", on_reply=fail)
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    with pytest.raises(Fenced):
        desk.turn_until(lambda: False)


def test_a_port_of_ours_that_nobody_listens_on_is_not_met_by_ourselves(desk):
    """A connect to a free port of the range for outgoing connections may meet itself, on this machine."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = bound.getsockname()
    peer = desk.peers.open(*address)
    desk.ask(peer, "first")
    desk.peers.turn()
    wire = peer._wire
    if wire is None:
        pytest.skip("refused at once")
    desk.poller.forget(wire._sock.fileno())
    wire._sock.close()
    wire._sock = sock = socket.socket()
    sock.bind(address)
    sock.connect(address)
    sock.setblocking(False)
    desk.poller.register(sock.fileno(), 4, peer._on_events)
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["NOT_SENT"]


# Names


def test_a_name_is_looked_up_by_a_thread_which_rings(desk, node, seat, monkeypatch):
    peer = desk.peers.open("localhost", node.port)
    desk.ask(peer, "first")
    desk.peers.turn()
    assert peer.state in (PeerState.RESOLVING, PeerState.CONNECTING)
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["ANSWERED"]


# TLS will be one


@pytest.mark.parametrize("asks_versions", [True, False])
def test_a_transform_stands_between_the_socket_and_the_frames(desk, asks_versions):
    node = desk.node(transform=Scrambled)
    peer = connect(desk, node, transform=Scrambled, asks_versions=asks_versions)
    desk.ask(peer, "large", message=BIG)
    desk.ask(peer, "other")
    desk.turn_until(lambda: len(node.requests) == 2)
    node.session.answer(0, b"x" * 50_000)
    node.session.answer(1, b"y")
    desk.turn_until(lambda: len(desk.told) == 2)
    assert desk.told == [("large", Outcome.ANSWERED, b"x" * 50_000), ("other", Outcome.ANSWERED, b"y")]
    node.session.close()
    desk.turn_until(lambda: peer.state is PeerState.BACKING_OFF)


def test_a_transform_that_is_not_understood_ends_the_connection(desk, node, caplog):
    node.reads = False
    peer = desk.open(node, transform=Scrambled)
    desk.ask(peer, "first")
    desk.turn_until(lambda: node.sessions)
    node.session.say(b"HTTP/1.1 400")
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["NOT_SENT"]
    assert "no hello" in caplog.text


# The table


def peer_in(desk, node, state):
    """A peer that went into a state by itself."""
    peer = desk.open(node, asks_versions=True)
    if state is PeerState.IDLE:
        return peer
    if state is PeerState.CLOSED:
        desk.peers.close(peer)
        return peer
    desk.ask(peer, "first", timeout_ms=1_000_000)
    if state is PeerState.RESOLVING:
        desk.peers.resolver.lookup = lambda _host, _port: None
        desk.peers.turn()
    elif state is PeerState.CONNECTING:
        desk.peers.turn()
    elif state is PeerState.BACKING_OFF:
        node.hang_up()
        desk.turn_until(lambda: desk.told)
        desk.ask(peer, "second")
    else:
        desk.turn_until(lambda: node.requests)
        if state is PeerState.READY:
            node.session.answer_versions(HEARTBEAT=(0, 4))
            desk.turn_until(lambda: peer.state is PeerState.READY)
    return peer


@pytest.mark.parametrize("event", PeerEvent)
@pytest.mark.parametrize("state", PeerState)
def test_every_event_in_every_state(desk, node, state, event):
    peer = peer_in(desk, node, state)
    assert peer.state is state
    waiting = len(peer)
    row = TABLE[state][event]
    details = {PeerEvent.BROKEN: ("the test says so",), PeerEvent.GREETED: ({},)}.get(event, ())
    if event is PeerEvent.RESOLVED and state is PeerState.RESOLVING:
        peer._addresses.append((socket.AF_INET, ("127.0.0.1", node.port)))
    if row is False:
        with pytest.raises(AssertionError, match=f"{event.name} in {state.name}"):
            peer._step(event, *details)
        assert peer.state is state
        return
    peer._step(event, *details)
    if row is IGNORED:
        assert peer.state is state
        assert len(peer) == waiting
        return
    assert peer.state in row.states
    has_failed = row.act in (Act.BACK_OFF, Act.BE_LATE, Act.SHUT)
    assert len(peer) == (0 if has_failed else waiting)
    assert len(peer._told) == (waiting if has_failed else 0)
    assert (peer._wire is not None) == (peer.state in (PeerState.CONNECTING, PeerState.GREETING, PeerState.READY))
    assert desk.poller.has_sockets == (peer._wire is not None)
    assert bool(peer._timer) == (peer.state not in (PeerState.IDLE, PeerState.READY, PeerState.CLOSED))


def test_no_state_is_a_dead_end():
    """From each state but CLOSED some event leads on, and every state is led to."""
    targets = {target for cells in TABLE.values() for row in cells.values() if row for target in row.states}
    assert targets == set(PeerState)
    for state, cells in TABLE.items():
        assert state is PeerState.CLOSED or any(
            row and row.states - {state, PeerState.CLOSED} for row in cells.values()
        )


def test_a_process_has_a_bounded_number_of_peers(seat, monkeypatch):
    monkeypatch.setattr("headrace.runtime.peers.PEERS_MAX", 2)
    desk = Desk(seat)
    first = desk.peers.open("127.0.0.1", 1)
    assert desk.peers.open("127.0.0.1", 2) is not None
    assert desk.peers.open("127.0.0.1", 3) is None
    desk.peers.close(first)
    assert desk.peers.open("127.0.0.1", 3) is not None
    desk.close()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.ENOMEM])
def test_a_socket_that_the_system_can_not_watch_is_no_connection(code):
    def refuse(*_watched):
        raise OSError(code, os.strerror(code))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        target = (socket.AF_INET, listener.getsockname())
        with pytest.raises(WireBroken, match="can't be watched"):
            Wire(SimpleNamespace(register=refuse), "it", PeerOptions(client_id="us"), target, lambda _events: 0)
