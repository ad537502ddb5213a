"""Clients in a forked child: their sockets and threads are the parent's, so that using them there is an error, never a hang.

Source: the forks of gunicorn, celery and multiprocessing, over which other clients hang (confluent-kafka-python#172, #1122).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

from headrace.errors import HeadraceError

_alive: weakref.WeakSet[Forks] = weakref.WeakSet()


class ForkedClient(HeadraceError):
    """A client that was made in the parent process was used in a forked child."""


class Forks:
    """Whether this process is a child of the one that made a client.

    abandon   called in the child: releases the sockets' copies
    """

    def __init__(self, abandon: Callable[[], None]) -> None:
        self.is_forked = False
        self._abandon: Any = weakref.WeakMethod(abandon)
        _alive.add(self)

    def forget(self) -> None:
        """The client is closed."""
        _alive.discard(self)

    def forked(self) -> None:
        self.is_forked = True
        abandon = self._abandon()
        if abandon is not None:
            abandon()


def _in_child() -> None:
    for one in list(_alive):
        one.forked()
    _alive.clear()


os.register_at_fork(after_in_child=_in_child)
