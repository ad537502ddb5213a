"""What a node holds back, read from its nodes in ZooKeeper (`held_znodes.py`).

Runs in: the controller process, before it registers; the tools of `headrace cluster`.

A znode that can't be read says nothing of its replicas. The controller that is about to elect goes on by what it read of them before.
No process deletes it, or writes over it: another version of ours may be able to read it (decision 013).
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
    zk: ZkSession, broker: int, topic: str = ""
) -> tuple[dict[tuple[str, int], HeldReplica], dict[str, BadZnode | None]]:
    """The same, and the names of its znodes, with why one can't be read. raises ZkError

    A replica may be in several znodes: one was stored beside a znode that could not be read, and was mended since. What an operator has to
    decide counts first, then what says that a log has parted, then what was written last.

    topic   of which they are; "": of any
    """
    parent = held_znodes.held_by_path(broker)
    names = [name for name in await zk.children(parent) if not topic or held_znodes.topic_of_held(name) == topic]
    names.sort(key=held_znodes.order_of)
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
        for index, one in replicas.items():
            place = (held_znodes.topic_of_held(name), index)
            if _weight(one) >= _weight(found.get(place)):
                found[place] = one
    return found, failures


def _weight(held: HeldReplica | None) -> tuple[bool, ...]:
    return () if held is None else (held.is_conflict, held.has_parted, held.is_ahead)


def unread_in(failures: Mapping[str, BadZnode | None]) -> set[str]:
    """The names of those that can't be read."""
    return {name for name, failure in failures.items() if failure is not None}
