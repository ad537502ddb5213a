"""Look-ups that read files and may take long: each has a share of a cycle, and is resumed in later ones.

    begins    ->  a slice of what is left of the cycle's share for look-ups that begin  ->  answered, or it waits
    waits     ->  one of LOOK_UPS_AT_ONCE_MAX that take turns, with a share of their own ->  answered
                  after LOOK_UP_MS_MAX, or where too many wait                           ->  a retriable error for the rows that are left

So a cycle has two shares for all of them, however many are pipelined, and other connections are served between. A connection is not read
while its look-up waits: there is one of each. One that is closed is forgotten.

What waits has nothing open. Of those that take turns, one has a batch open: a batch may want a window of 128 MiB to come out (zstd), so
the look-up that is in one keeps its turn until it has searched it, or had LOOK_UP_BATCH_COST_MAX, and twice as much the next time.

A search that had too little time is kept (`KeptSearches`), and continues when the same is asked again: clients repeat what they ask. So
each request comes nearer to the end, however many take turns.

Runs in: a network worker. Costs are those of `log/reading/work_share.py`. Source: Kafka `DelayedRemoteListOffsets`, for the waiting.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, NamedTuple

from headrace.limits import (
    LOOK_UP_BATCH_COST_MAX,
    LOOK_UP_MS_MAX,
    LOOK_UP_ROWS_MAX,
    LOOK_UP_SHARE_COST,
    LOOK_UPS_AT_ONCE_MAX,
    LOOK_UPS_KEPT_MAX,
    LOOK_UPS_WAITING_MAX,
)
from headrace.log.reading.work_share import WorkShare
from headrace.workers.network.connections.connection import Connection

ROW_COST: Final = 2 << 10  # of a request's row, whatever it asks for: 15 us

assert LOOK_UPS_AT_ONCE_MAX <= LOOK_UPS_WAITING_MAX


class LookUp:
    """A request of many rows, some of which are searched for.

    rows          of it
    deadline_ms   when it gives up, once it waits
    batch_cost_max   what it may spend in a batch before others have their turn; twice as much the next time
    """

    def __init__(self, connection: Connection, rows: int) -> None:
        self.connection = connection
        self.rows = rows
        self.deadline_ms = 0
        self.batch_cost_max = LOOK_UP_BATCH_COST_MAX

    def step(self, share: WorkShare) -> bool:
        """Continue until the share is spent; whether it was answered."""
        raise AssertionError(f"{type(self).__name__} does not define step")

    def give_up(self) -> None:
        """Answer what is left with an error."""
        raise AssertionError(f"{type(self).__name__} does not define give_up")

    @property
    def is_in_batch(self) -> bool:
        """Whether it has a batch open."""
        return False

    def release(self) -> None:
        """Release what is open, if it has something open; `step` continues all the same."""

    def leave(self) -> None:
        """It ends before it is answered: what it has found out may be kept for the next one."""


class KeptSearches:
    """Searches that had too little time, by what they look for, the oldest first."""

    def __init__(self) -> None:
        self._searches: OrderedDict[Hashable, tuple[NamedTuple, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._searches)

    def keep(self, key: Hashable, search: NamedTuple, spent: int) -> None:
        """Keep a search that has nothing open, or the one that is kept for the same, where that is further.

        spent   the cost of all that it did: of several clients that ask the same at once, one continues a search, the others begin
        """
        before = self._searches.pop(key, None)
        self._searches[key] = (search, spent) if before is None or before[1] <= spent else before
        if len(self._searches) > LOOK_UPS_KEPT_MAX:
            self._searches.popitem(last=False)

    def take(self, key: Hashable) -> NamedTuple | None:
        """The one for this, which is kept no longer."""
        kept = self._searches.pop(key, None)
        return None if kept is None else kept[0]


class LookUps:
    """Those that wait, and the cycle's shares.

    unindexed   of all requests that look for an offset in a segment whose index the disk can't read
    kept        those that had too little time
    """

    def __init__(self) -> None:
        self._new = WorkShare(LOOK_UP_SHARE_COST)
        self.unindexed = WorkShare(LOOK_UP_SHARE_COST)
        self.kept = KeptSearches()
        self._batch_cost = 0  # of the look-up whose turn it is, since it is in a batch
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
                look_up.release()
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
            before = share.left
            try:
                is_over = look_up.step(share)
                assert is_over or share.is_spent
                if not is_over:
                    self._pass_turn(look_up, before - share.left)
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
            look_up.leave()

    def _pass_turn(self, look_up: LookUp, cost: int) -> None:
        """The next one has the next turn, but for a look-up that has a batch open."""
        self._batch_cost += cost
        if look_up.is_in_batch:
            if self._batch_cost < look_up.batch_cost_max or len(self._active) < 2:
                return
            look_up.release()  # and comes to the end of the batch when it may spend more
            look_up.batch_cost_max *= 2
        self._active.move_to_end(look_up)
        self._batch_cost = 0

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
        if next(iter(self._active), None) is look_up:
            self._batch_cost = 0
        self._active.pop(look_up, None)
        self._waiting.pop(look_up, None)
        self._rows -= look_up.rows
