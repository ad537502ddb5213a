"""The command line: `headrace COMMAND`. Each command is a file; heavy imports happen inside of the commands."""

from __future__ import annotations

import sys

import typer

from headrace.cli.demo import demo
from headrace.cli.dev import dev
from headrace.cli.start import start

app = typer.Typer(
    name="headrace",
    help="A Kafka-compatible log whose segments Spark reads from the page cache.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command(epilog="Example: headrace dev --dir ./data --port 9092")(dev)
app.command(epilog="Example: headrace start /etc/headrace/server.properties --set log.retention.hours=24")(start)
app.command(epilog="Example: headrace demo access.log")(demo)


@app.command(epilog="Example: headrace version")
def version() -> None:
    """Print the version."""
    from headrace import __version__

    print(__version__)


def main() -> int:
    """Entry point of the `headrace` program."""
    from headrace.errors import ConfigError, HeadraceError

    try:
        result = app(standalone_mode=False)
    except ConfigError as failure:
        print(f"headrace: {failure}", file=sys.stderr)
        return 78
    except HeadraceError as failure:
        print(f"headrace: {failure}", file=sys.stderr)
        return 1
    except typer.Exit as done:
        return done.exit_code
    except Exception as failure:
        if hasattr(failure, "show") and hasattr(failure, "exit_code"):  # click's usage errors
            failure.show()
            return int(failure.exit_code)
        raise
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
