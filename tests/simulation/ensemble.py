"""The ZooKeeper of a simulation: the real table of the server for tests, and kazoo's client without its threads and sockets.

    controller process -> kazoo's own requests -> channel -> Table (`headrace/testing/zookeeper/state`) -> channel -> kazoo's own replies

Frames take their time and keep their order. A cut between a node and HOST holds them back, and both ends notice as they do: the client by
a ping without an answer, the server by the session's timeout. What kazoo's threads do happens in the name of the controller process.

Source: kazoo `ConnectionHandler`.
"""

from collections import deque

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, SessionExpiredError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import Close, Connect, ReplyHeader, int_struct
from kazoo.protocol.states import KeeperState

from headrace.testing.zookeeper.state.requests import HANDLERS
from headrace.testing.zookeeper.state.table import Send, Table
from tests.simulation.kernel import MS

HOST = "zookeeper"
TICK_MS = 1_000
PING_XID, EVENT_XID, PING = -2, -1, 11
RETRY_FIRST_MS, RETRY_MAX_MS = 50, 1_000


class Channel:
    """Frames one way, in their order, each after a delay."""

    def __init__(self, kernel, source, target, deliver):
        self._kernel = kernel
        self._source, self._target, self._deliver = source, target, deliver
        self._frames = deque()
        self._is_scheduled = False
        self.is_open = True

    def put(self, frame):
        self._frames.append(frame)
        self._schedule(self._kernel.network.delay_ns(self._source, self._target))

    def _schedule(self, delay_ns):
        if not self._is_scheduled:
            self._is_scheduled = True
            self._kernel.after(delay_ns, self._pass)

    def _pass(self):
        self._is_scheduled = False
        if not self.is_open:
            return
        network = self._kernel.network
        if network.is_cut(self._source, self._target) or not network.is_up(self._target):
            self._schedule(100 * MS)
            return
        if self._frames:
            frame = self._frames.popleft()
            if self._frames:
                self._schedule(self._kernel.chance.randrange(1_000, 200_000))
            self._deliver(frame)


class Ensemble:
    """The server's end."""

    def __init__(self, kernel):
        self._kernel = kernel
        self.table = Table(
            lambda: kernel.wall_ns // MS, lambda: kernel.now_ms, kernel.chance.randbytes, HANDLERS, TICK_MS
        )
        self._links = {}
        self._next_link = 1
        self.is_up = True
        self._tick()

    def connect(self, host, on_frame, on_end):
        """A connection: returns (send, close)."""
        link = self._next_link
        self._next_link += 1
        kernel = self._kernel
        inward = Channel(kernel, host, HOST, lambda frame: self._take(link, frame))
        outward = Channel(kernel, HOST, host, lambda frame: on_end() if frame is None else on_frame(frame))
        self._links[link] = (inward, outward)
        self.table.connect(link, host)

        def close():
            """The client's end is closed: what it has sent arrives, and then its end."""
            outward.is_open = False
            inward.put(None)

        return inward.put, close

    def is_behind(self, zxid):
        return self.is_up and self.table.tree.zxid < zxid

    def expire(self, session_id):
        """A session's timeout is over."""
        session = self.table.sessions.get(session_id)
        if session is not None:
            session.deadline_ms = 0
            self._perform(self.table.tick())

    def drop_all(self):
        """The server's connections end, all of them: it is restarted, say."""
        for link in list(self._links):
            self._hang_up(link)

    def _take(self, link, frame):
        if link not in self._links:
            return
        if frame is None:
            del self._links[link]
            self.table.drop(link)
            return
        self._perform(self.table.request(link, frame))

    def _perform(self, effects):
        self.table.committed.clear()
        for effect in effects:
            if effect.link not in self._links:
                continue
            if isinstance(effect, Send):
                self._links[effect.link][1].put(bytes(effect.frame))
            else:
                self._hang_up(effect.link)

    def _hang_up(self, link):
        _inward, outward = self._links.pop(link)
        self.table.drop(link)
        outward.put(None)

    def _tick(self):
        next_ms = self.table.next_ms()
        if next_ms is not None and next_ms <= self._kernel.now_ms:
            self._perform(self.table.tick())
        self._kernel.after(250 * MS, self._tick)


class _Handler(SequentialThreadingHandler):
    """Callbacks are called at once: the simulation has put them where a thread would call them."""

    def dispatch_callback(self, callback):
        callback.func(*callback.args)

    def start(self):
        pass

    def stop(self):
        pass


