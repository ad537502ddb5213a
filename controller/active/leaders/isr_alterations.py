"""In-sync replicas as leaders want them (AlterPartition): what is accepted, and written.

Runs in: the controller process of the active node. `judge` is pure; each rule is judged in Kafka's order. All that a request wants is
written together, a state at the version that was judged; where another client was faster, or the reply is lost, the states are read
and judged again: our own write is an equal state then, and accepted.

    a state that we don't have yet      read again, once for each request. Then NOT_CONTROLLER: another client may be it (KAFKA-14154)
    what is so already                  accepted, before all that fences (KAFKA-14144: the answer was lost)
    an older leader epoch               FENCED_LEADER_EPOCH
    an older partition epoch            INVALID_UPDATE_VERSION
    recovering, with others or again     INVALID_REQUEST
    a broker that is gone, or about to  INELIGIBLE_REPLICA, before v2 OPERATION_NOT_ATTEMPTED (KIP-841)
    one that was restarted since (v3)   the same (KIP-903; Apache's ZooKeeper controller does not check it)

Brokers that are no replicas any more are left out of an ISR (KAFKA-9672).

Source: Kafka `KafkaController.processAlterPartition`; KIP-497, KIP-704.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.controller.active.leaders.isr_notifications import read_states, tell_isrs
from headrace.controller.active.term import Term
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkLost
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH
from headrace.leader_eras import first_after
from headrace.limits import ISR_WRITE_TRIES_MAX

CHANGES_PER_COMMIT = 400
RECOVERING = 1

Partition = tuple[str, int]  # topic, partition
Outcome = PartitionState | ErrorCode

_log = logging.getLogger(__name__)


class WantedIsr(NamedTuple):
    """What a leader wants of a partition."""

    leader: int  # the asker
    leader_epoch: int
    isr: tuple[int, ...]
    broker_epochs: Mapping[int, int]  # of those in the ISR; NO_EPOCH, or none: not said
    recovery: int
    partition_epoch: int


def judge(
    state: PartitionState, wanted: WantedIsr, replicas: Sequence[int], brokers: Mapping[int, int]
) -> PartitionState | ErrorCode:
    """The state to write, at the version that it expects; the state itself, where nothing is to be; or an error.

    brokers   that are alive and not about to go, and their epochs
    """
    if _is_later(wanted, state):
        return ErrorCode.NOT_CONTROLLER
    assigned = frozenset(replicas)
    isr = tuple(broker for broker in wanted.isr if broker in assigned)
    is_same_leader = (wanted.leader, wanted.leader_epoch) == (state.leader, state.leader_epoch)
    if is_same_leader and set(isr) == set(state.isr) and wanted.recovery == state.recovery:
        return state
    if wanted.leader_epoch < state.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if wanted.partition_epoch < state.version:
        return ErrorCode.INVALID_UPDATE_VERSION
    if wanted.recovery == RECOVERING and (len(isr) > 1 or state.recovery != RECOVERING):
        return ErrorCode.INVALID_REQUEST
    if not is_same_leader or wanted.leader not in isr or len(set(isr)) != len(isr):
        return ErrorCode.INVALID_REQUEST
    epochs = wanted.broker_epochs
    if any(broker not in brokers or epochs.get(broker, NO_EPOCH) not in (NO_EPOCH, brokers[broker]) for broker in isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return state._replace(isr=isr, recovery=wanted.recovery)


async def alter(term: Term, wanted: Mapping[Partition, WantedIsr]) -> dict[Partition, Outcome]:
    """Carry out what is accepted; notifies the agent, brokers and parts.

    returns   the state that is there now, or an error, of each partition
    raises    ControllerMoved; ZkError, where some of it may be written or not
    """
    outcomes: dict[Partition, Outcome] = {}
    if later := _later_than_known(term, wanted):
        await read_states(term, later)
    left = dict(wanted)
    for _ in range(ISR_WRITE_TRIES_MAX):
        changes = _judge_all(term, left, outcomes)
        judged = {name: term.known.topics[name] for name, _index in changes}
        left = {}
        partitions = list(changes)
        for first in range(0, len(partitions), CHANGES_PER_COMMIT):
            part = {partition: changes[partition] for partition in partitions[first : first + CHANGES_PER_COMMIT]}
            if await _write(term, part, judged):
                outcomes.update((partition, _next(state)) for partition, state in part.items())
            else:
                left.update((partition, wanted[partition]) for partition in part)
        if not left:
            return outcomes
        await read_states(term, list(left))
    outcomes.update(dict.fromkeys(left, ErrorCode.INVALID_UPDATE_VERSION))
    return outcomes


def _later_than_known(term: Term, wanted: Mapping[Partition, WantedIsr]) -> list[Partition]:
    """Partitions whose leader has a state that we don't: it may have been written by a client that did not live to note it."""
    found = []
    for (name, index), asked in wanted.items():
        state = _state_of(term.known.topics.get(name), index)
        if state is not None and _is_later(asked, state):
            found.append((name, index))
    return found


