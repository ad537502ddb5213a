"""Logs without other replicas that were opened short: they lead on in another leader epoch.

Offsets are given again from where such a log ends. A reader that has read the old records notices by the epoch (KIP-320). After a
start that follows a crash of the machine `holds.py` begins one for each. Here are those of any other opening: an owner was killed or
ran out of room, and the disk had damaged what it had published. No owner is answered before the epoch is known here, so no record is
appended in the old one.

Runs in: the controller process of every node.
"""

from __future__ import annotations

from headrace.controller.agent.held_comparison import read_held_states
from headrace.controller.agent.new_life import begin_epochs
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.tasks import Tasks
from headrace.ids import NO_EPOCH

Place = tuple[str, int]  # topic and partition


class ShortLogs:
    """Those of one node whose epoch is not begun yet."""

    def __init__(self, known: KnownCluster, zk: ZkSession, tasks: Tasks) -> None:
        self._known = known
        self._zk = zk
        self._tasks = tasks
        self._epochs: dict[Place, int] = {}  # the leader epoch that was known when the log was reported

    def __bool__(self) -> bool:
        return bool(self._epochs)

    @property
    def topics(self) -> set[str]:
        """Whose owners are not answered yet."""
        return {name for name, _index in self._epochs}

    def report(self, place: Place) -> None:
        """An owner has opened it. What is reported again waits for the same epoch."""
        self._epochs.setdefault(place, self._epoch_led(place))

    async def settle(self) -> None:
        """Begin their epochs. What ZooKeeper refuses is left for the next check. raises ZkError"""
        self._forget_settled()
        if not self._epochs:
            return
        places = list(self._epochs)
        await begin_epochs(self._zk, self._tasks, self._known.node_id, places)
        await read_held_states(self._zk, self._known, places)
        self._forget_settled()

    def _forget_settled(self) -> None:
        """An epoch after the one that was known, or no leader here: whoever leads next begins one."""
        for place, epoch in list(self._epochs.items()):
            led = self._epoch_led(place)
            if led == NO_EPOCH or led > epoch:
                del self._epochs[place]

    def _epoch_led(self, place: Place) -> int:
        """The leader epoch in which this node leads; NO_EPOCH: it does not."""
        topic = self._known.topics.get(place[0])
        state = topic.states[place[1]] if topic is not None and place[1] < len(topic.states) else None
        return NO_EPOCH if state is None or state.leader != self._known.node_id else state.leader_epoch
