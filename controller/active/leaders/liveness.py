"""Which replicas can serve: brokers that live, those that asked to go or came back, and replicas whose directory failed.

Runs in: the controller process of the active node, one object a term. Brokers that live are those of the known cluster; the rest was
told to this term, and is forgotten where a broker goes, or starts again.

Source: Kafka `ControllerContext.isReplicaOnline`, `shuttingDownBrokerIds`, `replicasOnOfflineDirs`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from headrace.controller.cluster.known_cluster import KnownCluster

Place = tuple[str, int]  # topic and partition


class Liveness:
    """What this term knows of it.

    shutting_down   brokers that asked to go, until they are gone: they lead nothing new
    returning       brokers that went and came between two reads: they serve nothing until others lead in their place
    failed          replicas in directories that failed, by broker
    """

    def __init__(self, known: KnownCluster, failed: dict[int, set[Place]]) -> None:
        self.shutting_down: set[int] = set()
        self.returning: set[int] = set()
        self.failed = failed
        self._known = known
        self._heard_well: list[dict[int, set[Place]]] = []

    def brokers(self) -> list[int]:
        """Ids of those that may lead something new, in order; where all are about to go, all."""
        live = self._known.live()
        return [broker for broker in live if broker not in self.shutting_down] or live

    def is_live(self, broker: int) -> bool:
        """Whether it has a session; it may be about to go."""
        return broker in self._known.brokers

    def online(self, topic: str, index: int, replicas: Sequence[int]) -> tuple[int, ...]:
        """Of these, in order, the ones that may lead."""
        serving = self.serving(topic, index, replicas)
        if not self.shutting_down:
            return serving
        return tuple(replica for replica in serving if replica not in self.shutting_down)

    def serving(self, topic: str, index: int, replicas: Sequence[int]) -> tuple[int, ...]:
        """The same, with those that are about to go."""
        brokers, failed, returning = self._known.brokers, self.failed, self.returning
        if not failed and not returning:
            return tuple(replica for replica in replicas if replica in brokers)
        place = (topic, index)
        return tuple(
            replica
            for replica in replicas
            if replica in brokers and replica not in returning and place not in failed.get(replica, ())
        )

    def forget(self, brokers: Iterable[int]) -> None:
        """They are gone, or start again."""
        for broker in brokers:
            self.shutting_down.discard(broker)
            self.returning.discard(broker)
            self.failed.pop(broker, None)
            for since in self._heard_well:
                since.pop(broker, None)

    @contextmanager
    def well_since(self) -> Iterator[Mapping[int, Collection[Place]]]:
        """Replicas that brokers report to be well while this goes on, by broker: what was read before may be over."""
        since: dict[int, set[Place]] = {}
        self._heard_well.append(since)
        try:
            yield since
        finally:
            self._heard_well = [one for one in self._heard_well if one is not since]

    def note_well(self, broker: int, well: Collection[Place]) -> None:
        """Replicas that can serve, as their broker reports."""
        for since in self._heard_well:
            since.setdefault(broker, set()).update(well)

    def note_failed(self, broker: int, failed: Iterable[Place], well: Iterable[Place]) -> list[Place]:
        """What a broker said of its replicas; returns those that are offline since now."""
        well = list(well)
        self.note_well(broker, well)
        before = self.failed.get(broker, set())
        new = [place for place in failed if place not in before]
        now = (before | set(new)) - set(well)
        if now:
            self.failed[broker] = now
        else:
            self.failed.pop(broker, None)
        return new
