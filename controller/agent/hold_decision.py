"""What becomes of a held replica: its log beside those of the other replicas. Pure.

Runs in: the controller process of the node that holds it (decision 013). By itself leadership goes only to a log that contains ours, and
each known log of the ISR: it is the same up to where they end, and goes on from there. A rank (the leader epoch of the last record, then
the end) is no ground. Kafka commits what its ISR has, also in an epoch without a record. So a later record may be one that nobody
acknowledged (decision 013). Among the in-sync logs the rank chooses: what is committed is the same in them. The first row that fits:

    an operator says whose log counts                                                       RELEASE, HAND_OVER, or WAIT for that one
    another's log is ahead of the state, and nobody has accepted a loss                     WAIT: it compares all, or has a conflict
    our log is missing, we alone are in the ISR, and all that were in it before are known   HAND_OVER to the best of these
    all that are registered have told, unclean election is allowed, none contains ours      RELEASE
    our log is missing, and no other in-sync one is known, nor unclean election allowed     WAIT, until an operator accepts the loss
    another log is not known: its node is away, or does not say                             WAIT for it, and for a better one
    the best is in the ISR: it is elected before us, or holds itself                        WAIT for it
    a later one has parted from ours, and it is proven that ours has lost something         WAIT for an operator
    a later one has parted from ours, and its high watermark lies above the parting         WAIT for an operator
    no other log contains ours                                                              RELEASE
    ours is missing, and neither the loss is accepted, nor unclean election allowed         WAIT for those of the ISR, which decide
    several contain ours, and their last epochs differ: the best may lack what another has  WAIT for an operator
    one contains ours, and is outside of the ISR                                            HAND_OVER to it

Why a later log that has parted from ours gets nothing: ours is in sync, so before it lost anything it had all that is committed. After the
parting the other one has other records, and so none of what ours had after it. (A truncation is durable before anything is appended.) An
accepted loss and unclean elections release ours, too.

A log that is missing says nothing by its end: the disk that has it may be mounted again. Each other in-sync log has all that was
acknowledged. One out of the ISR lacks some of it, and leads only where an operator says so. But a controller that reads no holds (Apache's)
elects whoever registers first, and so leaves a missing log alone in the ISR: those that were in it before have what was acknowledged, for
nobody has led since.

Apache's brokers don't tell the last epoch of a log. In the ISR theirs is compared as if it were ours, by its end. Out of the ISR a longer
one may be the tail of a leader of before, which nobody acknowledged: nothing is given away to it, it counts as not known. So does one of
another epoch, where it is not known up to where it is the same as ours.

A log that is not known counts until an operator accepts the loss; or, where nothing proves one and its broker is not
registered, the time is
over. A registered broker is not away: it recovers its log, and says soon where that ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from headrace.ids import NO_LEADER

EPOCH_UNKNOWN = -2  # of a log of Apache's brokers
NOWHERE = -1  # it is not known where two logs have parted


class LogEnd(NamedTuple):
    """Where a log ends."""

    epoch: int  # of the last record in it, -1: there is none
    offset: int
    high_watermark: int = -1  # up to which its records are known to be committed, -1: nothing is said of that

    @property
    def rank(self) -> tuple[int, int]:
        """Of two logs of one history the greater one is better."""
        return self.epoch, self.offset


OUT_OF_SERVICE = LogEnd(-3, -1)  # its broker says so: nothing is known of it, and nothing is about to be


class Act(Enum):
    """What is done."""

    RELEASE = "release"
    WAIT = "wait"
    HAND_OVER = "hand over"


class Verdict(NamedTuple):
    """What is decided.

    best        the replica with the best log that is known; ours, where none is better
    waits_for   brokers
    choices     brokers of which an operator has to choose one; none: they do not have to
    """

    act: Act
    best: int
    waits_for: tuple[int, ...] = ()
    choices: tuple[int, ...] = ()


def decide(
    node_id: int,
    own: LogEnd,
    others: Mapping[int, LogEnd | None],
    replicas: Sequence[int],
    isr: Sequence[int],
    *,
    partings: Mapping[int, int],
    is_proven: bool,
    is_missing: bool = False,
    is_late: bool,
    is_accepted: bool,
    may_be_unclean: bool,
    awaited: Collection[int] = (),
    disputed_by: Collection[int] = (),
    keep: int = NO_LEADER,
    isr_then: Sequence[int] = (),
) -> Verdict:
    """One held replica, which is in the ISR.

    others           ends of the other replicas' logs, None: not known
    partings         up to where these are the same as ours; what is not known is left out (`known_partings`)
    is_proven        whether it is known that our log lost something
    is_missing       whether there was no log at all here: its disk may come back
    is_late          whether unclean.recovery.timeout.ms is over
    is_accepted      whether an operator accepts the loss
    may_be_unclean   unclean.leader.election.enable of the topic
    awaited          brokers that are registered, and have not said yet where their logs end
    disputed_by      brokers whose logs are ahead of the partition's state
    keep             the broker whose log is to lead, as an operator says; NO_LEADER: none did
    isr_then         as of when our log was found to be missing
    """
    if keep != NO_LEADER:
        return _kept(node_id, others, keep)
    if disputed_by and not is_accepted:
        return Verdict(Act.WAIT, node_id, tuple(disputed_by))
    whole = best_of_isr_then(node_id, others, isr, isr_then) if is_missing else NO_LEADER
    if whole != NO_LEADER:
        return Verdict(Act.HAND_OVER, whole)
    others_in_order = sorted((one for one in replicas if one != node_id), key=lambda one: one not in isr)
    ends = {node_id: own}
    unknown = []
    for broker in others_in_order:
        end = _comparable(own, others.get(broker), partings.get(broker, NOWHERE), is_in_sync=broker in isr)
        if end is None or (broker not in isr and end.rank > own.rank and broker not in partings):
            unknown.append(broker)
        else:
            ends[broker] = end
    first = max((one for one in ends if one == node_id or one in isr), key=lambda one: ends[one].rank)
    higher = [one for one in ends if one not in isr and one != node_id and ends[one].rank > ends[first].rank]
    longer = [one for one in higher if _contains_in_sync(one, node_id, ends, isr, partings)]
    best = max(longer, key=lambda one: ends[one].rank, default=first)
    is_better = best != node_id
    has_all = any(broker in isr and others.get(broker) is not None for broker in others_in_order)
    is_alone = is_missing and not has_all and not may_be_unclean
    is_recovering = any(broker in awaited for broker in unknown)
    is_decided = is_accepted or may_be_unclean
    if (unknown or is_alone) and not is_accepted and (is_proven or not is_late or is_recovering):
        if may_be_unclean and not is_better and not is_recovering:
            return Verdict(Act.RELEASE, best)
        return Verdict(Act.WAIT, best, (*unknown, best) if is_better and not is_alone else tuple(unknown))
    if is_better and best in isr:
        return Verdict(Act.WAIT, best, (best,))
    parted = [one for one in higher if one not in longer]
    doubted = [one for one in parted if ends[one].high_watermark > partings[one] or (is_proven and not is_better)]
    if doubted and not is_decided:
        rivals = (*doubted, *longer)
        return Verdict(Act.WAIT, best, rivals, (node_id, *rivals))
    if not is_better:
        return Verdict(Act.RELEASE, best)
    if is_missing and not is_decided:
        return Verdict(Act.WAIT, best, tuple(broker for broker in others_in_order if broker in isr))
    if not is_decided and any(ends[one].epoch != ends[best].epoch for one in longer):
        return Verdict(Act.WAIT, best, tuple(longer), (node_id, *longer))
    return Verdict(Act.HAND_OVER, best)


def _comparable(own: LogEnd, end: LogEnd | None, parted_at: int, *, is_in_sync: bool) -> LogEnd | None:
    """One that ends within ours has no later record, whatever its node says: an older one may say an epoch that has no record.

    One of Apache's brokers has no epoch: in the ISR, or where it is not longer, it counts as of ours.
    """
    if end is None:
        return None
    if end.epoch != EPOCH_UNKNOWN:
        return end if parted_at < end.offset else end._replace(epoch=min(end.epoch, own.epoch))
    return LogEnd(own.epoch, end.offset) if is_in_sync or end.offset <= own.offset else None


def _contains_in_sync(
    broker: int, node_id: int, ends: Mapping[int, LogEnd], isr: Collection[int], partings: Mapping[int, int]
) -> bool:
    """Whether a log has all that ours has, and all that each known log of the ISR has."""
    end, parted_at = ends[broker], partings[broker]
    in_sync = [ends[one] for one in ends if one == node_id or one in isr]
    return all(one.offset <= parted_at or (one.epoch == end.epoch and one.offset <= end.offset) for one in in_sync)


def known_partings(own: LogEnd, others: Mapping[int, LogEnd | None], asked: Mapping[int, int]) -> dict[int, int]:
    """Up to where other logs are the same as ours: asked, or it follows from where they end. What is not known is left out.

    Two that end in one epoch part where the shorter one ends.
    """
    found = {}
    for broker, end in others.items():
        if end is None:
            continue
        if not own.offset or not end.offset or end.epoch == own.epoch:
            found[broker] = min(own.offset, end.offset)
        elif broker in asked:
            found[broker] = min(asked[broker], own.offset, end.offset)
    return found


def best_of_isr_then(
    node_id: int, others: Mapping[int, LogEnd | None], isr: Sequence[int], isr_then: Sequence[int]
) -> int:
    """The best of those that were in the ISR with a log that is missing, where it has shrunk to that one; NO_LEADER: not all are known."""
    then = [broker for broker in isr_then if broker != node_id]
    ends = {broker: end for broker in then if (end := others.get(broker)) is not None}
    if tuple(isr) != (node_id,) or not then or len(ends) < len(then):
        return NO_LEADER
    is_comparable = all(end.epoch != EPOCH_UNKNOWN for end in ends.values())
    return max(then, key=lambda broker: ends[broker].rank if is_comparable else (0, ends[broker].offset))


def _kept(node_id: int, others: Mapping[int, LogEnd | None], keep: int) -> Verdict:
    if keep == node_id:
        return Verdict(Act.RELEASE, keep)
    if others.get(keep) is None:
        return Verdict(Act.WAIT, keep, (keep,))
    return Verdict(Act.HAND_OVER, keep)


def may_part(own: LogEnd, others: Mapping[int, LogEnd | None]) -> bool:
    """Whether another replica may have committed records that ours, the best one, lacks. One of the same last epoch has none.

    Those of Apache's brokers don't count: they follow the current leader.
    """
    return any(end is None or end.epoch not in (own.epoch, EPOCH_UNKNOWN) for end in others.values())


def first_lost(
    own: LogEnd, best: LogEnd, others: Mapping[int, LogEnd | None], isr: Sequence[int], partings: Collection[int] = ()
) -> int:
    """An offset at or below each record that may be lost, where the best log leads from now on.

    Where it ends is not enough: the in-sync replicas may have gone on in a later epoch, which they lost, and the best log have parted from
    theirs before its end. Up to where the least of the in-sync logs ends, theirs is known.

    partings   where ours and the logs have parted that an operator had to choose from, or that rank higher: never above them
    """
    ends = [end.offset for broker in isr if (end := others.get(broker)) is not None]
    return min(own.offset, best.offset, *ends, *partings)
