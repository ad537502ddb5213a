"""`headrace mirror` and `headrace mirror status`: topics of other clusters, copied as long as it runs.

The mirror itself is in `mirror/`. Its log goes to standard error.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.interrupt import Interrupt
from headrace.cli.printable import print_line
from headrace.cli.table import print_table
from headrace.cli.topics import AsJson

if TYPE_CHECKING:
    from headrace.mirror.status import WorkerStatus

EXAMPLES = (
    "[bold]Examples[/bold]\n\nheadrace mirror --from old:9092 --to new:9092 --whitelist 'orders.*'\n\n"
    "headrace mirror --from eu:9092 --from us:9092 --to all:9092 --num-threads 4\n\n"
    "headrace mirror --config /etc/headrace/mirror-eu.properties\n\n"
    "headrace mirror status --name eu"
)
HEADINGS = ("TOPIC-PARTITION", "SOURCE", "STATE", "OFFSET", "LAG", "SECONDS", "RECORDS", "REASON")

app = typer.Typer(
    name="mirror",
    help="Copy topics of other clusters into one, each record exactly once; show progress.",
    rich_markup_mode="rich",
    epilog=EXAMPLES,
)

Name = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Name of the mirror.  [dim]\\[default: mirror][/dim]")
]
State = Annotated[
    Path | None,
    typer.Option("--state", metavar="DIR", help="Directory for the lock and status files.  [dim]\\[default: .][/dim]"),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Properties file; command-line options override it.",
        exists=True,
        dir_okay=False,
    ),
]


@app.callback(invoke_without_command=True)
def mirror(
    context: typer.Context,
    sources: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="HOST:PORT,...", help="Bootstrap servers of a source cluster; repeatable."),
    ] = None,
    target: Annotated[
        str, typer.Option("--to", metavar="HOST:PORT,...", help="Bootstrap servers of the target cluster.")
    ] = "",
    whitelist: Annotated[
        str,
        typer.Option("--whitelist", metavar="PATTERN", help="Regular expression of the topics to copy. Default: all."),
    ] = "",
    blacklist: Annotated[
        str, typer.Option("--blacklist", metavar="PATTERN", help="Regular expression of topics to leave out.")
    ] = "",
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Prefix for topic names in the target.")] = "",
    groups: Annotated[
        str,
        typer.Option(
            "--groups",
            metavar="PATTERN",
            help="Regular expression of consumer groups whose offsets are copied. Default: all.",
        ),
    ] = "",
    workers: Annotated[
        int | None, typer.Option("--num-threads", "--num-streams", min=1, metavar="N", help="Number of processes.")
    ] = None,
    on_gap: Annotated[
        str,
        typer.Option("--on-gap", metavar="stop|skip", help="What to do if the source has lost records. Default: stop."),
    ] = "",
    partitioner: Annotated[
        str,
        typer.Option(
            "--partitioner",
            metavar="auto|keep|key",
            help="Target partition of a record: the source partition, or by hash of its key. Default: auto.",
        ),
    ] = "",
    until_caught_up: Annotated[
        bool, typer.Option("--once", help="Copy up to the current end offsets, then stop.")
    ] = False,
    name: Name = "",
    state: State = None,
    config: ConfigFile = None,
) -> int:
    """Copy topics of other clusters into one, each record exactly once.

    Creates topics, keeps their partitions and settings up to date, and copies committed group offsets. Supports Kafka 0.10 and later.

    Exit codes: 0 stopped or done, 1 a partition is stopped (the log has the reason), 78 a setting is invalid or another mirror of this
    name was started.
    """
    if context.invoked_subcommand is not None:
        return 0
    from headrace.mirror.process import run
    from headrace.mirror.settings import SEPARATOR, read_settings

    given = {
        "mirror.source.bootstrap.servers": SEPARATOR.join(sources or ()),
        "mirror.target.bootstrap.servers": target,
        "mirror.topics.whitelist": whitelist,
        "mirror.topics.blacklist": blacklist,
        "mirror.topics.prefix": prefix,
        "mirror.groups": groups,
        "mirror.consumer.numthreads": str(workers or ""),
        "mirror.on.gap": on_gap,
        "mirror.partitioner": partitioner,
        "mirror.name": name,
        "mirror.state.dir": str(state or ""),
    }
    settings = read_settings(config, {key: value for key, value in given.items() if value})
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    with Interrupt() as interrupt:
        return run(settings, interrupt, until_caught_up)


@app.command()
def status(name: Name = "", state: State = None, config: ConfigFile = None, as_json: AsJson = False) -> int:
    """Show the progress of each partition of a mirror.

    Exit codes: 0 everything is being copied, 1 a partition is stopped, a topic is refused, or the mirror is not running.
    """
    from headrace.mirror.settings import DEFAULTS
    from headrace.mirror.status import read_status
    from headrace.properties import read_properties_file

    given = read_properties_file(config) if config is not None else {}
    directory = state or Path(given.get("mirror.state.dir", DEFAULTS["mirror.state.dir"]))
    workers = read_status(directory, name or given.get("mirror.name", DEFAULTS["mirror.name"]))
    if as_json:
        import msgspec

        print_line(msgspec.json.encode(workers).decode())
    else:
        _print(workers)
    is_well = all(_runs(one) and not one.refused for one in workers)
    return int(not (is_well and all(row.state != "stopped" for one in workers for row in one.partitions)))


def _runs(worker: WorkerStatus) -> bool:
    from headrace.mirror.status import STALE_MS

    return worker.is_running and time.time() * 1000 - worker.time_ms < STALE_MS


def _print(workers: list[WorkerStatus]) -> None:
    rows = [
        (
            f"{row.topic}-{row.partition}",
            row.source,
            row.state,
            str(row.source_offset),
            str(row.lag_records),
            f"{row.lag_seconds:.1f}",
            str(row.records),
            row.reason,
        )
        for worker in workers
        for row in worker.partitions
    ]
    print_table(HEADINGS, sorted(rows))
    for worker in workers:
        if not _runs(worker):
            print_line(f"process {worker.worker} (pid {worker.pid}) is not running")
        for topic, reason in sorted(worker.refused.items()):
            print_line(f"topic {topic} is not synchronized: {reason}")
