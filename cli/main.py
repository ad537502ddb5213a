"""The entry point of the `headrace` program.

A command that becomes a node hears signals from here on: what it needs takes a second to import, on a busy machine
several, and a stop that comes meanwhile is a stop (`node/early_stop.py`). So nothing else is imported above.
"""

from __future__ import annotations

import gc
import os
import sys

from headrace.node import early_stop

NODE_COMMANDS = ("start", "dev")


def main() -> int:
    """Run the command that `sys.argv` asks for; returns the exit code."""
    command = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    if command not in NODE_COMMANDS:
        return _run()
    with early_stop.heard(hang_up_stops=command == "dev"):
        return _start() if command == "start" else _run()


def _start() -> int:
    """`headrace start`, without Typer where it is not needed."""
    gc.disable()  # imports leave nothing to collect, and would be searched again and again; `node/children.py` enables it
    try:
        from headrace.cli import plain_start

        given = plain_start.read(sys.argv[1:], os.environ)
        if given is None:
            return _run()
        from headrace.cli import outcome

        return outcome.of(lambda: plain_start.run(*given))
    finally:
        gc.enable()  # of one that never became a node


def _run() -> int:
    from headrace.cli import application

    return application.run()


if __name__ == "__main__":
    sys.exit(main())
