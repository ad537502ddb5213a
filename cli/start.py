"""`headrace start`: a node for production, from a server.properties.

Runs in: the process that becomes the supervisor. It stays in the foreground; systemd, or another parent,
stops it with SIGTERM.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
[bold]Examples[/bold]

headrace start /etc/headrace/server.properties

headrace start server.properties --set log.retention.hours=24 --set headrace.worker.cpus=0-3
"""


def start(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.properties", help="Properties file, with Kafka's own keys.", readable=False)
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a setting of the file; repeatable."),
    ] = None,
) -> int:
    """Run a node from a properties file.

    It runs in the foreground; SIGTERM stops it within 16 seconds. When ready, it notifies systemd and prints

    [bold]ready bootstrap=HOST:PORT zookeeper=HOST:PORT dir=DIR[/bold]

    SIGHUP rereads the file and logs what changed; a restart applies it.

    Exit codes: 0 stopped on request, 78 a setting is invalid, 1 any other failure: starting again may help.
    """
    from headrace.limits import PORT_WAIT_MS
    from headrace.node.logging_setup import set_up_logging
    from headrace.node.settings_file import load_settings, parse_changes
    from headrace.node.supervisor import Supervisor
    from headrace.settings import Settings

    def load() -> Settings:
        return load_settings(file, given)

    set_up_logging()
    given = parse_changes(changes or [])
    return Supervisor(load(), reload=load, port_wait_ms=PORT_WAIT_MS).run()
