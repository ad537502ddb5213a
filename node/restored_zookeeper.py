"""A ZooKeeper that was put back to a backup, before the nodes start: no state of it is believed until all logs were compared.

Runs in: `headrace cluster restored`, which may wait; no broker is registered then. Its states may name replicas in sync that were not
any more, and no log need prove it: an ISR that shrank in the same leader epoch leaves nothing in a log. So for each partition

    the state              leader -1, all replicas of nodes in the ISR
    /headrace/held/N/T     each replica is held, as one whose log is ahead of the state (decision 015): the nodes compare all of them,
                           and the best one leads, in a leader epoch of the next era

Brokers of Apache Kafka hold nothing, and follow the states. So a partition that is on such brokers alone stays as it is: with all of its
replicas in the ISR any of them could be elected, and the others would be cut. Of a partition with replicas on both only the nodes are in
the ISR, and compare: a longer log of a broker of Apache's waits for an operator. ZooKeeper has which are nodes (/headrace/nodes).

Nodes may have worked on the backup before. What a hold of theirs says is kept where the logs alone would not say so: that a log has parted,
also one that no assignment names any more, that it is missing, or that its directory had no topic id. And producer ids that were given out
since the backup are not given out again.

The command may be interrupted at any call, and is then run again. The second run goes by ZooKeeper alone. So each hold that says that a log
has parted is stored there at each moment:

    read       all that the command goes by is read and decoded; an error names what can't be read, and nothing was written
    accepted   accepted losses are removed: they are of the past, and would count for the holds that follow
    holds      each znode is written over, or made
    states     after their holds
    removed    znodes of holds that are no longer needed

A topic that is marked for deletion is held as well: the mark may be removed, and then the topic is served.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from headrace.controller.cluster.topic import is_another
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.blocking_session import BlockingSession
from headrace.controller.zookeeper.errors import Node, ZkConflict, ZkError
from headrace.controller.zookeeper.held_reader import read_znodes, unread_in
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState, TopicAssignment
from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.limits import PRODUCER_IDS_SKIPPED, READS_IN_FLIGHT_MAX

START_S = 5.0
SESSION_MS = 10_000
BROKERS_WAIT_S = 60.0  # for sessions that the backup has, and nothing resumes
POLL_S = 0.5
STATES_PER_COMMIT = 400
WRITES_PER_LOOK = 100  # topics that are written between two looks at which brokers are registered
ANY_STATE = NO_EPOCH - 1  # below every epoch that a log may have

_Replica = tuple[int, str, int]  # broker, topic and partition
_Topics = Mapping[str, tuple[TopicAssignment, Sequence[PartitionState | None]]]
_Holds = Mapping[tuple[int, str], Mapping[int, HeldReplica]]  # by broker and topic, then by partition


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

    say      called with what is waited for
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


class _Past(NamedTuple):
    """What ZooKeeper has, as it was read before the first write.

    topics        by name: the assignment, and the states of its partitions; None: there is none
    holds         by broker and topic: the holds that are to be there
    znodes        paths of all znodes of holds
    accepted      paths of losses that were accepted
    producer_ids  the node that counts them, None: there is none; and the first one that was not given out
    """

    topics: _Topics
    holds: _Holds
    znodes: Collection[str]
    accepted: Sequence[str]
    producer_ids: tuple[Node | None, int]


async def hold_nodes(zk: ZkSession, nodes: frozenset[int]) -> int:
    """The same, over a session that is there."""
    await zk.ensure_all((*znodes.PERSISTENT_PATHS, held_znodes.HELD, held_znodes.ACCEPT_LOSS, held_znodes.NODES))
    await zk.sync()  # a server that is late may lack the last holds
    nodes = nodes or frozenset(map(int, filter(str.isdecimal, await zk.children(held_znodes.NODES))))
    if not nodes:
        raise NodesUnknown(f"{held_znodes.NODES} lists no node: name the brokers that are Headrace nodes with --node")
    try:
        past = await _read(zk, nodes)
    except BadZnode as failure:
        raise BadZnode(
            f"{failure}; nothing was written: repair or remove this znode, and run the command again"
        ) from None
    await _refuse_live(zk)
    for path in past.accepted:
        await zk.delete(path)
    wanted = await _write_holds(zk, past)
    await _forget_leaders(zk, past, nodes)
    for path in past.znodes:
        if path not in wanted:
            await zk.delete(path)
    await _skip_producer_ids(zk, *past.producer_ids)
    await _refuse_live(zk)
    rows = (row for topic, _states in past.topics.values() for row in topic.replicas)
    return sum(1 for row in rows if not nodes.isdisjoint(row))


async def _refuse_live(zk: ZkSession) -> None:
    """A broker that came after we had looked works by states of the past, and by holds that we have removed. raises BrokersLive"""
    if brokers := await zk.children(znodes.BROKER_IDS):
        raise BrokersLive(
            f"brokers {', '.join(brokers)} registered during the command, which is incomplete: stop them, and run it again"
        )


async def _read(zk: ZkSession, nodes: Collection[int]) -> _Past:
    """All that the command goes by, decoded. raises   HoldsUnread; BadZnode, which names what can't be read; ZkError"""
    before, paths = await _read_holds(zk)
    accepted = [path for path in await zk.tree(held_znodes.ACCEPT_LOSS) if path != held_znodes.ACCEPT_LOSS]
    topics: dict[str, tuple[TopicAssignment, list[PartitionState | None]]] = {}
    names = await zk.children(znodes.TOPICS)
    for first in range(0, len(names), READS_IN_FLIGHT_MAX):
        part = names[first : first + READS_IN_FLIGHT_MAX]
        for name, node in zip(part, await zk.get_many([znodes.topic_path(one) for one in part]), strict=True):
            if node is not None:
                topic = znodes.decode_topic(name, node.data)
                topics[name] = (topic, await _states_of(zk, name, len(topic.replicas)))
    block = await zk.get(znodes.PRODUCER_ID_BLOCK)
    first_id = znodes.decode_producer_id_block(block.data) if block is not None else 0
    return _Past(topics, _holds_of(topics, before, nodes), paths, accepted, (block, first_id))


