"""Replicas whose logs are ahead of their partition's state: ZooKeeper was put back to a state of the past (decision 071).

Runs in: the controller process of the node that holds such a replica. What is decided is pure; what is written is the state, by the
version that was read. The better log is the one with the later last epoch, then with the greater end; one that ends before ours
parted from the state's leader has nothing that we lack. The first row that fits:

    another log is not known: its node is away, or does not say          WAIT for it, unless somebody accepts the loss
    another is longer, and its last epoch not told (Apache's brokers)    WAIT for it, unless somebody accepts the loss
    ours is missing: its disk may be mounted again                       WAIT, unless somebody accepts the loss
    ours had no topic id, and another has records                        WAIT for somebody who says which counts; accepted: RAISE,
                                                                         the other leads
    the state's leader lives, and has written what we don't have         WAIT for somebody who says which history counts;
                                                                         accepted: RAISE, it leads
    else                                                                 RAISE: the best leads, in an epoch above all

    raised    leader -1, the ISR is the best one, the leader epoch begins a later era (`leader_eras.py`) than any that was heard of:
              whoever was away, and knows epochs that nobody else does, finds its log below it all the same

A log without a topic id may be of an earlier topic of the name: its epochs say nothing of what is acknowledged now.

Leader epochs count on by one within an era. A node that comes back with a log of an earlier era follows, and what it has beyond the
elected log is cut with a line that says so, as after any other election.

Source: none in Kafka, which follows the state (KIP-101, KIP-279 compare epochs within one history).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from headrace.controller.agent.hold_decision import EPOCH_UNKNOWN, LogEnd
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.leader_eras import era_of, first_after


class OldAct(Enum):
    """What is done."""

    WAIT = "wait"
    RAISE = "raise"


class OldVerdict(NamedTuple):
    """What is decided.

    best             the replica with the best log
    waits_for        brokers; with `is_conflict` the state's leader, for somebody who decides
    first_offset     from which on records that were acknowledged may be lost; -1: none are
    """

    act: OldAct
    best: int
    waits_for: tuple[int, ...] = ()
    is_conflict: bool = False
    first_offset: int = -1


def decide_old(
    node_id: int,
    held: HeldReplica,
    others: Mapping[int, LogEnd | None],
    replicas: Sequence[int],
    state: PartitionState,
    *,
    is_accepted: bool,
) -> OldVerdict:
    """One held replica whose log is ahead.

    others        ends of the other replicas' logs, None: not known
    is_accepted   whether somebody accepts the loss
    """
    own = LogEnd(NO_EPOCH, 0) if held.is_missing else LogEnd(held.end_epoch, held.end_offset)
    ends = {broker: _comparable(others.get(broker), held) for broker in replicas if broker != node_id}
    unknown = tuple(
        broker for broker, end in ends.items() if end is None or _is_unclear(others.get(broker), broker, own, state)
    )
    if (unknown or held.is_missing) and not is_accepted:
        return OldVerdict(OldAct.WAIT, node_id, unknown)
    rivals = (
        {broker: end for broker, end in ends.items() if end is not None and end.offset > 0} if held.is_nameless else {}
    )
    if rivals:
        best = state.leader if state.leader in rivals else max(rivals, key=lambda broker: rivals[broker])
        if is_accepted:
            return OldVerdict(OldAct.RAISE, best, first_offset=0)
        return OldVerdict(OldAct.WAIT, best, (best,), is_conflict=True)
    leader_end = others.get(state.leader) if state.leader != node_id else None
    if leader_end is not None and _writes(leader_end, held, state):
        if is_accepted:
            return OldVerdict(OldAct.RAISE, state.leader, first_offset=held.parted_at)
        return OldVerdict(OldAct.WAIT, state.leader, (state.leader,), is_conflict=True)
    best, best_end = node_id, own
    for broker, end in ends.items():
        if end is not None and end > best_end:
            best, best_end = broker, end
    first_offset = held.parted_at if unknown else -1
    is_led = leader_end is not None and state.leader != best and leader_end.epoch <= state.leader_epoch
    if leader_end is not None and is_led and not unknown:
        first_offset = min(leader_end.offset, best_end.offset)  # it may write on until it knows
    return OldVerdict(OldAct.RAISE, best, first_offset=first_offset)


def is_over(held: HeldReplica, state: PartitionState) -> bool:
    """Whether a state is not of the past any more: an era is begun only by who has compared the logs.

    Within an era leader epochs count on, whoever is elected: one above the log's says nothing of the records before.
    """
    return era_of(state.leader_epoch) > era_of(held.latest_epoch)


def raised(state: PartitionState, best: int, epochs: Sequence[int]) -> PartitionState:
    """The state that is to be written, for the best to be elected.

    epochs   the latest of all logs that are known
    """
    leader_epoch = first_after(max(state.leader_epoch, *epochs))
    return state._replace(leader=NO_LEADER, leader_epoch=leader_epoch, isr=(best,))


def _comparable(end: LogEnd | None, held: HeldReplica) -> LogEnd | None:
    """An epoch that says nothing of records is not better than ours; nor is one that is not told."""
    if end is not None and end.epoch == EPOCH_UNKNOWN:
        return LogEnd(held.end_epoch, end.offset)
    if end is not None and end.offset <= held.parted_at:
        return LogEnd(min(end.epoch, held.end_epoch), end.offset)
    return end


def _is_unclear(end: LogEnd | None, broker: int, own: LogEnd, state: PartitionState) -> bool:
    """Whether a log is longer, and its epoch is not told: its end may be of a leader of before. The state's leader is another row's."""
    return end is not None and end.epoch == EPOCH_UNKNOWN and end.offset > own.offset and broker != state.leader


def _writes(end: LogEnd, held: HeldReplica, state: PartitionState) -> bool:
    """Whether the state's leader has records that our log may lack; one that is ahead itself does not lead."""
    return end.offset > held.parted_at and end.epoch <= state.leader_epoch
