"""`headrace verify DIR`: reads a whole log directory, on all cores, and reports every fault.

Reads only, and needs no node; one may be running. The check is `log/inspection/log_dir_check.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
[bold]Examples[/bold]

headrace verify /var/lib/headrace/logs

headrace verify data/clicks-0 --deep
"""


def verify(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Log directory, or directory of one partition.")],
    is_deep: Annotated[bool, typer.Option("--deep", help="Decompress and decode every record too.")] = False,
    processes: Annotated[
        int, typer.Option("--processes", min=0, metavar="N", help="Number of parallel processes; 0: one per core.")
    ] = 0,
    is_json: Annotated[
        bool, typer.Option("--json", help="Print findings and result as JSON, one object per line.")
    ] = False,
    is_quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Don't show progress.")] = False,
) -> int:
    """Check a log directory without changing anything.

    Verifies checksums of all batches, continuity of offsets, indexes against their segments, snapshots, checkpoints, leader
    epochs and topic ids. The node may be running: active segments are read up to where they end.

    Findings go to standard output: the file, the byte, what is wrong, what to do. A [bold]note[/bold] is harmless:
    a tail that the next start truncates, an index that it rebuilds.

    Exit codes: 0 no faults, 1 faults, or DIR is not a readable log directory.
    """
    from headrace.cli.verify_run import run

    return run(directory, is_deep=is_deep, processes=processes, is_json=is_json, is_quiet=is_quiet)