def _holds_of(topics: _Topics, before: Mapping[_Replica, HeldReplica], nodes: Collection[int]) -> _Holds:
    """What is to be held: each replica of a node, and each log that has parted, as its hold says."""
    holds: dict[tuple[int, str], dict[int, HeldReplica]] = {}
    for name, (topic, states) in topics.items():
        for index, (row, state) in enumerate(zip(topic.replicas, states, strict=True)):
            epoch = ANY_STATE if state is None else state.leader_epoch
            held = HeldReplica(topic.topic_id, is_proven=True, parted_at=0, parted_from=NO_LEADER, parted_in=epoch)
            for broker in set(row) & set(nodes):
                kept = before.get((broker, name, index), held)
                if is_another(kept.topic_id, topic.topic_id):
                    kept = held
                marked = held._replace(is_missing=kept.is_missing, is_nameless=kept.is_nameless)
                holds.setdefault((broker, name), {})[index] = marked
    for (broker, name, index), one in before.items():
        there = topics.get(name)
        if one.has_parted and (there is None or not is_another(one.topic_id, there[0].topic_id)):
            holds.setdefault((broker, name), {})[index] = one
    return holds


async def _read_holds(zk: ZkSession) -> tuple[dict[_Replica, HeldReplica], list[str]]:
    """What is held now, and the paths of all znodes of holds. raises   HoldsUnread, ZkError"""
    found: dict[_Replica, HeldReplica] = {}
    paths: list[str] = []
    for broker in map(int, filter(str.isdecimal, await zk.children(held_znodes.HELD))):
        replicas, failures = await read_znodes(zk, broker)
        if unread := sorted(unread_in(failures)):
            raise HoldsUnread(
                f"{held_znodes.held_by_path(broker)}/{unread[0]} can't be read, nothing was done:"
                f" {failures[unread[0]]}; it may record that the log of broker {broker} has diverged; use the"
                " version that wrote it, or remove that znode"
            )
        paths += [f"{held_znodes.held_by_path(broker)}/{name}" for name in failures]
        found.update(((broker, name, index), one) for (name, index), one in replicas.items())
    return found, paths


async def _states_of(zk: ZkSession, name: str, count: int) -> list[PartitionState | None]:
    """By partition, as the states of the past are; None: there is none. raises   ZkError, BadZnode"""
    states: list[PartitionState | None] = []
    paths = [znodes.state_path(name, index) for index in range(count)]
    for first in range(0, count, READS_IN_FLIGHT_MAX):
        part = paths[first : first + READS_IN_FLIGHT_MAX]
        for path, node in zip(part, await zk.get_many(part), strict=True):
            states.append(None if node is None else znodes.decode_state(path, node.data, node.version))
    return states


async def _write_holds(zk: ZkSession, past: _Past) -> set[str]:
    """Write each znode of holds over the one that is there; returns their paths. raises   BrokersLive, ZkError"""
    there, wanted = set(past.znodes), set()
    by_topic = sorted(past.holds.items(), key=lambda one: one[0][::-1])
    for number, ((broker, topic), replicas) in enumerate(by_topic):
        for name, data in held_znodes.encode_chunks(topic, replicas).items():
            path = f"{held_znodes.held_by_path(broker)}/{name}"
            wanted.add(path)
            await (zk.set(path, data) if path in there else zk.create(path, data))
        if not number % WRITES_PER_LOOK:
            await _refuse_live(zk)
    return wanted


async def _forget_leaders(zk: ZkSession, past: _Past, nodes: Collection[int]) -> None:
    """There is no leader, and each node's replica may be in sync. A partition without a state gets its first one as ever.

    raises   BrokersLive, ZkError
    """
    for number, (name, (topic, states)) in enumerate(past.topics.items()):
        for first in range(0, len(states), STATES_PER_COMMIT):
            transaction = Transaction()
            for index, state in list(enumerate(states))[first : first + STATES_PER_COMMIT]:
                isr = tuple(broker for broker in topic.replicas[index] if broker in nodes)
                if state is not None and isr:
                    data = znodes.encode_state(state._replace(leader=NO_LEADER, isr=isr))
                    transaction.set(znodes.state_path(name, index), data, state.version)
            if transaction.operations:
                await _commit(zk, transaction)
        if not number % WRITES_PER_LOOK:
            await _refuse_live(zk)


async def _commit(zk: ZkSession, transaction: Transaction) -> None:
    """raises   ZkError, also where something was written since it was read: no other client should be there"""
    try:
        await zk.commit(transaction)
    except ZkConflict as failure:
        raise ZkError(f"another client writes to this ZooKeeper: {failure}") from None


async def _skip_producer_ids(zk: ZkSession, block: Node | None, first: int) -> None:
    if block is None:
        return
    transaction = Transaction()
    data = znodes.encode_producer_id_block(NO_LEADER, first, first + PRODUCER_IDS_SKIPPED - 1)
    transaction.set(znodes.PRODUCER_ID_BLOCK, data, block.version)
    await _commit(zk, transaction)
