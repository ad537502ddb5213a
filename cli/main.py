"""The command line: `headrace COMMAND`.

Each command is a file; heavy imports happen inside of the commands, so that `--help` comes at once. Errors go
to standard error. Exit codes:

    0     done, or stopped as asked
    1     it failed
    2     wrong arguments
    78    a setting can't be used (EX_CONFIG)
    130   interrupted before there was anything to stop
"""

from __future__ import annotations

import sys
from typing import Protocol, cast

import typer

from headrace.cli import demo, dev, dump_log, import_07, start, verify, version

EXIT_CLEAN = 0
EXIT_FAILED = 1
EXIT_CONFIG = 78
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="headrace",
    help="A Kafka-compatible log whose segments Spark reads from the page cache.",
    epilog="Begin with [bold]headrace dev[/bold], or see everything at work with [bold]headrace demo[/bold].",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command(epilog=dev.EXAMPLES)(dev.dev)
app.command(epilog=start.EXAMPLES)(start.start)
app.command(epilog="[bold]Examples[/bold]\n\nheadrace demo\n\nheadrace demo access.log")(demo.demo)
app.command("dump-log", epilog=dump_log.EXAMPLES)(dump_log.dump_log)
app.command(epilog=verify.EXAMPLES)(verify.verify)
app.command("import-07", epilog=import_07.EXAMPLES)(import_07.import_07)
app.command(epilog=version.EXAMPLES)(version.version)


class _UsageError(Protocol):
    """Typer's errors of usage; their class has moved between its versions."""

    exit_code: int

    def show(self) -> None: ...


def main() -> int:
    """Entry point of the `headrace` program."""
    from headrace.errors import ConfigError, HeadraceError

    try:
        result = app(standalone_mode=False)
    except HeadraceError as failure:
        print(f"headrace: {failure}", file=sys.stderr)
        return EXIT_CONFIG if isinstance(failure, ConfigError) else EXIT_FAILED
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except typer.Exit as done:
        return done.exit_code
    except Exception as failure:
        if not hasattr(failure, "show") or not hasattr(failure, "exit_code"):
            raise
        usage_error = cast(_UsageError, failure)
        usage_error.show()
        return usage_error.exit_code
    return result if isinstance(result, int) else EXIT_CLEAN


if __name__ == "__main__":
    sys.exit(main())
