"""Replicas that nodes hold back since their logs may lack acknowledged records, for tools: who holds what, and that a loss is accepted.

Runs in: `headrace cluster describe` and `accept-loss`, which may wait. Its nodes: `controller/zookeeper/held_znodes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.blocking_session import BlockingSession
from headrace.controller.zookeeper.errors import ZkConflict
from headrace.controller.zookeeper.held_reader import read_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.errors import ConfigError
from headrace.ids import NO_LEADER

START_S = 5.0
SESSION_MS = 10_000


class Held(NamedTuple):
    """One replica."""

    topic: str
    partition: int
    broker: int
    replica: HeldReplica
    is_away: bool = False  # its broker is not registered


def read_held(connect: str) -> list[Held]:
    """All of the cluster, in order. raises ConfigError, ZkError"""
    with _session(connect) as session:
        return session.run(_read(session.zk))[0]


def accept_loss(connect: str, topic: str, partition: int, keep: int = NO_LEADER) -> list[Held]:
    """Have the holds of a partition end; returns them, none: nothing holds it, and nothing was done.

    keep     the broker whose log is to lead, NO_LEADER: that is not said
    raises   ConfigError, where that broker has no replica; ZkError, BadZnode
    """
    with _session(connect) as session:
        found, unread = session.run(_read(session.zk))
        held = [one for one in found if (one.topic, one.partition) == (topic, partition)]
        if not held and topic in unread:
            raise unread[topic]
        if held and keep != NO_LEADER:
            _check_replica(session, topic, partition, keep)
        if held:
            try:
                path = held_znodes.accept_loss_path((topic, partition))
                data = held_znodes.encode_accept_loss({one.broker: one.replica.end_offset for one in held}, keep)
                session.run(session.zk.create(path, data))
            except ZkConflict:
                session.run(session.zk.set(path, data))  # of an earlier hold, maybe
        return held


def _check_replica(session: BlockingSession, topic: str, partition: int, broker: int) -> None:
    node = session.run(session.zk.get(znodes.topic_path(topic)))
    replicas = znodes.decode_topic(topic, node.data).replicas if node is not None else ()
    if partition >= len(replicas) or broker not in replicas[partition]:
        there = list(replicas[partition]) if partition < len(replicas) else []
        raise ConfigError("--keep", str(broker), f"has no replica of {topic}-{partition}: expected one of {there}")


async def _read(zk: ZkSession) -> tuple[list[Held], dict[str, BadZnode]]:
    """What is held, and topics of which a znode can't be read, and why. raises ZkError"""
    found = []
    unread = {}
    live = set(await zk.children(znodes.BROKER_IDS))
    for broker in map(int, filter(str.isdecimal, await zk.children(held_znodes.HELD))):
        held, failures = await read_znodes(zk, broker)
        unread.update({held_znodes.topic_of_held(name): why for name, why in failures.items() if why is not None})
        is_away = str(broker) not in live
        found += [Held(*place, broker, one, is_away) for place, one in held.items() if not one.is_sole]
    return sorted(found, key=lambda one: one[:3]), unread


@contextmanager
def _session(connect: str) -> Iterator[BlockingSession]:
    session = BlockingSession(connect, SESSION_MS)
    session.start(START_S)
    try:
        yield session
    finally:
        session.stop()
