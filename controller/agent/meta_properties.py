"""`meta.properties`: which cluster and which node a log directory belongs to.

Runs in: the controller process, which writes it once; it is compared at every start, so that a directory
never serves in the wrong place. Log directories of Apache Kafka (ZooKeeper mode) have the same file:

    version=0
    broker.id=0
    cluster.id=5t2Ft8kZQ8aG7cJ0yWqHvA

Source: Kafka `BrokerMetadataCheckpoint`, `MetaProperties`.
"""

from __future__ import annotations

from pathlib import Path

from headrace.durable_file import replace_file
from headrace.errors import ConfigError
from headrace.properties import read_properties_file

FILE = "meta.properties"
VERSION = "0"  # 1 is KRaft's


def check_or_write(log_dir: Path, cluster_id: str, node_id: int) -> None:
    """Compare with what is there, or write it.

    raises   ConfigError, naming both ids and the way out; OSError
    """
    path = log_dir / FILE
    if not path.exists():
        _write(path, cluster_id, node_id)
        return
    try:
        found = read_properties_file(path)
    except ValueError as failure:
        raise ConfigError("log.dirs", str(log_dir), f"{path} can't be read: {failure}") from None
    if found.get("version", VERSION) != VERSION:
        raise ConfigError(
            "log.dirs",
            str(log_dir),
            f"{path} has version {found['version']}, written by Kafka in KRaft mode; only ZooKeeper mode is"
            " supported: use another directory",
        )
    held_by = found.get("cluster.id", cluster_id)
    if held_by != cluster_id:
        raise ConfigError(
            "log.dirs",
            str(log_dir),
            f"{path} belongs to cluster {held_by}, ZooKeeper says {cluster_id}: point zookeeper.connect at the old "
            f"ensemble, or use an empty log directory",
        )
    if found.get("broker.id", str(node_id)) != str(node_id):
        raise ConfigError(
            "broker.id",
            node_id,
            f"{path} belongs to broker {found['broker.id']}, broker.id is {node_id}: set broker.id="
            f"{found['broker.id']}, or use another log directory",
        )


def _write(path: Path, cluster_id: str, node_id: int) -> None:
    replace_file(path, f"#\nversion={VERSION}\nbroker.id={node_id}\ncluster.id={cluster_id}\n".encode())
