"""`headrace dev --nodes N`: a cluster on this machine, for trying.

Runs in: the process that becomes the parent of the nodes (`node/local_cluster.py`) and of ZooKeeper, which starts before
them and stops after them. Everything is in one directory and kept across restarts:

    DIR/node-0/ ...    each node's logs and settings
    DIR/zookeeper      ZooKeeper's data, configuration, log and last port
"""

from __future__ import annotations

from pathlib import Path

from headrace.cli.dev import FOR_TRYING, NODE_PATTERN, print_hint, refuse_other_kind


def dev_nodes(directory: Path, count: int, port: int, zookeeper: str, changes: list[str]) -> int:
    """Run the cluster until Ctrl-C; returns the exit code.

    directory   absolute
    zookeeper   HOST:PORT; '': one of their own
    raises      ConfigError, ZooKeeperFailed
    """
    from headrace.cli.dev_zookeeper import own_zookeeper
    from headrace.node.local_cluster import LocalCluster, settings_of_nodes
    from headrace.node.logging_setup import set_up_logging
    from headrace.node.settings_file import checked, parse_changes

    set_up_logging()
    given = {**FOR_TRYING, **({"zookeeper.connect": zookeeper} if zookeeper else {}), **parse_changes(changes)}
    settings = [checked(one) for one in settings_of_nodes(directory, count, port, given)]
    refuse_other_kind(directory, NODE_PATTERN, "one node: run it without --nodes")
    _warn_of_others(directory, count)
    embedded = None
    try:
        if "zookeeper.connect" not in given:
            embedded, needed = own_zookeeper(directory / "zookeeper")
            embedded.start()
            settings = [one.with_values({"zookeeper.connect": embedded.connect, **needed}) for one in settings]
        connect = settings[0]["zookeeper.connect"]

        def on_ready(addresses: list[str]) -> None:
            print(f"ready bootstrap={','.join(addresses)} zookeeper={connect} dir={directory}", flush=True)
            print_hint(",".join(addresses))

        return LocalCluster(settings, on_ready=on_ready, on_tick=embedded.check if embedded is not None else None).run()
    finally:
        if embedded is not None:
            embedded.stop()


def _warn_of_others(directory: Path, count: int) -> None:
    """Nodes of earlier runs that this one does not start: what they lead is offline."""
    import logging

    known = {f"node-{node_id}" for node_id in range(count)}
    others = sorted(path.name for path in directory.glob("node-*") if path.name not in known)
    if others:
        logging.getLogger(__name__).warning(
            "nodes of an earlier run are not started, their partitions are offline nodes=%s", ",".join(others)
        )
