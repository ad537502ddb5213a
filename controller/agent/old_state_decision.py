"""Replicas whose logs are ahead of their partition's state: ZooKeeper was put back to an old state (decision 015).

Runs in: the controller process of the node that holds such a replica. What is decided is pure; what is written is the state, by the
version that was read. Another log is the same as ours up to where they parted (`log_parting.py`). It has more where it goes on from there,
and is another history where ours goes on as well. By itself leadership goes only to a log that contains ours and each other known one: the
rank (the leader epoch of the last record, then the end) chooses among these, and is no ground alone (decision 013). The first that fits:

    an operator says whose log counts                                    RAISE that one
    another broker has a conflict about this partition                   WAIT for an operator
    another log is not known: its node is away, or does not say          WAIT for it, unless an operator accepts the loss
    it is not known where another log parted from ours                   WAIT for it, unless an operator accepts the loss
    another is longer, and its last epoch not told (Apache's brokers)    WAIT for it, unless an operator accepts the loss
    ours is missing: its disk may be mounted again                       WAIT, unless an operator accepts the loss
    ours had no topic id, and another has records                        WAIT for an operator who says which counts; accepted: RAISE,
                                                                         the other leads
    another is another history, and both may be acknowledged             WAIT for an operator who says which counts: a conflict; accepted:
                                                                         RAISE, the other leads, the state's leader first
    the best lacks what ours has, or what another has                    WAIT for it: it compares the logs itself
    else                                                                 RAISE: the best leads, in an epoch above all

    acknowledged   after the parting either may be. But where only the log that ranks higher has a high watermark above it, the
                   other one's records there are not. (Of compacted topics no parting is certain: the rank counts.) And where our log
                   itself proves the state to be of the past, what was written in that state's leader epoch or before always may be:
                   its leader may have acknowledged it. A log that nothing but `headrace cluster restored` has held proves no such thing

    raised    leader -1, the ISR is the best one, the leader epoch begins a later era (`leader_eras.py`) than any that was heard of:
              whoever was away, and knows epochs that no other process does, finds its log below it all the same

A log without a topic id may be of an earlier topic of the name: its epochs say nothing of what is acknowledged now.

Leader epochs count on by one within an era. A node that comes back with a log of an earlier era follows, and what it has beyond the
elected log is cut with a line that says so, as after any other election.

Source: none in Kafka, which follows the state (KIP-101, KIP-279 compare epochs within one history).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from headrace.controller.agent.hold_decision import EPOCH_UNKNOWN, LogEnd
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.leader_eras import first_after


class OldAct(Enum):
    """What is done."""

    WAIT = "wait"
    RAISE = "raise"


class OldVerdict(NamedTuple):
    """What is decided.

    best             the replica with the best log
    waits_for        brokers; with `is_conflict` those of the other history, the state's leader first, for an operator who decides
    is_conflict      there are two histories: that is remembered, regardless of the leader and whoever is away, until an operator decides
    first_offset     from which on records that were acknowledged may be lost; -1: none are
    parted_at        where our log has parted from the others at the least, -1: nowhere, as far as is known
    """

    act: OldAct
    best: int
    waits_for: tuple[int, ...] = ()
    is_conflict: bool = False
    first_offset: int = -1
    parted_at: int = -1


class Others(NamedTuple):
    """What is known of the other replicas of a partition, by broker.

    ends           None: not known
    partings       up to where their logs are the same as ours; what is not known is left out
    conflicts      brokers that wait for an operator, for their own logs
    ahead          brokers that hold their replicas as ahead of the state as well: their last epochs are not of its history
    latest_epoch   that any of these knows, with a record or without
    """

    ends: Mapping[int, LogEnd | None]
    partings: Mapping[int, int] = {}
    conflicts: Sequence[int] = ()
    ahead: Collection[int] = ()
    latest_epoch: int = NO_EPOCH


def decide_old(
    node_id: int,
    held: HeldReplica,
    others: Others,
    replicas: Sequence[int],
    state: PartitionState,
    *,
    is_accepted: bool,
    keep: int = NO_LEADER,
    high_watermark: int = -1,
    is_compacted: bool = False,
) -> OldVerdict:
    """One held replica whose log is ahead.

    is_accepted      whether an operator accepts the loss
    keep             whose log is to lead, as they say; NO_LEADER: that was not said
    high_watermark   of our log, -1: not known
    is_compacted     a topic whose epochs may have no record left, so that they end elsewhere in each log
    """
    own = LogEnd(NO_EPOCH, 0) if held.is_missing else LogEnd(held.end_epoch, held.end_offset, high_watermark)
    ends = {broker: others.ends.get(broker) for broker in replicas if broker != node_id}
    doubted = {
        broker for broker, end in ends.items() if end is not None and is_doubted(held, broker, end, state, others.ahead)
    }
    partings = _partings(held, own, ends, others, state, doubted)
    parted = [at for broker, at in partings.items() if (end := ends[broker]) is not None and at < end.offset]
    parted_at = min((at for at in parted if at < own.offset), default=-1)
    rivals = _rivals(held, own, ends, partings, state, is_compacted=is_compacted)
    lost = _lowest(-1 if held.is_of_restore else held.parted_at, parted_at)
    if is_accepted and keep != NO_LEADER:
        if keep != node_id and ends.get(keep) is None:
            return OldVerdict(OldAct.WAIT, keep, (keep,), held.is_conflict, parted_at=parted_at)
        kept = own if keep == node_id else ends[keep]
        assert kept is not None
        may_begin_at = kept.offset if keep == node_id else partings.get(keep, 0)
        first_offset = _lowest(lost, kept.offset, may_begin_at)
        return OldVerdict(OldAct.RAISE, keep, first_offset=first_offset, parted_at=parted_at)
    unknown = tuple(broker for broker, end in ends.items() if _is_unknown(broker, end, partings, own, held, state))
    is_conflict = bool(rivals) or (
        held.is_conflict and bool(unknown)
    )  # one that was seen is over where all are known, and none is left
    if not (is_accepted or held.is_nameless) and (is_conflict or others.conflicts):
        waits_for = rivals or unknown or tuple(others.conflicts)
        return OldVerdict(OldAct.WAIT, rivals[0] if rivals else node_id, waits_for, is_conflict, parted_at=parted_at)
    if (unknown or held.is_missing) and not is_accepted:
        return OldVerdict(OldAct.WAIT, node_id, unknown)
    best = _best(node_id, own, ends, partings)
    if held.is_nameless and rivals:
        if is_accepted:
            return OldVerdict(OldAct.RAISE, rivals[0], first_offset=0)
        return OldVerdict(OldAct.WAIT, rivals[0], rivals[:1], is_conflict=True)
    leader_end = ends.get(state.leader)
    if rivals or (leader_end is not None and state.leader in unknown):
        kept_broker = rivals[0] if rivals else state.leader
        first_offset = _lowest(lost, held.parted_at, partings.get(kept_broker, 0))
        return OldVerdict(OldAct.RAISE, kept_broker, first_offset=first_offset, parted_at=parted_at)
    first_offset = _lowest(parted_at, *((lost, held.parted_at) if unknown or held.is_conflict else ()))
    best_end = own if best == node_id else ends[best]
    assert best_end is not None
    if best != node_id and not _contains_all(best, own, ends, partings, doubted):
        if not is_accepted:
            return OldVerdict(OldAct.WAIT, best, (best,), parted_at=parted_at)
        first_offset = _lowest(first_offset, best_end.offset, partings.get(best, 0))
    is_led = leader_end is not None and state.leader != best and leader_end.epoch <= state.leader_epoch
    if leader_end is not None and is_led and not unknown:
        first_offset = _lowest(first_offset, min(leader_end.offset, best_end.offset))  # it may write on until it knows
    return OldVerdict(OldAct.RAISE, best, first_offset=first_offset, parted_at=parted_at)


def _partings(
    held: HeldReplica,
    own: LogEnd,
    ends: Mapping[int, LogEnd | None],
    others: Others,
    state: PartitionState,
    doubted: Collection[int],
) -> dict[int, int]:
    """Up to where each of the other logs is ours, as far as it is known. Two that end in one epoch part where the first one ends.

    But where an epoch may have been given twice, they have parted where that was found at the latest, whatever the epochs say.
    """
    found = {}
    known = others.partings
    for broker, end in ends.items():
        if end is None:
            continue
        at = known.get(broker)
        is_twice = broker in doubted
        if at is None and (not end.offset or not own.offset or (end.epoch == own.epoch and not is_twice)):
            at = min(end.offset, own.offset)
        leader_end, leader_parts = ends.get(state.leader), known.get(state.leader)
        if at is None and end.epoch == EPOCH_UNKNOWN and leader_end is not None and leader_parts is not None:
            at = min(leader_parts, end.offset) if end.offset <= leader_end.offset else None  # it follows that one
        if at is not None:
            found[broker] = min(at, held.parted_at) if is_twice else at
    return found


def is_doubted(held: HeldReplica, broker: int, end: LogEnd, state: PartitionState, ahead: Collection[int]) -> bool:
    """Whether an epoch that another log and ours both have may have been given twice, by an old state: where it ends says nothing.

    The logs have parted at `parted_at` at the latest. Where the epoch before that ended there, its broker is asked.
    """
    if held.is_of_restore or not held.is_ahead or (broker != state.leader and broker in ahead):
        return False
    is_within = held.parted_in >= held.known_epoch  # found by its content, within an epoch
    return is_within or held.parted_in < end.epoch <= state.leader_epoch


def _is_unknown(
    broker: int, end: LogEnd | None, partings: Mapping[int, int], own: LogEnd, held: HeldReplica, state: PartitionState
) -> bool:
    """Whether a log is not known well enough to be compared. Of Apache's brokers only the leader tells where it parted.

    One that `headrace cluster restored` has held takes a shorter log of such a broker for one of the same history.
    """
    if end is None or broker in partings:
        return end is None
    return end.epoch != EPOCH_UNKNOWN or broker == state.leader or end.offset > own.offset or not held.is_of_restore


def _rivals(
    held: HeldReplica,
    own: LogEnd,
    ends: Mapping[int, LogEnd | None],
    partings: Mapping[int, int],
    state: PartitionState,
    *,
    is_compacted: bool,
) -> tuple[int, ...]:
    """Brokers whose logs are another history than ours, which may have been acknowledged; the state's leader first, then the best."""
    found: dict[int, tuple[int, int]] = {}
    for broker, end in ends.items():
        if end is None:
            continue
        at = partings.get(broker)
        if held.is_nameless:
            if end.offset > 0:
                found[broker] = end.rank
        elif at is not None and at < end.offset and at < own.offset:
            better, worse = (end, own) if own.rank < end.rank else (own, end)
            is_shown = (
                worse.high_watermark <= at < better.high_watermark
            )  # that what the worse one has there is not committed
            is_written_since = not held.is_of_restore and end.epoch <= state.leader_epoch
            is_short = better.offset < min(worse.high_watermark, worse.offset)
            if is_written_since or is_short or not (is_shown or is_compacted):
                found[broker] = end.rank
    return tuple(sorted(found, key=lambda broker: (broker != state.leader, *(-part for part in found[broker]))))


