"""Logs without other replicas that were opened short: they lead on in another leader epoch.

Offsets are given again from where such a log ends. A reader that has read the old records notices by the epoch (KIP-320). After a
start that follows a crash of the machine `holds.py` begins one for each. Here are those of any other opening: an owner was killed or
ran out of room, and the disk had damaged what it had published. No owner is answered before the epoch is known here, so no record is
appended in the old one.

A state in ZooKeeper that is not there, or can't be read, leaves out its partition alone: an ERROR names it, and the owner is answered
for all logs of its request. The election that follows when the state is mended begins an epoch.

Runs in: the controller process of every node.
"""

from __future__ import annotations

import logging

from headrace.controller.agent.held_comparison import read_held_states
from headrace.controller.agent.new_life import begin_epochs
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.ids import NO_EPOCH
from headrace.limits import READS_IN_FLIGHT_MAX
from headrace.runtime.tasks import Tasks

_log = logging.getLogger(__name__)

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
        if self._epochs:
            await self._forget_unreadable()

    async def _forget_unreadable(self) -> None:
        """No epoch can be begun where there is no state to be read. raises ZkError"""
        places = list(self._epochs)
        for first in range(0, len(places), READS_IN_FLIGHT_MAX):
            part = places[first : first + READS_IN_FLIGHT_MAX]
            paths = [znodes.state_path(*place) for place in part]
            for place, path, node in zip(part, paths, await self._zk.get_many(paths), strict=True):
                try:
                    if node is not None:
                        znodes.decode_state(path, node.data, node.version)
                        continue
                    reason = f"{path}: not found"
                except BadZnode as failure:
                    reason = str(failure)
                _log.error(
                    "leader epoch not started for a log that lost its end, readers may not notice that lost records"
                    " were replaced partition=%s-%d leader_epoch=%d reason=%s", *place, self._epochs.pop(place, NO_EPOCH), reason,
                )  # fmt: skip

    def _forget_settled(self) -> None:
        """An epoch after the one that was known, or no leader here: the next leader begins one."""
        for place, epoch in list(self._epochs.items()):
            led = self._epoch_led(place)
            if led == NO_EPOCH or led > epoch:
                del self._epochs[place]

    def _epoch_led(self, place: Place) -> int:
        """The leader epoch in which this node leads; NO_EPOCH: it does not."""
        topic = self._known.topics.get(place[0])
        state = topic.states[place[1]] if topic is not None and place[1] < len(topic.states) else None
        return NO_EPOCH if state is None or state.leader != self._known.node_id else state.leader_epoch
