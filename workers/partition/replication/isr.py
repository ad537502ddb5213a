"""In-sync replicas: what followers have fetched comes in, the high watermark and requests for another ISR go out.

Runs in: a partition worker, for the replicas that it leads and that have followers. A change of the ISR is the controller's
to make; the leader asks this node's controller process, which knows the partition's epoch:

    FOLLOWER_FETCHED   offset noted -> high watermark -> ISR as it should be -> asked for in this cycle's ALTER_ISR
    time               replicas with a follower that is late are checked: CHECKS_PER_LAG times in the largest lag

    asked -> pending (the mark waits for both ISRs) -> answered -> the view followed -> settled: the ISR is the view's
                                                    -> not done for sure: settled, the ISR is what it was
                                                    -> unknown, or refused: asked again, and pending meanwhile

The controller process publishes what came of a change before it answers, so an answer counts in the cycle after, when the view
has been followed. One change in flight for each partition (KAFKA-8836). A failed one is asked again as it was, whatever
has happened since: it may have been done (KAFKA-12686). Where the view has another ISR than the request named, the request can't
be done any more, and what should be is worked out again; a new leader epoch ends it too.

A process that takes over from one that died does not know what that had asked: all replicas are waited for until it is known
that nothing is in flight, which is asked for as a change to the ISR that is. So is a change that was asked more than once and refused.

Costs: O(replicas) for a fetch; a tick visits the replicas with a late follower, a change of the live brokers those that are
under-replicated.

Source: Kafka `Partition.maybeExpandIsr`, `maybeShrinkIsr`, `handleAlterPartitionError`; KIP-497.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from headrace.backoff import pause_after
from headrace.errors import ErrorCode, StorageFailed
from headrace.limits import (
    ISR_CHANGES_PER_REQUEST_MAX,
    ISR_CHECK_INTERVAL_MS_MAX,
    ISR_CHECK_INTERVAL_MS_MIN,
    ISR_RETRY_FIRST_MS,
    ISR_RETRY_MAX_MS,
)
from headrace.log_rate_limit import is_worth_a_line
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import (
    ALTER_ISR_HEADER,
    ALTER_ISR_KNOWN,
    ALTER_ISR_RESULT,
    ALTER_ISR_WANTED,
    FOLLOWER_FETCHED,
    FOLLOWER_FETCHED_ENTRY,
    ReplyStatus,
    RequestKind,
)
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replication.followers import Followers
from headrace.workers.partition.replication.live_brokers import NO_EPOCH_TOLD, LiveBrokers

CHECKS_PER_LAG: Final = 10

# The controller says that it has not done it, and that what we know is what is: Kafka's of AlterPartition v2, and before
_NOT_DONE: Final = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)

_log: Final = logging.getLogger(__name__)


class _Change:
    """A change of the ISR that was asked for.

    error   of its last answer; None: it is in flight
    """

    __slots__ = ("epoch", "error", "followers", "known", "replica", "retry_ms", "tries", "wanted")

    def __init__(self, replica: Replica, followers: Followers, wanted: tuple[int, ...]) -> None:
        self.replica = replica
        self.followers = followers
        self.epoch = replica.leader_epoch
        self.known = followers.isr
        self.wanted = wanted
        self.error: int | None = None
        self.tries = 0
        self.retry_ms = 0

    @property
    def is_void(self) -> bool:
        """Whether the replica leads no more, or in another epoch: the change can't be done any more."""
        return self.replica.followers is not self.followers

    def pack(self) -> bytes:
        followers = self.followers
        known, wanted = self.known, self.wanted
        header = ALTER_ISR_HEADER.pack(self.replica.slot, self.replica.key, self.epoch, len(known), len(wanted))
        rows = [header, *map(ALTER_ISR_KNOWN.pack, known)]
        for broker_id in wanted:
            follower = followers.get(broker_id)
            rows.append(ALTER_ISR_WANTED.pack(broker_id, follower.broker_epoch if follower else NO_EPOCH_TOLD))
        return b"".join(rows)


