"""Held replicas beside the logs of the others: what is decided about each, and carried out.

Runs in: the controller process of the node that holds them; a part of `holds.py`, which keeps and stores what is held, and begins each
check. Others are asked where their logs end, and for those that are ahead of a state also where they have parted from ours
(`other_ends.py`). Then `hold_decision.py` decides (decision 013), or `old_state_decision.py` (decision 015).

A broker that is registered and has not said where its log ends recovers it: it is waited for, however long that takes. One that is
away is waited for until unclean.recovery.timeout.ms is over, where nothing proves a loss. A log of ours that is not in service says
nothing: neither its end nor its high watermark is compared before it is open (decision 013), unless its loss is accepted.

What goes wrong with one partition is reported, and the others are compared all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from headrace.controller.agent.accepted_losses import AcceptedLosses
from headrace.controller.agent.ahead_replicas import AheadReplicas, Facts, write_state
from headrace.controller.agent.hold_decision import (
    EPOCH_UNKNOWN,
    Act,
    LogEnd,
    Verdict,
    best_of_isr_then,
    decide,
    first_lost,
    known_partings,
    may_part,
)
from headrace.controller.agent.hold_reports import choices_of, ends_of, report_choices, report_loss, some_of
from headrace.controller.agent.old_state_decision import Others, is_doubted
from headrace.controller.agent.other_ends import OtherLogs, Partings, Questions, read_other_logs
from headrace.controller.agent.owed_elections import OwedElections
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.cluster.topic import UNCLEAN
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError
from headrace.controller.zookeeper.held_znodes import NO_OFFSET, HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.leader_eras import first_of_history
from headrace.settings import Settings

CLEANUP_POLICY = "cleanup.policy"

Place = tuple[str, int]  # topic and partition

_log = logging.getLogger(__name__)


class Owners(NamedTuple):
    """Parts of `holds.py`.

    drop    ends a hold
    dirty   told of a topic whose hold is another
    """

    ahead: AheadReplicas
    accepted: AcceptedLosses
    elections: OwedElections
    drop: Callable[[Place], None]
    dirty: Callable[[str], None]


class HeldComparison:
    """Of one node."""

    def __init__(
        self,
        known: KnownCluster,
        zk: ZkSession,
        monotonic_ms: Callable[[], int],
        ask: Questions,
        settings: Settings,
        owners: Owners,
    ) -> None:
        self._known = known
        self._zk = zk
        self._monotonic_ms = monotonic_ms
        self._ask = ask
        self._settings = settings
        self._owners = owners
        self._timeout_ms: int = settings["unclean.recovery.timeout.ms"]
        self._since_ms: dict[Place, int] = {}
        self._said_ms: dict[Place, int] = {}  # that a registered broker is waited for
        self._chosen: dict[Place, tuple[int, ...]] = {}  # of these brokers an operator has to choose, as was reported
        self._failed: dict[Place, str] = {}  # partitions that could not be compared, and why

    def end(self, place: Place) -> None:
        """A hold is over."""
        self._since_ms.pop(place, None)
        self._said_ms.pop(place, None)
        self._chosen.pop(place, None)
        self._failed.pop(place, None)

    async def decide(self, places: Collection[Place]) -> None:
        """Compare these, where their logs are open, and do what follows. raises ZkError"""
        accepted = await self._owners.accepted.read()
        asked = self._to_compare(places, accepted)
        if not asked:
            return
        logs = await read_other_logs(self._zk, self._known, self._ask.ends, asked)
        partings = await self._read_partings(asked, logs, accepted)
        waiting: list[Place] = []
        awaited: set[int] = set()
        for place, brokers in asked.items():
            try:
                is_for_others = await self._decide_one(place, brokers, logs, partings, accepted)
            except ZkError:
                raise
            except Exception as failure:  # one partition's, whatever it is: the others are compared
                self._note_failed(place, failure)
                continue
            self._failed.pop(place, None)
            if is_for_others:
                waiting.append(place)
                awaited.update(self._known.held[place].waits_for)
        if waiting:
            _log.warning(
                "replicas held: other replicas may have more records partitions=%d waits_for=%s some=%s; see"
                " headrace cluster describe --held",
                len(waiting), sorted(awaited), some_of(waiting),
            )  # fmt: skip

    async def _decide_one(
        self, place: Place, brokers: Collection[int], logs: OtherLogs, partings: Partings, accepted: Mapping[Place, int]
    ) -> bool:
        """Whether a replica is held for others that were not reported yet. raises ZkError"""
        known = self._known
        held, topic = known.held.get(place), known.topics.get(place[0])
        if held is None or topic is None:
            return False
        if known.node_id not in _replicas(topic, place[1]):
            if accepted.get(place, known.node_id) != known.node_id:  # the one that is to lead has no replica here
                self._owners.ahead.let_go(place)
                self._owners.drop(place)
            return False
        state = topic.states[place[1]]
        if state is None:
            return False
        held = self._with_mark(place, held)
        if self._is_unknown(place, held):
            held = held._replace(end_offset=0, end_epoch=NO_EPOCH, is_missing=True)
        if held.is_ahead:
            others = _others_of(place, brokers, logs, partings, state.leader_epoch)
            await self._settle_ahead(place, topic, state, held, others, accepted.get(place))
        elif known.node_id in state.isr:  # else it is over
            return await self._settle(place, topic, state, held, logs, brokers, partings, accepted.get(place))
        return False

    def _note_failed(self, place: Place, failure: Exception) -> None:
        """Once for the same reason."""
        reason = f"{type(failure).__name__}: {failure}"
        if self._failed.get(place) != reason:
            self._failed[place] = reason
            _log.error(
                "replica still held, comparison failed, retrying at each check partition=%s-%d reason=%s",
                *place, reason, exc_info=failure,
            )  # fmt: skip

    def _with_mark(self, place: Place, held: HeldReplica) -> HeldReplica:
        """The same hold, with the high watermark that its log has now: it is remembered for a process that finds no row."""
        mark = self._ask.mark(place) if self._ask.is_open(place) else NO_OFFSET
        if mark > held.high_watermark:
            held = self._known.held[place] = held._replace(high_watermark=mark)
            self._owners.dirty(place[0])
        return held

    def _is_unknown(self, place: Place, held: HeldReplica) -> bool:
        """Whether it is not known what its log has now."""
        return held.end_offset == NO_OFFSET or held.is_unopened or not self._ask.is_open(place)

    def _to_compare(self, places: Collection[Place], accepted: Collection[Place]) -> dict[Place, tuple[int, ...]]:
        """Held replicas whose logs are open, or whose loss is accepted, and which brokers have the others."""
        known, now_ms = self._known, self._monotonic_ms()
        found: dict[Place, tuple[int, ...]] = {}
        for place in places:
            held, topic = known.held.get(place), known.topics.get(place[0])
            if held is None or topic is None:
                continue
            replicas = _replicas(topic, place[1])
            if known.node_id not in replicas:
                if place in accepted:
                    found[place] = ()
                continue  # else it is kept, and there is nothing to compare
            if topic.states[place[1]] is None:
                continue
            self._since_ms.setdefault(place, now_ms)
            if not self._is_unknown(place, held) or (place in accepted and self._is_given_up(place)):
                found[place] = tuple(one for one in replicas if one != known.node_id)
        return found

    def _is_given_up(self, place: Place) -> bool:
        """Whether a log that is not open is compared as one that is missing, where its loss is accepted.

        One that is out of service, or was not opened within unclean.recovery.timeout.ms.
        """
        now_ms = self._monotonic_ms()
        return self._ask.is_out(place) or now_ms - self._since_ms.get(place, now_ms) >= self._timeout_ms

    async def _read_partings(
        self, asked: Mapping[Place, tuple[int, ...]], logs: OtherLogs, accepted: Collection[Place]
    ) -> Partings:
        """Where held logs have parted from the others: asked where that does not follow from how they end. raises ZkError"""
        wanted: dict[int, dict[Place, int]] = {}
        for place, brokers in asked.items():
            held, topic = self._known.held.get(place), self._known.topics.get(place[0])
            if held is None or topic is None or held.is_missing or self._is_unknown(place, held) or not held.end_offset:
                continue
            state = topic.states[place[1]] if place[1] < len(topic.states) else None
            if state is None:
                continue
            ahead = logs.holding(place, brokers, state.leader_epoch)
            for broker in brokers:
                end = logs.end_of(broker, place)
                if end is None or not end.offset:
                    continue
                is_twice = is_doubted(held, broker, end, state, ahead)
                if end.epoch == held.end_epoch and not is_twice:
                    continue
                is_answered = end.epoch != EPOCH_UNKNOWN or state.leader == broker
                if is_answered and (held.is_ahead or end.epoch > held.end_epoch or place in accepted):
                    wanted.setdefault(broker, {})[place] = held.parted_at if is_twice else held.end_offset
        return await self._ask.partings(wanted) if wanted else {}

    async def _settle_ahead(
        self,
        place: Place,
        topic: Topic,
        state: PartitionState,
        held: HeldReplica,
        others: Others,
        accepted: int | None,
    ) -> None:
        """raises   ZkError"""
        before = self._known.held[place]
        policy = self._setting(topic, CLEANUP_POLICY)
        facts = Facts(held.high_watermark, "compact" in str(policy).lower())
        if await self._owners.ahead.settle(place, topic, state, held, others, accepted, facts):
            self._owners.drop(place)
        elif self._known.held.get(place) != before:
            self._owners.dirty(place[0])

    async def _settle(
        self,
        place: Place,
        topic: Topic,
        state: PartitionState,
        held: HeldReplica,
        logs: OtherLogs,
        brokers: Collection[int],
        asked: Partings,
        accepted: int | None,
    ) -> bool:
        """Whether it is for others to wait for that were not said yet. raises ZkError"""
        known, now_ms = self._known, self._monotonic_ms()
        others = {broker: logs.end_of(broker, place) for broker in brokers}
        ahead = logs.holding(place, brokers, state.leader_epoch)
        awaited = [
            broker
            for broker in brokers
            if others[broker] is None and broker in known.brokers and (broker, place) not in logs.gone
        ]
        is_late = now_ms - self._since_ms.get(place, now_ms) >= self._timeout_ms
        own = LogEnd(held.end_epoch, held.end_offset)
        partings = known_partings(own, others, _of_place(asked, place))
        verdict = decide(
            known.node_id, own, others, topic.replicas[place[1]], state.isr,
            partings=partings,
            is_proven=held.is_proven,
            is_missing=held.is_missing,
            is_late=is_late,
            is_accepted=accepted is not None,
            may_be_unclean=self._is_on(topic, UNCLEAN),
            awaited=awaited,
            disputed_by=sorted(ahead),
            keep=NO_LEADER if accepted is None else accepted,
            isr_then=held.isr,
        )  # fmt: skip
        if verdict.best == known.node_id and self._is_unknown(place, known.held[place]):
            return False  # nothing else is known: we can't serve it
        if verdict.act is Act.WAIT:
            if awaited:
                self._say_awaited(place, awaited, now_ms)
            if verdict.choices and self._chosen.get(place) != verdict.choices:
                self._chosen[place] = verdict.choices
                report_choices(place, choices_of(known.node_id, held, others, partings, verdict.choices))
            if held.waits_for == verdict.waits_for:
                return False
            known.held[place] = known.held[place]._replace(waits_for=verdict.waits_for)
            self._owners.dirty(place[0])
            return bool(verdict.waits_for) and not verdict.choices  # else for an operator, as was reported
        is_kept = accepted is not None and accepted != NO_LEADER
        lowest = min((one.parted_at for one in ahead.values()), default=held.end_offset)
        await self._carry_out(place, topic, state, held, verdict, others, partings, lowest, is_kept=is_kept)
        return False

    def _say_awaited(self, place: Place, awaited: Collection[int], now_ms: int) -> None:
        """From time to time, for as long as it takes."""
        since_ms = self._since_ms.get(place, now_ms)
        if now_ms - max(since_ms, self._said_ms.get(place, 0)) < self._timeout_ms:
            return
        self._said_ms[place] = now_ms
        _log.warning(
            "replica still held: registered brokers have not reported their log ends yet, they may be recovering"
            " partition=%s-%d waits_for=%s waiting_s=%d; to stop waiting: headrace cluster accept-loss %s:%d",
            *place, sorted(awaited), (now_ms - since_ms) // 1_000, *place,
        )  # fmt: skip

    async def _carry_out(
        self,
        place: Place,
        topic: Topic,
        state: PartitionState,
        held: HeldReplica,
        verdict: Verdict,
        others: Mapping[int, LogEnd | None],
        partings: Mapping[int, int],
        lowest: int,
        *,
        is_kept: bool,
    ) -> None:
        """Release, or hand over; nothing, while the state says that we lead. Who is to elect does not know yet that we can't.

        A log that lost its end must not lead on in the leader epoch in which it lost it, whoever else has replicas: it would give offsets
        again, and readers would not notice. Whoever takes the leader away raises the epoch.

        partings  up to where the other logs are the same as ours
        lowest    of the offsets at which logs that are ahead have parted from the others
        is_kept   an operator chose the leader
        """
        known, owners = self._known, self._owners
        own = LogEnd(held.end_epoch, held.end_offset)
        if state.leader == known.node_id:
            return
        if verdict.act is Act.RELEASE:
            parted = [
                at
                for one, at in partings.items()
                if (end := others[one]) is not None and end.rank > own.rank and at < end.offset
            ]
            offset = min(lowest, first_lost(own, own, others, state.isr, parted))
            if is_kept or may_part(own, others):  # followers have to know that it was decided
                leader_epoch = first_of_history(state.leader_epoch)
                elected = state._replace(leader_epoch=leader_epoch)
                if is_kept:
                    elected = state._replace(leader=NO_LEADER, leader_epoch=leader_epoch, isr=(known.node_id,))
                is_led = state.leader != NO_LEADER and not is_kept
                if not is_led and not await write_state(self._zk, known, place, topic, state, elected):
                    return
            report_loss(
                place, offset, held, f"no other replica has more records: {ends_of(others)}" if not is_kept else KEPT
            )
            owners.drop(place)
        elif state.leader == NO_LEADER:
            best = others[verdict.best]
            assert best is not None
            owners.elections.owe(place)  # whether the reply comes or not
            if best_of_isr_then(known.node_id, others, state.isr, held.isr) == verdict.best and held.is_missing:
                offset = first_lost(best, best, others, held.isr)  # each of these had all that was acknowledged
            else:
                may_begin_at = own.offset if verdict.best in state.isr else 0  # where the parting is not known
                parted = [partings.get(verdict.best, may_begin_at)]
                offset = min(lowest, first_lost(own, best, others, state.isr, parted))
            report_loss(place, offset, held, f"broker {verdict.best} has more records than this one and will lead")
            leader_epoch = first_of_history(state.leader_epoch)
            elected = state._replace(isr=(verdict.best,), leader_epoch=leader_epoch)
            if not await write_state(self._zk, known, place, topic, state, elected):
                return
            owners.drop(place)
        else:
            return  # the controller does not know yet that we can't lead
        owners.elections.owe(place)

    def _is_on(self, topic: Topic, key: str) -> bool:
        return str(self._setting(topic, key)).strip().lower() == "true"

    def _setting(self, topic: Topic, key: str) -> object:
        """A setting of a topic, which brokers have by the same name; of the broker's `log.cleanup.policy`, too."""
        known = self._known
        broker_key = f"log.{key}" if key == CLEANUP_POLICY else key
        if key in topic.configs:
            return topic.configs[key]
        for told in (known.node_settings, known.cluster_settings):
            if broker_key in told:
                return told[broker_key]
        return self._settings.value(broker_key)