def _best(node_id: int, own: LogEnd, ends: Mapping[int, LogEnd | None], partings: Mapping[int, int]) -> int:
    """Who has the best log: a later epoch without a record that we lack is not better, nor one that is not reported."""
    best, rank = node_id, own.rank
    for broker, end in ends.items():
        if end is None:
            continue
        has_more = partings.get(broker, -1) < end.offset
        epoch = end.epoch if has_more and end.epoch != EPOCH_UNKNOWN else min(end.epoch, own.epoch)
        epoch = own.epoch if end.epoch == EPOCH_UNKNOWN else epoch
        if (epoch, end.offset) > rank:
            best, rank = broker, (epoch, end.offset)
    return best


def _contains_all(
    best: int,
    own: LogEnd,
    ends: Mapping[int, LogEnd | None],
    partings: Mapping[int, int],
    doubted: Collection[int],
) -> bool:
    """Whether another log has all that ours has, and all that each other known one has, as far as it can be seen from here."""
    best_end = ends[best]
    assert best_end is not None
    if partings.get(best, -1) < own.offset:
        return False
    for broker, end in ends.items():
        if end is None or broker == best or end.offset <= partings.get(broker, -1):
            continue
        is_within = end.epoch == best_end.epoch and end.offset <= best_end.offset
        if not is_within or broker in doubted or best in doubted:
            return False
    return True


def _lowest(*offsets: int) -> int:
    """The lowest of those that are known, -1: none is."""
    return min((offset for offset in offsets if offset >= 0), default=-1)


def raised(state: PartitionState, best: int, epochs: Sequence[int]) -> PartitionState:
    """The state that is to be written, for the best to be elected.

    epochs   the latest of all logs that are known
    """
    leader_epoch = first_after(max(state.leader_epoch, *epochs))
    return state._replace(leader=NO_LEADER, leader_epoch=leader_epoch, isr=(best,))
