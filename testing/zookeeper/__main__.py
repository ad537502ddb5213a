"""`python -m headrace.testing.zookeeper --port 0`: the server as a process of its own, until SIGTERM or Ctrl-C.

When it serves, it prints `ready zookeeper=HOST:PORT`. With --dir it keeps its state there; without, a stop forgets everything.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from headrace import exit_codes
from headrace.limits import TESTING_SESSION_TICKS_MAX
from headrace.testing.zookeeper.journal import FILE
from headrace.testing.zookeeper.server import TICK_MS, Server, listen


def main(arguments: list[str] | None = None) -> int:
    """Serve; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m headrace.testing.zookeeper", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=2181, help="port to listen on (0: any free one)")
    parser.add_argument("--dir", type=Path, help="keep the state in this directory")
    parser.add_argument("--tick-ms", type=int, default=TICK_MS, help="tick; a session lasts for at least 2 ticks")
    parser.add_argument(
        "--ticks-max", type=int, default=TESTING_SESSION_TICKS_MAX, help="a session lasts for at most this many ticks"
    )
    given = parser.parse_args(arguments)
    try:
        listener = listen(given.host, given.port)
    except (OSError, OverflowError) as failure:
        print(f"error: {given.host}:{given.port}: {failure}", file=sys.stderr)
        return exit_codes.FAILED
    if given.dir is not None:
        given.dir.mkdir(parents=True, exist_ok=True)
    server = Server(listener, given.dir / FILE if given.dir is not None else None, given.tick_ms, given.ticks_max)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: server.stop())
    print(f"ready zookeeper={given.host}:{server.port}", flush=True)
    server.run()
    return exit_codes.CLEAN


if __name__ == "__main__":
    sys.exit(main())
