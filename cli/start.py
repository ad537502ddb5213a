"""`headrace start`: a node for production, from a server.properties.

Runs in: the process that becomes the supervisor. It stays in the foreground; systemd, or another parent,
stops it with SIGTERM. Help, completion and errors are said here; an ordinary line does without Typer (`plain_start.py`).
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
    from headrace.cli import plain_start

    return plain_start.run(file, changes or [])
