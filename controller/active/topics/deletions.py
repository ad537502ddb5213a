"""Topics that go, from their mark to their last znode.

Runs in: the controller process of the active node, one object a term. Each step can be run again; a process that is killed leaves a
mark in /admin/delete_topics, and the next active controller goes on from there. Kafka's own tools and other brokers make such
marks as well.

    mark in /admin/delete_topics
        ->  TopicLeaving: topic out of the view, its replicas here are to go; UpdateMetadata with leader -2 to all brokers
        ->  each replica on another broker: Offline, DeletionStarted: StopReplica, which deletes, under the epoch -2
              NONE: DeletionSuccessful        an error, its broker away: DeletionIneligible
            here: owners rename the directories, rows DELETED; coordinators forget its offsets; every partition worker has
            followed the view: ReplicasSettled
        ->  all are DeletionSuccessful: znodes removed; the last transaction has the topic's node, its overrides and the mark
        ->  TopicRemoved: slots and name are free

A mark is about a topic that is older than it. So mark and topic are read before anything goes, and before each try to remove znodes, for
the reply to the last one may have been lost, and the name be another topic's since:

    no mark                                      it is over, and nothing more goes
    the topic is younger than the mark           the topic stays, and the mark goes
    another topic, which the mark may be about   it is over; the mark is read again

The znodes hold the name until then: a topic made under it finds neither files nor committed offsets of the old one. A replica that
is Ineligible holds it too, until its broker starts again: no other process would ever remove its files. A reassignment in
progress ends with its topic: replicas that it adds or removes are among those that go (docs/decisions/010).

Replicas that an earlier reassignment left to be deleted (`unwanted_replicas.py`) go as well. Their broker may never come back: it may be
what their partitions were moved away for. So they are waited for while their broker is there, and a deletion ends without them while it is
away. The topic's id keeps their files from being taken for those of another topic of the name. A topic without an id waits for them.

Source: Kafka `TopicDeletionManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import islice

from headrace.controller.active.leaders.replica_states import ReplicaStatus
from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import Topic, is_another
from headrace.controller.cluster.unwanted_replicas import unwanted_of
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, Node, ZkConflict, ZkError
from headrace.controller.zookeeper.znodes import TopicAssignment
from headrace.errors import ErrorCode
from headrace.limits import DELETIONS_IN_FLIGHT_MAX

ZNODES_PER_COMMIT = 500  # below the topic's node; with a few of its own
MARKS_PER_READ = 200
REFUSED_RETRY_MS = 5_000  # after an answer that names another error than a failed directory

Replica = tuple[int, int]  # partition, broker

_log = logging.getLogger(__name__)


class Deletion:
    """One topic's.

    topic        as it was known; None: a mark without a topic
    left         replicas that are not deleted yet
    unassigned   of these, those that are not waited for while their broker is away
    is_settled   whether everybody on this node has acted on it
    is_removed   whether its znodes are being removed
    """

    __slots__ = ("is_removed", "is_settled", "left", "topic", "unassigned")

    def __init__(self, assigned: Topic | None) -> None:
        self.topic = topic = _with_unwanted(assigned) if assigned is not None else None
        self.left: set[Replica] = set(_replicas_of(topic)) if topic is not None else set()
        has_id = assigned is not None and bool(assigned.topic_id)
        self.unassigned = self.left.difference(_replicas_of(assigned)) if assigned is not None and has_id else set()
        self.is_settled = False
        self.is_removed = False


class Deletions(Part):
    """Of marked topics. Where delete.topic.enable is off, marks of others are removed."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._pending: dict[str, Deletion] = {}  # topics whose deletion has begun
        self._removable: dict[str, None] = {}  # topics that no replica has any more
        self._removals = 0  # tasks
        self._unread: dict[str, None] = {}  # names whose marks are to be read
        self._is_reading = False

    def __contains__(self, name: object) -> bool:
        """Whether a topic of this name is being deleted."""
        return name in self._pending

    # What happens

    async def begin(self) -> None:
        """The marks that the controller before left."""
        self._unread.update(dict.fromkeys(self._term.marked))
        await self._read_marks()

    def marks_read(self, names: Iterable[str]) -> None:
        """Have marked topics go. A mark without a topic is what a controller may leave that was killed."""
        for name in names:
            if self._may_begin(name):
                self._unread[name] = None
        if self._unread and not self._is_reading:
            self._is_reading = True
            self._term.start(self._read_all_marks(), self._all_marks_read)

    def begin_marked(self, name: str) -> None:
        """Have a topic go that was marked just now, by `mark`."""
        topic = self._find(name)
        if topic is None or not self._term.settings["delete.topic.enable"]:
            self.marks_read([name])
        elif self._may_begin(name):
            self._begin(name, topic)

    def brokers_changed(self, gone: frozenset[int], come: frozenset[int]) -> None:
        for name, deletion in list(self._pending.items()):
            away = [replica for replica in deletion.left if replica[1] in gone and self._is_started(deletion, replica)]
            if away:
                self._move(deletion, away, ReplicaStatus.DELETION_INELIGIBLE)
                self._say_away(name, deletion, away)
            self._stop(deletion, [replica for replica in deletion.left if replica[1] in come])
            self._succeed(name, deletion, [])  # those that went may not be waited for, whatever they had answered

    def directories_changed(self, broker: int) -> None:
        for deletion in list(self._pending.values()):
            waiting = [
                replica for replica in deletion.left if replica[1] == broker and not self._is_started(deletion, replica)
            ]
            if waiting and self._term.liveness.is_live(broker):
                self._start(deletion, waiting)

    def replicas_settled(self, name: str) -> None:
        deletion = self._pending.get(name)
        if deletion is not None:
            deletion.is_settled = True
            node_id = self._term.known.node_id
            self._succeed(name, deletion, [replica for replica in deletion.left if replica[1] == node_id])

    async def mark(self, name: str) -> None:
        """Say in ZooKeeper that a topic is to go; raises ZkError."""
        term, path = self._term, znodes.delete_topic_path(name)
        transaction = term.guard.begin()
        transaction.create(path)
        try:
            await term.commit(transaction)
            return
        except ControllerMoved:
            raise
        except ZkConflict:  # marked already; not where that was a topic before
            mark, node = await term.zk.get_many([path, znodes.topic_path(name)])
        if mark is None or (node is not None and _is_older(mark, node)):
            transaction = term.guard.begin()
            if mark is not None:
                transaction.delete(path, mark.version)
            transaction.create(path)
            await term.commit(transaction)

    # Replicas

    def _begin(self, name: str, topic: Topic | None) -> None:
        term = self._term
        deletion = self._pending[name] = Deletion(topic)
        if deletion.topic is not None:
            term.leaving[name] = deletion.topic
        term.tell(events.TopicLeaving(name))
        if deletion.topic is not None:
            term.notices.tell_metadata(name)
            self._stop(deletion, deletion.left)
        _log.info(
            "topic deletion started topic=%s replicas=%d replicas_here=%d",
            name, len(deletion.left), len(term.known.leaving.get(name, ())),
        )  # fmt: skip

    def _may_begin(self, name: str) -> bool:
        """Whether no deletion of the name is on its way, and no task writes it; once it is written the marks are read again."""
        return name not in self._pending and name not in self._term.reservations

    def _find(self, name: str) -> Topic | None:
        return self._term.known.topics.get(name) or self._term.known.released.get(name)

    def _all_marks_read(self) -> None:
        self._is_reading = False
        if not self._term.is_over:
            self.marks_read(())

    async def _read_all_marks(self) -> None:
        while self._unread and not self._term.is_over:
            try:
                await self._read_marks()
            except ControllerMoved:
                raise
            except ZkError as failure:
                _log.debug("deletion marks not read, retrying later marks=%d reason=%s", len(self._unread), failure)
                await self._term.tasks.sleep(RETRY_MS)

    async def _read_marks(self) -> None:
        """raises   ZkError: the others are to be read yet"""
        while self._unread and not self._term.is_over:
            names = list(islice(self._unread, MARKS_PER_READ))
            marks = await self._term.zk.get_many([znodes.delete_topic_path(name) for name in names])
            nodes = await self._term.zk.get_many([znodes.topic_path(name) for name in names])
            for name, mark, node in zip(names, marks, nodes, strict=True):
                self._unread.pop(name, None)
                if mark is not None and not self._term.is_over and self._may_begin(name):
                    await self._take_mark(name, mark, node)

    async def _take_mark(self, name: str, mark: Node, node: Node | None) -> None:
        """Begin with a mark's topic. It may not be known here: where ZooKeeper has it, its node says which replicas are to be stopped,
        whatever else of it can't be read. One that was made after the mark is another topic: it stays, and the mark goes.

        The mark may have been read before the deletion ended that removed it; the name is free then.

        raises   ZkError
        """
        term = self._term
        topic = self._find(name)
        if not term.settings["delete.topic.enable"] and (node is not None or topic is not None):
            _log.warning("deletion mark removed, delete.topic.enable=false topic=%s", name)
            await self._remove_mark(name, mark)
        elif node is not None and _is_older(mark, node):
            _log.warning("deletion mark removed, the topic is younger and stays topic=%s", name)
            await self._remove_mark(name, mark)
        else:
            assignment = _assignment_of(name, node) if topic is None else None
            if assignment is not None:
                topic_id, replicas, _adding, _removing, others = assignment
                term.tell(events.TopicWritten(name, topic_id, replicas, {}, (None,) * len(replicas), others))
            self._begin(name, self._find(name))

    def _stop(self, deletion: Deletion, replicas: Iterable[Replica]) -> None:
        """Have replicas deleted, those whose broker is there; the others are Ineligible.

        Whether a directory that failed is back, its broker knows better: what is known of that may be from before its start.
        """
        topic = deletion.topic
        if topic is None:
            return
        liveness = self._term.liveness
        there: list[Replica] = []
        away: list[Replica] = []
        for index, broker in replicas:
            is_there = liveness.is_live(broker) and broker not in liveness.returning
            (there if is_there else away).append((index, broker))
        ineligible = ReplicaStatus.DELETION_INELIGIBLE
        self._move(deletion, [one for one in away if self._status(deletion, one) is not ineligible], ineligible)
        self._start(deletion, there)
        self._say_away(topic.name, deletion, away)

    def _start(self, deletion: Deletion, replicas: list[Replica]) -> None:
        self._move(deletion, replicas, ReplicaStatus.OFFLINE)
        self._move(deletion, replicas, ReplicaStatus.DELETION_STARTED)

    def _status(self, deletion: Deletion, replica: Replica) -> ReplicaStatus:
        assert deletion.topic is not None
        return self._term.states.replica_status(deletion.topic, *replica)

    def _is_started(self, deletion: Deletion, replica: Replica) -> bool:
        return self._status(deletion, replica) is ReplicaStatus.DELETION_STARTED

    def _move(self, deletion: Deletion, replicas: Iterable[Replica], status: ReplicaStatus) -> None:
        assert deletion.topic is not None
        self._term.states.move_deleted(deletion.topic, replicas, status, self._stopped)

    def _stopped(self, broker: int, name: str, index: int, error: ErrorCode) -> None:
        """A broker's answer."""
        deletion, replica = self._pending.get(name), (index, broker)
        if deletion is None or replica not in deletion.left or self._term.is_over:
            return
        if not error:
            self._succeed(name, deletion, [replica])
            return
        self._move(deletion, [replica], ReplicaStatus.DELETION_INELIGIBLE)
        _log.warning("replica not deleted topic=%s partition=%d broker=%d error=%s", name, index, broker, error.name)
        if error is not ErrorCode.KAFKA_STORAGE_ERROR:  # else its directory is back when the broker starts again
            self._term.start(self._stop_again(deletion, replica))

    async def _stop_again(self, deletion: Deletion, replica: Replica) -> None:
        await self._term.tasks.sleep(REFUSED_RETRY_MS)
        if replica in deletion.left and not self._term.is_over and not self._is_started(deletion, replica):
            self._stop(deletion, [replica])

    def _succeed(self, name: str, deletion: Deletion, replicas: list[Replica]) -> None:
        if replicas:
            self._move(deletion, replicas, ReplicaStatus.DELETION_SUCCESSFUL)
            deletion.left.difference_update(replicas)
        is_waiting = any(not self._is_let_go(deletion, replica) for replica in deletion.left)
        if deletion.is_settled and not is_waiting and not deletion.is_removed:
            if deletion.left:
                _log.warning(
                    "topic is deleted, files of unassigned replicas stay on brokers that are away topic=%s topic_id=%s replicas=%s",
                    name, deletion.topic.topic_id if deletion.topic is not None else "", sorted(deletion.left)[:20],
                )  # fmt: skip
            deletion.is_removed = True
            self._removable[name] = None
            self._start_removals()

    def _is_let_go(self, deletion: Deletion, replica: Replica) -> bool:
        """Whether a replica that is left is not waited for."""
        return replica in deletion.unassigned and not self._term.liveness.is_live(replica[1])

    def _say_away(self, name: str, deletion: Deletion, away: list[Replica]) -> None:
        if waited := [replica for replica in away if not self._is_let_go(deletion, replica)]:
            _log.info("topic deletion is waiting for brokers topic=%s brokers=%s", name, _brokers_of(waited))

    # Znodes

    def _start_removals(self) -> None:
        while self._removable and self._removals < DELETIONS_IN_FLIGHT_MAX and not self._term.is_over:
            name = next(iter(self._removable))
            del self._removable[name]
            self._removals += 1
            self._term.start(self._remove_topic(name, self._pending[name]), self._removal_ended)

    def _removal_ended(self) -> None:
        self._removals -= 1
        self._start_removals()

    async def _remove_topic(self, name: str, deletion: Deletion) -> None:
        term = self._term
        while not term.is_over:
            try:
                await self._remove_znodes(name, deletion)
                break
            except ControllerMoved:
                raise
            except ZkError as failure:
                _log.debug("topic deletion interrupted, retrying later topic=%s reason=%s", name, failure)
                await term.tasks.sleep(RETRY_MS)
        else:
            return
        self._end(name, deletion)

    async def _remove_znodes(self, name: str, deletion: Deletion) -> None:
        """Remove a topic, its overrides and its mark, by what ZooKeeper has of them now. raises   ZkError"""
        term, zk = self._term, self._term.zk
        topic_path, config_path, mark_path = paths = [
            znodes.topic_path(name),
            znodes.topic_config_path(name),
            znodes.delete_topic_path(name),
        ]
        node, config, mark = await zk.get_many(paths)
        if mark is None:
            return
        if node is not None and _is_older(mark, node):
            _log.warning("deletion mark removed, the topic is newer than the mark and is kept topic=%s", name)
            await self._remove_mark(name, mark)
            return
        if node is not None and _is_anothers(name, node, deletion.topic):
            return
        below = [one for path in paths for one in (await zk.tree(path))[:-1]]
        for first in range(0, max(1, len(below)), ZNODES_PER_COMMIT):
            transaction = term.guard.begin()
            transaction.check(mark_path, mark.version)
            if node is not None:
                transaction.check(topic_path, node.version)
            for path in below[first : first + ZNODES_PER_COMMIT]:
                transaction.delete(path)
            if first + ZNODES_PER_COMMIT >= len(below):
                if node is None:  # nobody makes one meanwhile
                    transaction.create(topic_path)
                transaction.delete(topic_path)
                if config is not None and (
                    node is not None or not _is_older(mark, config)
                ):  # else those of one that is made
                    transaction.delete(config_path, config.version)
                transaction.delete(mark_path, mark.version)
            await term.commit(transaction)

    def _end(self, name: str, deletion: Deletion) -> None:
        term = self._term
        topic = deletion.topic
        if topic is not None:
            gone = [replica for replica in _replicas_of(topic) if replica not in deletion.left]
            self._move(deletion, gone, ReplicaStatus.NON_EXISTENT)
            term.states.forget(topic)
        self._pending.pop(name, None)
        term.leaving.pop(name, None)
        term.marked -= {name}
        term.tell(events.TopicRemoved(name))
        _log.info("topic deleted topic=%s", name)
        self.marks_read([name])  # another topic of the name may be marked since

    async def _remove_mark(self, name: str, mark: Node) -> None:
        """raises   ZkError"""
        transaction = self._term.guard.begin()
        transaction.delete(znodes.delete_topic_path(name), mark.version)
        try:
            await self._term.commit(transaction)
        except ControllerMoved:
            raise
        except ZkConflict:
            pass  # another client was faster