KEPT = "an operator chose the log of this replica"


def _replicas(topic: Topic, index: int) -> tuple[int, ...]:
    """Of a partition; none, where the topic has no such partition: ZooKeeper may have been put back to before it was added."""
    return topic.replicas[index] if index < min(len(topic.replicas), len(topic.states)) else ()


def _of_place(partings: Partings, place: Place) -> dict[int, int]:
    return {broker: found[place] for broker, found in partings.items() if place in found}


def _others_of(
    place: Place, brokers: Collection[int], logs: OtherLogs, partings: Partings, leader_epoch: int
) -> Others:
    ahead = logs.holding(place, brokers, leader_epoch)
    return Others(
        {broker: logs.end_of(broker, place) for broker in brokers},
        _of_place(partings, place),
        sorted(broker for broker, one in ahead.items() if one.is_conflict),
        frozenset(ahead),
        max((one.known_epoch for one in ahead.values()), default=NO_EPOCH),
    )


async def read_held_states(zk: ZkSession, known: KnownCluster, places: Collection[Place]) -> None:
    """States as ZooKeeper has them: a controller tells them by requests that we refuse. raises ZkError"""
    if known.is_authority:
        return  # what it writes it knows
    asked = [
        (topic, index)
        for name, index in places
        if (topic := known.topics.get(name)) is not None and index < len(topic.states)
    ]
    paths = [znodes.state_path(topic.name, index) for topic, index in asked]
    for (topic, index), path, node in zip(asked, paths, await zk.get_many(paths), strict=True):
        if node is None or not known.is_current(topic):
            continue
        try:
            known.set_states(topic, {index: znodes.decode_state(path, node.data, node.version)})
        except BadZnode as failure:
            _log.error("partition state left unchanged reason=%s", failure)
