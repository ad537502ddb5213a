"""Names of nodes are looked up by threads, a few at once; figures by nobody; nothing waits."""

import socket
import threading

import pytest

from headrace.runtime import resolver as resolver_module
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_states import PeerState
from headrace.runtime.resolver import Resolver
from tests.support.altered import altered
from tests.support.waiting import wait_until

REAL = socket.getaddrinfo


class Names:
    """A system's resolver that answers when the test says so."""

    def __init__(self):
        self.asked = []
        self.may_answer = threading.Event()
        self.fails = False

    def getaddrinfo(self, host, port, *, type, flags):
        if flags & socket.AI_NUMERICHOST:
            return REAL(host, port, type=type, flags=flags)
        self.asked.append(host)
        self.may_answer.wait()
        if self.fails:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return REAL("127.0.0.1", port, type=type)


@pytest.fixture
def names():
    names = Names()
    yield names
    names.may_answer.set()
    wait_until(lambda: not [one for one in threading.enumerate() if one.name.startswith("resolver ")])


@pytest.fixture
def resolver(names):
    resolver = Resolver(lambda: resolver.woken.append(1), getaddrinfo=names.getaddrinfo)
    resolver.woken = []
    return resolver


@pytest.mark.parametrize(
    ("host", "family", "address"),
    [
        ("127.0.0.1", socket.AF_INET, ("127.0.0.1", 9092)),
        ("::1", socket.AF_INET6, ("::1", 9092, 0, 0)),
    ],
)
def test_an_address_in_figures_is_there_at_once(names, resolver, host, family, address):
    assert resolver.lookup(host, 9092) == [(family, address)]
    assert not names.asked


def test_a_name_comes_later_and_rings(names, resolver):
    assert resolver.lookup("node-2", 9092) is None
    assert resolver.lookup("node-2", 9092) is None
    names.may_answer.set()
    wait_until(lambda: resolver.woken)
    assert resolver.lookup("node-2", 9092) == [(socket.AF_INET, ("127.0.0.1", 9092))]
    assert names.asked == ["node-2"]


@pytest.mark.parametrize("host", ["no-such-node", "a" * 64 + ".x", "é" * 70])
def test_a_name_without_an_address_has_none(names, resolver, host):
    names.fails = True
    names.may_answer.set()
    found = resolver.lookup(host, 9092)
    if found is None:
        wait_until(lambda: resolver.woken)
        found = resolver.lookup(host, 9092)
    assert found == []


def test_threads_that_hang_are_a_few(names, resolver):
    for number in range(20):
        assert resolver.lookup(f"node-{number}", 9092) is None
    wait_until(lambda: len(names.asked) == 4)
    names.may_answer.set()
    wait_until(lambda: len(resolver.woken) == 4)
    assert resolver.lookup("node-0", 9092)
    assert resolver.lookup("node-9", 9092) is None
    wait_until(lambda: resolver.lookup("node-9", 9092))


def test_what_nobody_waits_for_any_more_is_dropped_and_asked_anew(names, resolver):
    resolver.lookup("node-2", 9092)
    wait_until(lambda: names.asked)
    resolver.forget("node-2", 9092)
    names.may_answer.set()
    wait_until(lambda: resolver.woken)
    assert resolver.lookup("node-2", 9092) is None, "the old answer is old"
    wait_until(lambda: len(names.asked) == 2)


def ask_names(desk, seat, getaddrinfo):
    """The desk's peers look up names here."""
    desk.peers.resolver = Resolver(seat.doorbell.force, getaddrinfo=getaddrinfo)


def test_a_peer_whose_name_hangs_is_late_and_others_go_on(desk, seat, names):
    ask_names(desk, seat, names.getaddrinfo)
    node = desk.node()
    hanging = desk.peers.open("node-2", node.port, PeerOptions(setup_ms=300))
    other = desk.open(node)
    desk.ask(hanging, "hanging")
    desk.ask(other, "other")
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: desk.told)
    assert hanging.state is PeerState.RESOLVING
    desk.pass_ms(300)
    assert [(what, outcome.name) for what, outcome, _ in desk.told] == [("other", "ANSWERED"), ("hanging", "NOT_SENT")]
    assert hanging.state is PeerState.BACKING_OFF
    names.may_answer.set()
    wait_until(lambda: desk.peers.resolver._found.get(("node-2", node.port)) is not None)
    desk.ask(hanging, "again")
    desk.pass_ms(100)
    desk.turn_until(lambda: hanging.state is PeerState.READY)
    assert names.asked == ["node-2"] * 2, "what came too late is not taken"


def test_a_name_that_is_found_wakes_a_process_that_sleeps(desk, seat, names):
    ask_names(desk, seat, names.getaddrinfo)
    node = desk.node()
    peer = desk.peers.open("node-2", node.port)
    desk.ask(peer, "first")
    desk.peers.turn()
    assert not desk.poller.has_sockets
    names.may_answer.set()
    assert desk.poller.wait(60_000), "the doorbell rings"
    desk.peers.turn()
    assert peer.state is PeerState.CONNECTING


def test_a_name_without_an_address_fails_what_waits(desk, seat, names):
    ask_names(desk, seat, names.getaddrinfo)
    names.fails = True
    names.may_answer.set()
    peer = desk.peers.open("no-such-node", 9092)
    desk.ask(peer, "first")
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["NOT_SENT"]
    assert peer.state is PeerState.BACKING_OFF


def test_the_next_try_takes_the_next_address_of_a_name(desk, seat):
    """A node with two addresses of which one is dead."""
    node = desk.node()
    dead = socket.socket()
    dead.bind(("127.0.0.1", 0))

    def getaddrinfo(host, port, *, type, flags):
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "no figures")
        return REAL("127.0.0.1", dead.getsockname()[1], type=type) + REAL("127.0.0.1", node.port, type=type)

    ask_names(desk, seat, getaddrinfo)
    peer = desk.peers.open("two", 9092)
    desk.ask(peer, "first")
    desk.turn_until(lambda: desk.told)
    assert desk.outcomes == ["NOT_SENT"]
    desk.ask(peer, "second")
    desk.pass_ms(100)
    desk.turn_until(lambda: node.requests)
    node.session.answer()
    desk.turn_until(lambda: len(desk.told) == 2)
    assert desk.outcomes == ["NOT_SENT", "ANSWERED"]
    dead.close()


def test_a_name_for_which_no_thread_is_to_be_had_is_asked_for_later(names, resolver, monkeypatch):
    class NoThread(threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(resolver_module, "threading", altered(threading, Thread=NoThread))
        assert resolver.lookup("node-2", 9092) is None
    names.may_answer.set()
    assert resolver.lookup("node-2", 9092) is None
    wait_until(lambda: resolver.woken)
    assert resolver.lookup("node-2", 9092)
