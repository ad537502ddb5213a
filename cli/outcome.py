"""How a command ends: its exit code, and what standard error says of a failure. Exit codes:

    0     done, or stopped as asked
    1     it failed
    2     wrong arguments
    78    a setting is invalid (EX_CONFIG)
    130   interrupted by Ctrl-C (143: by SIGTERM)
    141   standard output was closed by its reader (| head)

It imports neither Typer nor a command: `headrace start` does without both (`plain_start.py`).
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from headrace import exit_codes
from headrace.cli.printable import print_line
from headrace.cli.standard_streams import STDOUT_FD, occupy_closed_streams
from headrace.errors import ConfigError, HeadraceError

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
EXIT_USAGE = 2


def of(command: Callable[[], object]) -> int:
    """Run a command on `sys.argv`; returns the exit code: what the command returned, where that is a number."""
    closed = occupy_closed_streams()
    for argument in sys.argv[1:]:
        if not _is_text(argument) and not os.path.lexists(argument):
            print_line(f"headrace: argument {argument!a} is neither UTF-8 nor an existing file", is_error=True)
            return EXIT_USAGE
    try:
        result = command()
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
        print_line(f"headrace: {'standard output is closed' if is_closed else cause}", is_error=True)
        return exit_codes.FAILED
    except HeadraceError as failure:
        from headrace.cli.advice import advice_for

        print_line(f"headrace: {failure}", is_error=True)
        if advice := advice_for(failure):
            print_line(f"  {advice}", is_error=True)
        return exit_codes.CONFIG if isinstance(failure, ConfigError) else exit_codes.FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return result if isinstance(result, int) else exit_codes.CLEAN


def _is_text(argument: str) -> bool:
    """Whether it came as UTF-8, which all of Kafka's names are."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True
