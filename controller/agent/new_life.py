"""A new life of the node: its supervisor was started, whatever became of the life before.

Runs in: the controller process, before it registers the node. Others keep state about one life of a broker under its broker epoch: what
it asked for and was not answered (AlterPartition), that it is shutting down, what its followers have fetched, that its replicas are in
sync. All of this ends when the registration goes, so each life has a registration of its own, even where it resumes the ZooKeeper
session of the life before. A controller process that is restarted alone keeps it (`zookeeper/session_file.py` has the life).

    the old node in /brokers/ids is deleted, and in /controller
                                                 a controller sees us go, however soon we are back; another one is elected
    wait, while a state has us in its ISR beside others, and one of these lives, does not hold its own replica, and can lead
                                                 others lead, and the ISR is without us: what we lack comes from them
    fence: each state that still says that we lead is written again as it is
                                                 its version moves: a change of the ISR that the life before asked for, and that waits
                                                 at a controller which was stopped, is refused
    note in which ISRs we are still, if a log may have lost something (`holds.py`)
    raise the leader epoch of what we lead as the only replica, in the same case
    register                                     a follower like any that was away

Without that a new controller, which has not seen the old registration, would have us lead on in the same leader epoch. Where all members
of an ISR were lost at once nothing is waited for: these replicas are held back, if they may have lost something.

Source: Kafka, where a restart always is a new session; KIP-380; KIP-966, as far as it needs nothing of the controller (decisions 013, 014).
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Collection, Sequence

from headrace.controller.agent.noted_states import StateWrite, write_each
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import Node, ZkConflict
from headrace.controller.zookeeper.held_reader import read_held_by
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState
from headrace.ids import NO_LEADER
from headrace.limits import NEW_LIFE_WAIT_MS_MAX, READS_IN_FLIGHT_MAX
from headrace.log_rate_limit import GrowingInterval
from headrace.runtime.tasks import Tasks

WAIT_INTERVAL_MS = 100
LEADERLESS_MS = 30_000  # a controller elects in less, also one that has to be elected first

Partition = tuple[str, int]

_log = logging.getLogger(__name__)


async def end_life_before(
    zk: ZkSession, tasks: Tasks, node_id: int, wait_ms_max: int = NEW_LIFE_WAIT_MS_MAX
) -> Collection[Partition]:
    """Have everybody see that the life before is over, as above, up to the fence.

    returns   partitions that have us in sync beside living members still after `wait_ms_max`, which an ERROR line names
    raises    ZkError
    """
    await _remove_registration(zk, node_id)
    others = {int(name) for name in await zk.children(znodes.BROKER_IDS) if name.isdecimal()} - {node_id}
    if not others:
        return []  # no replica has more, and nothing holds back a request of ours
    hosted = await _hosted(zk, tasks, node_id)
    left = await _wait_out_of_isrs(zk, tasks, node_id, list(hosted), wait_ms_max)
    await _fence(zk, tasks, node_id, [place for place, one in hosted.items() if not one.is_sole])
    return left


async def _wait_out_of_isrs(
    zk: ZkSession, tasks: Tasks, node_id: int, partitions: Collection[Partition], wait_ms_max: int
) -> Collection[Partition]:
    """Wait until no ISR that has a living member has this node; those that have it still at the end.

    Where there is no leader for LEADERLESS_MS, the living members can't: their directory failed. Nothing comes of waiting for them.
    """
    reminder = GrowingInterval()
    deadline = time.monotonic() + wait_ms_max / 1000
    leaderless: dict[Partition, float] = {}  # since when
    while found := await _in_sync_beside_others(zk, tasks, node_id, partitions):
        partitions, now = list(found), time.monotonic()
        leaderless = {place: leaderless.get(place, now) for place, leader in found.items() if leader == NO_LEADER}
        left = [place for place in found if now - leaderless.get(place, now) < LEADERLESS_MS / 1000]
        if not left:
            break
        some = ", ".join(f"{topic}-{index}" for topic, index in sorted(left)[:5])
        if time.monotonic() > deadline:
            _log.error(
                "no controller removed this node from in-sync replica sets within %d s; registering anyway,"
                " although logs may lack acknowledged records if the machine went down partitions=%d some=%s",
                wait_ms_max // 1000, len(left), some,
            )  # fmt: skip
            return left
        if reminder.is_due(time.monotonic_ns()):
            _log.warning(
                "the node was restarted: waiting until the controller removes it from in-sync replica sets partitions=%d some=%s",
                len(left), some,
            )  # fmt: skip
        await tasks.sleep(WAIT_INTERVAL_MS)
    return []


async def _fence(zk: ZkSession, tasks: Tasks, node_id: int, partitions: Collection[Partition]) -> None:
    """Write states in which this node leads again as they are: whatever expects their old versions is refused. raises ZkError"""
    async for led in _led_by(zk, node_id, partitions):
        await _rewrite(zk, tasks, led)


async def begin_epochs(zk: ZkSession, tasks: Tasks, node_id: int, partitions: Collection[Partition]) -> None:
    """Raise the leader epoch where this node leads alone, and its log may have lost its end: readers notice by it (KIP-320).

    A controller that lives elects anyway, once the node is back. Where this node's own is the only one, nothing else would
    raise it, since that controller never saw the node go. raises ZkError
    """
    async for led in _led_by(zk, node_id, partitions):
        raised = []
        for place, path, node in led:
            state = znodes.decode_state(path, node.data, node.version)
            state = state._replace(leader_epoch=state.leader_epoch + 1)
            raised.append((place, path, node._replace(data=znodes.encode_state(state))))
        await _rewrite(zk, tasks, raised)


async def _led_by(
    zk: ZkSession, node_id: int, partitions: Collection[Partition]
) -> AsyncIterator[list[tuple[Partition, str, Node]]]:
    """The state nodes in which this node leads, some at a time. raises ZkError"""
    places = list(partitions)
    for first in range(0, len(places), READS_IN_FLIGHT_MAX):
        part = places[first : first + READS_IN_FLIGHT_MAX]
        paths = [znodes.state_path(*place) for place in part]
        led = [
            (place, path, node)
            for place, path, node in zip(part, paths, await zk.get_many(paths), strict=True)
            if node is not None and _leader_in(path, node) == node_id
        ]
        if led:
            yield led


async def _rewrite(zk: ZkSession, tasks: Tasks, led: Sequence[tuple[Partition, str, Node]]) -> None:
    """Write the data of these nodes, which expects their versions; the active controller is notified. raises ZkError"""
    failures = await write_each(zk, tasks, [StateWrite(place, node.data, node.version) for place, _path, node in led])
    for failure in failures.values():
        if not isinstance(failure, ZkConflict):  # else another client wrote it: its version has moved
            raise failure


def _leader_in(path: str, node: Node) -> int:
    try:
        return znodes.decode_state(path, node.data, node.version).leader
    except BadZnode:
        return NO_LEADER


async def in_sync_replicas(zk: ZkSession, tasks: Tasks, node_id: int) -> dict[Partition, HeldReplica]:
    """Replicas here that count as in sync, and may have lost what they acknowledged. raises ZkError"""
    found = await _hosted(zk, tasks, node_id)
    suspects: dict[Partition, HeldReplica] = {}
    partitions = list(found)
    for first in range(0, len(partitions), READS_IN_FLIGHT_MAX):
        part = partitions[first : first + READS_IN_FLIGHT_MAX]
        for partition, state in (await _states(zk, part)).items():
            if node_id in state.isr:
                suspects[partition] = found[partition]._replace(isr=state.isr if len(state.isr) > 1 else ())
        await tasks.pause()
    return suspects


async def _remove_registration(zk: ZkSession, node_id: int) -> None:
    """That of the life before, and its place as the controller; another holder's stay."""
    ours = {zk.session_id, zk.previous[0] if zk.previous is not None else zk.session_id}
    for path in (znodes.broker_path(node_id), znodes.CONTROLLER):
        node = await zk.get(path)
        if node is not None and node.ephemeral_owner in ours:
            await zk.delete(path)


