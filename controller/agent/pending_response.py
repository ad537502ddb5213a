"""A response that waits until this node is as the request wanted it.

Runs in: the controller process. Polled where something has moved; a poll goes on from the first item that was not there
at the last one, so that all polls together cost a check for each item, and one more each. One poll checks ITEMS_PER_POLL_MAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from headrace.limits import ITEMS_PER_POLL_MAX

T = TypeVar("T")


class PendingResponse:
    """One response in the making.

    items      what has to come
    is_there   whether an item has come; not asked again once it said so
    respond    the response body; told whether all came in time
    deadline_ms   when it is answered whatever has come
    is_halfway    whether the last poll ended before it had checked all that may be there
    """

    __slots__ = ("_is_there", "_open", "_respond", "deadline_ms", "is_halfway")

    def __init__(
        self,
        items: Sequence[T],
        deadline_ms: int,
        is_there: Callable[[T], bool],
        respond: Callable[[bool], bytes],
    ) -> None:
        self._open = list(reversed(items))
        self.deadline_ms = deadline_ms
        self.is_halfway = False
        self._is_there = is_there
        self._respond = respond

    @classmethod
    def done(cls, response: bytes) -> PendingResponse:
        """A response that waits for nothing."""
        return cls((), 0, bool, lambda _is_done: response)

    def poll(self, now_ms: int) -> bytes | None:
        """The response, once everything came or the time is over; None before."""
        left = ITEMS_PER_POLL_MAX
        while self._open and left and self._is_there(self._open[-1]):
            self._open.pop()
            left -= 1
        self.is_halfway = not left and bool(self._open)
        if not self._open:
            return self._respond(True)
        return self._respond(False) if now_ms >= self.deadline_ms and not self.is_halfway else None
