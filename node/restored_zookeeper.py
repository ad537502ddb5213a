"""A ZooKeeper that was put back to a backup, before the nodes start: no state of it is believed until all logs were compared.

Runs in: `headrace cluster restored`, which may wait; no broker is registered then. Its states may name replicas in sync that were not
any more, and no log need prove it: an ISR that shrank in the same leader epoch leaves nothing in a log. So for each partition

    the state              leader -1, all replicas of nodes in the ISR
    /headrace/held/N/T     each replica is held, as one whose log is ahead of the state (decision 015): the nodes compare all of them,
                           and the best one leads, in a leader epoch of the next era

Brokers of Apache Kafka hold nothing, and follow the states. So a partition that is on such brokers alone stays as it is: with all of its
replicas in the ISR any of them could be elected, and the others would be cut. Of a partition with replicas on both only the nodes are in
the ISR, and compare: a longer log of a broker of Apache's waits for an operator. ZooKeeper has which are nodes (/headrace/nodes).

A hold that says that a log has parted from another, since nodes have worked on the backup before, is kept: the logs alone would not say so.

And what was given out since the backup is not given out again: producer ids. Everything can be run again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from headrace.controller.cluster.topic import is_another
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.blocking_session import BlockingSession
from headrace.controller.zookeeper.errors import ZkConflict, ZkError
from headrace.controller.zookeeper.held_reader import read_znodes, unread_in
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.limits import PRODUCER_IDS_SKIPPED, READS_IN_FLIGHT_MAX

START_S = 5.0
SESSION_MS = 10_000
BROKERS_WAIT_S = 60.0  # for sessions that the backup has, and nobody resumes
POLL_S = 0.5
STATES_PER_COMMIT = 400
ANY_STATE = NO_EPOCH - 1  # below every epoch that a log may have


class NodesUnknown(HeadraceError):
    """Who is a node, and who a broker of Apache Kafka, is not known."""


class HoldsUnread(HeadraceError):
    """What a broker holds can't be read: to remove it is to forget a log that may have what was acknowledged."""


class BrokersLive(HeadraceError):
    """Brokers are registered: what they do now they do by states of the past."""


def hold_all(
    connect: str, say: Callable[[str], None], wait_s: float = BROKERS_WAIT_S, nodes: Collection[int] = ()
) -> int:
    """Have all replicas of nodes held when these start; returns the number of partitions that have one.

    say      told what is waited for
    nodes    who is a node; none: as ZooKeeper has it
    raises   BrokersLive, where one is registered all that time, or comes meanwhile; NodesUnknown; HoldsUnread; ConfigError, ZkError,
             BadZnode
    """
    session = BlockingSession(connect, SESSION_MS)
    session.start(START_S)
    try:
        _wait_for_nobody(session, say, wait_s)
        return session.run(hold_nodes(session.zk, frozenset(nodes)))
    finally:
        session.stop()