def _is_later(asked: WantedIsr, state: PartitionState) -> bool:
    return asked.partition_epoch > state.version or asked.leader_epoch > state.leader_epoch


def _judge_all(
    term: Term, wanted: Mapping[Partition, WantedIsr], outcomes: dict[Partition, Outcome]
) -> dict[Partition, PartitionState]:
    """What is to be written; of the others the outcome is noted."""
    leaving = term.liveness.shutting_down | term.liveness.returning
    brokers = {one: broker.epoch for one, broker in term.known.brokers.items() if one not in leaving}
    changes = {}
    for (name, index), asked in wanted.items():
        topic = term.known.topics.get(name)
        state = _state_of(topic, index)
        if topic is None or state is None:
            outcomes[name, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            continue
        if asked.leader in topic.replicas[index]:
            term.heard.note((name, index), min(asked.leader_epoch, first_after(state.leader_epoch)))
        found = judge(state, asked, topic.replicas[index], brokers)
        if isinstance(found, ErrorCode) or found is state:
            outcomes[name, index] = found
        else:
            changes[name, index] = found._replace(controller_epoch=term.epoch)
    return changes


async def _write(term: Term, changes: Mapping[Partition, PartitionState], topics: Mapping[str, Topic]) -> bool:
    """Whether all of it is written; else some were written by others, or by us without a reply: to be read again.

    topics   as they were when the changes were judged: one that went since, while another part was written, is judged again
    raises   ControllerMoved; ZkLost, where the session has ended
    """
    if not all(term.known.is_current(topics[name]) for name, _index in changes):
        return False
    transaction = term.guard.begin()
    for (name, index), state in changes.items():
        transaction.set(znodes.state_path(name, index), znodes.encode_state(state), state.version)
    try:
        await term.commit(transaction)
    except ControllerMoved:
        raise
    except ZkConflict as conflict:
        _log.info(
            "partition states changed by another writer, reading them again partitions=%d reason=%s",
            len(changes),
            conflict,
        )
        return False
    except ZkLost as failure:
        _log.info("no reply to an ISR change, reading the states again partitions=%d reason=%s", len(changes), failure)
        return False
    by_topic: dict[Topic, dict[int, PartitionState]] = {}
    for (name, index), state in changes.items():
        before = topics[name].states[index]
        for broker in set(state.isr).difference(before.isr if before is not None else ()):
            term.liveness.note_failed(broker, (), [(name, index)])  # its leader has seen it fetch all
        by_topic.setdefault(topics[name], {})[index] = _next(state)
    for topic, states in by_topic.items():
        term.tell(events.StatesWritten(topic.name, topic.topic_id, states))
        tell_isrs(term, topic.name, list(states))
    return True


def _state_of(topic: Topic | None, index: int) -> PartitionState | None:
    return topic.states[index] if topic is not None and 0 <= index < len(topic.states) else None


def _next(state: PartitionState) -> PartitionState:
    """As it is once it was written."""
    return state._replace(version=state.version + 1)
