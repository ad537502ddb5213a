"""`headrace demo`: a client writes, Spark reads the page cache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MODULES = ("confluent_kafka", "pyspark", "pyarrow")


def demo(
    file: Annotated[
        Path | None,
        typer.Argument(help="Text file to stream line by line. Default: the sources of the Python standard library."),
    ] = None,
) -> int:
    """Stream lines into a node with librdkafka, then count them with Spark from the segment files."""
    from headrace.cli.demo_run import run_demo

    _check_modules()
    code: int = run_demo(file)
    return code


def _check_modules() -> None:
    """raises   HeadraceError, for what the package's own dependencies don't bring along"""
    from importlib.util import find_spec

    from headrace.errors import HeadraceError

    if missing := [name for name in MODULES if find_spec(name) is None]:
        raise HeadraceError(
            f"the demo needs {' and '.join(missing)}: pip install 'headrace[spark,demo]', or `make demo` in a clone"
        )
