"""The cluster as this controller process knows it: plain data, and the rules by which topics enter and leave it.

Runs in: the controller process. The agent changes it, the active controller reads it. What changed is noted here, by topic and
partition, so that a view costs what changed, whoever changed it and however many topics there are.

What is absent in ZooKeeper is unknown, not deleted. A topic of the last view leaves it

    with a mark in /admin/delete_topics     its files are renamed, its committed offsets forgotten
    without one                             released: its logs are closed, its files and offsets stay
    another one has taken its name          released, its offsets forgotten; a replica of the new one puts the files aside

A topic is not in the view while `deleted` names one of its name: everybody here has to act on that first. Nor is one that was marked
before this node knew it (`held_back`): its files may be gone already, and nobody would remove those that are made again.

A state is believed where it is newer than what is known (`is_older`), by whatever way it came: read in ZooKeeper, or told by the
active controller. Where this node is the active one, what it reads counts, for it writes on top of that.
A replica that the controller stops, to delete it, leaves by itself: its topic stays (`stop`). One that is stopped and kept follows
nobody until a LeaderAndIsr names it again (`halt`), whatever leaders and epochs are read or told meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Set

from headrace.controller.cluster.events import ToldPartition
from headrace.controller.cluster.released_topics import report_released
from headrace.controller.cluster.slots import NO_SLOT, Slots
from headrace.controller.cluster.topic import Replicas, is_older, topic_of, with_moves
from headrace.controller.cluster.topic import Topic as Topic
from headrace.controller.cluster.topic import is_another as is_another
from headrace.controller.cluster.topic_names import TopicNames
from headrace.controller.cluster.unwanted_replicas import unwanted_of
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState, Registration
from headrace.ids import NO_EPOCH, partition_key
from headrace.limits import RELEASED_TOPICS_MAX
from headrace.shm.cluster_view import ClusterView, DeletedTopic, DoomedReplica

_log = logging.getLogger(__name__)


class KnownCluster:
    """Brokers, topics, controller; and this node's slots. A restarted process begins with its predecessor's view.

    missing    topics that have partitions without a state; is_missing_new: whether one came since somebody looked at them
    unwatched  topics whose nodes are to be watched: we made them ourselves
    reserved   names that are being written in several steps
    deleted    topics that everybody here has to forget -> the version of the view that says so first, 0: none does yet
    leaving    replicas of this node whose files are to go, by topic: a deleted one, or one that loses them alone
    held_back  topics that are marked for deletion since before this boot of the node, and not told to be served since
    released   topics of earlier views that ZooKeeper does not have and nobody deleted; releases: how many there have been

    changed    topics that the view says otherwise -> their partitions that changed, None: all of it
    added      the same, of topics that are new: they may wait for one another; is_head_changed, is_leaving_changed: something else did
    is_authority   we are the active controller: what ZooKeeper says counts, older or not
    held       replicas of this node that may have lost what they acknowledged (decision 013), or are ahead of their states (015);
               unread_holds: topics of which that is not known, for its znode can't be read
    """

    def __init__(self, node_id: int, view: ClusterView, partitions_max: int) -> None:
        self.node_id = node_id
        self.cluster_id = view.cluster_id
        self.controller_id = view.controller_id
        self.brokers = {broker_id: Registration(*broker) for broker_id, broker in view.brokers.items()}
        self.topics: dict[str, Topic] = {}
        self.cluster_settings = view.cluster_settings  # of all brokers, changed while they run
        self.node_settings = view.node_settings  # of this one
        self.slots = Slots(partitions_max)
        self.names = TopicNames()
        self._by_id: dict[str, str] = {}  # topic id -> name
        self.missing: dict[str, None] = {}
        self.is_missing_new = False
        self.unwatched: dict[str, None] = {}
        self.reserved: dict[str, None] = {}
        self.leaving: dict[str, dict[DoomedReplica, None]] = {}
        self.deleted: dict[DeletedTopic, int] = dict.fromkeys(view.deleted, view.version)
        self.held_back: frozenset[str] = frozenset()
        self.released: dict[str, Topic] = {}
        self.releases = 0
        self.changed: dict[str, set[int] | None] = {}
        self.added: dict[str, None] = {}
        self.is_head_changed = False
        self.is_leaving_changed = False
        self.is_authority = False
        self.held: dict[tuple[str, int], HeldReplica] = {}
        self.unread_holds: set[str] = set()
        self.unstored_holds: set[str] = set()  # topics of which ZooKeeper says something else yet
        self.additions = 0
        # Deleted topics -> what `additions` was then: what was read before is of the old one
        self._gone: dict[str, int] = {}
        self._closing: dict[str, tuple[list[int], int]] = {}  # topic -> partitions that are let go of, version
        self._topics_of: dict[int, set[str]] = {}  # broker -> topics that have a replica on it
        self._restore(view)

    # Looking

    @property
    def is_waiting(self) -> bool:
        """Whether there is something that all workers have yet to act on."""
        return bool(self.deleted or self.leaving or self._closing)

    def live(self) -> list[int]:
        """Ids of live brokers, in order."""
        return sorted(self.brokers)

    def racks(self) -> dict[int, str | None]:
        """Of live brokers."""
        return {broker: registration.rack for broker, registration in self.brokers.items()}

    @property
    def broker_epoch(self) -> int:
        """Of this node's registration; NO_EPOCH, while it is not known."""
        own = self.brokers.get(self.node_id)
        return own.epoch if own is not None else NO_EPOCH

    def has(self, name: str) -> bool:
        """Whether we know a topic of this name, served or released."""
        return name in self.topics or name in self.released

    def name_of(self, topic_id: str) -> str | None:
        """The topic of an id, 32 hex digits; None where we know none."""
        name = self._by_id.get(topic_id)
        topic = self.topics.get(name) if name is not None else None
        return name if topic is not None and topic.topic_id == topic_id else None

    def is_going(self, topic: Topic) -> bool:
        """Whether a topic was deleted, and ZooKeeper had it still when it was read: it is in no view."""
        return DeletedTopic(topic.name, topic.topic_id) in self.deleted

    def is_told(self, name: str) -> bool:
        """Whether the view has all that is known of a topic."""
        return name not in self.changed and name not in self.added

    def topics_on(self, brokers: Iterable[int]) -> list[str]:
        """Topics that have a replica on one of them."""
        return sorted({name for broker in brokers for name in self._topics_of.get(broker, ())})

    def hosts(self, topic: Topic, index: int) -> bool:
        """Whether this node is to have a replica of a partition: assigned, with a state, and no other one is to go first."""
        if self.node_id not in topic.replicas[index] or topic.states[index] is None or index in topic.stopped:
            return False
        held = self.leaving.get(topic.name)
        return not held or self._doomed(topic, index) not in held

    def is_held(self, topic: Topic, index: int) -> bool:
        """Whether the replica here is held back, whatever its state says: while that has it in sync, or is behind it (decision 015)."""
        held = self.held.get((topic.name, index)) if self.held else None
        if held is None or held.is_sole or is_another(held.topic_id, topic.topic_id):
            return False
        state = topic.states[index] if index < len(topic.states) else None
        return held.is_ahead or state is None or self.node_id in state.isr

    def note_held(self, name: str, index: int) -> None:
        """It is held now, or no longer: the view is to say so."""
        if name in self.topics and index < len(self.topics[name].states):  # another of that name may have fewer
            self._note(name, {index})

    def is_current(self, topic: Topic) -> bool:
        """Whether this is the topic that we know; else whoever holds it looked away for too long."""
        return self.topics.get(topic.name) is topic

    # Head

    def set_controller(self, controller_id: int) -> None:
        if controller_id != self.controller_id:
            self.controller_id = controller_id
            self.is_head_changed = True

    def set_cluster_id(self, cluster_id: str) -> None:
        if cluster_id != self.cluster_id:
            self.cluster_id = cluster_id
            self.is_head_changed = True

    def set_settings(self, of_cluster: dict[str, str], of_node: dict[str, str]) -> None:
        if (of_cluster, of_node) != (self.cluster_settings, self.node_settings):
            self.cluster_settings, self.node_settings = of_cluster, of_node
            self.is_head_changed = True

    def set_brokers(self, brokers: dict[int, Registration]) -> frozenset[int]:
        """returns   those that came or went, or both: they have another epoch"""
        before = self.brokers
        moved = frozenset(brokers.keys() ^ before.keys()) | {
            node_id
            for node_id, broker in brokers.items()
            if node_id in before
            and NO_EPOCH not in (broker.epoch, before[node_id].epoch)
            and broker.epoch != before[node_id].epoch
        }
        self.is_head_changed = self.is_head_changed or brokers != self.brokers
        self.brokers = brokers
        for name in self.topics_on(moved):
            self.changed[name] = None
            topic = self.topics.get(name)
            if topic is not None and topic.offline:  # as told before they were away
                topic.offline = {index: ids for index, ids in topic.offline.items() if moved.isdisjoint(ids)}
        return moved

    # Topics

    def add(self, topic: Topic) -> None:
        """A topic that is new to us, or one that comes back."""
        known = self.released.pop(topic.name, None)
        if known is not None:
            self.is_leaving_changed = True
            if is_another(known.topic_id, topic.topic_id):
                self._say_deleted(DeletedTopic(topic.name, known.topic_id))
            else:
                _log.warning("released topic is back topic=%s topic_id=%s", topic.name, topic.topic_id)
                self._closing.pop(topic.name, None)
        before = self.topics.get(topic.name)
        if before is not None:
            self._leave_index(before)
            if not is_another(before.topic_id, topic.topic_id):
                self._carry_over(before, topic)
        self.topics[topic.name] = topic
        self.names.add(topic.name)
        if topic.topic_id:
            self._by_id[topic.topic_id] = topic.name
        self.additions += 1
        topic.added = self.additions
        for broker in topic.brokers():
            self._topics_of.setdefault(broker, set()).add(topic.name)
        self._note_states(topic)
        if not topic.is_watched:
            self.unwatched[topic.name] = None
        if before is None and known is None:
            self.added[topic.name] = None
        else:
            self.changed[topic.name] = None
            self._follow_hosting(topic, range(len(topic.replicas)))

    def replicas_here(self, names: Iterable[str]) -> list[tuple[Topic, int]]:
        """This node's replicas of topics, as far as these are known: topic and partition."""
        found = [self.topics[name] for name in names if name in self.topics]
        return [(topic, index) for topic in found for index, row in enumerate(topic.replicas) if self.node_id in row]

    def give_id(self, name: str, topic_id: str) -> None:
        """A topic from before ids has one now: its logs are opened under it."""
        now = self.topics.get(name)
        if now is None or now.topic_id:
            return
        topic = Topic(name, topic_id, now.replicas, now.configs, list(now.states), now.adding, now.removing, now.others)
        self.add(topic)
        topic.revision += 1

    def grow(self, topic: Topic, replicas: Replicas, states: Mapping[int, PartitionState]) -> None:
        """A topic has more partitions, or others hold its replicas; states that are not told are missing."""
        self._leave_index(topic)
        topic.states.extend([None] * (len(replicas) - len(topic.states)))
        topic.replicas = replicas
        for index, state in states.items():
            topic.states[index] = state
        for broker in topic.brokers():
            self._topics_of.setdefault(broker, set()).add(topic.name)
        self._note_states(topic)
        self._follow_hosting(topic, range(len(replicas)))
        self.changed[topic.name] = None

    def set_states(self, topic: Topic, states: Mapping[int, PartitionState | None]) -> None:
        """What partitions' nodes say now; None: the node is not there. What is older than what is known changes nothing.

        A node that is not there is unknown, too, where this one is not active. That ZooKeeper was put back `past_states.py` finds.
        """
        moved = set()
        for index in topic.known_of(states):
            state, known = states[index], topic.states[index]
            if known is not None and (not self.is_authority if state is None else is_older(state, known)):
                continue
            if state is None and known is not None:
                topic.past[index] = known
            if known is None or state is None or state[:3] != known[:3]:
                moved.add(index)
            topic.states[index] = state
        if moved:
            self._note_states(topic)
            self._note(topic.name, moved)

    def tell(self, topic: Topic, partitions: Mapping[int, ToldPartition], has_roles: bool) -> None:
        """Take what the active controller told of partitions that are known; what is older than what is known changes nothing.

        has_roles   a LeaderAndIsr: replicas here take their roles, those that were deleted too; else an UpdateMetadata
        """
        moved = set()
        others: dict[int, tuple[int, ...]] = {}
        topic.revision += 1
        if has_roles and topic.name in self.held_back:
            self.hold_back(self.held_back - {topic.name})
        for index, told in partitions.items():
            state, known = told.state, topic.states[index]
            if has_roles:
                topic.told[index] = max(state.leader_epoch, topic.told.get(index, state.leader_epoch))
                if index in topic.stopped or index in topic.halted:
                    topic.stopped.discard(index)
                    topic.halted.discard(index)
                    moved.add(index)
            if known is not None and is_older(state, known):
                continue
            if known is None or state[:3] != known[:3]:
                moved.add(index)
            topic.states[index] = state
            if told.replicas != topic.replicas[index]:
                others[index] = told.replicas
            if not self.is_authority:  # which tells brokers the target alone once the ISR is that, and is not done yet
                topic.adding = with_moves(topic.adding, index, told.adding)
                topic.removing = with_moves(topic.removing, index, told.removing)
            if not has_roles and told.offline != topic.offline.get(index, ()):
                topic.offline[index] = told.offline
                moved.add(index)
        if others:
            self._assign(topic, others)
        if moved:
            self._note_states(topic)
            self._note(topic.name, moved)

    def stop(self, topic: Topic, index: int) -> DoomedReplica | None:
        """The replica here is to be deleted, its topic stays; None where no row is left to say so."""
        name = topic.name
        if self.slots.take(name, index) == NO_SLOT:
            return None
        replica = self._doomed(topic, index)
        topic.stopped.add(index)
        topic.told.pop(index, None)
        self.leaving.setdefault(name, {})[replica] = None
        self.is_leaving_changed = True
        self._follow_hosting(topic, (index,))
        self._note(name, {index})
        return replica

    def halt(self, topic: Topic, index: int) -> None:
        """The replica here is to follow nobody: its node goes, its directory failed, or its deletion comes next."""
        if index not in topic.halted:
            topic.halted.add(index)
            self._note(topic.name, {index})

    def hold_back(self, names: Set[str]) -> None:
        """Have these topics in no view."""
        self.changed.update(dict.fromkeys((self.held_back - names) | ((names - self.held_back) & self.topics.keys())))
        self.held_back = frozenset(names)

    def set_configs(self, topic: Topic, configs: dict[str, str]) -> None:
        if configs != topic.configs:
            topic.configs = configs
            if self.is_current(topic):
                self.changed[topic.name] = None

    def adopt(
        self,
        names: Iterable[str],
        found: dict[str, Topic],
        marked: Set[str],
        marked_before: Set[str],
        as_of: int,
    ) -> bool:
        """Make `found` our topics: the only place where topics leave.

        returns   False, where a topic was read before it was deleted: names are to be read again

        names           of all topics in ZooKeeper; of those, what is not in `found` stays as it was
        marked          names in /admin/delete_topics, read before `names`
        marked_before   the same at an earlier time
        as_of           `additions` before `names` was asked for: what was added since is newer than both
        """
        names = set(names)
        late = {name for name in found if self._gone.get(name, 0) > as_of}
        vanished = []
        for name, known in [(name, known) for name, known in self.topics.items() if name not in names]:
            if known.added > as_of or name in found:
                continue
            if name in marked or name in marked_before or self.is_going(known):
                self.mark_for_deletion(name)
            else:
                vanished.append(known)
        for name, topic in found.items():
            now = self.topics.get(name)
            if now is None or not is_another(now.topic_id, topic.topic_id) or now.added > as_of:
                continue
            if name in marked_before or self.is_going(now):
                self.mark_for_deletion(name)
            else:
                self._remove(now)
                self._let_go(now)
                self._say_deleted(DeletedTopic(name, now.topic_id))
                _log.error(
                    "topic name reused by another topic, files of the old one are kept as *-stray topic=%s topic_id=%s"
                    " now=%s",
                    name, now.topic_id, topic.topic_id,
                )  # fmt: skip
        self._release(vanished)
        for name, topic in found.items():
            now = self.topics.get(name)
            if name not in late if now is None else now.added <= as_of:
                self.add(topic)
        return self.topics.keys() >= late

    def mark_for_deletion(self, name: str) -> None:
        """Take a topic out of the view that is deleted: its replicas on this node are to go, and its committed offsets."""
        topic = self.topics.get(name)
        if topic is not None:
            self._remove(topic)
        else:
            topic = self.released.pop(name)
            self.names.discard(name)
        replicas = self.leaving.get(name, {})
        before = {replica.partition for replica in replicas}  # of one before: while it goes, this one was in no view
        unwanted = unwanted_of(topic.assignment)
        for index, row in enumerate(topic.replicas):
            if index in before or not (self.node_id in row or self.node_id in unwanted.get(index, ())):
                continue
            if self.slots.take(name, index) != NO_SLOT:
                replicas[self._doomed(topic, index)] = None
            else:
                _log.error(
                    "replica of a deleted topic not removed, headrace.partitions.max leaves no row for it partition=%s-%d"
                    " topic_id=%s", name, index, topic.topic_id,
                )  # fmt: skip
        if replicas:
            self.leaving[name] = replicas
        self.held_back -= {name}
        self.additions += 1
        self._gone.pop(name, None)
        self._gone[name] = self.additions
        if len(self._gone) > RELEASED_TOPICS_MAX:
            del self._gone[next(iter(self._gone))]
        held, _version = self._closing.pop(name, ([], 0))
        held = [index for index in held if self._doomed(topic, index) not in replicas]
        if held:  # let go of before: their files stay
            self._closing[name] = (held, 0)
        self._say_deleted(DeletedTopic(name, topic.topic_id))

    def forget(self, names: Iterable[str]) -> None:
        """Everybody has acted on the deletion of these topics: their slots and their names are free."""
        gone = set(names)
        for name in gone:
            for replica in self.leaving.pop(name, ()):
                self.slots.release(replica.topic, replica.partition)
            if name in self.topics:
                self.changed[name] = None  # it was held back
        self.deleted = {topic: version for topic, version in self.deleted.items() if topic.name not in gone}
        self.is_leaving_changed = True

    def forget_replicas(self, replicas: Iterable[DoomedReplica]) -> None:
        """These replicas are deleted, and their topics stay: their slots are free."""
        for replica in replicas:
            held = self.leaving[replica.topic]
            del held[replica]
            if not held:
                del self.leaving[replica.topic]
            self.slots.release(replica.topic, replica.partition)
            self._note(replica.topic, {replica.partition})  # there may be another one by now
            self.is_leaving_changed = True

    def free_released(self, followed: int, is_left: Callable[[str, int, int], bool]) -> None:
        """Slots of released replicas are free once every worker has followed the view without them: nobody writes the rows.

        is_left   whether a killed owner left the row (topic, partition, slot): no successor has opened the log since, and
                  nothing else says how far it is synced, so that the slot is kept for its return
        """
        for name, (partitions, version) in list(self._closing.items()):
            if 0 < version <= followed:
                del self._closing[name]
                self.is_leaving_changed = True
                for index in partitions:
                    if not is_left(name, index, self.slots.get(name, index)):
                        self.slots.release(name, index)

    def note_published(self, version: int) -> None:
        """A view said all that is deleted and released."""
        self.deleted = {topic: since or version for topic, since in self.deleted.items()}
        self._closing = {name: (held, since or version) for name, (held, since) in self._closing.items()}

    # Parts

    def _doomed(self, topic: Topic, index: int) -> DoomedReplica:
        name = topic.name
        return DoomedReplica(name, index, self.slots.get(name, index), partition_key(name, index, topic.topic_id))

    def _carry_over(self, before: Topic, topic: Topic) -> None:
        """A topic that was read again: what is newer than that stays."""
        topic.told, topic.stopped, topic.halted = before.told, before.stopped, before.halted
        topic.offline = before.offline
        if topic.topic_id != before.topic_id:  # it was given one: its logs are opened under it
            topic.told = {}
        for index, known in enumerate(before.states[: len(topic.states)]):
            state = topic.states[index]
            if known is not None and (not self.is_authority if state is None else is_older(state, known)):
                topic.states[index] = known
        topic.revision = before.revision

    def _assign(self, topic: Topic, others: Mapping[int, tuple[int, ...]]) -> None:
        """Other brokers have replicas of these partitions."""
        rows = list(topic.replicas)
        for index, replicas in others.items():
            rows[index] = replicas
            for broker in replicas:
                self._topics_of.setdefault(broker, set()).add(topic.name)
        topic.replicas = tuple(rows)
        self._follow_hosting(topic, others)
        if topic.name not in self.added:
            self.changed[topic.name] = None

    def _follow_hosting(self, topic: Topic, indexes: Iterable[int]) -> None:
        """Slots of partitions that other brokers have now are free once every worker has followed; their files stay."""
        name = topic.name
        held = set(self._closing.get(name, ((), 0))[0])
        parting = set(held)
        for index in indexes:
            if self.node_id in topic.replicas[index]:
                parting.discard(index)
            elif self.slots.get(name, index) != NO_SLOT and self._doomed(topic, index) not in self.leaving.get(
                name, ()
            ):
                parting.add(index)
        if parting != held:
            self._closing.pop(name, None)
            if parting:
                self._closing[name] = (sorted(parting), 0)
            self.is_leaving_changed = True

    def _note(self, name: str, indexes: set[int]) -> None:
        if name in self.added or name not in self.topics:
            return
        known = self.changed.setdefault(name, set())
        if known is not None:
            known.update(self.topics[name].known_of(indexes))

    def _note_states(self, topic: Topic) -> None:
        if any(state is None for state in topic.states):
            self.missing[topic.name] = None
            self.is_missing_new = True
        else:
            self.missing.pop(topic.name, None)

    def _leave_index(self, topic: Topic) -> None:
        """Those that had replicas once, too."""
        for broker, names in list(self._topics_of.items()):
            names.discard(topic.name)
            if not names:
                del self._topics_of[broker]

    def _remove(self, topic: Topic) -> None:
        name = topic.name
        del self.topics[name]
        self._by_id.pop(topic.topic_id, None)
        self.names.discard(name)
        self._leave_index(topic)
        self.missing.pop(name, None)
        self.unwatched.pop(name, None)
        self.added.pop(name, None)
        self.changed[name] = None

    def _say_deleted(self, topic: DeletedTopic) -> None:
        self.deleted.setdefault(topic, 0)
        self.changed[topic.name] = None
        self.is_leaving_changed = True

    def _release(self, topics: list[Topic]) -> None:
        report_released(topics, self.node_id)
        for topic in topics:
            self._remove(topic)
            self._let_go(topic)
            self.released[topic.name] = topic
        while len(self.released) > RELEASED_TOPICS_MAX:
            del self.released[next(iter(self.released))]

    def _let_go(self, topic: Topic) -> None:
        """Host a topic no longer; its files stay."""
        held = [index for index in range(len(topic.replicas)) if self.slots.get(topic.name, index) != NO_SLOT]
        self._closing[topic.name] = (held, 0)
        self.releases += 1
        self.is_leaving_changed = True

    def _restore(self, view: ClusterView) -> None:
        """A predecessor's knowledge and slots stand in its last view."""
        taken = {
            (topic.name, partition.index): partition.slot
            for topic in view.topics.values()
            for partition in topic.partitions
            if partition.slot != NO_SLOT
        }
        taken.update({(replica.topic, replica.partition): replica.slot for replica in view.doomed})
        for name, _topic_id, _replicas, slots in view.released:
            held = [index for index, slot in enumerate(slots) if slot != NO_SLOT]
            taken.update({(name, index): slots[index] for index in held})
            if held:
                self._closing[name] = (held, view.version)
        self.slots.restore(taken)
        for replica in view.doomed:
            self.leaving.setdefault(replica.topic, {})[replica] = None
        for name, topic_id, replicas, _slots in view.released:
            self.released[name] = Topic(name, topic_id, replicas, {}, [None] * len(replicas))
        for topic in view.topics.values():
            self.add(topic_of(topic))
        for replica in view.doomed:
            if replica.topic in self.topics:
                self.topics[replica.topic].stopped.add(replica.partition)
        self.changed, self.added = {}, {}
        self.unwatched.clear()  # everything is read before anything is followed
        self.is_head_changed = self.is_leaving_changed = False
