"""This node in /brokers/ids, and the cluster's id.

The znode is ephemeral. After a restart an old one may still be there (KAFKA-7165): ours if the session was
resumed; stale if its owner is the session we held before; another node's otherwise, and then the start waits
for it to go, no longer than a session lasts.
"""

from __future__ import annotations

import time

from headrace.controller import znodes
from headrace.controller.zk import ZkConflict, ZkSession
from headrace.errors import ConfigError

LOOK_INTERVAL_S = 0.1


def cluster_id(zk: ZkSession) -> str:
    """The cluster's id; made by the first node that asks."""
    node = zk.get(znodes.CLUSTER_ID)
    if node is None:
        try:
            zk.create(znodes.CLUSTER_ID, znodes.encode_cluster_id(znodes.new_cluster_id()))
        except ZkConflict:
            pass
        node = zk.get(znodes.CLUSTER_ID)
        assert node is not None
    return znodes.decode_cluster_id(node.data)


def register(zk: ZkSession, node_id: int, host: str, port: int, rack: str | None, wait_s: float) -> None:
    """Stand in /brokers/ids.

    raises   ConfigError, where another live node holds the id
    """
    path = znodes.broker_path(node_id)
    data = znodes.encode_broker(host, port, rack, int(time.time() * 1000))
    deadline = time.monotonic() + wait_s
    while True:
        try:
            zk.create(path, data, ephemeral=True)
            return
        except ZkConflict:
            pass
        node = zk.get(path)
        if node is None:
            continue
        if node.ephemeral_owner == zk.session_id:
            held = znodes.decode_broker(node_id, node.data)
            if (held.host, held.port, held.rack) != (host, port, rack):
                zk.set(path, data)
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
        time.sleep(LOOK_INTERVAL_S)
