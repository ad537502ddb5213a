"""Look-ups that read files and may take long: each has a share of a cycle, and is resumed in later ones.

    begins    ->  a slice of what is left of the cycle's share for look-ups that begin  ->  answered, or it waits
    waits     ->  one of LOOK_UPS_AT_ONCE_MAX that take turns, with a share of their own ->  answered
                  after LOOK_UP_MS_MAX, or where too many wait                           ->  a retriable error for the rows that are left

So a cycle has two shares for all of them, however many are pipelined, and other connections are served between. A connection is not read
while its look-up waits: there is one of each. One that is closed is forgotten.

Runs in: a network worker. Costs are those of `log/reading/work_share.py`. Source: Kafka `DelayedRemoteListOffsets`, for the waiting.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from headrace.limits import (
    LOOK_UP_MS_MAX,
    LOOK_UP_ROWS_MAX,
    LOOK_UP_SHARE_COST,
    LOOK_UPS_AT_ONCE_MAX,
    LOOK_UPS_WAITING_MAX,
)
from headrace.log.reading.work_share import WorkShare
from headrace.workers.network.connection import Connection

ROW_COST: Final = 2 << 10  # of a request's row, whatever it asks for: 15 us

assert LOOK_UPS_AT_ONCE_MAX <= LOOK_UPS_WAITING_MAX


class LookUp:
    """A request of many rows, some of which are searched for.

    rows          of it
    deadline_ms   when it gives up, once it waits
    """

    def __init__(self, connection: Connection, rows: int) -> None:
        self.connection = connection
        self.rows = rows
        self.deadline_ms = 0

    def step(self, share: WorkShare) -> bool:
        """Continue until the share is spent; whether it was answered."""
        raise AssertionError(f"{type(self).__name__} does not define step")

    def give_up(self) -> None:
        """Answer what is left with an error."""
        raise AssertionError(f"{type(self).__name__} does not define give_up")


class LookUps:
    """Those that wait, and the cycle's shares.

    unindexed   of all requests that look for an offset in a segment whose index the disk can't read
    """

    def __init__(self) -> None:
        self._new = WorkShare(LOOK_UP_SHARE_COST)
        self.unindexed = WorkShare(LOOK_UP_SHARE_COST)
        self._active: OrderedDict[LookUp, None] = OrderedDict()  # take turns
        self._waiting: OrderedDict[LookUp, None] = OrderedDict()  # in the order in which they began
        self._by_connection: dict[Connection, LookUp] = {}
        self._rows = 0

    def __len__(self) -> int:
        return len(self._by_connection)

    def begin_cycle(self) -> None:
        """What begins has a share again."""
        self._new.left = self.unindexed.left = LOOK_UP_SHARE_COST

    def begin(self, look_up: LookUp, now_ms: int) -> bool:
        """Do what this cycle's share allows, and wait with the rest; whether that share is spent. raises what `step` raises"""
        if not look_up.step(self._new):
            are_too_many = self._rows > 0 and self._rows + look_up.rows > LOOK_UP_ROWS_MAX  # one alone may have more
            if len(self._by_connection) >= LOOK_UPS_WAITING_MAX or are_too_many:
                look_up.give_up()
            else:
                self._wait(look_up, now_ms)
        return self._new.is_spent

    def turn(self, now_ms: int) -> int:
        """A share for those that wait; returns how many there were."""
        count = len(self._by_connection)
        for look_up in [one for one in self._active if one.deadline_ms <= now_ms]:
            self._end(look_up)
        while self._waiting and next(iter(self._waiting)).deadline_ms <= now_ms:
            self._end(next(iter(self._waiting)))
        share = WorkShare(LOOK_UP_SHARE_COST)
        while not share.is_spent:
            while self._waiting and len(self._active) < LOOK_UPS_AT_ONCE_MAX:
                self._active[self._waiting.popitem(last=False)[0]] = None
            if not self._active:
                break
            look_up = next(iter(self._active))
            self._active.move_to_end(look_up)
            try:
                is_over = look_up.step(share)
                assert is_over or share.is_spent
            except Exception as failure:
                self._forget(look_up)
                look_up.connection.contain(failure)
                continue
            if is_over:
                self._forget(look_up)
        return count

    def drop(self, connection: Connection) -> None:
        """Its connection was closed."""
        look_up = self._by_connection.get(connection)
        if look_up is not None:
            self._forget(look_up)

    def _wait(self, look_up: LookUp, now_ms: int) -> None:
        assert look_up.connection not in self._by_connection
        look_up.deadline_ms = now_ms + LOOK_UP_MS_MAX
        self._by_connection[look_up.connection] = look_up
        self._waiting[look_up] = None
        self._rows += look_up.rows

    def _end(self, look_up: LookUp) -> None:
        self._forget(look_up)
        try:
            look_up.give_up()
        except Exception as failure:
            look_up.connection.contain(failure)

    def _forget(self, look_up: LookUp) -> None:
        del self._by_connection[look_up.connection]
        self._active.pop(look_up, None)
        self._waiting.pop(look_up, None)
        self._rows -= look_up.rows
