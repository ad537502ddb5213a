"""The fork server of this process's local sessions, started once: its socket's name, and that it ends with this process.

The socket has an abstract name (Linux): no file is left when processes are killed, and both ends check the other one's user.

Runs in: Spark's driver. The server itself: `cli/spark_forkserver.py`, which this folder knows by name only.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from headrace.limits import SPARK_LAUNCHERS_WAITING_MAX

MODULE = "headrace.cli.spark_forkserver"
END_S = 5.0

_log = logging.getLogger("headrace.spark")


@dataclass
class ForkServer:
    """A server's process.

    name   of its socket
    key    the interpreter, and the variables that its daemons have
    pid    of the process that started it: a fork of that has none
    """

    process: subprocess.Popen[bytes]
    name: str
    key: tuple[str, tuple[tuple[str, str], ...]]
    pid: int

    def end(self) -> None:
        """Close its standard input, at which it ends."""
        if os.getpid() != self.pid:
            return
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:  # it hangs in an import
            self.process.kill()
            self.process.wait()


_servers: list[ForkServer] = []  # one at most


def fork_server(python: str, variables: Mapping[str, str]) -> str | None:
    """The name of the server's socket; the server is started where none runs. None where none can be started.

    python      the interpreter
    variables   of the daemons, beside those of this process
    """
    key = (python, tuple(sorted(variables.items())))
    for one in _servers[:]:
        if one.process.poll() is None and one.key == key and one.pid == os.getpid():
            return one.name
        one.end()
        _servers.remove(one)
    name = f"headrace-{uuid4().hex}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(f"\0{name}")  # here: a launcher may come before the server is up
            listener.listen(SPARK_LAUNCHERS_WAITING_MAX)
            process = subprocess.Popen(
                [python, "-u", "-m", MODULE, str(listener.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **variables},
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
    except OSError as failure:
        _log.info("fork server not available: %s", failure)
        return None
    if not _servers:
        atexit.register(_end_all)
    _servers.append(ForkServer(process, name, key, os.getpid()))
    return name


def _end_all() -> None:
    while _servers:
        _servers.pop().end()
