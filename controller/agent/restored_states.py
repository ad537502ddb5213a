"""Whether ZooKeeper was put back to an earlier state while the session was kept.

Runs in: the controller process, after an outage of ZooKeeper that ended with the session as it was. A server refuses a client that has seen
a later transaction than its own last one. But others write meanwhile, its transactions count on, and then it takes the client back with a
session that the backup has as well. What a synced server has is compared with what was known before: of no partition may it be older.

Source: none in Kafka; ZooKeeper `ZooKeeperServer.processConnectRequest`.
"""

from __future__ import annotations

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.cluster.topic import is_older
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.tasks import Tasks
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.limits import READS_IN_FLIGHT_MAX


async def has_past_states(zk: ZkSession, tasks: Tasks, known: KnownCluster) -> bool:
    """Whether a partition's state in ZooKeeper is older than the known one. raises ZkError"""
    await zk.sync()
    before = [
        (topic, index, state)
        for topic in list(known.topics.values())
        for index, state in enumerate(topic.states)
        if state is not None
    ]
    for first in range(0, len(before), READS_IN_FLIGHT_MAX):
        part = before[first : first + READS_IN_FLIGHT_MAX]
        paths = [znodes.state_path(topic.name, index) for topic, index, _state in part]
        for (topic, _index, state), path, node in zip(part, paths, await zk.get_many(paths), strict=True):
            if node is None or not known.is_current(topic):
                continue  # what is not there may have been deleted
            try:
                found = znodes.decode_state(path, node.data, node.version)
            except BadZnode:
                continue
            if is_older(found, state):
                return True
        await tasks.pause()
    return False
