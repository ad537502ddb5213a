"""`meta.properties`: which cluster and which node a log directory belongs to.

Written once by the controller process; compared at every start, so that a directory never serves in the wrong
place.

Source: Kafka `BrokerMetadataCheckpoint`, version 0.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.errors import ConfigError
from headrace.settings import read_properties

FILE = "meta.properties"


def check_or_write(log_dir: Path, cluster_id: str, node_id: int) -> None:
    """Compare with what is there, or write it.

    raises   ConfigError, naming both ids and the way out
    """
    path = log_dir / FILE
    if not path.exists():
        temporary = path.with_suffix(".tmp")
        temporary.write_text(f"#\nversion=0\nbroker.id={node_id}\ncluster.id={cluster_id}\n")
        os.replace(temporary, path)
        return
    found = read_properties(path.read_text())
    if found.get("cluster.id", cluster_id) != cluster_id:
        raise ConfigError(
            "zookeeper.connect",
            found["cluster.id"],
            f"{path} belongs to cluster {found['cluster.id']}, ZooKeeper says {cluster_id}: point zookeeper.connect "
            f"at the old ensemble, or use an empty log directory",
        )
    if found.get("broker.id", str(node_id)) != str(node_id):
        raise ConfigError(
            "broker.id",
            node_id,
            f"{path} belongs to broker {found['broker.id']}: set that id, or another log.dirs",
        )
