"""Reassignments of a term: what `reassignment.py` plans, written into ZooKeeper and told to brokers.

Runs in: the controller process of the active node; one object a term. Somebody asks for one by AlterPartitionReassignments, or by a
node /admin/reassign_partitions, which is read into the topics' nodes: from there on those are the truth, and the
last write of each takes its entry out of that node.

    asked, elected, ISR changed, broker back  ->  topic due  ->  a task of the topic, its name reserved:
        its node and the states of partitions on their way read -> plans -> one multi (U, A or B) -> agent, brokers told
        -> their leaders answer, removed replicas stopped, each waited for so long
        -> one multi (the target alone, the entry) -> agent, brokers told

Replicas that a cancelled or a replaced reassignment had added, and those that a finished one could not delete in time, are named in
the topic's node until their brokers have deleted them (`unwanted_replicas.py`): a successor, or this controller once such a
broker is back, goes on with that.

Every plan is made of what ZooKeeper has at that moment, and written where that is still so. A conflict has it read again.
A topic that is being deleted is left alone: its deletion takes all replicas, added and removed ones too (in Kafka it waits).

Source: Kafka `KafkaController.processApiPartitionReassignment`, `processZkPartitionReassignment`, `onPartitionReassignment`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from headrace.controller.active.reassignment.changed_topic import changed_by, with_rows
from headrace.controller.active.reassignment.held_targets import ByBroker, Waiting, read_held_of, waits_for
from headrace.controller.active.reassignment.reassignment import (
    NOTHING,
    BrokersChanged,
    Elected,
    Event,
    IsrChanged,
    Moving,
    Plan,
    Requested,
    check_target,
    is_left_over,
    is_moving,
    is_unanswered,
    moving_partitions,
    plan,
)
from headrace.controller.active.reassignment.replica_stops import ReplicaStops
from headrace.controller.active.reassignment.wishes import is_at, take_out
from headrace.controller.active.term import RETRY_MS, Part, Term, is_told
from headrace.controller.active.topics.topic_creation import encode_assignment
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.cluster.partition_assignment import PartitionAssignment, assignment_of
from headrace.controller.cluster.unwanted_replicas import unwanted_of, with_unwanted, without_replicas
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.admin_znodes import Place, decode_reassignment
from headrace.controller.zookeeper.errors import ControllerMoved, Node, ZkConflict, ZkError
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState, TopicAssignment
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import REASSIGNMENT_TRIES_MAX, REASSIGNMENTS_IN_FLIGHT_MAX

CHANGES_PER_COMMIT = 400
RECHECK_MS = 15_000  # topics on their way are read again, whether or not something was heard of them

Target = tuple[int, ...] | None  # None: cancelled
Errors = dict[int, KafkaError | None]  # by partition

_log = logging.getLogger(__name__)


class _Due(NamedTuple):
    """Why a topic is looked at; the strongest reason counts."""

    is_elected: bool = False
    brokers: frozenset[int] = frozenset()

    def also(self, other: _Due) -> _Due:
        return _Due(self.is_elected or other.is_elected, self.brokers | other.brokers)

    @property
    def event(self) -> Event:
        if self.is_elected:
            return Elected()
        return BrokersChanged(self.brokers) if self.brokers else IsrChanged()


ISR_CHANGED = _Due()


class _Read(NamedTuple):
    """A topic as ZooKeeper has it now.

    states   of the partitions that were asked for
    trigger  the node of wishes, None: there is none
    held     what brokers hold, by partition; live: those whose holds these are. One that came since is as one that did not come yet
    """

    assignment: TopicAssignment
    version: int
    states: dict[int, PartitionState]
    trigger: Node | None
    held: Mapping[int, ByBroker]
    live: tuple[int, ...]


class Reassignments(Part):
    """Those of a term."""

    watched = znodes.REASSIGN_PARTITIONS

    def __init__(self, term: Term) -> None:
        self._term = term
        self._moving: set[str] = set()  # topics that have replicas on their way
        self._parked: set[str] = set()  # of these, topics that wait for brokers that are away, and for nothing else
        self._due: dict[str, _Due] = {}
        self._waiting = Waiting()
        self._workers = 0  # tasks
        self._busy = 0  # of these, with a topic
        self._is_recheck_set = False
        self._writing: set[str] = set()  # topics that a task of ours has reserved
        self._doubted: set[str] = set()  # of which something may have been written that brokers were not told
        self._taken: dict[Place, tuple[int, ...]] = {}  # wishes that were read into their topics
        self._unanswered: set[str] = set()  # topics that wait for brokers to answer what they are told of leaders
        self._stops = ReplicaStops(term, lambda name: self._check((name,)), self._unanswered)
        self._failures: dict[str, int] = {}  # of topics whose step failed, in a row
        self._is_reading = False  # wishes
        self._is_stale = False  # there may be others

    # What happens

    async def begin(self) -> None:
        """Every one that is on its way begins its phase again; a node of wishes takes the place of others."""
        await self._follow_trigger()
        known = self._term.known.topics
        self._check([name for name, topic in known.items() if is_left_over(topic)], _Due(is_elected=True))

    def brokers_changed(self, gone: frozenset[int], come: frozenset[int]) -> None:
        self._stops.forget(gone)
        self._check(self._moving, _Due(brokers=gone | come))

    def topics_read(self, names: Collection[str]) -> None:
        self._check(name for name in names if self._is_known_moving(name))

    def topic_written(self, name: str) -> None:
        if name not in self._writing:
            self.topics_read((name,))

    def isrs_changed(self, name: str, indexes: Collection[int]) -> None:
        if name in self._moving:
            self._check((name,))

    def leaders_answered(self, broker: int, errors: Mapping[Place, ErrorCode]) -> None:
        if not self._moving:
            return
        names = {name for name, _index in errors}
        self._stops.leaders_answered(names)
        waiting = self._unanswered & names
        self._unanswered -= waiting
        self._check(waiting & self._moving)

    def marks_read(self, names: frozenset[str]) -> None:
        if not self._moving.isdisjoint(names):
            self.notified()  # their entries go

    def notified(self) -> None:
        self._is_stale = True
        if not self._is_reading and not self._term.is_over:
            self._is_reading = True
            self._term.start(self._follow_triggers(), self._trigger_followed)

    # Requests

    def listed(self, wanted: Mapping[str, Collection[int]] | None) -> dict[str, dict[int, PartitionAssignment]]:
        """Partitions on their way, of these or of all."""
        known = self._term.known.topics
        names = [name for name, topic in known.items() if is_moving(topic)] if wanted is None else wanted
        found: dict[str, dict[int, PartitionAssignment]] = {}
        for name in names:
            topic = known.get(name)
            if topic is None:
                continue
            indexes = set(topic.known_of(moving_partitions(topic)))
            for index in indexes if wanted is None else sorted(indexes & set(wanted[name])):
                found.setdefault(name, {})[index] = assignment_of(topic, index)
        return found

    async def alter(self, name: str, targets: Mapping[int, Target]) -> Errors:
        """Begin, replace or cancel reassignments of a topic's partitions; an error for each, None: it is written.

        raises   KafkaError UNKNOWN_TOPIC_OR_PARTITION; ControllerMoved; ZkError, where it may be written or not
        """
        return await self._alter(name, targets, is_by_trigger=False)

    # The trigger

    def _trigger_followed(self) -> None:
        self._is_reading = False
        if self._is_stale:
            self.notified()

    async def _follow_triggers(self) -> None:
        while self._is_stale and not self._term.is_over:
            self._is_stale = False
            try:
                await self._follow_trigger()
            except ControllerMoved:
                raise
            except ZkError as failure:
                self._is_stale = True
                _log.debug("requested reassignments not processed, retrying later reason=%s", failure)
                await self._term.tasks.sleep(RETRY_MS)

    async def _follow_trigger(self) -> None:
        """Read the wishes into the topics' nodes; those that can't be go. raises   ZkError"""
        node = await self._term.zk.get(znodes.REASSIGN_PARTITIONS, watch=True)
        if node is None:
            self._taken.clear()  # the same wish may come again
            return
        try:
            wanted = decode_reassignment(node.data)
        except BadZnode as failure:
            _log.error("requested reassignments not processed, their znode is kept reason=%s", failure)
            return
        self._taken = {place: target for place, target in self._taken.items() if wanted.get(place) == target}
        by_topic: dict[str, dict[int, Target]] = {}
        for (name, index), target in wanted.items():
            if (name, index) not in self._taken or self._find(name) is None:
                by_topic.setdefault(name, {})[index] = target
        refused: dict[Place, KafkaError] = {}
        for name, targets in by_topic.items():
            try:
                errors = await self._alter(name, targets, is_by_trigger=True)
            except KafkaError as failure:
                errors = dict.fromkeys(targets, failure)
            for index, error in errors.items():
                if error is None:
                    self._taken[name, index] = wanted[name, index]
                else:
                    refused[name, index] = error
        if refused:
            (name, index), reason = next(iter(refused.items()))
            _log.warning(
                "reassignments refused count=%d first=%s-%d reason=%s", len(refused), name, index, reason.message
            )
            await self._drop_wishes({place: wanted[place] for place in refused})

    async def _drop_wishes(self, refused: Mapping[Place, tuple[int, ...]]) -> None:
        """Those with these targets: others may be there by now. raises   ZkError; a conflict: then they are read again"""
        transaction = self._term.guard.begin()
        node = await self._term.zk.get(znodes.REASSIGN_PARTITIONS)
        if take_out(transaction, node, lambda place, target: refused.get(place) == target):
            await self._term.commit(transaction)

    # Topics that are due

    def _is_known_moving(self, name: str) -> bool:
        topic = self._term.known.topics.get(name)
        return name in self._moving or (topic is not None and is_left_over(topic))

    def _check(self, names: Iterable[str], why: _Due = ISR_CHANGED) -> None:
        """Look at these topics, soon."""
        for name in names:
            self._moving.add(name)
            self._parked.discard(name)
            self._due[name] = self._due.get(name, ISR_CHANGED).also(why)
        while self._workers < REASSIGNMENTS_IN_FLIGHT_MAX and self._workers - self._busy < len(self._due):
            if self._term.is_over:
                return
            self._workers += 1
            self._term.start(self._work(), self._worked)
        if self._moving and not self._is_recheck_set:
            self._is_recheck_set = self._term.tasks.later(RECHECK_MS, self._recheck)

    def _recheck(self) -> None:
        """What an event should have said: one that is lost holds nothing up for ever. Nor does an answer that says nothing of a log."""
        self._is_recheck_set = False
        if self._term.is_over:
            return
        unanswered = list(self._unanswered)
        self._unanswered.clear()
        for name in unanswered:
            topic = self._find(name)
            if topic is not None:
                indexes = moving_partitions(topic) | unwanted_of(topic.assignment).keys()
                self._term.notices.tell_leaders(name, sorted(indexes))
        self._check(self._moving - self._parked)

    def _worked(self) -> None:
        self._workers -= 1
        if self._due:
            self._check(())

    async def _work(self) -> None:
        """One of several tasks, that each take the next topic."""
        while self._due and not self._term.is_over:
            name = next(iter(self._due))
            why = self._due.pop(name)
            self._busy += 1
            try:
                if not await self._advance(name, why.event):
                    self._moving.discard(name)
                    self._parked.discard(name)
                self._failures.pop(name, None)
            except ControllerMoved:
                raise
            except ZkError as failure:
                failures = self._failures[name] = self._failures.get(name, 0) + 1
                level = logging.WARNING if is_told(failures) else logging.DEBUG
                _log.log(level, "reassignment will be retried topic=%s failures=%d reason=%s", name, failures, failure)
                self._due[name] = self._due.get(name, ISR_CHANGED).also(why)
                await self._term.tasks.sleep(RETRY_MS)
            except (KafkaError, BadZnode) as failure:  # it is read again when somebody changes it
                failures = self._failures[name] = self._failures.get(name, 0) + 1
                if failures == 1 or is_told(failures):
                    _log.error("reassignment stalled topic=%s failures=%d reason=%s", name, failures, failure)
            finally:
                self._busy -= 1

    async def _advance(self, name: str, event: Event) -> bool:
        """Do what a topic's partitions need now; whether some are still on their way. raises   ZkError, BadZnode"""
        term = self._term
        await term.reservations.wait_free(name)
        topic = self._find(name)
        if topic is None or term.is_over:
            return False
        is_told = False
        self._reserve(name)
        try:
            found = await self._read(topic, ())
            if found is None:
                return False
            is_doubted = name in self._doubted
            if is_doubted:
                event = Elected()
            moving = found.assignment.adding.keys() | found.assignment.removing.keys()
            plans = {index: self._plan_next(topic, found, index, event) for index in found.states if index in moving}
            left = await self._carry_out(topic, found, plans, is_by_trigger=True)
            if isinstance(event, Elected):
                self._doubted.discard(name)
            is_told = not is_doubted  # what was written before is read, and told, once the name is free
            return left
        finally:
            self._release(name, is_told)

    def _reserve(self, name: str) -> None:
        self._writing.add(name)
        self._term.reservations.reserve(name)

    def _release(self, name: str, is_told: bool) -> None:
        self._term.reservations.release(name, is_told)
        self._writing.discard(name)
        if name in self._doubted and not is_told:
            self._check((name,))

    def _find(self, name: str) -> Topic | None:
        """A topic that is not to be deleted."""
        return None if name in self._term.marked else self._term.known.topics.get(name)

    async def _alter(self, name: str, targets: Mapping[int, Target], is_by_trigger: bool) -> Errors:
        term = self._term
        begun: set[int] = set()
        for tries_left in range(REASSIGNMENT_TRIES_MAX - 1, -1, -1):
            await term.reservations.wait_free(name)
            topic = self._find(name)
            if topic is None:
                raise _unknown()
            is_told = False
            self._reserve(name)
            try:
                errors = await self._begin_all(topic, targets, is_by_trigger, begun)
                is_told = True
                return errors
            except ControllerMoved:
                raise
            except ZkConflict:
                if not tries_left:
                    raise
            except BadZnode as failure:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(failure)) from None
            finally:
                self._release(name, is_told)
        raise AssertionError("unreachable")

    async def _begin_all(
        self, topic: Topic, targets: Mapping[int, Target], is_by_trigger: bool, begun: set[int]
    ) -> Errors:
        """begun     partitions that an earlier try has planned, and maybe written; those of this one are added

        raises   KafkaError UNKNOWN_TOPIC_OR_PARTITION; ZkError; BadZnode
        """
        found = await self._read(topic, targets)
        if found is None:
            raise _unknown()
        errors: Errors = {}
        plans = {}
        for index, target in targets.items():
            try:
                if not 0 <= index < len(found.assignment.replicas):
                    raise _none_in_progress() if target is None else _unknown()
                if index not in found.states:
                    raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {index} has no state yet: retry")
                known = self._known(topic, found, index)
                wanted = known.assignment.origin if target is None else target
                if holders := waits_for(found.held.get(index, {}), wanted, known.state):
                    why = f"the best log of partition {index} is not known yet, brokers {holders} hold it: retry"
                    raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, why)
                if target is not None:
                    live = {*target, *known.live} if is_by_trigger else known.live  # as Kafka: a broker may come later
                    check_target(known.assignment, target, live)
                made = plan(known, Requested(target))
                if is_unanswered(known, made):
                    why = f"the only one of partition {index} that would stay in sync has not answered yet: retry"
                    raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, why)
                plans[index] = made
                begun.add(index)
                errors[index] = None
            except KafkaError as failure:
                is_done = index in begun and failure.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
                errors[index] = None if is_done else failure
        self._moving.add(topic.name)
        if await self._carry_out(topic, found, plans, is_by_trigger):
            self._check((topic.name,))  # the ISR may have changed meanwhile
        else:
            self._moving.discard(topic.name)
            self._parked.discard(topic.name)
        return errors

    # Reading and writing

    async def _read(self, topic: Topic, wanted: Collection[int]) -> _Read | None:
        """What ZooKeeper has of these partitions, and of all that are on their way; None: no topic, or another one.

        raises   ZkError, BadZnode
        """
        zk = self._term.zk
        node, trigger = await zk.get_many([znodes.topic_path(topic.name), znodes.REASSIGN_PARTITIONS])
        if node is None:
            return None
        assignment = znodes.decode_topic(topic.name, node.data)
        if assignment.topic_id != topic.topic_id:
            return None
        moving = assignment.adding.keys() | assignment.removing.keys() | unwanted_of(assignment).keys()
        indexes = [index for index in sorted({*wanted, *moving}) if 0 <= index < len(assignment.replicas)]
        paths = [znodes.state_path(topic.name, index) for index in indexes]
        states = {}
        for index, path, state in zip(indexes, paths, await zk.get_many(paths), strict=True):
            if state is not None:
                states[index] = znodes.decode_state(path, state.data, state.version)
        held, live = await read_held_of(zk, topic.name, assignment, self._term.known)
        return _Read(assignment, node.version, states, trigger, held, live)

    def _plan_next(self, topic: Topic, found: _Read, index: int, event: Event) -> Plan:
        """What one that is on its way needs; nothing while brokers hold it: it is looked at again (RECHECK_MS)."""
        known = self._known(topic, found, index)
        holders = waits_for(found.held.get(index, {}), known.assignment.target, known.state)
        self._waiting.say(topic.name, index, holders)
        if holders:
            return NOTHING
        made = plan(known, event)
        if is_unanswered(known, made):
            self._unanswered.add(topic.name)
            return NOTHING
        if made is NOTHING and known.is_awaiting:
            self._unanswered.add(topic.name)
        return made

    def _known(self, topic: Topic, found: _Read, index: int) -> Moving:
        online = self._term.liveness.online(topic.name, index, found.live)
        ready = tuple(one for one in online if self._term.answers.is_well(one, topic, index))
        return Moving(assignment_of(found.assignment, index), found.states[index], online, self._term.epoch, ready)

    async def _carry_out(self, topic: Topic, found: _Read, plans: Mapping[int, Plan], is_by_trigger: bool) -> bool:
        """Do what is planned for a topic's partitions; whether some of all are still on their way after that.

        is_by_trigger   entries of the node of wishes stay until their reassignment is over; else another one takes their place
        raises          ControllerMoved, ZkError
        """
        name, term = topic.name, self._term
        doing = {index: made for index, made in plans.items() if made is not NOTHING}
        changed = changed_by(found.assignment, doing)
        unwanted = unwanted_of(changed)
        rows = {index: assignment_of(changed, index) for index in plans}
        dropped = {
            index: row.replicas if is_by_trigger else None
            for index, row in rows.items()
            if not (is_by_trigger and row.is_moving)
        }
        version, trigger = await self._write_states(name, found, doing, dropped)
        if doing:
            self._tell(topic, changed, doing)
        states = {**found.states, **{index: made.state for index, made in doing.items() if made.state is not None}}
        taken = {(broker, index) for index, made in doing.items() for broker in made.stopped}
        left = await self._stops.stop(topic, taken, unwanted, states, found.held) if doing or unwanted else {}
        settled = {index: made.settled for index, made in doing.items() if made.settled is not None}
        ended = with_rows(changed, settled)
        left = without_replicas(left, ended)
        ended = with_unwanted(ended, left)
        if ended != changed:
            transaction = term.guard.begin()
            transaction.set(znodes.topic_path(name), encode_assignment(ended), version)
            take_out(transaction, trigger, lambda place, target: place[0] == name and is_at(settled, place[1], target))
            await term.commit(transaction)
            self._tell_assigned(topic, ended, {})
        if settled:
            term.notices.tell_metadata(name, list(settled))
            _log.info("reassignments completed topic=%s partitions=%d", name, len(settled))
        is_on_its_way = bool(ended.adding or ended.removing)
        if not is_on_its_way and not any(term.liveness.is_live(broker) for ids in left.values() for broker in ids):
            self._parked.add(name)
        return bool(is_on_its_way or left)

    async def _write_states(
        self, name: str, found: _Read, doing: Mapping[int, Plan], dropped: Mapping[int, Target]
    ) -> tuple[int, Node | None]:
        """What comes first: the assignment with the states, of so many partitions in a transaction; and entries that are over, or replaced.

        A transaction has the assignment of those partitions whose states it has, and of no others. Else the next one may conflict, or
        never be written, and a replica that no assignment names leads, or is the only one in sync.

        dropped   by partition, the target whose entry goes; None: any
        returns   the version of the topic's node now, and the node of wishes
        raises    ControllerMoved, ZkError
        """
        term, version, trigger, assignment = self._term, found.version, found.trigger, found.assignment
        order = list(doing)
        states = {index: made.state for index, made in doing.items() if made.state is not None}
        for first in range(0, max(1, len(order)), CHANGES_PER_COMMIT):
            transaction = term.guard.begin()
            end = first + CHANGES_PER_COMMIT
            changed = changed_by(found.assignment, {index: doing[index] for index in order[:end]})
            if is_changed := changed != assignment:
                transaction.set(znodes.topic_path(name), encode_assignment(changed), version)
            later = set(order[end:])
            out = {index: target for index, target in dropped.items() if index not in later}
            taken = take_out(transaction, trigger, _is_of(name, out))
            written = [index for index in order[first:end] if index in states]
            for index in written:
                state = states[index]
                transaction.set(znodes.state_path(name, index), znodes.encode_state(state), state.version)
            if not (is_changed or taken or written):
                continue
            try:
                await term.commit(transaction)
            except ZkError as failure:
                if first or not isinstance(failure, ZkConflict):
                    self._doubt(name, states)
                raise
            assignment, version = changed, version + is_changed
            if taken:
                [trigger] = taken
        return version, trigger

    def _doubt(self, name: str, states: Mapping[int, PartitionState]) -> None:
        """All or some of it may be written, and nobody was told: read again, told again, begun again as after an election."""
        self._doubted.add(name)
        self._term.states.doubt(name, {index: state.version for index, state in states.items()})

    # Telling

    def _tell(self, topic: Topic, changed: TopicAssignment, doing: Mapping[int, Plan]) -> None:
        """The agent, then the brokers; what is sent is what the known cluster has."""
        states = {
            index: made.state._replace(version=made.state.version + 1)
            for index, made in doing.items()
            if made.state is not None
        }
        self._tell_assigned(topic, changed, states)
        groups: dict[tuple[tuple[int, ...], bool], list[int]] = {}
        for index, made in doing.items():
            for brokers, is_new in ((made.told, False), (made.told_new, True)):
                if brokers:
                    groups.setdefault((brokers, is_new), []).append(index)
        for (brokers, is_new), indexes in groups.items():
            self._term.notices.tell_leaders(topic.name, indexes, brokers, is_new=is_new)
        _log.info("reassignment started topic=%s partitions=%d epoch=%d", topic.name, len(doing), self._term.epoch)

    def _tell_assigned(self, topic: Topic, changed: TopicAssignment, states: dict[int, PartitionState]) -> None:
        self._term.tell(
            events.ReplicasAssigned(
                topic.name, topic.topic_id, changed.replicas, states, changed.adding, changed.removing, changed.others
            )
        )


def _is_of(name: str, wishes: Mapping[int, Target]) -> Callable[[Place, tuple[int, ...]], bool]:
    """Whether a wish is one of these; None: with any target. Another may have been written since they were read."""
    return lambda place, target: place[0] == name and place[1] in wishes and wishes[place[1]] in (None, target)


def _none_in_progress() -> KafkaError:
    return KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")


def _unknown() -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
