"""Markers that wait for the way to a leader: one request at a time on each lane.

    lane    (worker or node, None)        all partitions that are led there, but the slow ones
            (worker or node, partition)   a slow one by itself: it holds no others

A request is answered when its last marker is committed. One that others wait behind, and that is not answered after SOON_MS,
holds the lane no longer, and its partitions are slow: which of them it was is not known. So is one whose marker was not
committed in time. A slow partition whose request is answered in time is slow no more.

Runs in: a partition worker. Pure: no clock, no way out. Bounds: SLOW_PARTITIONS_MAX, the oldest is forgotten;
SLOW_REQUESTS_MAX in flight to slow ones; MARKERS_PER_REQUEST_MAX.
"""

from __future__ import annotations

from typing import Final

from headrace.limits import MARKERS_PER_REQUEST_MAX, SLOW_PARTITIONS_MAX, SLOW_REQUESTS_MAX
from headrace.shm.cluster_view import PartitionView
from headrace.workers.coordinators.transaction.transaction import TopicIndex
from headrace.workers.partition.coordination.leader_ways import Target

SOON_MS: Final = 500

Job = tuple[int, int]  # (partition of `__transaction_state`, serial)
Entry = tuple[Job, TopicIndex]
Lane = tuple[Target, TopicIndex | None]
Waiting = dict[Entry, PartitionView]


class Flight:
    """One request."""

    __slots__ = ("entries", "lane", "sent_ms")

    def __init__(self, lane: Lane, entries: list[Entry], sent_ms: int) -> None:
        self.lane = lane
        self.entries = entries
        self.sent_ms = sent_ms


class MarkerLanes:
    """Of one sender."""

    def __init__(self) -> None:
        self._waiting: dict[Target, Waiting] = {}
        self._slow_waiting: dict[tuple[Target, TopicIndex], Waiting] = {}
        self._flights: dict[Lane, Flight] = {}
        self._slow: dict[TopicIndex, None] = {}
        self._slow_flights = 0

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting or self._slow_waiting)

    def put(self, target: Target, entry: Entry, partition: PartitionView) -> None:
        """It is sent when its lane is free."""
        if entry[1] in self._slow:
            self._slow_waiting.setdefault((target, entry[1]), {})[entry] = partition
        else:
            self._waiting.setdefault(target, {})[entry] = partition

    def take_all(self) -> list[Entry]:
        """What was not sent: leaders may be others."""
        found = [entry for waiting in self._waiting.values() for entry in waiting]
        found += [entry for waiting in self._slow_waiting.values() for entry in waiting]
        self._waiting, self._slow_waiting = {}, {}
        return found

    def ready(self, now_ms: int) -> list[tuple[Lane, list[tuple[Entry, PartitionView]]]]:
        """What can be sent now. It is no longer here; what does not go after all has to be put again."""
        found: list[tuple[Lane, list[tuple[Entry, PartitionView]]]] = []
        for target in list(self._waiting):
            flight = self._flights.get((target, None))
            if flight is not None and now_ms - flight.sent_ms >= SOON_MS:
                self._pass(target, flight)
                flight = None
            waiting = self._waiting.pop(target, None) if flight is None else None
            if waiting is not None:
                pairs = list(waiting.items())
                if len(pairs) > MARKERS_PER_REQUEST_MAX:
                    self._waiting[target] = dict(pairs[MARKERS_PER_REQUEST_MAX:])
                found.append(((target, None), pairs[:MARKERS_PER_REQUEST_MAX]))
        room = SLOW_REQUESTS_MAX - self._slow_flights
        free: list[tuple[Target, TopicIndex]] = []
        for lane in self._slow_waiting:
            if len(free) >= room:
                break
            if lane not in self._flights:
                free.append(lane)
        for lane in free:
            pairs = list(self._slow_waiting.pop(lane).items())
            if len(pairs) > MARKERS_PER_REQUEST_MAX:
                self._slow_waiting[lane] = dict(pairs[MARKERS_PER_REQUEST_MAX:])
            found.append((lane, pairs[:MARKERS_PER_REQUEST_MAX]))
        return found

    def _pass(self, target: Target, flight: Flight) -> None:
        """Others wait behind a request that takes long: they wait no more."""
        del self._flights[flight.lane]
        for _job, place in flight.entries:
            self.note_slow(place)
        for entry, partition in self._waiting.pop(target).items():
            self.put(target, entry, partition)

    def note_slow(self, place: TopicIndex) -> None:
        """Its markers go by themselves from now on."""
        self._slow[place] = None
        if len(self._slow) > SLOW_PARTITIONS_MAX:
            del self._slow[next(iter(self._slow))]

    def sent(self, lane: Lane, entries: list[Entry], now_ms: int) -> Flight:
        """A request has left; `answered` when its answer comes, or none will."""
        flight = self._flights[lane] = Flight(lane, entries, now_ms)
        self._slow_flights += lane[1] is not None
        return flight

    def answered(self, flight: Flight, now_ms: int) -> None:
        """The lane is free."""
        place = flight.lane[1]
        if self._flights.get(flight.lane) is flight:
            del self._flights[flight.lane]
        if place is not None:
            self._slow_flights -= 1
            if now_ms - flight.sent_ms < SOON_MS:
                self._slow.pop(place, None)
