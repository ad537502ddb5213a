"""What a node holds back, read from its nodes in ZooKeeper (`held_znodes.py`).

Runs in: the controller process, before it registers; the tools of `headrace cluster`.

A znode that can't be read says nothing of its replicas. The controller that is about to elect goes on by what it read of them before.
Nobody deletes it, or writes over it: another version of ours may be able to read it (decision 013).
"""

from __future__ import annotations

from collections.abc import Mapping

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
        for index, one in replicas.items():
            before = found.get((topic, index))  # of a znode that could not be read when this one was written beside it
            if before is None or one.is_ahead or not before.is_ahead:
                found[topic, index] = one
    return found, failures


def unread_in(failures: Mapping[str, BadZnode | None]) -> set[str]:
    """The names of those that can't be read."""
    return {name for name, failure in failures.items() if failure is not None}
