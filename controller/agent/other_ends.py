"""Where the other logs of held replicas end, and have parted from ours, as far as they are the logs that those replicas had.

Runs in: the controller process of the node that holds (`holds.py`). A broker answers for an empty log as for any. But where a log is
missing there, an empty one is in its place. Its end says nothing of what was lost, or is on a disk that comes back. Such a hold is
stored before the empty log is made. So what is held is read after the answers, of brokers that are away, too: a conflict lasts. What a
broker holds and can't be read may be either: its log is not known, and it is for an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, NamedTuple

from headrace.controller.agent.hold_decision import OUT_OF_SERVICE, LogEnd
from headrace.controller.cluster.known_cluster import KnownCluster, is_another
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_reader import read_znodes, unread_in
from headrace.controller.zookeeper.held_znodes import UNREADABLE, HeldReplica
from headrace.controller.zookeeper.session import ZkSession

Place = tuple[str, int]  # topic and partition
Ends = Mapping[int, Mapping[Place, LogEnd]]  # by broker; what is not known is left out
Partings = Mapping[int, Mapping[Place, int]]  # in the same way
AskEnds = Callable[[Mapping[int, Collection[Place]]], Coroutine[Any, None, Ends]]
UNREAD = UNREADABLE._replace(is_conflict=True)  # only an operator knows what it was
AskPartings = Callable[[Mapping[int, Mapping[Place, int]]], Coroutine[Any, None, Partings]]


class Questions(NamedTuple):
    """How a node asks about logs.

    ends         asks brokers where theirs end
    partings     asks brokers up to where theirs are ours, of what we have before an offset
    mark         reads the high watermark of a replica here, -1: not known
    is_out       whether the log of a replica here is out of service
    is_open      whether the log of a replica here is in service; else its row says nothing of its mark, nor of its end
    """

    ends: AskEnds
    partings: AskPartings
    mark: Callable[[Place], int]
    is_out: Callable[[Place], bool] = lambda _place: False
    is_open: Callable[[Place], bool] = lambda _place: True


class OtherLogs(NamedTuple):
    """What was found.

    ends   of logs that count; by broker
    gone   replicas whose brokers say that their logs are missing, or out of service
    held   what the brokers hold of the partitions that were asked for
    """

    ends: Ends
    gone: Collection[tuple[int, Place]]
    held: Mapping[int, Mapping[Place, HeldReplica]]

    def end_of(self, broker: int, place: Place) -> LogEnd | None:
        return self.ends.get(broker, {}).get(place)

    def holding(self, place: Place, brokers: Collection[int], leader_epoch: int) -> dict[int, HeldReplica]:
        """Those of these brokers that hold their replica of a partition, as one that is ahead of its state by what its log says.

        A hold that is over stays in ZooKeeper while its broker is away: it says nothing.

        leader_epoch   of the state
        """
        found = {broker: self.held.get(broker, {}).get(place) for broker in brokers}
        return {
            broker: one
            for broker, one in found.items()
            if one is not None
            and one.is_ahead
            and not (one.is_of_restore or one.is_nameless or one.is_over(leader_epoch))
        }


async def read_other_logs(
    zk: ZkSession, known: KnownCluster, ask: AskEnds, asked: Mapping[Place, tuple[int, ...]]
) -> OtherLogs:
    """What the live ones of these brokers say of each partition, and what all of them hold. raises ZkError

    asked   the brokers that have the other replicas
    """
    wanted: dict[int, list[Place]] = {}
    for place, brokers in asked.items():
        for broker in brokers:
            wanted.setdefault(broker, []).append(place)
    found = await ask({broker: places for broker, places in wanted.items() if broker in known.brokers})
    await zk.sync()
    holding = set(await zk.children(held_znodes.HELD))
    held: dict[int, dict[Place, HeldReplica]] = {}
    for broker in wanted:
        if str(broker) in holding:
            of_broker, failures = await read_znodes(zk, broker)
            held[broker] = {place: one for place, one in of_broker.items() if _is_of(known, place, one)}
            topics = set(map(held_znodes.topic_of_held, unread_in(failures)))
            held[broker].update(dict.fromkeys((place for place in wanted[broker] if place[0] in topics), UNREAD))
    believed = {broker: dict(ends) for broker, ends in found.items()}
    gone = set()
    for broker, ends in believed.items():
        for place, end in list(ends.items()):
            one = held.get(broker, {}).get(place)
            if end == OUT_OF_SERVICE or (one is not None and (one.is_missing or one is UNREAD)):
                gone.add((broker, place))
                del ends[place]
    return OtherLogs(believed, gone, held)


def _is_of(known: KnownCluster, place: Place, one: HeldReplica) -> bool:
    topic = known.topics.get(place[0])
    return topic is not None and not is_another(one.topic_id, topic.topic_id)
