"""What a node holds back, read from its nodes in ZooKeeper (`held_znodes.py`).

Runs in: the controller process, before it registers; the tools of `headrace cluster`.

A znode that can't be read says nothing of its replicas: who is about to elect goes on by what it read of them before.
"""

from __future__ import annotations

from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode


async def read_held_by(zk: ZkSession, broker: int) -> dict[tuple[str, int], HeldReplica]:
    """Its replicas by topic and partition, but for nodes that can't be read. raises ZkError"""
    return (await read_znodes(zk, broker))[0]


async def read_znodes(
    zk: ZkSession, broker: int
) -> tuple[dict[tuple[str, int], HeldReplica], dict[str, BadZnode | None]]:
    """The same, and the names of its znodes, with why one can't be read. raises ZkError"""
    parent = held_znodes.held_by_path(broker)
    names = await zk.children(parent)
    paths = [f"{parent}/{name}" for name in names]
    found: dict[tuple[str, int], HeldReplica] = {}
    failures: dict[str, BadZnode | None] = {}
    for name, path, node in zip(names, paths, await zk.get_many(paths), strict=True):
        failures[name] = None
        try:
            replicas = held_znodes.decode_held(path, node.data) if node is not None else {}
        except BadZnode as failure:
            failures[name] = failure
            continue
        topic = held_znodes.topic_of_held(name)
        found.update(((topic, index), one) for index, one in replicas.items())
    return found, failures