class IsrKeeper:
    """The ISRs of one worker's replicas.

    on_log_start   called with of a replica with a follower whose log start is another
    """

    def __init__(
        self,
        replicas: Mapping[int, Replica],
        live: LiveBrokers,
        mailbox: Mailbox,
        controller_id: int,
        on_log_start: Callable[[Replica], None],
    ) -> None:
        self._replicas = replicas
        self._live = live
        self._mailbox = mailbox
        self._controller_id = controller_id
        self._on_log_start = on_log_start
        self._changes: dict[Replica, _Change] = {}
        self._to_ask: list[_Change] = []
        self._answered: list[_Change] = []
        self._failed: list[_Change] = []  # to be asked again when their time comes
        self._late: dict[Replica, None] = {}  # time may change what is to be done
        self._reduced: dict[Replica, None] = {}  # ISR smaller than the assignment
        self._refused: dict[Replica, tuple[int, int]] = {}  # changes refused in a row, and when the next is asked for
        self._next_check_ms = 0
        self._interval_ms = min(
            max(live.lag_max_ms // CHECKS_PER_LAG, ISR_CHECK_INTERVAL_MS_MIN), ISR_CHECK_INTERVAL_MS_MAX
        )

    # Events

    def follow_role(self, replica: Replica) -> None:
        """Its role is another, or its ISR, or its assignment."""
        change = self._changes.get(replica)
        if change is not None and change.is_void:
            del self._changes[replica]
            self._refused.pop(replica, None)
        followers = replica.followers
        if followers is None:
            self._late.pop(replica, None)
            self._reduced.pop(replica, None)
            self._refused.pop(replica, None)
            return
        self._late[replica] = None
        if len(followers.isr) < len(replica.replicas):
            self._reduced[replica] = None
        else:
            self._reduced.pop(replica, None)
        if followers.is_unsure and replica not in self._changes:
            self._ask(replica, followers, followers.isr)

    def note_end(self, replica: Replica) -> None:
        """Its log has grown: a follower may be late."""
        self._late[replica] = None

    def follow_brokers(self) -> None:
        """Others live than before: they may join now."""
        for replica in list(self._reduced):
            self._review(replica)

    def take(self, body: memoryview) -> None:
        """FOLLOWER_FETCHED: where followers are."""
        replicas, live = self._replicas, self._live
        if len(body) % FOLLOWER_FETCHED_ENTRY.size:
            _log.warning("message refused kind=%d reason=%d bytes", FOLLOWER_FETCHED, len(body))
            return
        for slot, key, broker_id, epoch, broker_epoch, offset, log_start in FOLLOWER_FETCHED_ENTRY.iter_unpack(body):
            replica = replicas.get(slot)
            if replica is None or replica.key != key:
                continue
            followers = replica.followers
            follower = followers.get(broker_id) if followers is not None else None
            if followers is None or follower is None or epoch not in (NO_EPOCH_TOLD, replica.leader_epoch):
                continue
            if live.is_stale(broker_id, broker_epoch):
                continue
            log_start_before = follower.log_start_offset
            followers.note_fetch(follower, offset, log_start, broker_epoch)
            if log_start != log_start_before:
                self._on_log_start(replica)
            self._advance(replica)
            if replica in self._reduced:  # else nobody can join, and what is late is a matter of time
                self._review(replica)

    @property
    def has_failed(self) -> bool:
        """Whether a change waits to be asked for again."""
        return bool(self._failed)

    def do_work(self) -> int:
        """Settle what was answered, check what is late, ask; returns what was done."""
        done = 0
        if self._answered:
            answered, self._answered = self._answered, []
            done = len(answered)
            for change in answered:
                self._settle(change)
        now_ms = self._live.now_ms
        if now_ms >= self._next_check_ms:
            self._next_check_ms = now_ms + self._interval_ms
            for replica in list(self._late):
                self._check(replica)
        if self._failed:
            self._ask_again(now_ms)
        if self._to_ask:
            done += self._send()
        return done

    # What follows from them

    def _advance(self, replica: Replica) -> None:
        try:
            replica.catch_up_high_watermark()
        except StorageFailed as failure:
            replica.fail(failure)

    def _check(self, replica: Replica) -> None:
        followers = replica.followers
        if followers is None or not followers.are_awaited:
            del self._late[replica]
            if followers is None:
                return
        self._advance(replica)
        self._review(replica)

    def _review(self, replica: Replica) -> None:
        """Ask for the ISR as it should be, where it is another and nothing is asked yet."""
        followers = replica.followers
        if followers is None or replica in self._changes:
            return
        refusals, due_ms = self._refused.get(replica, (0, 0))
        if self._live.now_ms < due_ms:
            self._late[replica] = None
            return
        wanted = followers.next_isr(replica.high_watermark)
        if wanted is not followers.isr:
            if is_worth_a_line(refusals):
                _log.info(
                    "ISR change requested partition=%s leader_epoch=%d isr=%s wanted=%s high_watermark=%d log_end=%d refusals=%d",
                    replica.partition, replica.leader_epoch, followers.isr, wanted,
                    replica.high_watermark, replica.log.log_end_offset, refusals,
                )  # fmt: skip
            self._ask(replica, followers, wanted)

    def _ask(self, replica: Replica, followers: Followers, wanted: tuple[int, ...]) -> None:
        change = self._changes[replica] = _Change(replica, followers, wanted)
        if wanted is not followers.isr:
            followers.set_pending(wanted)
        self._to_ask.append(change)

    def _ask_again(self, now_ms: int) -> None:
        due = [change for change in self._failed if change.retry_ms <= now_ms or change.is_void]
        if due:
            self._failed = [change for change in self._failed if not (change.retry_ms <= now_ms or change.is_void)]
            self._to_ask += [change for change in due if not change.is_void]

    def _send(self) -> int:
        """One request for the changes of this cycle, or a few."""
        sent = 0
        while self._to_ask:
            asked = [change for change in self._to_ask[:ISR_CHANGES_PER_REQUEST_MAX] if not change.is_void]
            body = b"".join(change.pack() for change in asked)
            on_reply = partial(self._take_reply, asked)
            if asked and not self._mailbox.ask(self._controller_id, RequestKind.ALTER_ISR, body, on_reply):
                break
            del self._to_ask[:ISR_CHANGES_PER_REQUEST_MAX]
            for change in asked:
                change.error = None
                change.tries += 1
            sent += len(asked)
        return sent

    def _take_reply(self, asked: list[_Change], status: ReplyStatus, body: memoryview) -> None:
        errors = [int(ErrorCode.UNKNOWN_SERVER_ERROR)] * len(asked)
        if status is ReplyStatus.ANSWERED and len(body) == len(asked) * ALTER_ISR_RESULT.size:
            errors = [error for (error,) in ALTER_ISR_RESULT.iter_unpack(body)]
        for change, error in zip(asked, errors, strict=True):
            change.error = error
            self._answered.append(change)

    def _settle(self, change: _Change) -> None:
        """The view that was published before the answer has been followed by now."""
        replica, followers = change.replica, change.followers
        if change.is_void:
            return
        is_question = (
            change.wanted == change.known
        )  # refused, it has fenced nothing: an earlier change may be carried out still
        is_unknown = is_question or change.error not in _NOT_DONE
        if change.error and is_unknown and followers.isr == change.known:
            self._retry(change)
            return
        del self._changes[replica]
        if change.error in _NOT_DONE and change.tries > 1 and change.wanted != followers.isr:
            self._ask(
                replica, followers, followers.isr
            )  # an earlier try may still be carried out: waited for until it can't be
            return
        followers.set_pending(())
        if change.error in _NOT_DONE:
            self._note_refusal(change)
            self._advance(replica)
            return
        self._refused.pop(replica, None)
        self._advance(replica)
        self._review(replica)

    def _note_refusal(self, change: _Change) -> None:
        """The same is asked later, and ever more rarely: it would be refused again."""
        replica = change.replica
        refusals = self._refused.get(replica, (0, 0))[0] + 1
        wait_ms = pause_after(refusals, ISR_RETRY_FIRST_MS, ISR_RETRY_MAX_MS)
        self._refused[replica] = refusals, self._live.now_ms + wait_ms
        self._late[replica] = None
        if is_worth_a_line(refusals):
            _log.info(
                "ISR change refused partition=%s wanted=%s error=%s refusals=%d next_in_ms=%d",
                replica.partition, change.wanted, ErrorCode(change.error or 0).name, refusals, wait_ms,
            )  # fmt: skip

    def _retry(self, change: _Change) -> None:
        """Whether it was done, or may still be, is not known."""
        wait_ms = pause_after(change.tries, ISR_RETRY_FIRST_MS, ISR_RETRY_MAX_MS)
        change.retry_ms = self._live.now_ms + wait_ms
        self._failed.append(change)
        if is_worth_a_line(change.tries):
            _log.warning(
                "ISR change failed, retrying partition=%s wanted=%s error=%s tries=%d in_ms=%d",
                change.replica.partition, change.wanted, change.error, change.tries, wait_ms,
            )  # fmt: skip
