"""This node in /brokers/ids, and the cluster's id.

Runs in: the controller process, at the start of every session. The znode is ephemeral; an old one may still
be there (KAFKA-7165):

    its owner is our session       we resumed it: keep the node, mend what it says
    ... the session we held before and could not resume: delete it
    ... any other session          wait for it to go, no longer than a session lasts
"""

from __future__ import annotations

import time
from collections.abc import Callable

from headrace.controller import znodes
from headrace.controller.zk import ZkConflict, ZkSession
from headrace.errors import ConfigError

LOOK_INTERVAL_S = 0.1


def cluster_id(zk: ZkSession) -> str:
    """The cluster's id; made by the first node that asks."""
    while True:
        node = zk.get(znodes.CLUSTER_ID)
        if node is not None:
            return znodes.decode_cluster_id(node.data)
        made = znodes.encode_cluster_id(znodes.encode_uuid(znodes.new_uuid()))
        zk.ensure(znodes.CLUSTER_ID, made)  # another node may be first: read what stands there


def register(
    zk: ZkSession,
    node_id: int,
    data: bytes,
    wait_s: float,
    alive: Callable[[], None],
) -> None:
    """Stand in /brokers/ids.

    data     as `znodes.encode_broker` makes it
    wait_s   how long a session can outlive its process
    alive    called again and again while it takes; may raise to end it
    raises   ConfigError, where another live node holds the id; ZkError
    """
    path = znodes.broker_path(node_id)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            zk.create(path, data, is_ephemeral=True)
            return
        except ZkConflict:
            pass
        node = zk.get(path)
        if node is None:
            continue
        if node.ephemeral_owner == zk.session_id:
            if not _says_the_same(node_id, node.data, data):
                zk.set(path, data, node.version)
            return
        if zk.previous is not None and node.ephemeral_owner == zk.previous[0]:
            zk.delete(path)
            continue
        if time.monotonic() > deadline:
            held = znodes.decode_broker(node_id, node.data)
            raise ConfigError(
                "broker.id",
                node_id,
                f"another node at {held.host}:{held.port} is registered with it: choose another id",
            )
        alive()
        time.sleep(LOOK_INTERVAL_S)


def _says_the_same(node_id: int, held: bytes, wanted: bytes) -> bool:
    """But for the time."""
    try:
        return znodes.decode_broker(node_id, held) == znodes.decode_broker(node_id, wanted)
    except znodes.BadZnode:
        return False
