"""The followers of a replica that leads: where each one is, and how far the high watermark may go by that.

Runs in: the partition worker that leads the partition; pure. One for each leader epoch of a replica: what was known of
followers in the epoch before counts no more, nor does what a process before this one knew.

    offset       where a follower's last fetch began: all records before it are there; -1: it has not fetched yet
    caught up    at the log's end, or it was there within replica.lag.time.max.ms. An append that passes it begins its time;
                 a fetch from what was the end at the fetch before proves that it was there then
    maximal ISR  the in-sync replicas, and those of a change that was asked for: whichever of the two is true, what all of
                 these have is committed (KIP-497)

The high watermark waits for all of the maximal ISR, and for a caught-up follower that is about to join it: else the mark
would move on with each append, and no follower ever reach it. It stands while the ISR is below its minimum (KAFKA-15583).

Costs: one pass over the followers for an append or a fetch, nothing for those that wait at the log's end.

Source: Kafka `Partition.maybeIncrementLeaderHW`, `Replica.updateFetchState`; KIP-497, KIP-903.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.workers.partition.replication.live_brokers import NO_EPOCH_TOLD, LiveBrokers

UNKNOWN_OFFSET: Final = -1
NEVER_MS: Final = -(1 << 62)


class Follower:
    """One follower, as its fetches tell.

    end_offset_then   of the leader's log, when its last fetch came
    fetched_ms        when that was; 0: never
    caught_up_ms      until when it is known to have been at the log's end
    """

    __slots__ = (
        "broker_epoch", "broker_id", "caught_up_ms", "end_offset_then", "fetched_ms", "log_start_offset", "offset",
    )  # fmt: skip

    def __init__(self, broker_id: int, caught_up_ms: int) -> None:
        self.broker_id = broker_id
        self.offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.broker_epoch = NO_EPOCH_TOLD
        self.end_offset_then = 0
        self.fetched_ms = 0
        self.caught_up_ms = caught_up_ms


class Followers:
    """Of one replica, in one leader epoch.

    isr            as the view has it
    minimum        of in-sync replicas, below which the mark does not move
    epoch_start    the log's end when the epoch began: who has not reached it may lack what the epoch before wrote
    is_unsure      a process that died may have asked for any ISR: all replicas are waited for until that is known
    """

    __slots__ = (
        "_assigned", "_by_id", "_end_offset", "_in_sync", "_live", "_maximal", "_node_id", "_pending", "epoch_start", "is_unsure",
        "isr", "minimum",
    )  # fmt: skip

    def __init__(
        self,
        node_id: int,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
        minimum: int,
        end_offset: int,
        epoch_start: int,
        live: LiveBrokers,
        *,
        is_unsure: bool = False,
    ) -> None:
        self._node_id = node_id
        self._live = live
        self._by_id: dict[int, Follower] = {}
        self._assigned = frozenset(replicas)
        self._in_sync = frozenset(isr)
        self._pending: tuple[int, ...] = ()
        self._maximal: frozenset[int] = frozenset()
        self._end_offset = end_offset
        self.epoch_start = epoch_start
        self.minimum = minimum
        self.isr = isr
        self.is_unsure = is_unsure
        self.follow(replicas, isr, minimum)
        if is_unsure:
            self.set_pending(replicas)

    def __iter__(self) -> Iterator[Follower]:
        return iter(self._by_id.values())

    def follow(self, replicas: tuple[int, ...], isr: tuple[int, ...], minimum: int) -> None:
        """Take another assignment or ISR in the same epoch: of followers that remain all is known still.

        An ISR may have members that are assigned no more, in the middle of a reassignment: the mark waits for them until
        they are out of it, which is asked for at once (KAFKA-9672).
        """
        now_ms = self._live.now_ms
        known = self._by_id
        in_sync = self._in_sync = frozenset(isr)
        self._by_id = {
            broker_id: known.get(broker_id) or Follower(broker_id, now_ms if broker_id in in_sync else NEVER_MS)
            for broker_id in dict.fromkeys((*replicas, *isr))
            if broker_id != self._node_id
        }
        self._assigned = frozenset(replicas)
        self.isr = isr
        self.minimum = minimum
        self._maximal = frozenset((*isr, *self._pending))

    def set_pending(self, wanted: tuple[int, ...]) -> None:
        """A change of the ISR was asked for, and may be true at any time; (): none is any more."""
        self._pending = wanted
        self.is_unsure = self.is_unsure and bool(wanted)
        self._maximal = frozenset((*self.isr, *wanted))

    def get(self, broker_id: int) -> Follower | None:
        return self._by_id.get(broker_id)

    def note_fetch(self, follower: Follower, offset: int, log_start_offset: int, broker_epoch: int) -> None:
        """A follower has fetched from another offset than before."""
        now_ms, end_offset = self._live.now_ms, self._end_offset
        if offset >= end_offset:
            follower.caught_up_ms = now_ms
        elif offset >= follower.end_offset_then and follower.fetched_ms > follower.caught_up_ms:
            follower.caught_up_ms = follower.fetched_ms
        follower.offset = offset
        follower.log_start_offset = log_start_offset
        follower.broker_epoch = broker_epoch
        follower.end_offset_then = end_offset
        follower.fetched_ms = now_ms

    def committed(self, end_offset: int) -> int:
        """How far the high watermark may go, -1: nowhere; the log ends at `end_offset` now."""
        live = self._live
        end_before, self._end_offset = self._end_offset, end_offset
        lowest = end_offset
        maximal = self._maximal
        for follower in self._by_id.values():
            offset = follower.offset
            if end_before <= offset < end_offset:
                follower.caught_up_ms = live.now_ms  # the append has just passed it
            if offset < lowest and (follower.broker_id in maximal or self._is_joining(follower)):
                lowest = offset
        return lowest if len(self.isr) >= self.minimum else UNKNOWN_OFFSET

    def _is_joining(self, follower: Follower) -> bool:
        live = self._live
        return live.now_ms - follower.caught_up_ms <= live.lag_max_ms and live.is_eligible(
            follower.broker_id, follower.broker_epoch
        )

    def is_caught_up(self, follower: Follower) -> bool:
        live = self._live
        return follower.offset >= self._end_offset or live.now_ms - follower.caught_up_ms <= live.lag_max_ms

    @property
    def are_awaited(self) -> bool:
        """Whether time alone may change something: a follower that the mark waits for is not at the log's end."""
        end_offset, maximal = self._end_offset, self._maximal
        return any(
            follower.offset < end_offset and (follower.broker_id in maximal or self._is_joining(follower))
            for follower in self._by_id.values()
        )

    def next_isr(self, high_watermark: int) -> tuple[int, ...]:
        """The ISR as it should be: without those that are out of sync, with those that have caught up and may join.

        Who joins has all that is committed, and the start of this epoch (KAFKA-7128), and is not late: while the mark does not move, a
        follower may be at it and late at once, and would leave as soon as it has joined, and join again.
        """
        isr = self.isr
        kept = [
            broker_id
            for broker_id in isr
            if broker_id == self._node_id or (broker_id in self._assigned and self.is_caught_up(self._by_id[broker_id]))
        ]
        if len(self._by_id) + 1 > len(isr):
            least = max(high_watermark, self.epoch_start)
            kept += [
                broker_id
                for broker_id, follower in self._by_id.items()
                if broker_id not in self._in_sync
                and follower.offset >= least
                and self.is_caught_up(follower)
                and self._live.is_eligible(broker_id, follower.broker_epoch)
            ]
        return isr if len(kept) == len(isr) and set(kept) == set(isr) else tuple(kept)

    def lowest_log_start(self, own: int) -> int:
        """The smallest log start offset of the replicas whose brokers live; -1 where one has told none yet."""
        starts = [one.log_start_offset for one in self._by_id.values() if self._live.is_alive(one.broker_id)]
        return min((own, *starts))
