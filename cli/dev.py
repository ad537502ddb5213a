"""`headrace dev`: one node with its own ZooKeeper, in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_DIRECTORY = Path("headrace-dev")


def dev(
    directory: Annotated[
        Path, typer.Option("--dir", help="Where the logs and ZooKeeper's data live; kept over restarts.")
    ] = DEFAULT_DIRECTORY,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)] = 9092,
    zookeeper: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Use this ZooKeeper instead of starting one.")
    ] = "",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting; may be repeated.")
    ] = None,
) -> int:
    """Run one node in the foreground, with a ZooKeeper of its own. Ctrl-C stops it.

    When it serves it prints `ready bootstrap=HOST:PORT zookeeper=HOST:PORT dir=DIR`.
    """
    from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
    from headrace.node.logging_setup import set_up_logging
    from headrace.node.settings_file import checked, parse_changes
    from headrace.node.supervisor import Supervisor

    set_up_logging()
    given = {
        "broker.id": "0",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str((directory / "logs").absolute()),
        **parse_changes(changes or []),
    }
    checked({**given, "zookeeper.connect": zookeeper or "127.0.0.1:1"})  # a bad setting shows before anything starts
    embedded = None if zookeeper else EmbeddedZooKeeper(directory.absolute() / "zookeeper")
    try:
        if embedded is not None:
            embedded.start()
            zookeeper = embedded.connect
        supervisor = Supervisor(checked({**given, "zookeeper.connect": zookeeper}), on_ready=_print_hint)
        return supervisor.run()
    finally:
        if embedded is not None:
            embedded.stop()


def _print_hint(bootstrap: str) -> None:
    print(
        f"try: echo hello | kcat -b {bootstrap} -t greetings -P && kcat -b {bootstrap} -t greetings -C -e",
        flush=True,
    )