async def _hosted(zk: ZkSession, tasks: Tasks, node_id: int) -> dict[Partition, HeldReplica]:
    """Replicas here, also of topics that are marked for deletion: the mark may be removed, and the topic is served then. raises ZkError"""
    names = await zk.children(znodes.TOPICS)
    found: dict[Partition, HeldReplica] = {}
    for first in range(0, len(names), READS_IN_FLIGHT_MAX):
        part = names[first : first + READS_IN_FLIGHT_MAX]
        nodes = await zk.get_many([znodes.topic_path(name) for name in part])
        for name, node in zip(part, nodes, strict=True):
            if node is None:
                continue
            try:
                topic = znodes.decode_topic(name, node.data)
            except BadZnode as failure:
                _log.warning("not waiting for a topic reason=%s", failure)
                continue
            for index, ids in enumerate(topic.replicas):
                if node_id in ids:
                    found[name, index] = HeldReplica(topic.topic_id, is_sole=len(ids) == 1)
        await tasks.pause()
    return found


async def _in_sync_beside_others(
    zk: ZkSession, tasks: Tasks, node_id: int, partitions: Collection[Partition]
) -> dict[Partition, int]:
    """Those whose ISR has this node and one that lives, and may lead; their leaders.

    A topic that is marked for deletion is not waited for: no controller changes its states, and the deletion waits for this node. Where the
    mark is removed, the topic is as one whose ISR kept this node.
    """
    alive = {int(name) for name in await zk.children(znodes.BROKER_IDS) if name.isdecimal()} - {node_id}
    marked = set(await zk.children(znodes.DELETE_TOPICS))
    asked = [place for place in partitions if place[0] not in marked] if alive else []
    held = await _held_by(zk, alive) if asked else {}  # a replica that waits for us can't lead
    found: dict[Partition, int] = {}
    for first in range(0, len(asked), READS_IN_FLIGHT_MAX):
        for partition, state in (await _states(zk, asked[first : first + READS_IN_FLIGHT_MAX])).items():
            isr = state.isr
            if node_id in isr and any(one in alive and partition not in held.get(one, ()) for one in isr):
                found[partition] = state.leader
        await tasks.pause()
    return found


async def _held_by(zk: ZkSession, brokers: Collection[int]) -> dict[int, set[Partition]]:
    """Replicas that these brokers hold, for their machines went down too."""
    return {broker: set(await read_held_by(zk, broker)) for broker in brokers}


async def _states(zk: ZkSession, partitions: Collection[Partition]) -> dict[Partition, PartitionState]:
    """Of those that have a state."""
    paths = [znodes.state_path(topic, index) for topic, index in partitions]
    states = {}
    for partition, path, node in zip(partitions, paths, await zk.get_many(paths), strict=True):
        if node is None:
            continue
        try:
            states[partition] = znodes.decode_state(path, node.data, node.version)
        except BadZnode:
            continue
    return states