class SimulatedKazooClient(KazooClient):
    """kazoo's client, whose connection is the simulation's."""

    def __init__(self, kernel, **options):
        super().__init__(handler=_Handler(), **options)
        self._kernel = kernel
        self._process = kernel.running
        self._host = self._process.machine.host
        self._process.on_death.append(self._process_died)
        self._link = None  # (send, close)
        self._serial = 0  # of the connection: callbacks of an earlier one find another
        self._is_pinged = False
        self._retry_ms = RETRY_FIRST_MS

    def start_async(self):
        self._stopped.clear()
        self._later(self._kernel.chance.randrange(1, 5), self._connect)
        return self._live

    def stop(self):
        if self._stopped.is_set():
            return
        self._stopped.set()
        if self._link is not None:
            send, close = self._link
            if self._live.is_set():
                self._serial += 1
                send(int_struct.pack(1) + int_struct.pack(Close.type))
            close()
            self._link = None
        self._session_callback(KeeperState.CLOSED)

    def close(self):
        pass

    def _call(self, request, async_object):
        if self._state == KeeperState.CLOSED:
            async_object.set_exception(ConnectionClosedError("Connection has been closed"))
            return False
        if self._state == KeeperState.EXPIRED_SESSION:
            async_object.set_exception(SessionExpiredError())
            return False
        self._queue.append((request, async_object))
        self._pump()
        return None

    def _pump(self):
        """Send what waits, where there is a session."""
        while self._link is not None and self._live.is_set() and self._queue:
            request, async_object = self._queue.popleft()
            self._xid += 1
            self._pending.append((request, async_object, self._xid))
            body = request.serialize()
            self._link[0](int_struct.pack(self._xid) + int_struct.pack(request.type) + bytes(body))

    def _connect(self):
        if self._stopped.is_set():
            return
        network = self._kernel.network
        if self._state != KeeperState.CONNECTING:
            self._session_callback(KeeperState.CONNECTING)
        if not self._kernel.ensemble.is_up or network.is_cut(self._host, HOST) or network.is_cut(HOST, self._host):
            self._connect_later()
            return
        self._serial += 1
        serial = self._serial
        self._xid = 0
        self._link = self._kernel.ensemble.connect(
            self._host,
            lambda frame: self._in_process(serial, lambda: self._take_frame(frame)),
            lambda: self._in_process(serial, self._lose),
        )
        connect = Connect(0, self.last_zxid, self._session_timeout, self._session_id or 0, self._session_passwd, False)
        self._link[0](bytes(connect.serialize()))
        self._later(self._session_timeout, lambda: self._late(serial))

    def _late(self, serial):
        """No reply to the first request of a connection."""
        if serial == self._serial and self._link is not None and not self._live.is_set():
            self._lose()

    def _in_process(self, serial, call):
        if serial == self._serial and not self._process.is_dead:
            self._kernel.run_as(self._process, call)

    def _take_frame(self, frame):
        if self._link is None:
            return
        frame = frame[4:]  # its length
        if not self._live.is_set():
            self._take_session(frame)
            return
        header, offset = ReplyHeader.deserialize(frame, 0)
        if header.xid == PING_XID:
            self._is_pinged = False
        elif header.xid == EVENT_XID:
            self._connection._read_watch_event(frame, offset)
        else:
            self._connection._read_response(header, frame, offset)

    def _take_session(self, frame):
        result, _offset = Connect.deserialize(frame, 0)
        if result.time_out <= 0:
            self._hang_up()
            self._session_callback(KeeperState.EXPIRED_SESSION)
            self._connect_later()
            return
        self._session_id = result.session_id
        self._session_passwd = result.passwd
        self._retry_ms = RETRY_FIRST_MS
        self._is_pinged = False
        self._ping_ms = result.time_out // 3
        self._session_callback(KeeperState.CONNECTED)
        self._later(self._ping_ms, lambda serial=self._serial: self._ping(serial))
        self._pump()

    def _ping(self, serial):
        if serial != self._serial or self._link is None:
            return
        if self._is_pinged:
            self._lose()
            return
        self._is_pinged = True
        self._link[0](int_struct.pack(PING_XID) + int_struct.pack(PING))
        self._later(self._ping_ms, lambda: self._ping(serial))

    def _lose(self):
        """The connection is gone."""
        if self._link is None:
            return
        self._hang_up()
        if self._state != KeeperState.CONNECTING:
            self._session_callback(KeeperState.CONNECTING)
        self._connect_later()

    def _hang_up(self):
        if self._link is not None:
            self._link[1]()
            self._link = None
            self._serial += 1

    def _connect_later(self):
        self._later(self._retry_ms, self._connect)
        self._retry_ms = min(RETRY_MAX_MS, self._retry_ms * 3 // 2)

    def _later(self, delay_ms, call):
        self._kernel.after(delay_ms * MS, call, self._process)

    def _process_died(self):
        self._stopped.set()
        if self._link is not None:
            if self._process.machine.is_on:
                self._link[1]()
            self._link = None
