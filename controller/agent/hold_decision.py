"""What becomes of a held replica: its log beside those of the other replicas. Pure.

Runs in: the controller process of the node that holds it (decision 042). The better log is the one whose last record is of the
later leader epoch, then the one with the greater end. An epoch in which nothing was written ranks nothing. The first row that fits decides:

    an operator says whose log counts                                                       RELEASE, HAND_OVER, or WAIT for that one
    another's log is ahead of the state, and nobody has accepted a loss                     WAIT: it compares all, or has a conflict
    all that are registered have told, unclean election is allowed, none known is better    RELEASE
    our log is missing, we alone are in the ISR, and all that were in it before are known   HAND_OVER to the best of these
    our log is missing, and no other in-sync one is known, nor unclean election allowed     WAIT, until somebody accepts the loss
    another log is not known: its node is away, or does not say                             WAIT for it, and for a better one
    no other log is better                                                                  RELEASE
    the best is in the ISR: it is elected before us, or holds itself                        WAIT for it
    ours is missing, and neither the loss is accepted, nor unclean election allowed         WAIT for those of the ISR, which decide
    the best ends below our own high watermark, and no loss is accepted or allowed          WAIT for an operator: we have what is committed
    the best is outside of the ISR                                                          HAND_OVER to it

A log that is missing says nothing by its end: the disk that has it may be mounted again. Each other in-sync log has all that was
acknowledged. One out of the ISR lacks some of it, and leads only where an operator says so. But a controller that reads no holds (Apache's)
elects whoever registers first, and so leaves a missing log alone in the ISR: those that were in it before have what was acknowledged, for
nobody has led since.

Apache's brokers don't tell the last epoch of a log. In the ISR theirs is compared as if it were ours, by its end. Out of the ISR a longer
one may be the tail of a leader of before, which nobody acknowledged: nothing is given away to it, it counts as not known.

A log that is not known counts until somebody accepts the loss; or, where nothing proves one and its broker is not registered, the time is
over. A registered broker is not away: it recovers its log, and says soon where that ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from headrace.ids import NO_LEADER

EPOCH_UNKNOWN = -2  # of a log of Apache's brokers


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
    """

    act: Act
    best: int
    waits_for: tuple[int, ...] = ()


def decide(
    node_id: int,
    own: LogEnd,
    others: Mapping[int, LogEnd | None],
    replicas: Sequence[int],
    isr: Sequence[int],
    *,
    is_proven: bool,
    is_missing: bool = False,
    is_late: bool,
    is_accepted: bool,
    may_be_unclean: bool,
    awaited: Collection[int] = (),
    disputed_by: Collection[int] = (),
    keep: int = NO_LEADER,
    high_watermark: int = -1,
    isr_then: Sequence[int] = (),
) -> Verdict:
    """One held replica, which is in the ISR.

    others           ends of the other replicas' logs, None: not known
    is_proven        whether it is known that our log lost something
    is_missing       whether there was no log at all here: its disk may come back
    is_late          whether unclean.recovery.timeout.ms is over
    is_accepted      whether somebody accepts the loss
    may_be_unclean   unclean.leader.election.enable of the topic
    awaited          brokers that are registered, and have not said yet where their logs end
    disputed_by      brokers whose logs are ahead of the partition's state
    keep             the broker whose log is to lead, as an operator says; NO_LEADER: none did
    high_watermark   of our log, -1: not known
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
    best, best_end = node_id, own
    unknown = []
    for broker in others_in_order:
        end = others.get(broker)
        if end is not None and end.epoch == EPOCH_UNKNOWN:
            is_comparable = broker in isr or end.offset <= own.offset
            end = LogEnd(own.epoch, end.offset) if is_comparable else None
        if end is None:
            unknown.append(broker)
        elif end.rank > best_end.rank:
            best, best_end = broker, end
    is_better = best != node_id
    has_all = any(broker in isr and others.get(broker) is not None for broker in others_in_order)
    is_alone = is_missing and not has_all and not may_be_unclean
    is_recovering = any(broker in awaited for broker in unknown)
    if (unknown or is_alone) and not is_accepted and (is_proven or not is_late or is_recovering):
        if may_be_unclean and not is_better and not is_recovering:
            return Verdict(Act.RELEASE, best)
        return Verdict(Act.WAIT, best, (*unknown, best) if is_better and not is_alone else tuple(unknown))
    if not is_better:
        return Verdict(Act.RELEASE, best)
    if best in isr:
        return Verdict(Act.WAIT, best, (best,))
    if is_missing and not (is_accepted or may_be_unclean):
        return Verdict(Act.WAIT, best, tuple(broker for broker in others_in_order if broker in isr))
    if best_end.offset < min(high_watermark, own.offset) and not (is_accepted or may_be_unclean):
        return Verdict(Act.WAIT, best, (best,))
    return Verdict(Act.HAND_OVER, best)


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

    Those of Apache's brokers don't count: they follow whoever leads.
    """
    return any(end is None or end.epoch not in (own.epoch, EPOCH_UNKNOWN) for end in others.values())


def first_lost(own: LogEnd, best: LogEnd, others: Mapping[int, LogEnd | None], isr: Sequence[int]) -> int:
    """An offset at or below each record that may be lost, where the best log leads from now on.

    Where it ends is not enough: the in-sync replicas may have gone on in a later epoch, which they lost, and the best log have parted from
    theirs before its end. Up to where the least of the in-sync logs ends, theirs is known.
    """
    ends = [end.offset for broker in isr if (end := others.get(broker)) is not None]
    return min(own.offset, best.offset, *ends)
