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
from collections.abc import Callable, Set
from typing import Any

from headrace.controller.agent.area import RETRY_MS, Area, Superseded
from headrace.controller.agent.cluster_reader import ClusterReader
from headrace.controller.agent.departures import Departures
from headrace.controller.agent.election import Election
from headrace.controller.agent.hosted_rows import HostedRows
from headrace.controller.agent.judgement import deleted_topics
from headrace.controller.agent.orders import Orders
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.agent.producer_id_file import ProducerIdFile
from headrace.controller.agent.producer_ids import ProducerIds
from headrace.controller.agent.registration import Unregistered
from headrace.controller.agent.topic_configs import last_number, number_of, purge
from headrace.controller.agent.view_publisher import ViewPublisher
from headrace.controller.cluster import events, past_states
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.cluster.topic import UNCLEAN
from headrace.controller.cluster.view_room import ViewRoom
from headrace.controller.zookeeper import features, notifications, znodes
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode, Registration
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import READS_IN_FLIGHT_MAX
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
        self.is_stirred = False  # there may be something to settle
        self._loaded_version = -1
        self._needs_load = False
        self._load_task: Task[None] | None = None
        self._load_due_ms = 0
        self._now_ms = now_ms  # the date
        self.monotonic_ms = monotonic_ms or now_ms  # for deadlines
        self._seat = seat
        self._reader = ClusterReader(zk, tasks, self.known)
        self.orders = Orders(
            self.known, self._reader, self.rows, tasks, self.note, self._is_readable, lambda: self._marked
        )
        self._publisher = ViewPublisher(self.known, self.room, seat.view_writer)
        self._marked: frozenset[str] = frozenset()  # names in /admin/delete_topics when they were read last
        self._last_change = -1  # number of the last entry in /config/changes that was followed
        self._departures = Departures(self.known, self.rows)
        self._states_watched: set[str] = set()  # topics of which a missing state is watched
        self._complaint = GrowingInterval()  # of what ZooKeeper has and we can't follow
        follow = {
            znodes.CONTROLLER: self._follow_controller,
            znodes.BROKER_IDS: self._follow_brokers,
            znodes.CONFIG_CHANGES: self._follow_configs,
        }
        self._areas = {path: Area(procedure, self._followed) for path, procedure in follow.items()}
        self._areas[znodes.TOPICS] = Area(self._follow_topics, self._followed, paces=True)
        self._nodes = self._areas[""] = Area(self._follow_nodes, self._followed, paces=True)  # of topics

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
        if not known.adopt(names, found, marked, self._marked, as_of):
            self.note([znodes.TOPICS])
        self._marked, self._last_change = marked, last_change
        self._departures.note_marks(marked, as_of)
        self._loaded_version = epoch_version
        self._states_watched.clear()
        known.is_missing_new = True
        self.is_loaded, self._needs_load = True, False
        self.is_stirred = True
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
        return [area for area in self._areas.values() if area.is_waiting(area is self._nodes and self._has_new())]

    def _has_new(self) -> bool:
        """Whether nodes of topics are to be watched that are not."""
        known = self.known
        return bool(known.unwatched) or (known.is_missing_new and not self.election.is_active)

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
        unmarked = self._marked - marked  # what has such a name now is another topic, unless deletion is off
        new = [
            name
            for name in names
            if (name not in known.topics or name in unmarked or known.is_going(known.topics[name]))
            and self._is_readable(name)
        ]
        found = await self._reader.read_topics(new)
        marked = self._without_newer(marked, as_of)
        if not known.adopt(names, found, marked, self._marked, as_of):
            self.note([znodes.TOPICS])
        self._marked = marked
        self._departures.hold_back(marked)
        self._departures.note_marks(marked, as_of)
        self.is_stirred = True
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

    async def _follow_nodes(self, paths: list[str]) -> None:
        """Read topics again whose nodes changed, and watch those that we made ourselves."""
        names = dict.fromkeys(path.removeprefix(f"{znodes.TOPICS}/").partition("/")[0] for path in paths)
        self._states_watched -= names.keys()
        self.known.is_missing_new = self.known.is_missing_new or bool(names.keys() & self.known.missing.keys())
        own = [name for name in self.known.unwatched if name not in names][:READS_IN_FLIGHT_MAX]
        changed = await self._read_assignments([*names, *own])
        topics = [
            self.known.topics[name] for name in (*names, *changed) if name in self.known.topics and self._is_free(name)
        ]
        topics += [topic for topic in await self._watch_missing() if topic not in topics]
        if topics:
            await self._reader.load_states(list(dict.fromkeys(topics)))
            self.tell(events.TopicsRead(tuple(topic.name for topic in topics)))

    async def _read_assignments(self, names: list[str]) -> list[str]:
        """Read topics' nodes, and watch them: partitions may have been added. Returns those that say something else."""
        known = self.known
        asked = [(topic, topic.revision) for name in names if (topic := known.topics.get(name)) is not None]
        nodes = await self.zk.get_many([znodes.topic_path(topic.name) for topic, _revision in asked], watch=True)
        changed, others = [], []
        for (topic, revision), node in zip(asked, nodes, strict=True):
            if not known.is_current(topic):
                continue
            topic.is_watched = node is not None
            known.unwatched.pop(topic.name, None)
            if node is None or not self._is_free(topic.name):
                continue  # whoever reads the names follows that, or NameReleased comes
            if topic.revision != revision:
                self.note([znodes.topic_path(topic.name)])
            elif node.data != znodes.encode_topic(topic.assignment):
                if self._reader.take_assignment(topic, node):
                    changed.append(topic.name)
                else:
                    others.append(topic.name)
        if others:
            as_of = known.additions
            found = await self._reader.read_topics(others)
            if not known.adopt(known.topics.keys(), found, frozenset(), self._marked, as_of):
                self.note([znodes.TOPICS])
            changed += others
        return changed

    async def _watch_missing(self) -> list[Topic]:
        """A follower hears of a new topic before the active controller has written its states. Returns those that are there."""
        come: list[Topic] = []
        if self.election.is_active:
            return come
        self.known.is_missing_new = False
        for name in [name for name in self.known.missing if name not in self._states_watched]:
            topic = self.known.topics.get(name)
            index = topic.missing[-1] if topic is not None and topic.missing else None
            if topic is None or index is None:
                continue
            self._states_watched.add(name)
            if await self.zk.get(znodes.state_path(name, index), watch=True) is not None:
                come.append(topic)
        return [topic for topic in dict.fromkeys(come) if self.known.is_current(topic)]

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

    def _is_readable(self, name: str) -> bool:
        """Whether what ZooKeeper has of a topic may be taken in by itself."""
        return self._is_free(name) and name not in self._departures

    def _is_free(self, name: str) -> bool:
        return name not in self.known.reserved

    # The view

    def publish(self) -> bool:
        """Publish the view, where it says something new, and wake everyone; nothing, while not everything is known."""
        if not self.is_loaded:
            return False
        is_new = self._publisher.publish(self.monotonic_ms())
        counters = self._seat.counters
        counters.add(TOPICS_RELEASED, self.known.releases - counters.get(TOPICS_RELEASED))
        if is_new:
            self.is_stirred = True
            for process_id in range(self._seat.wiring.process_count):
                if process_id != self._seat.process_id:
                    self._seat.ring(process_id)
        return is_new

    # Deletions, the part of this node

    @property
    def has_deletions(self) -> bool:
        return self._departures.is_any

    def settle(self) -> int:
        """Free what everybody here has let go of, and tell which deletions may go on; returns how many did.

        Of many topics some are checked in each call; `is_stirred` tells that there are more.
        """
        if not self.has_deletions:
            self.is_stirred = False
            return 0
        ready, freed, self.is_stirred = self._departures.settle(self._seat.followed_by_all(), self._marked)
        for name in ready:
            self.tell(events.ReplicasSettled(name))
        return len(ready) + freed

    # What the active controller of this node did

    def apply(self, event: events.ToAgent) -> None:
        """Take an event's facts into the known cluster."""
        _APPLY[type(event)](self, event)

    def _name_reserved(self, event: events.NameReserved) -> None:
        self.known.reserved[event.name] = None
        self.known.names.add(event.name)

    def _name_released(self, event: events.NameReleased) -> None:
        known, name = self.known, event.name
        known.reserved.pop(name, None)
        if name not in known.topics:
            known.names.discard(name)
            self.room.release(name)
        if not event.is_known:
            self.note([znodes.TOPICS, znodes.topic_path(name)])

    def _topic_written(self, event: events.TopicWritten) -> None:
        known = self.known
        now = known.topics.get(event.name)
        if now is None:
            known.add(Topic(event.name, *event[1:4], list(event.states), others=event.others))
        elif now.topic_id == event.topic_id:  # everything was read meanwhile
            now.revision += 1
            known.set_states(now, {index: event.states[index] for index in now.missing if index < len(event.states)})
        else:
            self.note([znodes.TOPICS, znodes.topic_path(event.name)])

    def _replicas_assigned(self, event: events.ReplicasAssigned) -> None:
        topic = self._topic(event.name, event.topic_id)
        if topic is not None and len(event.replicas) >= len(topic.states):
            topic.adding, topic.removing = event.adding, event.removing
            if event.others is not None:
                topic.others = event.others
            topic.revision += 1
            self.known.grow(topic, event.replicas, event.states)

    def _states_written(self, event: events.StatesWritten) -> None:
        topic = self._topic(event.name, event.topic_id)
        if topic is not None:
            topic.revision += 1
            self.known.set_states(topic, event.states)

    def _states_stale(self, event: events.StatesStale) -> None:
        self.note([znodes.topic_path(name) for name in event.names])
        self._nodes.due_ms = max(self._nodes.due_ms, self.monotonic_ms() + STALE_PAUSE_MS)

    def _topic_ids_given(self, event: events.TopicIdsGiven) -> None:
        for name, topic_id in event.ids.items():
            self.known.give_id(name, topic_id)

    def _topic_leaving(self, event: events.TopicLeaving) -> None:
        self._departures.begin(event.name)
        self.is_stirred = True

    def _topic_removed(self, event: events.TopicRemoved) -> None:
        self._departures.end(event.name)
        self._marked -= {event.name}
        self.is_stirred = True

    def _stepped_down(self, _event: events.SteppedDown) -> None:
        self.election.step_down()
        self.note([znodes.CONTROLLER])  # who it is now; us, where a reply was lost
        self._resign()

    def _leaders_told(self, event: events.LeadersTold) -> None:
        self.note_controller(event.controller_epoch)
        if event.deleted:
            self._departures.note_said(event.deleted)
            self.note([znodes.DELETE_TOPICS])
        self.orders.take_leaders(event)
        self.is_stirred = True

    def _replicas_stopped(self, event: events.ReplicasStopped) -> None:
        self.note_controller(event.controller_epoch)
        self._delete_marked(deleted_topics(event.replicas))
        self.orders.take_stops(event)
        self.is_stirred = True

    def _delete_marked(self, names: Set[str]) -> None:
        """The active controller deletes these topics, and whoever was told has seen their marks."""
        self._marked |= names
        for name in filter(self.known.has, names):
            self.known.mark_for_deletion(name)
            self._departures.hold(name)

    def _topic(self, name: str, topic_id: str) -> Topic | None:
        """The topic that an event is about, unless it has gone."""
        topic = self.known.topics.get(name)
        return topic if topic is not None and topic.topic_id == topic_id else None


_APPLY: dict[type, Callable[[Agent, Any], None]] = {
    events.NameReserved: Agent._name_reserved,
    events.NameReleased: Agent._name_released,
    events.TopicWritten: Agent._topic_written,
    events.ReplicasAssigned: Agent._replicas_assigned,
    events.StatesWritten: Agent._states_written,
    events.StatesStale: Agent._states_stale,
    events.TopicIdsGiven: Agent._topic_ids_given,
    events.TopicLeaving: Agent._topic_leaving,
    events.TopicRemoved: Agent._topic_removed,
    events.SteppedDown: Agent._stepped_down,
    events.LeadersTold: Agent._leaders_told,
    events.ReplicasStopped: Agent._replicas_stopped,
}