def _is_older(mark: Node, node: Node) -> bool:
    """Whether a mark was there before a node, and is about a topic before."""
    return mark.created_zxid < node.created_zxid


def _is_anothers(name: str, node: Node, topic: Topic | None) -> bool:
    """Whether a topic's node is that of another topic than the one whose replicas were deleted."""
    try:
        return topic is not None and is_another(topic.topic_id, znodes.decode_topic(name, node.data).topic_id)
    except znodes.BadZnode:
        return False  # it is older than the mark


def _assignment_of(name: str, node: Node | None) -> TopicAssignment | None:
    """What a topic's node says; None where there is none, or it can't be read: the mark counts, and the topic's files stay."""
    try:
        return None if node is None else znodes.decode_topic(name, node.data)
    except znodes.BadZnode as failure:
        _log.error("replicas of a deleted topic are unknown, their files are kept reason=%s", failure)
        return None


def _with_unwanted(topic: Topic) -> Topic:
    """The topic, with replicas that a reassignment took off their brokers and that are not deleted yet."""
    unwanted = unwanted_of(topic.assignment)
    if not unwanted:
        return topic
    rows = tuple((*row, *unwanted.get(index, ())) for index, row in enumerate(topic.replicas))
    whole = Topic(
        topic.name, topic.topic_id, rows, topic.configs, topic.states, topic.adding, topic.removing, topic.others
    )
    whole.past = topic.past
    return whole


def _replicas_of(topic: Topic) -> list[Replica]:
    """All; those that a reassignment adds or removes are among them."""
    return [(index, broker) for index, row in enumerate(topic.replicas) for broker in row]


def _brokers_of(replicas: Iterable[Replica]) -> list[int]:
    return sorted({broker for _index, broker in replicas})
