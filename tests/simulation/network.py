"""A simulated network: listeners, connections, delays, partial reads and writes, cuts of one way or both.

A connection is two sockets. What one sends is in flight until an event delivers a part of it; order within a connection holds, and
connections overtake each other. What a cut holds back arrives after it, as TCP's repetitions do, unless the sender has given up by
then (TCP_USER_TIMEOUT) or has asked in vain whether the other end is there (SO_KEEPALIVE). A machine that loses power says nothing;
what is sent to it after its next boot is answered by a reset.

    network.cut(source, target), heal(source, target)     one way; hosts are names
"""

import errno
import os
import socket
from collections import deque

from headrace.runtime.poller import BROKEN, READ, WRITE
from tests.simulation.kernel import MS

FIRST_FD = 2_000_000  # no descriptor of the machine that runs the simulation
BUFFER_BYTES = 65536  # in flight, one way
ASKED_NS = 900_000 * MS  # how long a sender without patience repeats what does not arrive
RETRY_NS = 100 * MS  # of what a cut holds back
CLIENT_HOST = "10.0.0.99"
FIRST_PORT = 40_000


class Network:
    def __init__(self, kernel):
        self.kernel = kernel
        self.sockets = {}  # by descriptor
        self.listeners = {}  # (host, port) -> Listener
        self.machines = {}  # by host
        self._cuts = {}
        self._next_fd = FIRST_FD
        self._next_port = FIRST_PORT
        self.slow_hosts = {}  # host -> extra delay, ns

    def draw_fd(self):
        self._next_fd += 1
        return self._next_fd

    def draw_port(self):
        self._next_port += 1
        return self._next_port

    def delay_ns(self, source, target):
        chance = self.kernel.chance
        delay = chance.randrange(20_000, 1_000_000)
        if chance.random() < 0.02:
            delay += chance.randrange(1 * MS, 40 * MS)
        return delay + self.slow_hosts.get(source, 0) + self.slow_hosts.get(target, 0)

    def cut(self, source, target):
        self._cuts[source, target] = None

    def heal(self, source, target):
        self._cuts.pop((source, target), None)

    def heal_all(self):
        self._cuts.clear()

    def is_cut(self, source, target):
        return bool(self._cuts) and (source, target) in self._cuts

    def is_up(self, host):
        machine = self.machines.get(host)
        return machine is None or machine.is_on

    def boots(self, host):
        machine = self.machines.get(host)
        return 0 if machine is None else machine.boots

    def open_socket(self, *_arguments, **_options):
        """What stands for `socket.socket`."""
        process = self.kernel.running
        return Socket(self, CLIENT_HOST if process is None else process.machine.host, process)


