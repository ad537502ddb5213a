"""The command line: `headrace COMMAND`, its commands and their groups.

Each command is a file; heavy imports happen inside the commands, so that `--help` is fast. Exit codes: `outcome.py`.
"""

from __future__ import annotations

from typing import Protocol, cast

import typer

from headrace.cli import (
    cluster,
    consume,
    demo,
    dev,
    dump_log,
    groups,
    import_07,
    load,
    mirror,
    outcome,
    produce,
    settings,
    spark,
    start,
    systemd_files,
    topics,
    transactions,
    verify,
    version,
)

app = typer.Typer(
    name="headrace",
    help="A Kafka-compatible log whose segments Spark reads from the page cache.",
    epilog="Start with [bold]headrace dev[/bold], or run everything once with [bold]headrace demo[/bold].",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.callback()(version.options)
app.command(epilog=dev.EXAMPLES)(dev.dev)
app.command(epilog=start.EXAMPLES)(start.start)
app.command(epilog="[bold]Examples[/bold]\n\nheadrace demo\n\nheadrace demo access.log")(demo.demo)
app.command("dump-log", epilog=dump_log.EXAMPLES)(dump_log.dump_log)
app.command(epilog=verify.EXAMPLES)(verify.verify)
app.command("import-07", epilog=import_07.EXAMPLES)(import_07.import_07)
app.command("systemd-files", epilog=systemd_files.EXAMPLES)(systemd_files.systemd_files)
app.add_typer(topics.app)
app.command(epilog=produce.EXAMPLES)(produce.produce)
app.command(epilog=consume.EXAMPLES)(consume.consume)
app.add_typer(groups.app)
app.add_typer(transactions.app)
app.add_typer(cluster.app)
app.add_typer(load.app)
app.add_typer(mirror.app)
app.add_typer(spark.app)
app.command(epilog=settings.EXAMPLES)(settings.settings)
app.command(epilog=version.EXAMPLES)(version.version)


class _UsageError(Protocol):
    """Typer's errors of usage; their class has moved between its versions."""

    exit_code: int

    def show(self) -> None: ...


def run() -> int:
    """Run the command that `sys.argv` asks for; returns the exit code."""
    return outcome.of(_call)


def _call() -> object:
    """What the command returned, or the exit code of how typer ended it."""
    try:
        return app(standalone_mode=False, prog_name="headrace")
    except typer.Abort:
        return outcome.EXIT_INTERRUPTED
    except typer.Exit as done:
        return done.exit_code
    except Exception as failure:
        if not hasattr(failure, "show") or not hasattr(failure, "exit_code"):
            raise
        usage_error = cast(_UsageError, failure)
        usage_error.show()
        return usage_error.exit_code
