"""The command line: `headrace COMMAND`, from its arguments to its exit code.

Each command is a file; heavy imports happen inside the commands, so that `--help` is fast. Errors go
to standard error. Exit codes:

    0     done, or stopped as asked
    1     it failed
    2     wrong arguments
    78    a setting is invalid (EX_CONFIG)
    130   interrupted by Ctrl-C (143: by SIGTERM)
    141   standard output was closed by its reader (| head)
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Protocol, cast

import typer

from headrace import exit_codes
from headrace.cli import (
    cluster,
    consume,
    demo,
    dev,
    dump_log,
    groups,
    import_07,
    load,
    produce,
    settings,
    spark,
    start,
    systemd_files,
    topics,
    verify,
    version,
)

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
EXIT_USAGE = 2

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
app.add_typer(cluster.app)
app.add_typer(load.app)
app.add_typer(spark.app)
app.command(epilog=settings.EXAMPLES)(settings.settings)
app.command(epilog=version.EXAMPLES)(version.version)


class _UsageError(Protocol):
    """Typer's errors of usage; their class has moved between its versions."""

    exit_code: int

    def show(self) -> None: ...


def run() -> int:
    """Run the command that `sys.argv` asks for; returns the exit code."""
    from headrace.cli.standard_streams import STDOUT_FD, occupy_closed_streams
    from headrace.errors import ConfigError, HeadraceError

    closed = occupy_closed_streams()
    for argument in sys.argv[1:]:
        if not _is_text(argument) and not os.path.lexists(argument):
            print(f"headrace: argument {argument!a} is neither UTF-8 nor an existing file", file=sys.stderr)
            return EXIT_USAGE
    try:
        result = app(standalone_mode=False, prog_name="headrace")
        sys.stdout.flush()
    except (OSError, SystemExit) as ending:
        cause = (
            ending if isinstance(ending, OSError) else ending.__context__
        )  # typer makes a SystemExit(1) of a broken pipe
        if not isinstance(cause, OSError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT_FD)  # the interpreter flushes once more at its end
        if isinstance(cause, BrokenPipeError):
            return EXIT_BROKEN_PIPE
        is_closed = cause.errno == errno.EBADF and STDOUT_FD in closed
        print(f"headrace: {'standard output is closed' if is_closed else cause}", file=sys.stderr)
        return exit_codes.FAILED
    except HeadraceError as failure:
        from headrace.cli.advice import advice_for

        print(f"headrace: {failure}", file=sys.stderr)
        if advice := advice_for(failure):
            print(f"  {advice}", file=sys.stderr)
        return exit_codes.CONFIG if isinstance(failure, ConfigError) else exit_codes.FAILED
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
    return result if isinstance(result, int) else exit_codes.CLEAN


def _is_text(argument: str) -> bool:
    """Whether it came as UTF-8, which all of Kafka's names are."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True
