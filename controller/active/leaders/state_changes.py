"""Steps of replicas and partitions, carried out: the tables say what, this writes it and notifies the brokers.

Runs in: the controller process of the active node, one object a term. What a step is decided by is read when its transaction is
filled; several transactions are in flight at once (KAFKA-10794).

    facts -> table -> effects
        ->  one multi with the check of /controller_epoch: up to CHANGES_PER_COMMIT states, each at the version it was read at
        ->  the agent is told (StatesWritten)
        ->  notices to brokers

A state that another client wrote meanwhile is left out, and its topic read again (StatesStale): `Part.topics_read` comes
after that. It may have been ourselves, and the reply was lost: what was read is sent to brokers then (`take_doubted`).
A state that a later controller wrote is left alone: our term is over.
What a replica is follows from which brokers are online; what does not (a new one, those of a deletion) is remembered here.

Source: Kafka `ZkReplicaStateMachine`, `ZkPartitionStateMachine`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from headrace.controller.active.effects import (
    NOBODY,
    NOTHING,
    UNANSWERED,
    Effects,
    Planned,
    StopReplica,
    TellLeaders,
    TellMetadata,
    Unmade,
)
from headrace.controller.active.leaders.elections import (
    elect_for_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
    without,
)
from headrace.controller.active.leaders.partition_states import (
    Elect,
    PartitionFacts,
    PartitionStatus,
    status_of,
    step_partition,
)
from headrace.controller.active.leaders.replica_states import ReplicaFacts, ReplicaStatus, step_replica
from headrace.controller.active.notices import OnStopped
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.cluster.topic import UNCLEAN
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkError
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER
from headrace.limits import COMMITS_IN_FLIGHT_MAX
from headrace.state_table import NEVER, Refusal, Story

if TYPE_CHECKING:
    from headrace.controller.active.term import Term

CHANGES_PER_COMMIT = 400
STEPS_PER_FILL = 1_000  # planned without a pause, where few of them write anything
RETRY_MS = 200

Place = tuple[str, int]  # topic and partition
Partition = tuple[Topic, int]
Replica = tuple[Topic, int, int]  # topic, partition, broker
Plan = Callable[[], Planned]
Step = tuple[Topic, int, Plan]

_log = logging.getLogger(__name__)


class Changes(NamedTuple):
    """What came of steps, by topic and partition.

    written   the states that were written
    refused   why a step was not made
    stale     the state was written by others meanwhile: it is read again
    """

    written: dict[Place, PartitionState]
    refused: dict[Place, Refusal | Unmade]
    stale: set[Place]


class _Write(NamedTuple):
    topic: Topic
    partition: int
    state: PartitionState
    effects: Effects


class StateChanges:
    """Both machines of one term."""

    def __init__(self, term: Term) -> None:
        self._term = term
        # Where it is not what follows from which brokers are online
        self._remembered: dict[tuple[str, int, int], ReplicaStatus] = {}
        # Partitions whose write was refused, and the version that it expected
        self._doubted: dict[str, dict[int, int]] = {}
        # By broker that would be left alone in their ISRs, partitions whose step waits for its answer
        self._unanswered: dict[int, dict[str, set[int]]] = {}
        self._story = Story()  # of replicas

    # What is known

    def replica_status(self, topic: Topic, index: int, broker: int) -> ReplicaStatus:
        """What a replica is."""
        known = self._remembered.get((topic.name, index, broker))
        if known is not None:
            return known
        if broker not in topic.replicas[index]:
            return ReplicaStatus.NON_EXISTENT
        return self._status_by_liveness(topic, index, broker)

    def partition_status(self, topic: Topic, index: int) -> PartitionStatus:
        """What a partition is."""
        state = topic.states[index]
        serving = (state.leader,) if state is not None and self.has_leader(topic, index, state) else ()
        return status_of(state, serving, topic.name in self._term.leaving)

    def has_leader(self, topic: Topic, index: int, state: PartitionState) -> bool:
        """Whether the leader of a state serves. A broker that the assignment does not name has let the partition go."""
        is_assigned = state.leader in topic.replicas[index]
        return is_assigned and bool(self._term.liveness.serving(topic.name, index, (state.leader,)))

    def take_doubted(self, topic: Topic) -> list[int]:
        """Partitions whose write was refused, and that were read since: the write may have been ours, and its reply was lost."""
        doubted = self._doubted.get(topic.name, {})
        read = [
            index for index, version in doubted.items() if (state := topic.state_of(index)) and state.version > version
        ]
        for index in read:
            del doubted[index]
        if not doubted:
            self._doubted.pop(topic.name, None)
        return read

    def doubt(self, name: str, versions: Mapping[int, int]) -> None:
        """States may have been written without a reply, at these versions: once they are read, `take_doubted` has them."""
        self._doubted.setdefault(name, {}).update(versions)

    @property
    def is_waiting(self) -> bool:
        """Whether steps wait for answers of brokers."""
        return bool(self._unanswered)

    def take_unanswered(self, broker: int, names: Iterable[str]) -> list[str]:
        """Of these topics, of which a broker has answered, those that have steps waiting for that."""
        waiting = self._unanswered.get(broker)
        if waiting is None:
            return []
        taken = [name for name in names if waiting.pop(name, None) is not None]
        if not waiting:
            del self._unanswered[broker]
        return taken

    def take_all_unanswered(self) -> dict[int, dict[str, set[int]]]:
        """By broker, partitions with steps that wait for its answer."""
        waiting, self._unanswered = self._unanswered, {}
        return waiting

    def forget(self, topic: Topic) -> None:
        """It is gone, and all of its replicas."""
        self._term.answers.forget_topic(topic)
        self._doubted.pop(topic.name, None)
        for index, row in enumerate(topic.replicas):
            for broker in row:
                self._remembered.pop((topic.name, index, broker), None)

    def forget_stopped(self, brokers: Collection[int]) -> None:
        """These went, or start again: what their replicas were told before is over."""
        for broker in brokers:
            self._unanswered.pop(broker, None)
        offline = ReplicaStatus.OFFLINE
        self._remembered = {
            key: status for key, status in self._remembered.items() if key[2] not in brokers or status is not offline
        }

    # Elections

    async def elect_offline(self, partitions: Iterable[Partition], *, is_unclean: bool = False) -> Changes:
        """Leaders for partitions that lost theirs.

        is_unclean   whether one out of the ISR may lead, whatever the topic says
        """
        by_default = self._is_unclean_by_default()
        has_recovery = self._term.tells_recovery

        def how(topic: Topic, index: int, facts: PartitionFacts) -> PartitionState | None:
            assert facts.state is not None
            may = is_unclean or topic.configs.get(UNCLEAN, by_default) == "true"
            return elect_offline(
                facts.state, facts.replicas, facts.online, facts.epoch, is_unclean=may, is_recovery_told=has_recovery
            )

        return await self._move_partitions(partitions, lambda topic, index: partial(how, topic, index))

    async def elect_preferred(self, partitions: Iterable[Partition]) -> Changes:
        """The first replica of each assignment leads, where it is in sync and online."""

        def how(facts: PartitionFacts) -> PartitionState | None:
            assert facts.state is not None
            return elect_preferred(facts.state, facts.replicas, facts.online, facts.epoch)

        return await self._move_partitions(partitions, lambda _topic, _index: how)

    async def elect_reassigned(self, targets: Mapping[Partition, tuple[int, ...]]) -> Changes:
        """One of the target of a reassignment leads."""

        def how(target: tuple[int, ...], facts: PartitionFacts) -> PartitionState | None:
            assert facts.state is not None
            return elect_reassigned(facts.state, target, facts.online, facts.epoch)

        return await self._move_partitions(targets, lambda topic, index: partial(how, targets[topic, index]))

    async def elect_for_shutdown(self, partitions: Iterable[Partition]) -> Changes:
        """Others lead in the place of brokers that are about to go."""
        liveness = self._term.liveness

        def how(topic: Topic, index: int, facts: PartitionFacts) -> PartitionState | None:
            assert facts.state is not None
            serving = tuple(filter(self._term.heard.is_heard, liveness.serving(topic.name, index, facts.replicas)))
            return elect_for_shutdown(facts.state, facts.replicas, serving, liveness.shutting_down, facts.epoch)

        return await self._move_partitions(partitions, lambda topic, index: partial(how, topic, index))

    # Replicas

    async def move_replicas(
        self, replicas: Iterable[Replica], wanted: ReplicaStatus, on_stopped: OnStopped | None = None
    ) -> Changes:
        """Move replicas to another state; each of another partition, for each write changes the version that the next expects.

        on_stopped   called with what came of each StopReplica
        """
        moving = list(replicas)
        steps: list[Step] = [
            (topic, index, partial(self._plan_replica, topic, index, broker, wanted)) for topic, index, broker in moving
        ]
        changes = await self._carry_out(steps, on_stopped)
        for topic, index, broker in moving:
            place = (topic.name, index)
            if place not in changes.refused and place not in changes.stale:
                self._remember(topic, index, broker, wanted)
        return changes

    async def shrink(self, partitions: Iterable[Partition]) -> Changes:
        """Replicas that are offline leave the ISR, and don't lead: OfflineReplica for all of a partition at once."""
        partitions = list(partitions)
        if partitions:
            await self.hear()
        steps: list[Step] = [(topic, index, partial(self._plan_shrink, topic, index)) for topic, index in partitions]
        return await self._carry_out(steps)

    def move_deleted(
        self,
        topic: Topic,
        replicas: Iterable[tuple[int, int]],
        wanted: ReplicaStatus,
        on_stopped: OnStopped | None = None,
    ) -> None:
        """Move replicas (partition, broker) of a topic that is being deleted: nothing of that is written.

        on_stopped   called with what came of each StopReplica
        """
        assert topic.name in self._term.leaving
        for index, broker in replicas:
            effects = self._plan_replica(topic, index, broker, wanted)
            if not isinstance(effects, Effects):
                continue
            assert effects.write is None
            self._remember(topic, index, broker, wanted)
            if broker != self._term.known.node_id:  # here they went with TopicLeaving
                self._send(topic, [(index, effects)], on_stopped)

    # Parts

    async def hear(self) -> None:
        """Know which leader epochs brokers have, and which replicas they hold, before anybody is elected.

        A hold may be over before all are read. Its broker has answered so meanwhile, and will not answer again.
        """
        term = self._term
        with term.liveness.well_since() as well:
            while not term.is_over:
                try:
                    await term.heard.refresh()
                    break
                except ZkError:
                    await term.tasks.sleep(RETRY_MS)
            for broker, places in term.heard.held.items():
                term.liveness.note_failed(broker, [one for one in places if one not in well.get(broker, ())], ())

    def _is_unclean_by_default(self) -> str:
        told = self._term.known.cluster_settings.get(UNCLEAN)
        return told if told is not None else str(self._term.settings["unclean.leader.election.enable"]).lower()

    def _status_by_liveness(self, topic: Topic, index: int, broker: int) -> ReplicaStatus:
        is_online = bool(self._term.liveness.serving(topic.name, index, (broker,)))
        return ReplicaStatus.ONLINE if is_online else ReplicaStatus.OFFLINE

    def _remember(self, topic: Topic, index: int, broker: int, status: ReplicaStatus) -> None:
        """What follows from which brokers are online need not be."""
        key = (topic.name, index, broker)
        if status is ReplicaStatus.NON_EXISTENT or status is self._status_by_liveness(topic, index, broker):
            self._remembered.pop(key, None)
        else:
            self._remembered[key] = status

    def _plan_replica(
        self, topic: Topic, index: int, broker: int, wanted: ReplicaStatus, *, is_heard: bool = False
    ) -> Planned:
        term = self._term
        state = topic.states[index]
        if self._is_others(topic, index):
            return NEVER
        status = self.replica_status(topic, index, broker)
        if wanted is ReplicaStatus.NEW and (topic.name, index, broker) not in self._remembered:
            status = ReplicaStatus.NON_EXISTENT  # the assignment names it already
        offline = self._offline(topic, index, is_heard=is_heard)
        facts = ReplicaFacts(broker, topic.replicas[index], state, term.epoch, offline, topic.name in term.leaving)
        effects = step_replica(status, wanted, facts)
        self._story.note(topic.name, index, broker, status, wanted)
        if effects is NEVER:
            _log.error(
                "replica remains %s topic=%s partition=%d broker=%d wanted=%s; %s",
                status.value, topic.name, index, broker, wanted.value, self._story,
            )  # fmt: skip
        return self._unless_unanswered(topic, index, effects)

    def _plan_shrink(self, topic: Topic, index: int) -> Planned:
        state, offline = topic.states[index], self._offline(topic, index, is_heard=True)
        if state is None or self._is_others(topic, index) or topic.name in self._term.leaving:
            return NEVER
        assigned = [broker for broker in offline if broker in topic.replicas[index]]
        if assigned:
            return self._plan_replica(topic, index, assigned[0], ReplicaStatus.OFFLINE, is_heard=True)
        shrunk = without(state, offline, self._term.epoch)  # of brokers that are no replicas (KAFKA-9672)
        effects = NOTHING if shrunk is None else Effects(shrunk, (TellLeaders(),))
        return self._unless_unanswered(topic, index, effects)

    def _offline(self, topic: Topic, index: int, *, is_heard: bool = False) -> tuple[int, ...]:
        """Replicas that are offline, and brokers that the state names and the assignment does not (KAFKA-9672), alive or not.

        is_heard   those that came since it was read what brokers hold count as offline
        """
        state = topic.states[index]
        named = () if state is None else (*state.isr, *((state.leader,) if state.leader != NO_LEADER else ()))
        brokers = dict.fromkeys((*topic.replicas[index], *named))
        serving = self._term.liveness.serving(topic.name, index, topic.replicas[index])
        heard = self._term.heard
        return tuple(broker for broker in brokers if broker not in serving or (is_heard and not heard.is_heard(broker)))

    async def _move_partitions(
        self, partitions: Iterable[Partition], elect_of: Callable[[Topic, int], Elect]
    ) -> Changes:
        """To OnlinePartition; not where the state is disputed: the part that disputes it chooses the leader (`heard_epochs.py`)."""
        partitions = list(partitions)
        if not partitions:
            return Changes({}, {}, set())
        await self.hear()
        steps: list[Step] = [
            (topic, index, partial(self._plan_partition, topic, index, elect_of(topic, index)))
            for topic, index in partitions
        ]
        return await self._carry_out(steps)

    def _plan_partition(self, topic: Topic, index: int, elect: Elect) -> Planned:
        term = self._term
        state = topic.states[index]
        if state is None or self._is_others(topic, index):
            return NEVER  # first states are written by topic (`leaders.py`)
        if term.heard.is_disputed((topic.name, index), state):
            return NOBODY
        replicas = topic.replicas[index]
        online = tuple(filter(term.heard.is_heard, term.liveness.online(topic.name, index, replicas)))
        state = term.heard.above((topic.name, index), state)
        facts = PartitionFacts(replicas, state, online, term.epoch)
        effects = step_partition(self.partition_status(topic, index), PartitionStatus.ONLINE, facts, elect)
        return self._unless_unanswered(topic, index, effects)

    def _unless_unanswered(self, topic: Topic, index: int, planned: Planned) -> Planned:
        """The step, but for one that leaves a broker alone in the ISR which has not answered for the partition in this term.

        Its directory may have failed, which only the controller before knew. Whoever leaves the ISR had all that was acknowledged, and
        could not lead any more.
        """
        state = topic.states[index]
        if not isinstance(planned, Effects) or planned.write is None or state is None:
            return planned
        if len(planned.write.isr) != 1 or planned.write.isr == state.isr:
            return planned
        [alone] = planned.write.isr
        if self._term.answers.is_well(alone, topic, index):
            return planned
        self._unanswered.setdefault(alone, {}).setdefault(topic.name, set()).add(index)
        return UNANSWERED

    def _is_others(self, topic: Topic, index: int) -> bool:
        """Whether a state is not for us to change: the topic has gone, it is being written, or a later controller wrote it."""
        term = self._term
        if topic.name in term.leaving:
            return term.leaving[topic.name] is not topic
        state = topic.states[index]
        return (
            not term.known.is_current(topic)
            or topic.name in term.reservations
            or (state is not None and state.controller_epoch > term.epoch)
        )

    # Carrying out

    async def _carry_out(self, steps: list[Step], on_stopped: OnStopped | None = None) -> Changes:
        """raises   ControllerMoved"""
        changes = Changes({}, {}, set())
        left = iter(steps)

        async def work() -> None:
            while not self._term.is_over:
                writes = self._fill(left, changes, on_stopped)
                if writes is None:
                    return
                if writes:
                    await self._commit(writes, changes, on_stopped)
                else:
                    await self._term.tasks.pause()

        if len(steps) <= CHANGES_PER_COMMIT:
            await work()
        else:
            await self._term.tasks.share(COMMITS_IN_FLIGHT_MAX, work)
        return changes

    def _fill(self, steps: Iterator[Step], changes: Changes, on_stopped: OnStopped | None) -> list[_Write] | None:
        """Plan some steps; returns what is to be written in one transaction, None: nothing is left."""
        writes: list[_Write] = []
        planned = 0
        for topic, index, plan in steps:
            effects = plan()
            if not isinstance(effects, Effects):
                changes.refused[topic.name, index] = effects
            elif effects.write is None:
                self._send(topic, [(index, effects)], on_stopped)
            else:
                writes.append(_Write(topic, index, effects.write, effects))
            planned += 1
            if planned == STEPS_PER_FILL or len(writes) == CHANGES_PER_COMMIT:
                break
        return writes if planned else None

    async def _commit(self, writes: list[_Write], changes: Changes, on_stopped: OnStopped | None) -> None:
        """Write states in one transaction, those that nothing else wrote; raises ControllerMoved"""
        term = self._term
        while writes and not term.is_over:
            transaction = term.guard.begin()
            for write in writes:
                path = znodes.state_path(write.topic.name, write.partition)
                transaction.set(path, znodes.encode_state(write.state), write.state.version)
            try:
                await term.commit(transaction)
            except ControllerMoved:
                raise
            except ZkConflict as conflict:
                writes = self._without_stale(writes, conflict, changes)
            except ZkError:
                await term.tasks.sleep(RETRY_MS)
            else:
                self._written(writes, changes, on_stopped)
                return

    def _without_stale(self, writes: list[_Write], conflict: ZkConflict, changes: Changes) -> list[_Write]:
        """The others are written without the one that another client wrote (KAFKA-2729: it is read again)."""
        kept = [write for write in writes if znodes.state_path(write.topic.name, write.partition) != conflict.path]
        stale = [write for write in writes if write not in kept] if 0 < len(kept) < len(writes) else writes
        changes.stale.update((write.topic.name, write.partition) for write in stale)
        for write in stale:
            self.doubt(write.topic.name, {write.partition: write.state.version})
        _log.info(
            "partition states changed by another writer, reading them again states=%d reason=%s", len(stale), conflict
        )
        self._term.tell(events.StatesStale(tuple({write.topic.name: None for write in stale})))
        return kept if stale is not writes else []

    def _written(self, writes: list[_Write], changes: Changes, on_stopped: OnStopped | None) -> None:
        by_topic: dict[Topic, list[_Write]] = {}
        for write in writes:
            by_topic.setdefault(write.topic, []).append(write)
        for topic, ours in by_topic.items():
            states = {write.partition: write.state._replace(version=write.state.version + 1) for write in ours}
            changes.written.update(((topic.name, index), state) for index, state in states.items())
            self._term.tell(events.StatesWritten(topic.name, topic.topic_id, states))
            if not self._term.is_over:
                self._send(topic, [(write.partition, write.effects) for write in ours], on_stopped)

    def _send(self, topic: Topic, done: list[tuple[int, Effects]], on_stopped: OnStopped | None) -> None:
        """Notify brokers; what several partitions of a topic have in common, at once."""
        term, name = self._term, topic.name
        told: dict[TellLeaders | TellMetadata, list[int]] = {}
        for index, effects in done:
            for notice in effects.notices:
                if not isinstance(notice, StopReplica):
                    told.setdefault(notice, []).append(index)
                elif term.liveness.is_live(notice.broker):
                    term.notices.stop_replica(
                        notice.broker, name, index, notice.leader_epoch,
                        is_deleted=notice.is_deleted, on_stopped=on_stopped,
                    )  # fmt: skip
        for notice, indexes in told.items():
            if isinstance(notice, TellLeaders):
                term.notices.tell_leaders(name, indexes, notice.brokers, is_new=notice.is_new)
            else:
                term.notices.tell_metadata(name, indexes)
