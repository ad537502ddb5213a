"""The fork server of this process's local sessions, started once: where it is, and that it ends with this process.

Runs in: Spark's driver. The server itself: `cli/spark_forkserver.py`, which this folder knows by name only.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MODULE = "headrace.cli.spark_forkserver"
SOCKET = "fork-server"
END_S = 5.0
LAUNCHERS_MAX = 64  # that wait at once

_log = logging.getLogger("headrace.spark")


@dataclass
class ForkServer:
    """A server's process.

    key    the interpreter, and the variables that its daemons have
    pid    of the process that started it: a fork of that has none
    """

    process: subprocess.Popen[bytes]
    path: Path
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
        shutil.rmtree(self.path.parent, ignore_errors=True)


_servers: list[ForkServer] = []  # one at most


def fork_server(python: str, variables: Mapping[str, str]) -> Path | None:
    """The path of the server's socket; it is started where none runs. None where it can't be.

    python      the interpreter
    variables   of the daemons, beside those of this process
    """
    key = (python, tuple(sorted(variables.items())))
    for one in _servers[:]:
        if one.process.poll() is None and one.key == key and one.pid == os.getpid():
            return one.path
        one.end()
        _servers.remove(one)
    try:
        directory = Path(tempfile.mkdtemp(prefix="headrace-"))  # 0700: who connects is this user
    except OSError as failure:
        _log.info("there is no fork server: %s", failure)
        return None
    path = directory / SOCKET
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(path))  # here: a launcher may come before the server is up
            listener.listen(LAUNCHERS_MAX)
            process = subprocess.Popen(
                [python, "-u", "-m", MODULE, str(listener.fileno()), str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **variables},
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
    except OSError as failure:
        _log.info("there is no fork server: %s", failure)
        shutil.rmtree(directory, ignore_errors=True)
        return None
    if not _servers:
        atexit.register(_end_all)
    _servers.append(ForkServer(process, path, key, os.getpid()))
    return path


def _end_all() -> None:
    while _servers:
        _servers.pop().end()
