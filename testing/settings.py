"""What nodes of a test are given, over Kafka's defaults: small, quick, and as far from the disk as Kafka itself is.

    one worker of each kind, small tables    some 25 MB of shared memory and five processes for a node
    no delay before a group's first round    a test has the members that it has
    few partitions for committed offsets     a group's first request makes them

Sources: `node/local_cluster.py` for the sizes; Kafka's `KafkaEmbedded` and Confluent's test clusters set the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headrace.errors import ConfigError
from headrace.limits import LOCAL_NODES_MAX
from headrace.node.local_cluster import OWN_SETTINGS, SMALL

QUICK: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "log.segment.delete.delay.ms": "0",
    "zookeeper.session.timeout.ms": "6000",
}
KEEPERS: Final = (*OWN_SETTINGS, "zookeeper.connect", "headrace.testing.zookeeper")


def settings_of(directory: Path, count: int, given: Mapping[str, str]) -> list[dict[str, str]]:
    """Of each node: ids from 0, free ports, directories below `directory`.

    given    over the defaults here
    raises   ConfigError, for a count, or a setting that each node has for itself
    """
    if not 1 <= count <= LOCAL_NODES_MAX:
        raise ConfigError("nodes", count, f"must be 1 to {LOCAL_NODES_MAX}")
    for key in KEEPERS:
        if key in given:
            raise ConfigError(key, given[key], "can't be set: it differs between the nodes of a test")
    return [
        {
            "broker.id": str(node_id),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(directory / f"node-{node_id}" / "logs"),
            "offsets.topic.replication.factor": str(min(count, 3)),
            **SMALL,
            **QUICK,
            **given,
        }
        for node_id in range(count)
    ]
