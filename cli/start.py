"""`headrace start`: a node for production, from a server.properties."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def start(
    file: Annotated[Path, typer.Argument(metavar="FILE.properties", help="Settings, with Kafka's own keys.")],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Overrides a setting; may be repeated."),
    ] = None,
) -> int:
    """Run a node from a properties file, in the foreground; systemd supervises it.

    When it serves it prints `ready bootstrap=HOST:PORT zookeeper=HOST:PORT dir=DIR` and tells systemd.
    """
    from headrace.node.logging_setup import set_up_logging
    from headrace.node.settings_file import load_settings, parse_changes
    from headrace.node.supervisor import Supervisor

    set_up_logging()
    return Supervisor(load_settings(file, parse_changes(changes or []))).run()