class Socket:
    """One end of a connection."""

    def __init__(self, network, host, process=None):
        self._network = network
        self._kernel = network.kernel
        self.fd = network.draw_fd()
        network.sockets[self.fd] = self
        self.host = host
        self.boots = network.boots(host)
        self.process = None
        self.state = "new"
        self.error = 0
        self.peer = None
        self.touch = _nothing  # told of each change; the poller's, once it watches
        self.name = (host, 0)
        self.peer_name = ("", 0)
        self.inbox = bytearray()
        self.is_ended = False  # the peer sends nothing more, and all has arrived
        self.flight = bytearray()
        self.is_finishing = False
        self._is_scheduled = False
        self.patience_ns = 0  # TCP_USER_TIMEOUT
        self.keepalive_ns = 0
        self._stuck_ns = 0  # since when nothing of the flight arrives
        if process is not None:
            self.belong_to(process)

    def belong_to(self, process):
        self.process = process
        process.sockets[self.fd] = self

    def __enter__(self):
        return self

    def __exit__(self, *_failure):
        self.close()

    def fileno(self):
        return self.fd

    def setblocking(self, _flag):
        pass

    def bind(self, address):
        if address[0] != self.host:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))

    def setsockopt(self, level, option, value):
        if level == socket.IPPROTO_TCP and option == socket.TCP_USER_TIMEOUT:
            self.patience_ns = value * MS
        elif level == socket.IPPROTO_TCP and option == socket.TCP_KEEPIDLE:
            self.keepalive_ns = (value + 3) * 1000 * MS

    def getsockopt(self, _level, _option):
        error, self.error = self.error, 0
        return error

    def getsockname(self):
        return self.name

    def getpeername(self):
        if self.state != "open":
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        return self.peer_name

    def connect_ex(self, place):
        self.name = (self.host, self._network.draw_port())
        self.peer_name = (place[0], place[1])
        self.state = "connecting"
        self._kernel.after(self._network.delay_ns(self.host, place[0]), self._try_to_connect)
        return errno.EINPROGRESS

    def _try_to_connect(self):
        if self.state != "connecting":
            return
        network, target = self._network, self.peer_name[0]
        if not network.is_up(target) or network.is_cut(self.host, target) or network.is_cut(target, self.host):
            self._kernel.after(2 * RETRY_NS, self._try_to_connect)
            return
        listener = network.listeners.get(self.peer_name)
        if listener is None:
            self.state, self.error = "broken", errno.ECONNREFUSED
            self.touch()
            return
        far = Socket(network, target)
        far.name, far.peer_name = self.peer_name, self.name
        far.state = self.state = "open"
        far.peer, self.peer = self, far
        listener.backlog.append(far)
        listener.touch()
        self.touch()
        if self.keepalive_ns:
            self._kernel.after(self.keepalive_ns, self._probe)

    def _probe(self):
        """SO_KEEPALIVE, as coarse as a cut that lasts."""
        if self.state != "open":
            return
        peer, network = self.peer, self._network
        is_away = not network.is_up(peer.host) or peer.boots != network.boots(peer.host)
        if is_away or network.is_cut(self.host, peer.host) or network.is_cut(peer.host, self.host):
            self.fail(errno.ETIMEDOUT)
            return
        self._kernel.after(self.keepalive_ns, self._probe)

    def events(self):
        if self.state == "open":
            found = 0
            if self.inbox or self.is_ended:
                found = READ
            if len(self.flight) < BUFFER_BYTES:
                found |= WRITE
            return found
        if self.state == "broken":
            return READ | WRITE | BROKEN
        return 0

    def _check(self):
        if self.state == "open":
            return
        error, self.error = self.error, 0
        code = error or errno.EPIPE
        raise OSError(code, os.strerror(code))

    def send(self, data, _flags=0):
        self._kernel.system_call("send")
        self._check()
        if self.is_finishing:
            raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))
        room = BUFFER_BYTES - len(self.flight)
        if room <= 0:
            raise BlockingIOError(errno.EAGAIN, "full")
        data = memoryview(data)
        count = min(room, len(data))
        chance = self._kernel.chance
        if count > 1 and chance.random() < 0.05:
            count = chance.randrange(1, count)
        self.flight += data[:count]
        self._schedule()
        return count

    def sendmsg(self, parts):
        return self.send(b"".join(parts))

    def recv_into(self, buffer):
        data = self.recv(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def recv(self, size, flags=0):
        inbox = self.inbox
        if not inbox:
            if self.state == "broken":
                error, self.error = self.error, 0
                if error:
                    raise OSError(error, os.strerror(error))
                return b""
            if self.is_ended:
                return b""
            raise BlockingIOError(errno.EAGAIN, "empty")
        count = min(size, len(inbox))
        if flags & socket.MSG_PEEK:
            return bytes(inbox[:count])
        chance = self._kernel.chance
        if count > 1 and chance.random() < 0.05:
            count = chance.randrange(1, count)
        data = bytes(inbox[:count])
        del inbox[:count]
        return data

    def close(self):
        if self.state == "closed":
            return
        was_open = self.state == "open"
        self.state = "closed"
        self.touch = _nothing
        self._network.sockets.pop(self.fd, None)
        if self.process is not None:
            self.process.sockets.pop(self.fd, None)
        if not was_open:
            return
        if self.inbox:
            self.flight.clear()
            self._send_reset()
        else:
            self.is_finishing = True
            self._schedule()

    def vanish(self):
        """Its machine has lost power: nobody hears of it."""
        self.state = "closed"
        self.touch = _nothing
        self._network.sockets.pop(self.fd, None)
        self.flight.clear()

    def fail(self, code):
        """The system gives the connection up."""
        if self.state in ("open", "connecting"):
            self.state, self.error = "broken", code
            self.flight.clear()
            self.touch()

    def _schedule(self):
        if not self._is_scheduled and self.peer is not None:
            self._is_scheduled = True
            self._kernel.after(self._network.delay_ns(self.host, self.peer.host), self._deliver)

    def _send_reset(self):
        peer = self.peer
        if not self._network.is_cut(self.host, peer.host):
            self._kernel.after(self._network.delay_ns(self.host, peer.host), lambda: peer.fail(errno.ECONNRESET))

    def _deliver(self):
        self._is_scheduled = False
        network, kernel, peer = self._network, self._kernel, self.peer
        if not self.flight and not self.is_finishing:
            return
        if network.is_cut(self.host, peer.host) or not network.is_up(peer.host):
            if not self._stuck_ns:
                self._stuck_ns = kernel.now_ns
            if self.patience_ns and kernel.now_ns - self._stuck_ns >= self.patience_ns:
                self.fail(errno.ETIMEDOUT)
                return
            if kernel.now_ns - self._stuck_ns < ASKED_NS:
                self._is_scheduled = True
                kernel.after(RETRY_NS, self._deliver)
            return
        self._stuck_ns = 0
        if peer.state != "open" or peer.boots != network.boots(peer.host):
            if self.flight and self.state == "open" and not network.is_cut(peer.host, self.host):
                self.fail(errno.ECONNRESET)
            self.flight.clear()
            return
        flight = self.flight
        if flight:
            room = BUFFER_BYTES * 4 - len(peer.inbox)
            count = min(len(flight), room)
            chance = kernel.chance
            if count > 1 and chance.random() < 0.2:
                count = chance.randrange(1, count)
            peer.inbox += flight[:count]
            del flight[:count]
            peer.touch()
            self.touch()
        if flight:
            self._schedule()
        elif self.is_finishing:
            peer.is_ended = True
            peer.touch()


class Listener:
    """The kernel's end of a listening socket, which a node's supervisor and its network worker both have."""

    def __init__(self, network, place):
        self._network = network
        self.place = place
        self.backlog = deque()
        self._ends = []
        network.listeners[place] = self

    def share(self, process):
        end = ListeningEnd(self._network, self, process)
        self._ends = [end]  # one process accepts; its predecessor is dead
        return end

    def touch(self):
        for end in self._ends:
            end.touch()

    def close(self):
        """The last holder has closed it: what waits is reset."""
        self._network.listeners.pop(self.place, None)
        while self.backlog:
            sock = self.backlog.popleft()
            sock.inbox += b"\0"
            sock.close()

    def vanish(self):
        self._network.listeners.pop(self.place, None)
        while self.backlog:
            self.backlog.popleft().vanish()


class ListeningEnd:
    """What a network worker inherits."""

    def __init__(self, network, listener, process):
        self._network = network
        self._listener = listener
        self._process = process
        self.touch = _nothing
        self.fd = network.draw_fd()
        network.sockets[self.fd] = self
        process.sockets[self.fd] = self

    def fileno(self):
        return self.fd

    def setblocking(self, _flag):
        pass

    def events(self):
        return READ if self._listener.backlog else 0

    def accept(self):
        if not self._listener.backlog:
            raise BlockingIOError(errno.EAGAIN, "none")
        sock = self._listener.backlog.popleft()
        sock.belong_to(self._process)
        return sock, sock.peer_name

    def close(self):
        self.touch = _nothing
        self._network.sockets.pop(self.fd, None)
        self._process.sockets.pop(self.fd, None)

    def vanish(self):
        self.close()


def _nothing():
    """Nobody watches."""
