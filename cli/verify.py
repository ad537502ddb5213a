"""`headrace verify DIR`: a whole log directory read from end to end, on all cores; every fault is named.

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
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A log directory, or that of one partition.")],
    is_deep: Annotated[bool, typer.Option("--deep", help="Decompress and decode every record too.")] = False,
    processes: Annotated[
        int, typer.Option("--processes", min=0, metavar="N", help="How many check at once; 0: as many as cores.")
    ] = 0,
    is_json: Annotated[bool, typer.Option("--json", help="Findings and result as lines of JSON.")] = False,
    is_quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> int:
    """Check a log directory, and change nothing.

    Checksums of all batches, offsets from segment to segment, indexes against their segments, snapshots, checkpoints, leader
    epochs, topic ids. It needs no running node, and copes with one: active segments end where they end.

    Findings go to standard output: the file, the byte, what is wrong, what to do. A [bold]note[/bold] is no loss: a tail
    that the next start cuts, an index that is rebuilt.

    Exit codes: 0 no fault, 1 a fault, or the directory can't be read, or it is no log directory.
    """
    from headrace.cli.verify_run import run

    return run(directory, is_deep=is_deep, processes=processes, is_json=is_json, is_quiet=is_quiet)
