"""What the active controller did, taken into the known cluster: events of this node's own, and requests of another node's.

Runs in: the controller process of every node, when one of them comes (`Agent.apply`). An event about a topic that has gone, or that is
another one by now, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from typing import Any

from headrace.controller.agent.departures import Departures
from headrace.controller.agent.election import Election
from headrace.controller.agent.judgement import deleted_topics
from headrace.controller.agent.orders import Orders
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.cluster.view_room import ViewRoom
from headrace.controller.zookeeper import znodes


class ActiveEvents:
    """The events of one agent.

    note              says that these nodes of ZooKeeper are to be read again
    note_controller   says that there is a controller of this epoch
    resign            nothing is written for the cluster any more
    read_later        has the states of these topics read again, after a pause
    """

    def __init__(
        self,
        known: KnownCluster,
        room: ViewRoom,
        departures: Departures,
        orders: Orders,
        election: Election,
        *,
        note: Callable[[list[str]], None],
        note_controller: Callable[[int], None],
        resign: Callable[[], None],
        read_later: Callable[[Collection[str]], None],
    ) -> None:
        self._known = known
        self._room = room
        self._departures = departures
        self._orders = orders
        self._election = election
        self._note = note
        self._note_controller = note_controller
        self._resign = resign
        self._read_later = read_later

    def apply(self, event: events.ToAgent) -> None:
        """Take an event's facts into the known cluster."""
        _APPLY[type(event)](self, event)

    def _name_reserved(self, event: events.NameReserved) -> None:
        self._known.reserved[event.name] = None
        self._known.names.add(event.name)

    def _name_released(self, event: events.NameReleased) -> None:
        known, name = self._known, event.name
        known.reserved.pop(name, None)
        if name not in known.topics:
            known.names.discard(name)
            self._room.release(name)
        if not event.is_known:
            self._note([znodes.TOPICS, znodes.topic_path(name)])

    def _topic_written(self, event: events.TopicWritten) -> None:
        known = self._known
        now = known.topics.get(event.name)
        if now is None:
            known.add(Topic(event.name, *event[1:4], list(event.states), others=event.others))
        elif now.topic_id == event.topic_id:  # everything was read meanwhile
            now.revision += 1
            known.set_states(now, {index: event.states[index] for index in now.missing if index < len(event.states)})
        else:
            self._note([znodes.TOPICS, znodes.topic_path(event.name)])

    def _replicas_assigned(self, event: events.ReplicasAssigned) -> None:
        topic = self._topic(event.name, event.topic_id)
        if topic is not None and len(event.replicas) >= len(topic.states):
            topic.adding, topic.removing = event.adding, event.removing
            if event.others is not None:
                topic.others = event.others
            topic.revision += 1
            self._known.grow(topic, event.replicas, event.states)

    def _states_written(self, event: events.StatesWritten) -> None:
        topic = self._topic(event.name, event.topic_id)
        if topic is not None:
            topic.revision += 1
            self._known.set_states(topic, event.states)

    def _states_stale(self, event: events.StatesStale) -> None:
        self._read_later(event.names)

    def _topic_ids_given(self, event: events.TopicIdsGiven) -> None:
        for name, topic_id in event.ids.items():
            self._known.give_id(name, topic_id)

    def _topic_leaving(self, event: events.TopicLeaving) -> None:
        self._departures.begin(event.name)
        self._departures.is_stirred = True

    def _topic_removed(self, event: events.TopicRemoved) -> None:
        self._departures.end(event.name)
        self._departures.marked -= {event.name}
        self._departures.is_stirred = True
        self._note([znodes.TOPICS])  # another topic may have the name: it was not read before

    def _stepped_down(self, _event: events.SteppedDown) -> None:
        self._election.step_down()
        self._note([znodes.CONTROLLER])  # who it is now; us, where a reply was lost
        self._resign()

    def _leaders_told(self, event: events.LeadersTold) -> None:
        self._note_controller(event.controller_epoch)
        if event.deleted:
            self._departures.note_said(event.deleted)
            self._note([znodes.DELETE_TOPICS])
        self._orders.take_leaders(event)
        self._departures.is_stirred = True

    def _replicas_stopped(self, event: events.ReplicasStopped) -> None:
        self._note_controller(event.controller_epoch)
        self._delete_marked(deleted_topics(event.replicas))
        self._orders.take_stops(event)
        self._departures.is_stirred = True

    def _delete_marked(self, names: Set[str]) -> None:
        """The active controller deletes these topics, and whoever was told has seen their marks."""
        self._departures.marked |= names
        for name in filter(self._known.has, names):
            self._known.mark_for_deletion(name)
            self._departures.hold(name)

    def _topic(self, name: str, topic_id: str) -> Topic | None:
        """The topic that an event is about, unless it has gone."""
        topic = self._known.topics.get(name)
        return topic if topic is not None and topic.topic_id == topic_id else None


_APPLY: dict[type, Callable[[ActiveEvents, Any], None]] = {
    events.NameReserved: ActiveEvents._name_reserved,
    events.NameReleased: ActiveEvents._name_released,
    events.TopicWritten: ActiveEvents._topic_written,
    events.ReplicasAssigned: ActiveEvents._replicas_assigned,
    events.StatesWritten: ActiveEvents._states_written,
    events.StatesStale: ActiveEvents._states_stale,
    events.TopicIdsGiven: ActiveEvents._topic_ids_given,
    events.TopicLeaving: ActiveEvents._topic_leaving,
    events.TopicRemoved: ActiveEvents._topic_removed,
    events.SteppedDown: ActiveEvents._stepped_down,
    events.LeadersTold: ActiveEvents._leaders_told,
    events.ReplicasStopped: ActiveEvents._replicas_stopped,
}
