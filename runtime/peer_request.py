"""A request to another node, and what became of it.

ANSWERED      here is the response's body
NOT_SENT      it has not left whole, so it was not done: no connection, late, or the peer was closed
UNSUPPORTED   not done: the node serves no version that is good enough
LOST          the connection broke: done or not
TIMED_OUT     late: done or not, and the connection is given up, since what comes late would be another one's answer
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from headrace.errors import HeadraceError
from headrace.runtime.mailbox import REFUSALS

_EMPTY: Final = memoryview(b"")

_log: Final = logging.getLogger(__name__)


class Outcome(IntEnum):
    """What became of a request."""

    ANSWERED = 0
    NOT_SENT = 1
    UNSUPPORTED = 2
    LOST = 3
    TIMED_OUT = 4

    @property
    def is_undone(self) -> bool:
        """Whether the node has not done it for sure: to ask again does nothing twice."""
        return self in (Outcome.NOT_SENT, Outcome.UNSUPPORTED)


# Called once with what became of a request, and the body of its response; empty unless ANSWERED.
OnReply = Callable[[Outcome, memoryview], None]


class PeerRequest:
    """One that was made and is not reported yet.

    frame    where its version was known at once; None otherwise, and after it was queued
    timer    serial of its deadline
    end      how many bytes the connection has taken when all of it is out; 0: not queued
    """

    __slots__ = (
        "api_key", "correlation_id", "end", "frame", "frame_bytes", "into", "message", "on_reply", "timer", "version",
        "version_min",
    )  # fmt: skip

    def __init__(
        self,
        api_key: int,
        version: int,
        version_min: int | None,
        message: Any,
        on_reply: OnReply,
        into: memoryview | None,
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.version_min = version_min
        self.message = message
        self.on_reply = on_reply
        self.into = into
        self.correlation_id = 0
        self.frame: bytes | None = None
        self.frame_bytes = 0
        self.timer = 0
        self.end = 0

    def settle(self, outcome: Outcome, body: memoryview = _EMPTY) -> None:
        """Tell who asked; what one node says must not end the process that asked."""
        try:
            self.on_reply(outcome, body)
        except REFUSALS as failure:
            _log.warning("response refused api=%d version=%d reason=%s", self.api_key, self.version, failure)
        except HeadraceError:
            raise
        except Exception:
            _log.exception("reply dropped outcome=%s", outcome.name)
