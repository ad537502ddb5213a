"""What stands for the poller of a process: readiness is asked of simulated sockets, and no wait takes time.

Source: `headrace/runtime/poller.py`, whose methods it has.
"""

from headrace.runtime.poller import BROKEN


class SimulatedPoller:
    """bell   of the process: how often it was rung since it was read"""

    def __init__(self, kernel, bell):
        self._kernel = kernel
        self.bell = bell
        self._watched = {}  # by descriptor: [socket, events, handler]
        self._ready = []
        self._is_stale = True  # a socket has changed since all of them were asked
        self._is_closed = False
        self.has_sockets = False

    def touch(self):
        """A socket has something new."""
        self._is_stale = True

    def register(self, fd, events, handler):
        assert fd not in self._watched, fd
        sock = self._kernel.network.sockets[fd]
        self._watched[fd] = [sock, events, handler]
        sock.touch = self.touch
        self.has_sockets = self._is_stale = True

    def modify(self, fd, events):
        self._watched[fd][1] = events
        self._is_stale = True

    def unregister(self, fd):
        self.forget(fd)

    def forget(self, fd):
        if self._is_closed:  # by a coroutine of a dead process, as its memory goes
            return
        del self._watched[fd]
        self.has_sockets = bool(self._watched)

    @property
    def is_ready(self):
        """Whether a sleep would end now."""
        if self.bell.count:
            return True
        if self._is_stale:
            for sock, events, _handler in self._watched.values():
                if sock.events() & (events | BROKEN):
                    return True
            self._is_stale = False
        return False

    def wait(self, _timeout_ms):
        """What is ready now, in an order by lot; whether the doorbell rings."""
        if self.has_sockets:
            assert not self._ready, "events of the last wait were not dispatched"
            found = []
            for fd, (sock, events, _handler) in self._watched.items():
                came = sock.events() & (events | BROKEN)
                if came:
                    found.append((fd, came))
            if len(found) > 1:
                self._kernel.chance.shuffle(found)
            self._ready = found
        return self.bell.count > 0

    @property
    def has_events(self):
        return bool(self._ready)

    def dispatch(self):
        ready, self._ready = self._ready, []
        self._is_stale = True
        done = 0
        for fd, events in ready:
            watched = self._watched.get(fd)
            if watched is not None:
                done += watched[2](events)
        return done

    def close(self):
        self._is_closed = True
        self._watched.clear()
