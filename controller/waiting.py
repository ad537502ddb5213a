"""An answer that waits for rows of the partition table.

Runs in: the controller process. Looked at in every cycle while it is open; a look costs one row for each
partition that is not there yet.
"""

from __future__ import annotations

from collections.abc import Callable

# (slot, key, leader epoch): the row that has to come
Row = tuple[int, int, int]


class Waiting:
    """One answer in the making.

    is_there   whether a row has come
    respond    the response body; told whether all rows came in time
    """

    __slots__ = ("_deadline_ms", "_is_there", "_open", "_respond")

    def __init__(
        self,
        rows: list[Row],
        deadline_ms: int,
        is_there: Callable[[Row], bool],
        respond: Callable[[bool], bytes],
    ) -> None:
        self._open = rows
        self._deadline_ms = deadline_ms
        self._is_there = is_there
        self._respond = respond

    @classmethod
    def done(cls, response: bytes) -> Waiting:
        """An answer that waits for nothing."""
        return cls([], 0, lambda _row: True, lambda _done: response)

    def poll(self, now_ms: int) -> bytes | None:
        """The response, once every row came or the time is over; None before."""
        self._open = [row for row in self._open if not self._is_there(row)]
        if not self._open:
            return self._respond(True)
        return self._respond(False) if now_ms >= self._deadline_ms else None
