"""`headrace dev`: one node, or several, with a ZooKeeper of their own, in the foreground.

Runs in: the process that becomes the supervisor; ZooKeeper is its child, started before the node and stopped
after it, and restarted if it dies. Everything is in one directory and kept across restarts:

    DIR/logs         the node's log directory
    DIR/zookeeper    ZooKeeper's data, configuration, log and last port

Where there is no Java, ZooKeeper is the one in Python (`dev_zookeeper.py`).

With --nodes, each node is a child, see `node/local_cluster.py`; a directory of one kind is not taken for the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.errors import ConfigError
from headrace.limits import LOCAL_NODES_MAX

DEFAULT_DIRECTORY = Path("headrace-dev")
DEFAULT_DIRECTORY_OF_NODES = Path("headrace-dev-nodes")
DEFAULT_PORT = 9092
NODE_PATTERN, NODES_PATTERN = "logs", "node-*"  # what each kind makes
FOR_TRYING = {
    "group.initial.rebalance.delay.ms": "0",  # one member is what a developer starts
    "offsets.topic.replication.factor": "1",
}
EXAMPLES = """
[bold]Examples[/bold]

headrace dev

headrace dev --dir ./data --port 0 --set num.partitions=8

headrace dev --nodes 3

headrace dev --zookeeper zk1:2181,zk2:2181/headrace
"""


def dev(
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            metavar="DIR",
            help="Directory of the logs and ZooKeeper's data; kept across restarts.  "
            f"[dim]\\[default: {DEFAULT_DIRECTORY}, {DEFAULT_DIRECTORY_OF_NODES} with --nodes][/dim]",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port of the first node; 0 picks free ports.", min=0, max=65535)
    ] = DEFAULT_PORT,
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            metavar="N",
            help="Run a cluster of N small nodes; kill one to watch failover.",
            min=1,
            max=LOCAL_NODES_MAX,
        ),
    ] = None,
    zookeeper: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Use this ZooKeeper instead of starting one.")
    ] = "",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a broker setting; repeatable.")
    ] = None,
) -> int:
    """Run one node, or several, with a ZooKeeper of their own. Ctrl-C stops all.

    It needs no Java: where there is none, ZooKeeper is a small one in Python, for trying only.

    It runs in the foreground. When ready, it prints this line, then a kcat command to try:

    [bold]ready bootstrap=HOST:PORT zookeeper=HOST:PORT dir=DIR[/bold]

    With --nodes, bootstrap lists all nodes, log lines begin with \\[node N], and each node is a process: one that is killed
    (-9) starts again, one that is stopped (-TERM) stays so; the log says how to start it.
    """
    if nodes is not None:
        from headrace.cli.dev_nodes import dev_nodes

        return dev_nodes((directory or DEFAULT_DIRECTORY_OF_NODES).absolute(), nodes, port, zookeeper, changes or [])
    return _dev_node(directory or DEFAULT_DIRECTORY, port, zookeeper, changes or [])


def _dev_node(directory: Path, port: int, zookeeper: str, changes: list[str]) -> int:
    from headrace.cli.dev_zookeeper import own_zookeeper
    from headrace.node.log_dirs import LogDirs
    from headrace.node.logging_setup import set_up_logging
    from headrace.node.settings_file import checked, parse_changes
    from headrace.node.supervisor import Supervisor

    set_up_logging()
    given = given_settings(directory, port, zookeeper, parse_changes(changes))
    refuse_other_kind(directory, NODES_PATTERN, "several nodes: run them with --nodes")
    is_embedded = "zookeeper.connect" not in given
    settings = checked(given)
    log_dirs = LogDirs(settings["log.dirs"])
    log_dirs.lock()  # before ZooKeeper: a second one on the same data would ruin it
    embedded = None
    try:
        if is_embedded:
            embedded, needed = own_zookeeper(directory.absolute() / "zookeeper")
            embedded.start()
            settings = settings.with_values({"zookeeper.connect": embedded.connect, **needed})
        return Supervisor(
            settings,
            on_ready=print_hint,
            on_tick=embedded.check if embedded is not None else None,
            log_dirs=log_dirs,
            directory=str(directory.absolute()),
        ).run()
    finally:
        if embedded is not None:
            embedded.stop()
        log_dirs.unlock()


def given_settings(directory: Path, port: int, zookeeper: str, changes: dict[str, str]) -> dict[str, str]:
    """What the arguments mean as settings; `changes` win. Without zookeeper.connect, the embedded one is meant."""
    return {
        "broker.id": "0",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str((directory / "logs").absolute()),
        **({"zookeeper.connect": zookeeper} if zookeeper else {}),
        **FOR_TRYING,
        **changes,
    }


def refuse_other_kind(directory: Path, pattern: str, held: str) -> None:
    """raises   ConfigError, where a directory holds what the other kind of `headrace dev` made: same ids, other logs"""
    if any(directory.glob(pattern)):
        raise ConfigError("--dir", str(directory), f"holds the logs of {held}, or choose another directory")


def print_hint(bootstrap: str) -> None:
    print(
        f"try: echo hello | kcat -b {bootstrap} -t greetings -P && kcat -b {bootstrap} -t greetings -C -e", flush=True
    )
