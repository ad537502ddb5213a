"""The event "a replica moved": the replicas whose rows say something new, and the observers that are notified of it.

Runs in: a partition worker. What moves is the high watermark, the last stable offset, the log start offset or the state;
and the log's end of a replica that has followers, which others hear of. A replica notes itself here when it publishes such a row,
so no place that moves one has to think of those that wait. The worker calls `tell` at fixed points of its cycle, and the
order is always

    1  rows published     by each replica, as it moved (`Replica.publish`)
    2  fence              between the rows and the wait bytes: `network/fetch/fetch_purgatory.py` has the other half
    3  observers told     each of every replica that moved, once, however often it did: wait bytes are read only now

To write a row, a segment may have to be read, for which there may be no descriptor for a moment. Then the row is owed, whatever it was
to say, and is written in a later cycle, before anyone is notified: a role that was never reported would stay so.

An observer reads the replica as it is now: what it missed is in there, and a notice too many changes nothing. It may
answer and remember, but change no replica. A change of the role (state or leader epoch, a replica that is closed) is reported
to further observers, after those: `worker.py` has all of them.

Source: Kafka `Partition.maybeIncrementLeaderHW`, `tryCompleteDelayedRequests`; `ReplicaManager.stopReplicas`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Final

from headrace.errors import Fenced, StorageExhausted, StorageFailed
from headrace.log_rate_limit import is_worth_a_line
from headrace.shm.fence import fence

if TYPE_CHECKING:
    from headrace.workers.partition.replicas.replica import Replica

Observer = Callable[["Replica"], object]

_log: Final = logging.getLogger(__name__)


class ReplicaEvents:
    """Those of one worker, since its observers were last told."""

    def __init__(self) -> None:
        self._moved: dict[Replica, None] = {}
        self._ends: dict[Replica, None] = {}
        self._roles: dict[Replica, None] = {}
        self._ahead: list[Replica] = []
        self._observers: list[tuple[Observer, Container[Replica] | None]] = []
        self._end_observers: list[Observer] = []
        self._role_observers: list[Observer] = []
        self._failures: dict[Observer, int] = {}
        self._unpublished: dict[Replica, None] = {}  # what they are is not in their rows yet

    def observe(self, observer: Observer, waiting: Container[Replica] | None = None) -> None:
        """Tell of replicas that moved; in the order of registration.

        waiting   those that the observer wants to hear of now, so that the others cost it no call; None: all
        """
        self._observers.append((observer, waiting))

    def observe_ends(self, observer: Observer) -> None:
        """Tell of the replicas that followers have to hear of at once: their log has grown, begins elsewhere, their role is
        another. Before `observe`'s."""
        self._end_observers.append(observer)

    def observe_roles(self, observer: Observer) -> None:
        """Tell of the replicas whose state or leader epoch is another, after `observe`'s were notified that they moved."""
        self._role_observers.append(observer)

    def note(self, replica: Replica) -> None:
        """The row of a replica was published, and something that others wait for is another in it."""
        self._moved[replica] = None

    def note_end(self, replica: Replica) -> None:
        """The row of a replica that has followers was published, and its log begins or ends elsewhere."""
        self._ends[replica] = None

    def note_role(self, replica: Replica) -> None:
        """So it was, and the role is another."""
        self._moved[replica] = None
        self._ends[replica] = None
        self._roles[replica] = None

    def note_unpublished(self, replica: Replica, reason: StorageExhausted) -> None:
        """Its row could not be written, for a reason that passes: it is owed."""
        if replica not in self._unpublished:
            _log.warning("row not written, retried partition=%s reason=%s", replica.partition, reason)
            self._unpublished[replica] = None

    def is_unpublished(self, replica: Replica) -> bool:
        """Whether its row is of before."""
        return replica in self._unpublished

    def _publish_again(self) -> None:
        """The rows that are owed."""
        for replica in list(self._unpublished):
            try:
                replica.publish_again()
            except StorageExhausted:
                continue
            except StorageFailed as failure:
                replica.fail(failure)
            del self._unpublished[replica]

    def note_ahead(self, replica: Replica) -> None:
        """Its log has more than the states in ZooKeeper know of."""
        self._ahead.append(replica)

    def take_ahead(self) -> list[Replica]:
        """Those that were noted since the last call."""
        if not self._ahead:
            return self._ahead
        ahead, self._ahead = self._ahead, []
        return ahead

    def tell(self) -> int:
        """Notify the observers; returns how many replicas had moved.

        Rows that are owed are written first. A role that an observer failed to follow is sent to all of them again at the next call.

        raises   Fenced; any other failure of an observer is logged, and the rest are notified
        """
        if self._unpublished:
            self._publish_again()
        moved, ends = self._moved, self._ends
        if not moved and not ends and not self._roles:
            return 0
        self._moved = {}
        fence()
        if ends:
            self._ends = {}
            for observer in self._end_observers:
                for replica in ends:
                    try:
                        observer(replica)
                    except Exception as failure:
                        self._contain(failure, observer, replica)
        for observer, waiting in self._observers:
            if waiting is None or waiting:
                for replica in moved if waiting is None else [one for one in moved if one in waiting]:
                    try:
                        observer(replica)
                    except Exception as failure:
                        self._contain(failure, observer, replica)
        if self._roles:
            roles, self._roles = self._roles, {}
            for observer in self._role_observers:
                for replica in roles:
                    try:
                        observer(replica)
                    except Exception as failure:
                        self._contain(failure, observer, replica)
                        self._roles[replica] = None
        return len(moved)

    def _contain(self, failure: Exception, observer: Observer, replica: Replica) -> None:
        """Those who wait have deadlines, a role is notified again. An observer that keeps failing is logged ever more rarely."""
        if isinstance(failure, Fenced):
            raise failure
        count = self._failures[observer] = self._failures.get(observer, 0) + 1
        if is_worth_a_line(count):
            name, partition = getattr(observer, "__qualname__", observer), replica.partition
            _log.error("observer failed observer=%s partition=%s failures=%d", name, partition, count, exc_info=failure)
