"""`headrace version` and `headrace --version`: which Headrace, on which Python, compiled or not and why."""

from __future__ import annotations

import platform
from typing import Annotated

import typer

EXAMPLES = "[bold]Example[/bold]   headrace version"


def version() -> None:
    """Print the versions of Headrace and Python, and what of Headrace is compiled."""
    from headrace import __version__, compiled_core, compiled_kernel

    forms = f"{compiled_core.describe()}; {compiled_kernel.describe()}"
    print(f"headrace {__version__} (Python {platform.python_version()}), {forms}")


def _print_and_end(is_asked: bool) -> None:
    if is_asked:
        version()
        raise typer.Exit


def options(
    _is_version_asked: Annotated[
        bool, typer.Option("--version", callback=_print_and_end, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A Kafka-compatible log whose segments Spark reads from the page cache."""
