"""`headrace spark doctor|submit`: whether Spark reads topics from the files of this host, and jobs with what matters set."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.printable import print_line
from headrace.cli.table import print_table
from headrace.cli.topics import AsJson

if TYPE_CHECKING:
    from headrace.spark.host_checks import Check
    from headrace.spark.locality import TopicPlaces

app = typer.Typer(
    name="spark",
    help="Check that Spark can read local files, and submit jobs.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="[bold]Examples[/bold]\n\nheadrace spark doctor\n\nheadrace spark submit job.py",
)


@app.callback()
def group() -> None:
    """Check that Spark can read local files, and submit jobs."""


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace spark doctor -b broker1:9092\n\n"
    "sudo -u spark headrace spark doctor clicks\n\nheadrace spark doctor --json | jq .topics"
)
def doctor(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC]...", help="Topic names. Default: all but internal ones.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Show for each topic how much of it executors on this host can read from local files, and why the rest is remote.

    Run it on an executor host, as the user of the executors. Exit code 1: a problem needs fixing.
    """
    from headrace.spark.host_checks import check_host
    from headrace.spark.locality import Place, by_topic, find_places

    with open_cluster(bootstrap, command_config) as cluster:
        topics = names or sorted(set(cluster.refresh(None)) - cluster.internal_topics)
        places = find_places(cluster, topics)
        brokers = {one.node_id for one in places if one.place >= Place.MISSING}
        here = [one.host for one in cluster.brokers.values() if one.node_id in brokers]
    checks = check_host(here, os.environ)
    found = by_topic(places)
    if as_json:
        rows = [one._asdict() for one in found]
        print(json.dumps({"topics": rows, "host": [check._asdict() for check in checks]}))
    else:
        _print(found, checks)
    is_well = all(check.is_good for check in checks) and not any(one.advice for one in found)
    return 0 if is_well else 1


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    epilog="[bold]Examples[/bold]\n\nheadrace spark submit job.py\n\n"
    "headrace spark submit --master spark://host:7077 --conf spark.locality.wait=3s job.py",
)
def submit(
    context: typer.Context,
) -> int:
    """Run spark-submit with these arguments, and set Unix sockets, batch size, locality wait and interpreter.

    Values in --conf, --properties-file or spark-defaults.conf take precedence. --dry-run as the first argument only prints the command.
    """
    from headrace.spark.submission import submission

    arguments = list(context.args)
    if arguments[:1] in (["-h"], ["--help"]) or not arguments:
        print(context.get_help())
        return 0 if arguments else 2
    is_dry = arguments[0] == "--dry-run"
    command, environment = submission(arguments[is_dry:], os.environ)
    if is_dry:
        print_line(" ".join(command))
        return 0
    sys.stdout.flush()
    os.execve(command[0], command, environment)


def _print(found: Iterable[TopicPlaces], checks: Iterable[Check]) -> None:
    found = list(found)
    print_table(
        ("TOPIC", "PARTITIONS", "LOCAL", "RECORDS", "LOCAL RECORDS"),
        [(one.topic, one.partitions, one.local_partitions, one.records, one.local_records) for one in found],
    )
    reasons: dict[str, int] = {}
    for one in found:
        for advice, count in one.advice.items():
            reasons[advice] = reasons.get(advice, 0) + count
    for advice, count in sorted(reasons.items(), key=lambda entry: -entry[1]):
        print_line(f"not local, {count} partitions: {advice}")
    for check in checks:
        print_line(f"{'ok  ' if check.is_good else 'FAIL'}  {check.said}")
