"""A start after the machine went down: what was not synced of the logs may be gone, though they count as in sync.

Runs in: the controller process, before it registers the node. The session on disk is of another boot of the machine then
(`zookeeper/session_file.py`): a clean stop removes it, and a killed process leaves one of this boot.

    our old node in /brokers/ids is deleted, and in /controller
                                                 a controller sees us go, however soon we are back; another one is elected
    wait, while a state has us in its ISR beside others, and one of these lives, and does not hold its own replica
                                                 others lead, and the ISR is without us: what we lack comes from them
    note in which ISRs we are still (`holds.py`)
    register                                     a follower like any that was away

Without that a new controller, which has not seen the old registration, would have us lead on in the same leader epoch, with a log
that lost its end, and followers would cut theirs to it. Where all members of an ISR were lost at once nobody is
waited for: these replicas are held back.

Source: KIP-966, as far as it needs nothing of the controller (decision 042); Kafka in ZooKeeper mode has the gap.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.held_reader import read_held_by
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.outage import Reminder
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.tasks import Tasks
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.limits import POWER_LOSS_WAIT_MS_MAX, READS_IN_FLIGHT_MAX

WAIT_INTERVAL_MS = 100

Partition = tuple[str, int]

_log = logging.getLogger(__name__)


async def wait_out_of_isrs(
    zk: ZkSession, tasks: Tasks, node_id: int, wait_ms_max: int = POWER_LOSS_WAIT_MS_MAX
) -> Collection[Partition]:
    """Wait until no ISR that has a living member has this node.

    returns   those that have it still after `wait_ms_max`, which an ERROR line names; raises ZkError
    """
    await _remove_registration(zk, node_id)
    reminder = Reminder()
    deadline = time.monotonic() + wait_ms_max / 1000
    left: Collection[Partition] = list(await _hosted(zk, tasks, node_id))
    while left := await _in_sync_beside_others(zk, tasks, node_id, left):
        some = ", ".join(f"{topic}-{index}" for topic, index in sorted(left)[:5])
        if time.monotonic() > deadline:
            _log.error(
                "the machine went down, and this node is in sync still where its logs may lack acknowledged records: no"
                " controller has changed that in %d s; it registers all the same partitions=%d some=%s",
                wait_ms_max // 1000, len(left), some,
            )  # fmt: skip
            return left
        if reminder.is_due(time.monotonic_ns()):
            _log.warning(
                "the machine went down: waiting until the controller has taken this node out of the ISRs partitions=%d some=%s",
                len(left), some,
            )  # fmt: skip
        await tasks.sleep(WAIT_INTERVAL_MS)
    return left


async def in_sync_replicas(zk: ZkSession, tasks: Tasks, node_id: int) -> dict[Partition, HeldReplica]:
    """Replicas here that count as in sync, and may have lost what they acknowledged. raises ZkError"""
    found = await _hosted(zk, tasks, node_id)
    suspects: dict[Partition, HeldReplica] = {}
    partitions = list(found)
    for first in range(0, len(partitions), READS_IN_FLIGHT_MAX):
        part = partitions[first : first + READS_IN_FLIGHT_MAX]
        for partition, isr in (await _isrs(zk, part)).items():
            if node_id in isr:
                suspects[partition] = found[partition]
        await tasks.pause()
    return suspects


async def _remove_registration(zk: ZkSession, node_id: int) -> None:
    """That of the session before the machine went down, and its place as the controller; another holder's stay."""
    for path in (znodes.broker_path(node_id), znodes.CONTROLLER):
        node = await zk.get(path)
        if node is not None and zk.previous is not None and node.ephemeral_owner == zk.previous[0]:
            await zk.delete(path)


async def _hosted(zk: ZkSession, tasks: Tasks, node_id: int) -> dict[Partition, HeldReplica]:
    """Replicas here, but for topics that are being deleted: nobody changes their states."""
    marked = set(await zk.children(znodes.DELETE_TOPICS))
    names = [name for name in await zk.children(znodes.TOPICS) if name not in marked]
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
                _log.warning("topic not waited for reason=%s", failure)
                continue
            for index, ids in enumerate(topic.replicas):
                if node_id in ids:
                    found[name, index] = HeldReplica(topic.topic_id, is_sole=len(ids) == 1)
        await tasks.pause()
    return found


async def _in_sync_beside_others(
    zk: ZkSession, tasks: Tasks, node_id: int, partitions: Collection[Partition]
) -> list[Partition]:
    """Those whose ISR has this node and one that lives, and may lead."""
    alive = {int(name) for name in await zk.children(znodes.BROKER_IDS) if name.isdecimal()} - {node_id}
    asked = list(partitions) if alive else []
    held = await _held_by(zk, alive) if asked else {}  # who waits for us can't lead
    found = []
    for first in range(0, len(asked), READS_IN_FLIGHT_MAX):
        isrs = await _isrs(zk, asked[first : first + READS_IN_FLIGHT_MAX])
        found += [
            partition
            for partition, isr in isrs.items()
            if node_id in isr and any(one in alive and partition not in held.get(one, ()) for one in isr)
        ]
        await tasks.pause()
    return found


async def _held_by(zk: ZkSession, brokers: Collection[int]) -> dict[int, set[Partition]]:
    """Replicas that these brokers hold, for their machines went down too."""
    return {broker: set(await read_held_by(zk, broker)) for broker in brokers}


async def _isrs(zk: ZkSession, partitions: Collection[Partition]) -> dict[Partition, tuple[int, ...]]:
    """Of those that have a state."""
    paths = [znodes.state_path(topic, index) for topic, index in partitions]
    isrs = {}
    for partition, path, node in zip(partitions, paths, await zk.get_many(paths), strict=True):
        if node is None:
            continue
        try:
            isrs[partition] = znodes.decode_state(path, node.data, node.version).isr
        except BadZnode:
            continue
    return isrs
