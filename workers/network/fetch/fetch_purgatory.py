"""Fetches that wait for more bytes.

Runs in: a network worker. A fetch that finds fewer than `min_bytes` parks until the high watermark of one of
its partitions moves, or its `max_wait_ms` passes. The order that loses no wake-up:

    here:   wait byte set -> fence -> row read again -> parked
    owner:  row published -> fence -> wait byte read

The wait byte of a slot stays set while any fetch is parked on it.

An attempt that fails ends its fetch and its connection, and no other. Where a cycle has done its share, the rest is tried
in the next one.

Bound: one entry per open exchange (PIPELINED_REQUESTS_MAX a connection), and a connection whose fetches wait for
PARKED_PARTITIONS_MAX partitions is not read: each is checked whenever one of them moves. Source: Kafka `DelayedFetch`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from headrace.limits import DEADLINES_MAX
from headrace.runtime.deadlines import Deadlines
from headrace.shm.fence import fence
from headrace.shm.partition_table import PartitionTable
from headrace.workers.network.connections.connection import Connection

# attempt(is_last) -> whether the fetch was answered; with is_last it has to be
Attempt = Callable[[bool], bool]
IsSpent = Callable[[], bool]  # whether the cycle has done its share


def _never() -> bool:
    return False


class ParkedFetch:
    """One waiting fetch.

    timer   serial of its deadline, 0 where it has none (any more)
    """

    __slots__ = ("attempt", "connection", "is_open", "slots", "timer")

    def __init__(self, connection: Connection, slots: list[int], attempt: Attempt) -> None:
        self.connection = connection
        self.slots = slots
        self.attempt = attempt
        self.is_open = True
        self.timer = 0


class FetchPurgatory:
    """Parked fetches by slot and by deadline."""

    def __init__(self, table: PartitionTable, network_worker: int) -> None:
        self._table = table
        self._network_worker = network_worker
        self._by_slot: dict[int, set[ParkedFetch]] = {}
        self._by_connection: dict[Connection, set[ParkedFetch]] = {}
        self._deadlines: Deadlines[ParkedFetch] = Deadlines(DEADLINES_MAX)
        self._moved: OrderedDict[ParkedFetch, None] = OrderedDict()  # to be tried
        self._open_count = 0

    def __len__(self) -> int:
        return self._open_count

    def park(self, connection: Connection, slots: list[int], deadline_ms: int, attempt: Attempt) -> ParkedFetch | None:
        """Wait, unless a second look finds enough already; None: it does not wait."""
        fetch = ParkedFetch(connection, slots, attempt)
        for slot in slots:
            waiting = self._by_slot.get(slot)
            if waiting is None:
                self._by_slot[slot] = waiting = set()
                self._table.set_wait(slot, self._network_worker, True)
            waiting.add(fetch)
        self._by_connection.setdefault(connection, set()).add(fetch)
        self._open_count += 1
        connection.park(len(slots))
        fence()
        if attempt(False):
            self._close(fetch)
            return None
        fetch.timer = self._deadlines.schedule(deadline_ms, fetch)
        if not fetch.timer:
            self._end(fetch)
            return None
        return fetch

    def wake(self, fetches: Iterable[ParkedFetch], is_spent: IsSpent = _never) -> int:
        """Try fetches that wait for other things than marks; returns the number of those answered."""
        self._moved.update(dict.fromkeys(fetches))
        return self._try_moved(is_spent)

    @property
    def moved_count(self) -> int:
        """How many fetches are to be tried that had no turn yet."""
        return len(self._moved)

    def advance(self, slots: Iterable[int], is_spent: IsSpent = _never) -> int:
        """Try the fetches of slots whose high watermark moved, each once: it checks all its partitions.

        returns   number of fetches answered
        """
        for slot in slots:
            self._moved.update(dict.fromkeys(self._by_slot.get(slot, ())))
        return self._try_moved(is_spent)

    def expire(self, now_ms: int, is_spent: IsSpent = _never) -> int:
        """Answer the fetches whose time is over with what there is, after those that moved and had no turn."""
        answered = self._try_moved(is_spent) if self._moved else 0
        deadlines = self._deadlines
        while deadlines.next_ms <= now_ms and not is_spent():
            due = deadlines.pop_due(now_ms)
            assert due is not None
            fetch = due[2]
            fetch.timer = 0
            self._end(fetch)
            answered += 1
        return answered

    def _end(self, fetch: ParkedFetch) -> None:
        """Answer a fetch with whatever there is."""
        self._try(fetch, True)
        self._close(fetch)

    def _try_moved(self, is_spent: IsSpent) -> int:
        answered = 0
        moved = self._moved
        while moved and not is_spent():
            fetch, _ = moved.popitem(last=False)
            if fetch.is_open and self._try(fetch, False):
                self._close(fetch)
                answered += 1
        return answered

    @staticmethod
    def _try(fetch: ParkedFetch, is_last: bool) -> bool:
        """One attempt; a failed one is over as an answered one is."""
        try:
            return fetch.attempt(is_last)
        except Exception as failure:
            fetch.connection.contain(failure)
            return True

    def next_deadline_ms(self) -> int:
        """When `expire` has something to do next; NEVER, where nothing waits."""
        return self._deadlines.next_ms

    def retry_all(self) -> None:
        """Try every parked fetch: partitions may have moved, or an owner may have lost wake-ups with its life."""
        self.advance(list(self._by_slot))

    def drop(self, connection: Connection) -> None:
        """Forget the fetches of a closed connection."""
        for fetch in list(self._by_connection.get(connection, ())):
            self._close(fetch)

    def _close(self, fetch: ParkedFetch) -> None:
        if not fetch.is_open:
            return
        fetch.is_open = False
        self._moved.pop(fetch, None)
        self._open_count -= 1
        fetch.connection.park(-len(fetch.slots))
        of_connection = self._by_connection[fetch.connection]
        of_connection.discard(fetch)
        if not of_connection:
            del self._by_connection[fetch.connection]
        self._deadlines.cancel(fetch.timer)
        for slot in fetch.slots:
            waiting = self._by_slot.get(slot)
            if waiting is None:
                continue
            waiting.discard(fetch)
            if not waiting:
                del self._by_slot[slot]
                self._table.set_wait(slot, self._network_worker, False)
