"""Names of other nodes, without waiting for them.

Runs in: a process that has peers. An address in figures is taken as it is. A name needs the system's resolver, which blocks for
as long as its servers are silent (half a minute by default), so it runs in a thread:

    lookup -> None, a thread asks          the thread has an answer -> wake (the doorbell) -> lookup -> addresses

A thread that hangs holds its name and one of RESOLVER_THREADS_MAX places; the peer that waits has a deadline of its own.
Threads touch `_found` alone, by one store each, and end with the process. A process that forks has none by then.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

from headrace.limits import RESOLVER_THREADS_MAX

# (family, what `connect` takes)
Address = tuple[int, tuple[object, ...]]

_log: Final = logging.getLogger(__name__)


class Resolver:
    """One process's look-ups of names.

    wake         rings the process's doorbell, whatever it does; called by threads
    getaddrinfo  the system's
    """

    def __init__(
        self,
        wake: Callable[[], None],
        threads_max: int = RESOLVER_THREADS_MAX,
        getaddrinfo: Callable[..., Any] = socket.getaddrinfo,
    ) -> None:
        self._wake = wake
        self._getaddrinfo = getaddrinfo
        self._threads_max = threads_max
        self._found: dict[tuple[str, int], list[Address] | None] = {}  # None: a thread asks
        self._unwanted: set[tuple[str, int]] = set()

    def lookup(self, host: str, port: int) -> list[Address] | None:
        """The addresses of a node, none where it has none; None: not yet, ask again after `wake`."""
        try:
            return self._addresses(host, port, socket.AI_NUMERICHOST)
        except socket.gaierror:
            pass  # a name
        except (OSError, UnicodeError):
            return []
        key = (host, port)
        self._drop_unwanted()
        self._unwanted.discard(key)
        if key not in self._found:
            if len(self._found) < self._threads_max:
                self._begin(host, port)
            return None
        if self._found[key] is None:
            return None
        return self._found.pop(key)

    def _begin(self, host: str, port: int) -> None:
        """A thread asks; where none is to be had, the next look-up begins one."""
        self._found[host, port] = None
        try:
            threading.Thread(target=self._ask, args=(host, port), name=f"resolver {host}", daemon=True).start()
        except RuntimeError as failure:
            del self._found[host, port]
            _log.debug("name not looked up host=%s reason=%s", host, failure)

    def forget(self, host: str, port: int) -> None:
        """Nothing waits for this name any longer; its thread may still hang."""
        if (host, port) in self._found:
            self._unwanted.add((host, port))
            self._drop_unwanted()

    def _drop_unwanted(self) -> None:
        for key in [key for key in self._unwanted if self._found.get(key) is not None]:
            del self._found[key]
            self._unwanted.discard(key)

    def _ask(self, host: str, port: int) -> None:
        """In a thread."""
        found: list[Address] = []
        try:
            found = self._addresses(host, port)
        except (OSError, UnicodeError) as failure:
            _log.debug("name not found host=%s reason=%s", host, failure)
        finally:
            self._found[host, port] = found
            self._wake()

    def _addresses(self, host: str, port: int, flags: int = 0) -> list[Address]:
        found = self._getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
        return list(dict.fromkeys((int(family), address) for family, _type, _protocol, _name, address in found))
