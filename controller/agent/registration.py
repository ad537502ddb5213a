"""This node in /brokers/ids, and the cluster's id.

Runs in: the controller process, at the start of every session. The znode is ephemeral; an old one may still
be there (KAFKA-7165):

    its owner is our session       a controller process of the same life resumed it: keep the node, mend what it says
    ... the session we held before and could not resume: delete it
    ... any other session          wait for it to go: our predecessor's, or another node has our id
"""

from __future__ import annotations

import logging
import time

from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.errors import Node, ZkConflict, ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.errors import HeadraceError
from headrace.log_rate_limit import GrowingInterval
from headrace.runtime.tasks import Tasks

WAIT_INTERVAL_MS = 100

_log = logging.getLogger(__name__)


class IdHeld(HeadraceError):
    """Another session holds our broker id: nothing is wrong with a setting, if that session goes."""


class Unregistered(ZkError):
    """Our node in /brokers/ids is gone, and our session is not: an operator removed it."""


class ForeignCluster(ZkError):
    """ZooKeeper does not have the cluster that this node serves in: its data are gone, or it is another one."""


async def cluster_id(zk: ZkSession, known: str = "") -> str:
    """The cluster's id; made by the first node that asks.

    known    the cluster that this node serves in
    raises   ForeignCluster, where it is not that
    """
    while True:
        node = await zk.get(znodes.CLUSTER_ID)
        found = znodes.decode_cluster_id(node.data) if node is not None else ""
        if known and found != known:
            raise ForeignCluster(
                f"{znodes.CLUSTER_ID} is {found or 'missing'}, but this node belongs to cluster {known}: it"
                " continues with its last known state and makes no changes; restore ZooKeeper's data, or stop the node to start over"
            )
        if node is not None:
            return found
        made = znodes.encode_cluster_id(znodes.encode_uuid(znodes.new_uuid()))
        await zk.ensure(znodes.CLUSTER_ID, made)  # another node may be first: read what is there


async def register(zk: ZkSession, tasks: Tasks, node_id: int, data: bytes, wait_s: float) -> bool:
    """Stand in /brokers/ids; returns whether the session stood there already: it was resumed, and nobody saw that we were away.

    data     as `znodes.encode_broker` makes it
    wait_s   how long another holder of the id is waited for: a session can outlive its process
    raises   IdHeld, where another session holds the id all that time; ZkError
    """
    path = znodes.broker_path(node_id)
    deadline = time.monotonic() + wait_s
    reminder = GrowingInterval()
    while True:
        try:
            await zk.create(path, data, is_ephemeral=True)
            return False
        except ZkConflict:
            pass
        node = await zk.get(path)
        if node is None:
            continue
        if node.ephemeral_owner == zk.session_id:
            if not _says_the_same(node_id, node.data, data):
                await zk.set(path, data, node.version)
            return True
        if zk.previous is not None and node.ephemeral_owner == zk.previous[0]:
            await zk.delete(path)
            continue
        holder = _holder(node_id, node)
        if time.monotonic() > deadline:
            raise IdHeld(f"broker.id {node_id} is held by {holder}: stop that node, or choose another id")
        if reminder.is_due(time.monotonic_ns()):
            _log.warning("waiting for a broker id that another session holds broker_id=%d holder=%s", node_id, holder)
        await tasks.sleep(WAIT_INTERVAL_MS)


async def register_again(zk: ZkSession, node_id: int) -> None:
    """Another registration of the same session, with another broker epoch: any controller takes the node for one that went and came.

    raises   ZkConflict, where another client writes the node; ZkError
    """
    path = znodes.broker_path(node_id)
    node = await zk.get(path)
    if node is None or node.ephemeral_owner != zk.session_id:
        return  # whatever has become of it, it is followed
    transaction = Transaction()
    transaction.delete(path, node.version)
    transaction.create(path, node.data, is_ephemeral=True)
    await zk.commit(transaction)


async def note_node(zk: ZkSession, node_id: int) -> None:
    """Note that the broker of this id is a node of ours, once it is registered in this session. raises ZkError"""
    path, data = held_znodes.node_path(node_id), held_znodes.encode_node(zk.session_id)
    node = await zk.get(path)
    try:
        if node is None:
            await zk.create(path, data)
        elif node.data != data:
            await zk.set(path, data)
    except ZkConflict as failure:
        raise ZkError(f"{path} was changed while this node wrote it: {failure}") from None


def _holder(node_id: int, node: Node) -> str:
    try:
        held = znodes.decode_broker(node_id, node.data)
        return f"{held.host}:{held.port} session=0x{node.ephemeral_owner:x}"
    except znodes.BadZnode:
        return f"session=0x{node.ephemeral_owner:x}"


def _says_the_same(node_id: int, held: bytes, wanted: bytes) -> bool:
    """But for the time."""
    try:
        return znodes.decode_broker(node_id, held) == znodes.decode_broker(node_id, wanted)
    except znodes.BadZnode:
        return False
