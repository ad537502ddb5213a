"""`headrace dev`: one node with a ZooKeeper of its own, in the foreground.

Runs in: the process that becomes the supervisor; ZooKeeper is its child, started before the node and stopped
after it, and restarted if it dies. Everything is in one directory and kept across restarts:

    DIR/logs         the node's log directory
    DIR/zookeeper    ZooKeeper's data, configuration, log and last port
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_DIRECTORY = Path("headrace-dev")
DEFAULT_PORT = 9092
EXAMPLES = """
[bold]Examples[/bold]

headrace dev

headrace dev --dir ./data --port 0 --set num.partitions=8

headrace dev --zookeeper zk1:2181,zk2:2181/headrace
"""


def dev(
    directory: Annotated[
        Path,
        typer.Option("--dir", metavar="DIR", help="Directory of the logs and ZooKeeper's data; kept across restarts."),
    ] = DEFAULT_DIRECTORY,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)] = DEFAULT_PORT,
    zookeeper: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Use this ZooKeeper instead of starting one.")
    ] = "",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a broker setting; repeatable.")
    ] = None,
) -> int:
    """Run one node with a ZooKeeper of its own. Ctrl-C stops it.

    It runs in the foreground. When ready, it prints this line, then a kcat command to try:

    [bold]ready bootstrap=HOST:PORT zookeeper=HOST:PORT dir=DIR[/bold]
    """
    from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
    from headrace.node.log_dirs import LogDirs
    from headrace.node.logging_setup import set_up_logging
    from headrace.node.settings_file import checked, parse_changes
    from headrace.node.supervisor import Supervisor

    set_up_logging()
    given = given_settings(directory, port, zookeeper, parse_changes(changes or []))
    is_embedded = "zookeeper.connect" not in given
    settings = checked(given)
    log_dirs = LogDirs(settings["log.dirs"])
    log_dirs.lock()  # before ZooKeeper: a second one on the same data would ruin it
    embedded = None
    try:
        if is_embedded:
            embedded = EmbeddedZooKeeper(directory.absolute() / "zookeeper")
            embedded.start()
            settings = settings.with_values({"zookeeper.connect": embedded.connect})
        return Supervisor(
            settings,
            on_ready=_print_hint,
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
        "group.initial.rebalance.delay.ms": "0",  # one member is what a developer starts
        "offsets.topic.replication.factor": "1",
        **changes,
    }


def _print_hint(bootstrap: str) -> None:
    print(
        f"try: echo hello | kcat -b {bootstrap} -t greetings -P && kcat -b {bootstrap} -t greetings -C -e", flush=True
    )
