"""The agent of a node: it follows ZooKeeper, keeps the known cluster, and publishes the view of it.

Runs in: the controller process of every node, over all its sessions. A watch that fires says which area is to be read again:

    /controller                             the election, and where we won it anew: everything
    /brokers/ids                            brokers
    /brokers/topics, /admin/delete_topics   names of topics, marks; topics that are new
    /brokers/topics/...                     assignments, states
    /config/changes                         overrides and settings that the new entries name

Each area is followed by one task at a time, beside those of the other areas; what fails is tried again later. Reading everything
(`load`) is alone: what it finds replaces what was known, and until then nothing is published and no request carried out.
What the active controller of this node does comes as events (`cluster/events.py`), and what it has to know goes to it so.

Nothing here remembers that it was interrupted: after a lost reply or a lost session the same step runs again,
on what ZooKeeper has then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from headrace.controller.agent.active_events import ActiveEvents
from headrace.controller.agent.area import RETRY_MS, Area, Superseded
from headrace.controller.agent.cluster_reader import ClusterReader
from headrace.controller.agent.departures import Departures
from headrace.controller.agent.election import Election
from headrace.controller.agent.hosted_rows import HostedRows
from headrace.controller.agent.orders import Orders
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.agent.producer_id_file import ProducerIdFile
from headrace.controller.agent.producer_ids import ProducerIds
from headrace.controller.agent.registration import Unregistered
from headrace.controller.agent.topic_configs import last_number, number_of, purge
from headrace.controller.agent.topic_nodes import TopicNodes
from headrace.controller.agent.view_publisher import ViewPublisher
from headrace.controller.cluster import events, past_states
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.cluster.topic import UNCLEAN
from headrace.controller.cluster.view_room import ViewRoom
from headrace.controller.zookeeper import features, notifications, znodes
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode, Registration
from headrace.errors import ErrorCode, KafkaError
from headrace.log_rate_limit import GrowingInterval
from headrace.runtime.tasks import Task, Tasks
from headrace.settings import Settings, kafka_version
from headrace.shm.counters import TOPICS_RELEASED
from headrace.shm.seat import Seat

STALE_PAUSE_MS = 20  # before states are read again that somebody else writes at the same time

_log = logging.getLogger(__name__)


class Agent:
    """One node's part, over all sessions.

    tell   takes what the active controller has to know
    """

    def __init__(
        self,
        seat: Seat,
        zk: ZkSession,
        tasks: Tasks,
        now_ms: Callable[[], int],
        monotonic_ms: Callable[[], int] | None = None,
    ) -> None:
        assert seat.view_writer is not None
        settings = seat.wiring.settings
        self.settings: Settings = settings
        self.zk = zk
        self.tasks = tasks
        self.known = KnownCluster(settings["broker.id"], seat.view_writer.read(), settings["headrace.partitions.max"])
        self.room = ViewRoom(self.known.node_id, self.known.slots, seat.view_writer)
        self.rows = HostedRows(seat, self.known)
        self.election = Election(zk, self.known.node_id)
        self.producer_ids = ProducerIds(zk, self.known.node_id, ProducerIdFile(seat.wiring.log_dirs))
        self.controller_epoch = 0  # the highest that was seen
        self.tell: Callable[[events.ToActive], None] = lambda _event: None
        self.is_loaded = False  # in this session everything was read once, under this controller epoch:
        self.is_unregistered = False  # somebody removed our node from /brokers/ids: join again
        self._loaded_version = -1
        self._needs_load = False
        self._load_task: Task[None] | None = None
        self._load_due_ms = 0
        self._now_ms = now_ms  # the date
        self.monotonic_ms = monotonic_ms or now_ms  # for deadlines
        self._seat = seat
        self._reader = ClusterReader(zk, tasks, self.known)
        self._departures = Departures(self.known, self.rows)
        self.orders = Orders(
            self.known, self._reader, self.rows, tasks, self.note, self._is_readable, lambda: self._departures.marked
        )
        self._publisher = ViewPublisher(self.known, self.room, seat.view_writer)
        self._last_change = -1  # number of the last entry in /config/changes that was followed
        self._topic_nodes = TopicNodes(
            zk, self.known, self._reader, self.election, self._departures, self._hear, self.note
        )
        self._complaint = GrowingInterval()  # of what ZooKeeper has and we can't follow
        follow = {
            znodes.CONTROLLER: self._follow_controller,
            znodes.BROKER_IDS: self._follow_brokers,
            znodes.CONFIG_CHANGES: self._follow_configs,
        }
        self._areas = {path: Area(procedure, self._followed) for path, procedure in follow.items()}
        self._areas[znodes.TOPICS] = Area(self._follow_topics, self._followed, paces=True)
        self._nodes = self._areas[""] = Area(self._topic_nodes.follow, self._followed, paces=True)
        self._events = ActiveEvents(
            self.known, self.room, self._departures, self.orders, self.election,
            note=self.note, note_controller=self.note_controller, resign=self._resign, read_later=self._read_later,
        )  # fmt: skip

    # What requests ask

    def check_loaded(self) -> None:
        """raises   KafkaError NOT_CONTROLLER, which clients try again: what we know of the cluster may be of another session"""
        if not self.is_loaded:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "the cluster state is being read from ZooKeeper, retry")

    def check_active(self) -> None:
        """raises   KafkaError NOT_CONTROLLER"""
        self.check_loaded()
        if not self.election.is_active:
            holder = self.known.controller_id
            raise KafkaError(ErrorCode.NOT_CONTROLLER, f"the active controller is node {holder}")

    def hurry(self) -> None:
        """Somebody waits for what is known and not published yet."""
        self._publisher.hurry()

    def topic_defaults(self) -> Settings:
        """The broker settings that topics inherit from, with what was changed while the node runs."""
        return self.settings.with_dynamic(self.known.cluster_settings, self.known.node_settings)

    def wait_served(self, names: list[str], timeout_ms: int, respond: Callable[[bool], bytes]) -> PendingResponse:
        """Answer when the owners of these topics' replicas here have taken their roles."""
        self._publisher.hurry()
        replicas = self.known.replicas_here(names)
        return PendingResponse(replicas, self.monotonic_ms() + max(0, timeout_ms), self.rows.is_served, respond)

    def wait_deleted(
        self, topics: list[tuple[str, str]], timeout_ms: int, respond: Callable[[bool], bytes]
    ) -> PendingResponse:
        """Answer when the topics, name and id of each, are gone from this node and from ZooKeeper."""
        return PendingResponse(topics, self.monotonic_ms() + max(0, timeout_ms), self._departures.is_gone, respond)

    async def note_overrides_written(self) -> None:
        """We changed overrides in ZooKeeper: clear away old notifications of such changes."""
        await purge(self.zk)

    # The session

    def leave(self) -> None:
        """The session is gone, and all that hung on it."""
        for area in self._areas.values():
            area.stop(forget=True)
        self._needs_load = False
        self._load_task = None
        self.is_loaded = False
        self.election.step_down()
        self._resign()

    async def load(self) -> None:
        """Run the election, read the whole cluster, and hand it to the active controller, where that is us.

        Until everything was read, what was known stands, and nothing is published.
        """
        for area in self._areas.values():
            area.stop(forget=False)
        self.is_loaded = False
        self._resign()
        known, zk = self.known, self.zk
        revisions = {name: topic.revision for name, topic in known.topics.items()}  # what comes after the sync is newer
        await (
            zk.sync()
        )  # else it could be a server that is behind: what is older than what we know is of a ZooKeeper put back
        controller_id = await self._run_election()
        epoch_version = self.election.epoch_version
        controller_epoch = await zk.get(znodes.CONTROLLER_EPOCH)
        if self.election.is_active:
            guard = EpochGuard(zk, self.election.epoch, epoch_version)
            await features.ensure(zk, guard, kafka_version(self.settings["inter.broker.protocol.version"]))
            await notifications.clear(zk, guard)
        brokers = await self._reader.read_brokers(await self._reader.read_broker_ids())
        last_change = last_number(await zk.children(znodes.CONFIG_CHANGES, watch=True))
        await self._reader.load_settings()
        as_of = known.additions
        marked, names = await self._read_names()
        found = await self._reader.read_topics([name for name in names if name not in known.reserved])
        is_authority = self.election.is_active
        held = set() if is_authority else {name for name in found if name in marked and not known.has(name)}
        if controller_epoch is not None:
            epoch = znodes.decode_controller_epoch(controller_epoch.data)
            self.controller_epoch = past_states.controller_epoch(epoch, self.controller_epoch)
            self.note_controller(epoch)
        past_states.take(known, found, revisions)
        known.set_controller(controller_id)
        known.set_brokers(brokers)
        known.is_authority = is_authority
        known.hold_back(held if is_authority else held | known.held_back & marked)
        if not known.adopt(names, found, marked, self._departures.marked, as_of):
            self.note([znodes.TOPICS])
        self._departures.marked, self._last_change = marked, last_change
        self._departures.note_marks(marked, as_of)
        self._loaded_version = epoch_version
        self._topic_nodes.forget()
        known.is_missing_new = True
        self.is_loaded, self._needs_load = True, False
        self._departures.is_stirred = True
        self._publisher.hurry()
        if self.election.is_active:
            self.tell(events.Elected(self.election.epoch, epoch_version))
            self.tell(events.TopicsRead(tuple(known.topics)))
            self.tell(events.Marked(marked))

    # Following

    def note(self, paths: list[str]) -> None:
        """Watched nodes changed."""
        for path in paths:
            if path in znodes.WATCHED_BY_CONTROLLER:
                self.tell(events.Notified(path))
                continue
            if path == znodes.DELETE_TOPICS:
                path = znodes.TOPICS
            elif path.startswith(f"{znodes.BROKER_IDS}/"):
                path = znodes.BROKER_IDS
            self._areas.get(path, self._nodes).note(path)

    def follow(self) -> int:
        """Start what is due; returns how many tasks were. Only in a session that was joined."""
        now_ms = self.monotonic_ms()
        if not self.is_loaded or self._needs_load:
            if self._load_task is not None or now_ms < self._load_due_ms:
                return 0
            self._load_task = self.tasks.start(self.load(), self._loaded)
            return 1
        due = [area for area in self._waiting() if now_ms >= area.due_ms]
        for area in due:
            area.start(self.tasks, self.monotonic_ms)
        return len(due)

    def next_ms(self, is_connected: bool) -> int | None:
        """When there is something to do by itself; None where nothing is. What needs ZooKeeper waits for the connection."""
        if not self.is_loaded or self._needs_load:
            return self._load_due_ms if is_connected and self._load_task is None else None
        due_ms = [area.due_ms for area in self._waiting()] if is_connected else []
        published_ms = self._publisher.next_ms()
        if published_ms is not None:
            due_ms.append(published_ms)
        return min(due_ms, default=None)

    def _waiting(self) -> list[Area]:
        return [
            area for area in self._areas.values() if area.is_waiting(area is self._nodes and self._topic_nodes.has_new)
        ]

    def _loaded(self, task: Task[None]) -> None:
        if self._load_task is task:
            self._load_task = None
        if task.failure is not None:
            self._load_due_ms = self.monotonic_ms() + RETRY_MS
            self._complain(task.failure)

    def _followed(self, failure: BaseException | None) -> None:
        """A task of an area has ended. raises   what is no failure of ZooKeeper"""
        if failure is None:
            self._complaint.reset()
        elif isinstance(failure, Unregistered):
            _log.warning("broker registered again reason=%s", failure)
            self.is_unregistered = True
        else:
            self._complain(failure)

    def _complain(self, failure: BaseException) -> None:
        """raises   what is no failure of ZooKeeper"""
        if not isinstance(failure, (ZkError, BadZnode)):
            raise failure
        if self._complaint.is_due(self.monotonic_ms() * 1_000_000) and not isinstance(failure, Superseded):
            _log.warning("changes in ZooKeeper not read, retrying every %d ms reason=%s", RETRY_MS, failure)

    async def _follow_controller(self, _paths: list[str]) -> None:
        controller_id = await self._run_election()
        self.known.set_controller(controller_id)
        if not self.election.is_active:
            self._resign()
        elif self.election.epoch_version != self._loaded_version:
            self._needs_load = True  # as a follower we did not see everything

    async def _follow_brokers(self, _paths: list[str]) -> None:
        """Those that went are followed before the others are read: leaders wait for that."""
        known = self.known
        ids = await self._reader.read_broker_ids()
        if known.node_id not in ids:
            raise Unregistered(f"{znodes.broker_path(known.node_id)} was removed while this node is running")
        self._take_brokers({node_id: known.brokers[node_id] for node_id in ids if node_id in known.brokers})
        brokers = await self._reader.read_brokers(ids)
        if known.node_id in brokers:  # else the watch has fired again
            self._take_brokers(brokers)

    def _take_brokers(self, brokers: dict[int, Registration]) -> None:
        before = self.known.brokers
        moved = self.known.set_brokers(brokers)
        if moved or before != brokers:  # they may listen elsewhere
            self.tell(events.BrokersChanged(moved))

    async def _follow_topics(self, _paths: list[str]) -> None:
        known = self.known
        as_of = known.additions
        marked, names = await self._read_names()
        unmarked = self._departures.marked - marked  # what has such a name now is another topic, unless deletion is off
        new = [
            name
            for name in names
            if (name not in known.topics or name in unmarked or known.is_going(known.topics[name]))
            and self._is_readable(name)
        ]
        found = await self._reader.read_topics(new)
        marked = self._without_newer(marked, as_of)
        if not known.adopt(names, found, marked, self._departures.marked, as_of):
            self.note([znodes.TOPICS])
        self._departures.marked = marked
        self._departures.hold_back(marked)
        self._departures.note_marks(marked, as_of)
        self._departures.is_stirred = True
        if found:
            self.tell(events.TopicsRead(tuple(found)))
        self.tell(events.Marked(marked))

    def _without_newer(self, marked: frozenset[str], as_of: int) -> frozenset[str]:
        """Marks but those of topics that were made since the marks were read: they may be of topics before. Read again."""
        topics = self.known.topics
        newer = {name for name in marked if name in topics and topics[name].added > as_of}
        if newer:
            self.note([znodes.DELETE_TOPICS])
        return marked - newer

    async def _follow_configs(self, _paths: list[str]) -> None:
        """Read what the new notifications name; everything, where one of them does not say."""
        names = await self.zk.children(znodes.CONFIG_CHANGES, watch=True)
        paths = [f"{znodes.CONFIG_CHANGES}/{name}" for name in names if number_of(name) > self._last_change]
        topics: dict[str, None] = {}
        for path, node in zip(paths, await self.zk.get_many(paths), strict=True):
            try:
                kind, name = znodes.decode_config_change(path, node.data if node is not None else b"")
            except BadZnode:
                topics.update(dict.fromkeys(self.known.topics))
                continue
            if kind == "topics":
                topics[name] = None
        before = self.known.cluster_settings.get(UNCLEAN)
        await self._reader.load_settings()
        read = await self._reader.load_configs(topics)  # who may lead may be another one
        if self.known.cluster_settings.get(UNCLEAN) != before:
            leaderless = [
                name for name, topic in self.known.topics.items() if topic.is_leaderless and name not in topics
            ]
            read = (*read, *leaderless)
        self.tell(events.TopicsRead(read))
        self._last_change = max(self._last_change, last_number(names))

    async def _read_names(self) -> tuple[frozenset[str], list[str]]:
        """The marks, then the names of all topics: whoever deletes a topic removes its mark last."""
        marked = frozenset(await self.zk.children(znodes.DELETE_TOPICS, watch=True))
        return marked, await self.zk.children(znodes.TOPICS, watch=True)

    async def _run_election(self) -> int:
        """Be elected, or follow whoever is; returns the active controller's id."""
        epoch_before = self.election.epoch_version
        controller_id = await self.election.run(self._now_ms(), self.controller_epoch)
        if self.election.is_active and self.election.epoch_version != epoch_before:
            _log.info("active controller node=%d epoch=%d", self.known.node_id, self.election.epoch)
        return controller_id

    def _resign(self) -> None:
        """Nothing is written for the cluster any more, for now."""
        self.known.is_authority = False
        self._departures.abandon()  # the marks say what is to be deleted
        self.tell(events.Resigned())

    def note_controller(self, epoch: int) -> None:
        """There is a controller of this epoch; where it is above ours, we are not the active one any more."""
        self.controller_epoch = max(epoch, self.controller_epoch)
        if self.election.is_active and epoch > self.election.epoch:
            self.note([znodes.CONTROLLER])

    def _hear(self, event: events.ToActive) -> None:
        """Whoever that is told to, by now."""
        self.tell(event)

    def _read_later(self, names: Collection[str]) -> None:
        """States of topics that somebody else writes at the same time."""
        self.note([znodes.topic_path(name) for name in names])
        self._nodes.due_ms = max(self._nodes.due_ms, self.monotonic_ms() + STALE_PAUSE_MS)

    def _is_readable(self, name: str) -> bool:
        """Whether what ZooKeeper has of a topic may be taken in by itself."""
        return name not in self.known.reserved and name not in self._departures

    # The view

    def publish(self) -> bool:
        """Publish the view, where it says something new, and wake everyone; nothing, while not everything is known."""
        if not self.is_loaded:
            return False
        is_new = self._publisher.publish(self.monotonic_ms())
        counters = self._seat.counters
        counters.add(TOPICS_RELEASED, self.known.releases - counters.get(TOPICS_RELEASED))
        if is_new:
            self._departures.is_stirred = True
            for process_id in range(self._seat.wiring.process_count):
                if process_id != self._seat.process_id:
                    self._seat.ring(process_id)
        return is_new

    # Deletions, the part of this node

    @property
    def has_deletions(self) -> bool:
        return self._departures.is_any

    @property
    def is_stirred(self) -> bool:
        """Whether there may be something to settle."""
        return self._departures.is_stirred

    def settle(self) -> int:
        """Free what everybody here has let go of, and tell which deletions may go on; returns how many did.

        Of many topics some are checked in each call; `is_stirred` tells that there are more.
        """
        if not self.has_deletions:
            self._departures.is_stirred = False
            return 0
        ready, freed = self._departures.settle(self._seat.followed_by_all())
        for name in ready:
            self.tell(events.ReplicasSettled(name))
        return len(ready) + freed

    # What the active controller of this node did

    def apply(self, event: events.ToAgent) -> None:
        """Take an event's facts into the known cluster."""
        self._events.apply(event)
