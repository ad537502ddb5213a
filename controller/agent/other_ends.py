"""Where the other logs of held replicas end, as far as they are the logs that those replicas had.

Runs in: the controller process of the node that holds (`holds.py`). A broker answers for an empty log as for any. But where a log
is missing there, an empty one is in its place: its end says nothing of what was lost, or is on a disk that comes back. Such a hold
is stored before the empty log is made. So what is held is read after the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.cluster.known_cluster import KnownCluster, is_another
from headrace.controller.zookeeper.held_reader import read_held_by
from headrace.controller.zookeeper.session import ZkSession

Place = tuple[str, int]  # topic and partition
Ends = Mapping[int, Mapping[Place, LogEnd]]  # by broker; what is not known is left out
AskEnds = Callable[[Mapping[int, Collection[Place]]], Coroutine[Any, None, Ends]]


async def read_other_ends(
    zk: ZkSession, known: KnownCluster, ask: AskEnds, asked: Mapping[Place, tuple[int, ...]]
) -> Ends:
    """What the live ones of these brokers say of each partition. raises ZkError

    asked   the brokers that have the other replicas
    """
    wanted: dict[int, list[Place]] = {}
    for place, brokers in asked.items():
        for broker in brokers:
            if broker in known.brokers:
                wanted.setdefault(broker, []).append(place)
    found = await ask(wanted)
    if not any(found.values()):
        return found
    await zk.sync()
    believed = {broker: dict(ends) for broker, ends in found.items()}
    for broker, ends in believed.items():
        for place, one in (await read_held_by(zk, broker)).items() if ends else ():
            topic = known.topics.get(place[0])
            if one.is_missing and topic is not None and not is_another(one.topic_id, topic.topic_id):
                ends.pop(place, None)
    return believed
