"""Several brokers of one kind over one ZooKeeper, with the interface of a single one (`bench.nodes.Server`), for suites that want replicas.

Each has a rack of its own, and consumers that name theirs read there, as librdkafka's tests expect it of a cluster.
"""

from __future__ import annotations

from pathlib import Path

from tests.interop.mixed_cluster import MixedCluster

KAFKA_JVM = ("-Xms256m", "-Xmx768m", "-XX:+UseSerialGC", "-XX:-UsePerfData")
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
SETTINGS = {"min.insync.replicas": "1", "replica.selector.class": SELECTOR, "log.segment.bytes": "1073741824"}


class Brokers:
    """So many; `kind` as MixedCluster has it."""

    def __init__(self, directory: Path, kind: str, count: int, settings: dict[str, str]) -> None:
        self._directory = directory
        self._kinds = [kind] * count
        self._settings = {**SETTINGS, **settings}
        self._cluster: MixedCluster | None = None

    @property
    def bootstrap(self) -> str:
        assert self._cluster is not None
        return str(self._cluster.bootstrap)

    @property
    def zookeeper(self) -> str:
        assert self._cluster is not None
        return str(self._cluster.zookeeper)

    def start(self) -> None:
        self._cluster = MixedCluster(self._directory, self._kinds, settings=self._settings, jvm=KAFKA_JVM)
        for member in self._cluster.members.values():
            member.settings["broker.rack"] = f"RACK{member.broker_id}"
        self._cluster.start()

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
