"""Views that change by chance, for readers and followers to keep up with."""

from __future__ import annotations

import random

from headrace.shm.cluster_view import (
    EMPTY_VIEW,
    BrokerView,
    ClusterView,
    DeletedTopic,
    DoomedReplica,
    PartitionView,
    ReleasedTopic,
    TopicView,
)


class RandomCluster:
    """A view that changes by chance, as a controller process makes it change: what stays is the same object."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.view = EMPTY_VIEW

    def step(self) -> ClusterView:
        for _ in range(self.rng.choice((0, 1, 1, 2, 5))):
            self.rng.choice(
                (self._head, self._topic, self._topic, self._grow, self._leader, self._leader, self._leave, self._end)
            )()
        return self.view

    def _head(self) -> None:
        brokers = {
            number: BrokerView(number, f"h{number}", self.rng.randrange(9)) for number in range(self.rng.randrange(4))
        }
        settings = {"log.retention.ms": str(self.rng.randrange(3))}
        self.view = self.view._replace(brokers=brokers, controller_id=self.rng.randrange(3), node_settings=settings)

    def _topic(self) -> None:
        name = f"t{self.rng.randrange(6)}"
        topic_id = f"{self.rng.randrange(4):032x}"
        partitions = tuple(map(self._partition, range(self.rng.randrange(1, 9))))
        topic = TopicView(name, topic_id, False, {"k": str(self.rng.randrange(3))}, partitions)
        self.view = self.view._replace(topics={**self.view.topics, name: topic})

    def _partition(self, index: int) -> PartitionView:
        replicas = tuple(self.rng.sample(range(9), self.rng.choice((1, 3, 3, 8))))
        isr = replicas[: self.rng.randrange(9)]
        return PartitionView(
            index, self.rng.randrange(-1, 9), self.rng.randrange(99), isr, replicas, replicas[:1], index - 1
        )

    def _any(self) -> TopicView | None:
        return self.rng.choice(list(self.view.topics.values())) if self.view.topics else None

    def _change(self, topic: TopicView, partitions: list[PartitionView]) -> None:
        topic = topic._replace(partitions=tuple(partitions))
        self.view = self.view._replace(topics={**self.view.topics, topic.name: topic})

    def _grow(self) -> None:
        if topic := self._any():
            self._change(topic, [*topic.partitions, self._partition(len(topic.partitions))])

    def _leader(self) -> None:
        if topic := self._any():
            partitions = list(topic.partitions)
            index = self.rng.randrange(len(partitions))
            isr = partitions[index].replicas[: self.rng.randrange(9)]
            partitions[index] = partitions[index]._replace(
                leader=self.rng.randrange(9), isr=isr, slot=self.rng.randrange(-1, 5)
            )
            self._change(topic, partitions)

    def _leave(self) -> None:
        if topic := self._any():
            left = {name: other for name, other in self.view.topics.items() if name != topic.name}
            replicas = tuple(partition.replicas for partition in topic.partitions)
            if self.rng.random() < 0.5:
                gone = (*self.view.deleted, DeletedTopic(topic.name, topic.topic_id))
                doomed = (*self.view.doomed, DoomedReplica(topic.name, 0, 3, 4))
                self.view = self.view._replace(
                    topics=left, deleted=tuple(dict.fromkeys(gone)), doomed=tuple(dict.fromkeys(doomed))
                )
            else:
                released = {one.name: one for one in self.view.released}
                released[topic.name] = ReleasedTopic(topic.name, topic.topic_id, replicas, tuple(range(len(replicas))))
                self.view = self.view._replace(topics=left, released=tuple(released.values()))

    def _end(self) -> None:
        self.view = self.view._replace(deleted=self.view.deleted[1:], doomed=(), released=self.view.released[:1])


def normal(view: ClusterView) -> ClusterView:
    """A view as it was, whatever changes; what left by name, in any order."""
    topics = {name: topic._replace(partitions=tuple(topic.partitions)) for name, topic in view.topics.items()}
    return view._replace(
        topics=topics,
        deleted=tuple(sorted(view.deleted)),
        doomed=tuple(sorted(view.doomed)),
        released=tuple(sorted(view.released)),
    )
