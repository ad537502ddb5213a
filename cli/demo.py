"""`headrace demo`: a client writes, Spark reads the page cache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    file: Annotated[
        Path | None,
        typer.Argument(help="A file of lines; the Python standard library's sources where none is given."),
    ] = None,
) -> int:
    """Stream lines into a node with librdkafka, then count them with Spark from the segment files."""
    from headrace.cli.demo_run import run_demo

    code: int = run_demo(file)
    return code
