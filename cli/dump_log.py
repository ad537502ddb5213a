"""`headrace dump-log`: prints and checks segments, indexes, snapshots and checkpoints.

Reads files only; a node may run meanwhile. Items come from `log/inspection/log_dump.py`, their text from `dump_text.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
[bold]Examples[/bold]

headrace dump-log data/clicks-0/00000000000000000000.log --deep

headrace dump-log data/clicks-0/*.index --verify-index-only

headrace dump-log data/clicks-0/*.log --deep --skip

headrace dump-log data/clicks-0/* --data --json | jq 'select(.type == "record")'
"""


def dump_log(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES...", help="Files of a log directory: segments, indexes, snapshots, checkpoints."),
    ],
    is_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    is_deep: Annotated[bool, typer.Option("--deep", help="Decode and print the records of each batch.")] = False,
    has_data: Annotated[bool, typer.Option("--data", help="Print keys, values and headers too.")] = False,
    is_verify: Annotated[
        bool,
        typer.Option("--verify-index-only", help="For indexes, print only entries that don't match their segment."),
    ] = False,
    skips: Annotated[
        bool, typer.Option("--skip", help="Continue after bytes that hold no valid batch, where the next batch begins.")
    ] = False,
    bytes_max: Annotated[
        int,
        typer.Option("--max-bytes", min=0, metavar="N", help="Read only the first N bytes of each segment; 0: all."),
    ] = 0,
) -> int:
    """Print and check the files of a log.

    Takes segments (.log, and .kafka of Kafka 0.7), indexes (.index, .timeindex, .txnindex), producer snapshots (.snapshot),
    checkpoints, partition.metadata and meta.properties, recognized by name. An index is checked against the segment beside it.
    A batch whose records can't be read is reported with the offset at which consumers can continue. Nothing is changed; the node may
    be running.

    Exit codes: 0 no faults, 1 faults: each is a line on standard error (with [bold]--json[/bold] an item of type "fault" in
    the output).
    """
    from headrace.cli.dump_text import text_of
    from headrace.log.inspection.log_dump import DumpOptions, dump

    options = DumpOptions(is_deep, has_data, is_verify, bytes_max, skips)
    is_faulty = False
    write = sys.stdout.write
    for path in files:
        for item in dump(path, options):
            is_fault = item["type"] == "fault"
            is_faulty |= is_fault
            if is_json:
                write(json.dumps(item) + "\n")
            elif is_fault:
                sys.stdout.flush()
                print(text_of(item), file=sys.stderr)
            else:
                write(text_of(item) + "\n")
    return int(is_faulty)
