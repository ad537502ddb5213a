"""`headrace systemd-files`: units, sysusers, tmpfiles and an example server.properties, from the installed package.

Runs in: the command itself. The files keep their places below the directory given; ExecStart= names the programs beside the
one that writes them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

# our file -> where it goes; what an operator edits is never written over
PLACES = {
    "headrace.service": "etc/systemd/system/headrace.service",
    "headrace.service.d/data-disks.conf": "etc/systemd/system/headrace.service.d/data-disks.conf",
    "headrace.service.d/restart-delay.conf": "etc/systemd/system/headrace.service.d/restart-delay.conf",
    "headrace.slice": "etc/systemd/system/headrace.slice",
    "spark.slice": "etc/systemd/system/spark.slice",
    "spark-worker.service": "etc/systemd/system/spark-worker.service",
    "headrace-mirror@.service": "etc/systemd/system/headrace-mirror@.service",
    "spark-worker.env": "etc/headrace/spark-worker.env",
    "spark.sysusers.conf": "etc/sysusers.d/headrace-spark.conf",
    "headrace.sysusers.conf": "etc/sysusers.d/headrace.conf",
    "headrace.tmpfiles.conf": "etc/tmpfiles.d/headrace.conf",
    "server.properties": "etc/headrace/server.properties",
}
EDITED = frozenset(
    {"server.properties", "headrace.service.d/data-disks.conf", "headrace.slice", "spark.slice", "spark-worker.env"}
)
NEWER_SYSTEMD = {"headrace.service.d/restart-delay.conf": 254}
SHIPPED_PROGRAMS = "/opt/headrace/bin/"
MODE = 0o644
EXAMPLES = """
[bold]Examples[/bold]

headrace systemd-files /

headrace systemd-files ./preview
"""


def systemd_files(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Root directory for the files: / installs them, any other directory is for inspection."
        ),
    ],
) -> int:
    """Write the systemd units and related files, each to its path below DIR.

    Existing files that operators edit (server.properties, slices, data-disks.conf) are kept. After

    [bold]headrace systemd-files /[/bold]

    run systemd-sysusers, systemd-tmpfiles --create, and systemctl daemon-reload.
    """
    programs = f"{sys.prefix}/bin/"
    for name, place in PLACES.items():
        if _systemd_version() < NEWER_SYSTEMD.get(name, 0):
            print(f"skipped  {directory / place}: needs systemd {NEWER_SYSTEMD[name]} or later")
            continue
        target = directory / place
        if name in EDITED and target.exists():
            print(f"kept     {target}")
            continue
        text = shipped(name).replace(SHIPPED_PROGRAMS, programs)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(MODE)
        print(f"written  {target}")
    return 0


def shipped(name: str) -> str:
    """A file of the systemd folder."""
    from importlib.resources import files

    return files("headrace.systemd").joinpath(name).read_text()


def _systemd_version() -> int:
    """The number that systemctl reports; the newest there may be, where it does not."""
    import re
    import subprocess

    try:
        told = subprocess.run(["systemctl", "--version"], capture_output=True, text=True).stdout
    except OSError:
        told = ""
    found = re.match(r"systemd (\d+)", told)
    return int(found[1]) if found else 1 << 16
