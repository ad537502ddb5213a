"""Links between rooms are cut one way and both, by who hears whom; nothing is left of them."""

import socket
import subprocess
import sys
import time

import pytest

from tests.chaos.network_rooms import Networks, NoNetworks
from tests.support.waiting import wait_until

pytestmark = pytest.mark.process

PORT = 9092
# listens, and says each datagram that comes
LISTEN = (
    "import socket,sys; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind((sys.argv[1],9092)); print('on',flush=True)\n"
    "while True: print(s.recv(99).decode(),flush=True)"
)
SEND = (
    "import socket,sys; socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(sys.argv[2].encode(),(sys.argv[1],9092))"
)


@pytest.fixture
def networks():
    try:
        made = Networks(2)
    except NoNetworks as failure:
        pytest.skip(str(failure))
    yield made
    made.close()


class Listener:
    """A process that hears what is sent to an address."""

    def __init__(self, address, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = address
        assert self.process.stdout.readline() == "on\n"

    def hears(self):
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def send(address, text, room=None, program=SEND):
    """Datagrams: those that are dropped are simply not there. False, where our own side dropped it."""
    command = [sys.executable, "-c", program, address, text]
    done = subprocess.run(room.command(command) if room else command, stderr=subprocess.DEVNULL)
    return done.returncode == 0


def test_a_cut_is_one_way_and_ends(networks):
    first, second = networks.rooms
    here = [
        Listener(room.address, room.command([sys.executable, "-c", LISTEN, room.address])) for room in networks.rooms
    ]
    try:
        rule = second.deaf(first.address)
        send(second.address, "lost", first)
        send(first.address, "other way", second)
        assert here[0].hears() == "other way"
        send(second.address, "from clients")
        assert here[1].hears() == "from clients"
        second.mend(rule)
        send(second.address, "mended", first)
        assert here[1].hears() == "mended"  # and not "lost" before it
        rule = second.mute(networks.clients)
        assert not send(networks.clients, "nobody hears", second)
        second.mend(rule)
        assert send(networks.clients, "somebody could", second)
    finally:
        for one in here:
            one.close()


def test_two_addresses_are_ours_and_a_slow_link_is_mended(networks):
    for address in (networks.clients, networks.zookeeper):
        with socket.create_server((address, 0)):
            pass
    room = networks.rooms[0]
    room.slow(64)
    room.fast()


def test_packets_are_late_overtake_each_other_and_come_twice(networks):
    first, second = networks.rooms
    listener = Listener(second.address, second.command([sys.executable, "-c", LISTEN, second.address]))
    try:
        first.hold_back(100, 400, 100)
        began = time.monotonic()
        texts = [f"number {number}" for number in range(20)]
        many = SEND.replace(").sendto", "); [s.sendto").replace("socket.socket(", "s=socket.socket(", 1)
        many = many.replace("sys.argv[2].encode()", "f'number {n}'.encode()") + " for n in range(20)]"
        assert send(second.address, "", first, many)
        heard = [listener.hears() for _copy in range(40)]
        assert time.monotonic() - began > 0.1
        assert sorted(heard) == sorted(texts * 2)
        assert heard != [text for text in texts for _copy in range(2)]
        first.let_go()
        assert not first.holds_back
        send(second.address, "at once", first)
        assert listener.hears() == "at once"
    finally:
        listener.close()


def test_nothing_is_left(networks):
    assert networks.link in links()
    networks.close()
    wait_until(lambda: networks.link not in links())  # the kernel takes it down a moment later


def links():
    return subprocess.run(["ip", "-br", "link"], capture_output=True, text=True).stdout
