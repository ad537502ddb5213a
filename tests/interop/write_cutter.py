"""A way to ZooKeeper that ends after the n-th write: the write is done, its reply never arrives, and nothing that was sent after it.

Put before one member, whose death then falls right after that write. Writes are counted from `arm` on: create, delete, setData and
multi, of whatever part of the broker. `written` has the paths of each.

Source: ZooKeeper `zookeeper.jute`, `ZooDefs.OpCode`, `MultiOperationRecord`.
"""

import contextlib
import socket
import struct
import threading

from tests.support.waiting import DEADLINE_S

CREATE, DELETE, SET_DATA, CHECK, MULTI, CREATE2, CLOSE_SESSION = 1, 2, 5, 13, 14, 15, -11
NAMES = {CREATE: "create", CREATE2: "create", DELETE: "delete", SET_DATA: "set", CHECK: "check"}
WRITES = {CREATE, CREATE2, DELETE, SET_DATA, MULTI}
PING_XID = -2


class WriteCutter:
    """on_cut   called once the n-th write is done, from a thread of ours"""

    def __init__(self, target):
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._left = 0  # writes until the cut; 0: not armed
        self._on_cut = None
        self._session = None  # (id, password) of the last connection
        self._sockets = set()
        self._is_closed = False  # to the member, since the cut
        self.written = []
        self.has_cut = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.connect = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, count, on_cut):
        with self._lock:
            self._left, self._on_cut, self.written = count, on_cut, []
            self.has_cut.clear()

    def disarm(self):
        with self._lock:
            self._left = 0

    def reopen(self):
        """Let the member in again."""
        with self._lock:
            self._is_closed = False

    def end_session(self):
        """The session of the last connection is over: as if it had expired, without the wait."""
        session_id, password = self._session
        connect = struct.pack(">iqiqi", 0, 0, 4000, session_id, len(password)) + password + b"\0"
        with socket.create_connection(self._target, timeout=DEADLINE_S) as sock:
            for frame in (connect, struct.pack(">ii", 1, CLOSE_SESSION)):
                sock.sendall(struct.pack(">i", len(frame)) + frame)
            with contextlib.suppress(ConnectionResetError):
                while sock.recv(4096):
                    pass

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._hang_up()

    def _hang_up(self):
        with self._lock:
            left, self._sockets = self._sockets, set()
        for one in left:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self):
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            if self._is_closed:
                client.close()
                continue
            server = socket.create_connection(self._target)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets |= {client, server}
            last = []  # the xid of the write that is the last one
            for pump in (self._requests, self._replies):
                threading.Thread(target=pump, args=(client, server, last), daemon=True).start()

    def _requests(self, client, server, last):
        with contextlib.suppress(OSError, EOFError, ValueError):
            frames = _frames(client)
            _send(server, next(frames, b""))  # the connect
            for frame in frames:
                xid, kind = struct.unpack_from(">ii", frame)
                if kind in WRITES and self._is_the_last(frame, kind):
                    last.append(xid)
                    _send(server, frame)
                    return  # its connections are closed when the reply is here
                _send(server, frame)
        if not last:
            _close(client, server)

    def _replies(self, client, server, last):
        with contextlib.suppress(OSError, EOFError, ValueError):
            frames = _frames(server)
            answer = next(frames, b"")
            if len(answer) >= 20:
                (session_id, size) = struct.unpack_from(">qi", answer, 8)
                self._session = session_id, answer[20 : 20 + size]
            _send(client, answer)
            for frame in frames:
                if last and struct.unpack_from(">i", frame)[0] == last[0]:
                    self._is_closed = True
                    self._on_cut()
                    self._hang_up()
                    self.has_cut.set()
                    return
                _send(client, frame)
        _close(client, server)

    def _is_the_last(self, frame, kind):
        with self._lock:
            if not self._left:
                return False
            self.written.append(describe(frame, kind))
            self._left -= 1
            return not self._left


def describe(frame, kind):
    """What a write does: `set /a/b`, and for a multi each part."""
    if kind != MULTI:
        return f"{NAMES[kind]} {_path(frame, 8)[0]}"
    found, position = [], 8
    while True:
        part, is_done, _error = struct.unpack_from(">i?i", frame, position)
        position += 9
        if is_done:
            return "; ".join(one for one in found if not one.startswith("check"))
        path, position = _path(frame, position)
        found.append(f"{NAMES[part]} {path}")
        position = _end_of(part, frame, position)


def _end_of(part, frame, position):
    if part in (CREATE, CREATE2):
        position += 4 + max(0, struct.unpack_from(">i", frame, position)[0])
        count = struct.unpack_from(">i", frame, position)[0]
        position += 4
        for _ in range(count):
            _scheme, position = _path(frame, position + 4)
            _id, position = _path(frame, position)
        return position + 4
    if part == SET_DATA:
        position += 4 + max(0, struct.unpack_from(">i", frame, position)[0])
    return position + 4


def _path(frame, position):
    size = struct.unpack_from(">i", frame, position)[0]
    return frame[position + 4 : position + 4 + size].decode(), position + 4 + size


def _frames(sock):
    stream = sock.makefile("rb")
    while len(size := stream.read(4)) == 4:
        yield stream.read(int.from_bytes(size, "big"))


def _send(sock, frame):
    sock.sendall(struct.pack(">i", len(frame)) + frame)


def _close(*pair):
    for one in pair:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
