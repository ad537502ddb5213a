"""`headrace start FILE.properties [--set KEY=VALUE]...` as services write it, read without Typer; and what the command does.

Runs in: the process that becomes the supervisor. Typer and Rich take a tenth of a node's start, and their memory is held
as long as it runs. A line of any other form (help, an error, shell completion) is Typer's to answer (`start.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

COMMAND = "start"
SET = "--set"
COMPLETION = "_HEADRACE_COMPLETE"  # in the environment: Typer is asked for completions


def read(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[Path, list[str]] | None:
    """The file and the changes, `KEY=VALUE` each; None where the line has another form.

    arguments   of the program, without its name
    """
    if COMPLETION in environment or arguments[:1] != [COMMAND]:
        return None
    files, changes = [], []
    left = iter(arguments[1:])
    for argument in left:
        change = next(left, "-") if argument == SET else argument.removeprefix(f"{SET}=")
        if argument == change and not argument.startswith("-"):
            files.append(argument)
        elif argument != change and not change.startswith("-"):
            changes.append(change)
        else:
            return None
    if len(files) != 1 or not files[0]:
        return None
    return Path(files[0]), changes


def run(file: Path, changes: Sequence[str]) -> int:
    """Be a node until it is told to stop; returns the exit code. raises HeadraceError

    changes   `KEY=VALUE`, over what the file has
    """
    from headrace.limits import PORT_WAIT_MS
    from headrace.node.logging_setup import set_up_logging
    from headrace.node.settings_file import load_settings, parse_changes
    from headrace.node.supervisor import Supervisor
    from headrace.settings import Settings

    def load() -> Settings:
        return load_settings(file, given)

    set_up_logging()
    given = parse_changes(changes)
    return Supervisor(load(), reload=load, port_wait_ms=PORT_WAIT_MS).run()