def _wait_for_nobody(session: BlockingSession, say: Callable[[str], None], wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    is_told = False
    while brokers := session.run(session.zk.children(znodes.BROKER_IDS)):
        if time.monotonic() >= deadline:
            raise BrokersLive(f"brokers {', '.join(brokers)} are registered: stop them first")
        if not is_told:
            say(f"waiting until the sessions of brokers {', '.join(brokers)} are over")
        is_told = True
        time.sleep(POLL_S)


async def hold_nodes(zk: ZkSession, nodes: frozenset[int]) -> int:
    """The same, over a session that is there."""
    await zk.ensure_all((*znodes.PERSISTENT_PATHS, held_znodes.HELD, held_znodes.ACCEPT_LOSS, held_znodes.NODES))
    nodes = nodes or frozenset(map(int, filter(str.isdecimal, await zk.children(held_znodes.NODES))))
    if not nodes:
        raise NodesUnknown(
            f"{held_znodes.NODES} has no node: say which brokers are nodes, and not of Apache Kafka: --node"
        )
    parted, read = await _parted(zk)
    await _refuse_live(zk)
    accepted = [path for path in await zk.tree(held_znodes.ACCEPT_LOSS) if path != held_znodes.ACCEPT_LOSS]
    for path in (*read, *accepted):  # of the past as well
        await zk.delete(path)
    marked = set(await zk.children(znodes.DELETE_TOPICS))
    names = [name for name in await zk.children(znodes.TOPICS) if name not in marked]
    count = 0
    for first in range(0, len(names), READS_IN_FLIGHT_MAX):
        part = names[first : first + READS_IN_FLIGHT_MAX]
        for name, node in zip(part, await zk.get_many([znodes.topic_path(one) for one in part]), strict=True):
            if node is not None:
                topic = znodes.decode_topic(name, node.data)
                epochs = await _latest_epochs(zk, name, len(topic.replicas))
                await _hold_topic(zk, name, topic, epochs, nodes, parted)
                await _forget_leaders(zk, name, topic.replicas, nodes)
                count += sum(1 for row in topic.replicas if not nodes.isdisjoint(row))
        await _refuse_live(zk)
    await _skip_producer_ids(zk)
    await _refuse_live(zk)
    return count


async def _refuse_live(zk: ZkSession) -> None:
    """A broker that came after we had looked works by states of the past, and by holds that we have removed. raises BrokersLive"""
    if brokers := await zk.children(znodes.BROKER_IDS):
        raise BrokersLive(
            f"brokers {', '.join(brokers)} registered while this ran, it is not done: stop them, and run it again"
        )


async def _parted(zk: ZkSession) -> tuple[dict[tuple[int, str, int], HeldReplica], list[str]]:
    """Holds of logs that have parted from others, by broker and partition; those of an earlier run of this are none.

    returns   these, and the paths of all znodes of holds, which were read
    raises    HoldsUnread, ZkError
    """
    found, paths = {}, []
    for broker in map(int, filter(str.isdecimal, await zk.children(held_znodes.HELD))):
        replicas, failures = await read_znodes(zk, broker)
        if unread := sorted(unread_in(failures)):
            raise HoldsUnread(
                f"{held_znodes.held_by_path(broker)}/{unread[0]} can't be read, nothing was done: {failures[unread[0]]}; it may say that"
                f" the log of broker {broker} has parted from others; use the version that wrote it, or remove that znode"
            )
        paths += [f"{held_znodes.held_by_path(broker)}/{name}" for name in failures]
        for (name, index), one in replicas.items():
            if one.is_ahead and not one.is_of_restore:
                found[broker, name, index] = one
    return found, paths


async def _latest_epochs(zk: ZkSession, name: str, count: int) -> list[int]:
    """By partition, as the states of the past have them. raises   ZkError, BadZnode"""
    epochs = []
    paths = [znodes.state_path(name, index) for index in range(count)]
    for first in range(0, count, READS_IN_FLIGHT_MAX):
        part = paths[first : first + READS_IN_FLIGHT_MAX]
        for path, node in zip(part, await zk.get_many(part), strict=True):
            epochs.append(
                ANY_STATE if node is None else znodes.decode_state(path, node.data, node.version).leader_epoch
            )
    return epochs


async def _hold_topic(
    zk: ZkSession,
    name: str,
    topic: TopicAssignment,
    epochs: Sequence[int],
    nodes: Collection[int],
    parted: Mapping[tuple[int, str, int], HeldReplica],
) -> None:
    held = HeldReplica(topic.topic_id, is_proven=True, parted_at=0, parted_from=NO_LEADER)
    for broker in sorted({broker for row in topic.replicas for broker in row} & set(nodes)):
        rows = enumerate(zip(topic.replicas, epochs, strict=True))
        replicas = {index: held._replace(parted_in=epoch) for index, (row, epoch) in rows if broker in row}
        for index in replicas:
            kept = parted.get((broker, name, index))
            if kept is not None and not is_another(kept.topic_id, topic.topic_id):
                replicas[index] = kept
        for znode, data in held_znodes.encode_chunks(name, replicas).items():
            await zk.create(f"{held_znodes.held_by_path(broker)}/{znode}", data)


async def _forget_leaders(
    zk: ZkSession, name: str, replicas: Sequence[tuple[int, ...]], nodes: Collection[int]
) -> None:
    """There is no leader, and each node's replica may be in sync. A partition without a state gets its first one as ever."""
    for first in range(0, len(replicas), STATES_PER_COMMIT):
        paths = {index: znodes.state_path(name, index) for index in range(first, len(replicas))[:STATES_PER_COMMIT]}
        transaction = Transaction()
        for index, node in zip(paths, await zk.get_many(list(paths.values())), strict=True):
            isr = tuple(broker for broker in replicas[index] if broker in nodes)
            if node is not None and isr:
                state = znodes.decode_state(paths[index], node.data, node.version)
                changed = state._replace(leader=NO_LEADER, isr=isr)
                transaction.set(paths[index], znodes.encode_state(changed), node.version)
        if transaction.operations:
            await zk.commit(transaction)


async def _skip_producer_ids(zk: ZkSession) -> None:
    node = await zk.get(znodes.PRODUCER_ID_BLOCK)
    if node is None:
        return
    first = znodes.decode_producer_id_block(node.data)
    data = znodes.encode_producer_id_block(NO_LEADER, first, first + PRODUCER_IDS_SKIPPED - 1)
    try:
        await zk.set(znodes.PRODUCER_ID_BLOCK, data, node.version)
    except ZkConflict as failure:
        raise ZkError(f"another client writes to this ZooKeeper: {failure}") from None
