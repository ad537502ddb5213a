"""What the commands of `headrace load` have in common: the target, times, and output for programs."""

from __future__ import annotations

import json
import re
import sys
from typing import Annotated, Any

import typer

from headrace.cli.arguments import bad
from headrace.cli.client_options import BOOTSTRAP_VARIABLE

To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="TARGET",
        help="A directory, iceberg:CATALOG:NAMESPACE.TABLE, or delta:DIRECTORY.",
        show_default=False,
    ),
]
AskedCluster = Annotated[
    str,
    typer.Option(
        "--bootstrap-servers",
        "--bootstrap-server",
        "-b",
        envvar=BOOTSTRAP_VARIABLE,
        metavar="HOST:PORT,...",
        help="Brokers to compare with. Default: don't read the log.",
        show_default=False,
    ),
]
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|d)\Z")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def open_to(to: str) -> Any:
    """raises   typer.BadParameter"""
    from headrace.load.target import open_target

    try:
        return open_target(to)
    except (ValueError, ImportError) as failure:
        raise typer.BadParameter(str(failure), param_hint="--to") from None


def parse_duration(option: str, text: str) -> float:
    """Seconds of 500ms, 30s, 1m, 2h, 90d. raises typer.BadParameter"""
    found = _DURATION.match(text)
    if found is None or float(found[1]) <= 0:
        raise bad(option, text, "is not a time: expected 500ms, 30s, 1m, 2h or 90d")
    return float(found[1]) * _SECONDS[found[2]]


def print_json(found: dict[str, Any]) -> None:
    """One line, at once: a program may wait for it."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
