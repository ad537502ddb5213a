"""What a node holds back, read from its nodes in ZooKeeper (`held_znodes.py`).

Runs in: the controller process, before it registers; the tools of `headrace cluster`.
"""

from __future__ import annotations

from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode


async def read_held_by(zk: ZkSession, broker: int) -> dict[tuple[str, int], HeldReplica]:
    """Its replicas by topic and partition, but for nodes that can't be read. raises ZkError"""
    parent = held_znodes.held_by_path(broker)
    names = await zk.children(parent)
    paths = [f"{parent}/{name}" for name in names]
    found: dict[tuple[str, int], HeldReplica] = {}
    for name, path, node in zip(names, paths, await zk.get_many(paths), strict=True):
        try:
            replicas = held_znodes.decode_held(path, node.data) if node is not None else {}
        except BadZnode:
            continue
        found.update(((name, index), one) for index, one in replicas.items())
    return found
