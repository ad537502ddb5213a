"""The doorbell and any sockets in one epoll.

Runs in: every process. The duty cycle waits; the role dispatches, in its own cycle and where its order of work wants it:

    duty cycle: wait(ms) -> ready, a list of (descriptor, events)        role: dispatch() -> handlers, in that order

Level-triggered: what a handler leaves lying is ready again in the next wait. A process without sockets sleeps by poll(2)
on the doorbell alone, which takes half a microsecond less a sleep than an epoll of one descriptor.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Final

from headrace.shm.doorbell import Doorbell

READ: Final = select.EPOLLIN
WRITE: Final = select.EPOLLOUT
BROKEN: Final = select.EPOLLERR | select.EPOLLHUP  # reported unasked

# Called with the events that came; returns the work done.
Handler = Callable[[int], int]


class Poller:
    """One process's epoll.

    has_sockets   whether there is more to wait for than the doorbell. To be read
    """

    __slots__ = ("_bell", "_bell_event", "_epoll", "_handlers", "_ready", "has_sockets")

    def __init__(self, doorbell: Doorbell) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}  # by descriptor
        self._ready: list[tuple[int, int]] = []  # not dispatched yet
        self._bell_event = (doorbell.fd, READ)
        self._bell = select.poll()
        self._bell.register(doorbell.fd, select.POLLIN)
        self._epoll.register(doorbell.fd, READ)
        self.has_sockets = False

    def register(self, fd: int, events: int, handler: Handler) -> None:
        """Call `handler` with what comes of `events`, and with BROKEN; 0: with that alone."""
        assert fd not in self._handlers, fd
        self._epoll.register(fd, events)
        self._handlers[fd] = handler
        self.has_sockets = True

    def modify(self, fd: int, events: int) -> None:
        """Wait for other events of a descriptor."""
        self._epoll.modify(fd, events)

    def unregister(self, fd: int) -> None:
        """Wait for a descriptor no longer. Call before it is closed."""
        self.forget(fd)
        self._epoll.unregister(fd)

    def forget(self, fd: int) -> None:
        """The same for one that is closed right after, which takes it out of the epoll without a system call more.

        Not for a descriptor that another process has as well (a listener): the kernel would still report it.
        """
        del self._handlers[fd]
        self.has_sockets = bool(self._handlers)

    def wait(self, timeout_ms: int) -> bool:
        """Sleep until something is ready, the doorbell rings or the time is over; 0 does not sleep.

        returns   whether the doorbell rings
        """
        if not self.has_sockets:
            return bool(self._bell.poll(timeout_ms))
        assert not self._ready, "events of the last wait were not dispatched"
        self._ready = ready = self._epoll.poll(timeout_ms / 1000)
        if self._bell_event not in ready:
            return False
        ready.remove(self._bell_event)
        return True

    @property
    def has_events(self) -> bool:
        """Whether the last wait found what is to be dispatched; the doorbell is nothing of that."""
        return bool(self._ready)

    def dispatch(self) -> int:
        """Call the handlers of what the last wait found; returns the work they did."""
        ready, self._ready = self._ready, []
        handlers = self._handlers
        done = 0
        for fd, events in ready:
            handler = handlers.get(fd)  # None: forgotten by a handler before it
            if handler is not None:
                done += handler(events)
        return done

    def close(self) -> None:
        self._epoll.close()
