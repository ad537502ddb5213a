"""One process with PySpark and this package imported, which forks the Python daemons of a local session's `.format("headrace")`.

    driver    --Popen-->                       fork server: imports once
    JVM       --launcher, spark_launch.py-->   arguments, environment, standard streams --> fork --> a daemon, as `spark_daemon.py` is

Spark has a daemon for each step (creating a data source, planning it, its tasks): without this each of them imports the same again.

How long it lives: its standard input is a pipe from the driver's Python. When that ends, in whatever way, the server ends. Its socket
has an abstract name, so nothing is left of it. Daemons live on until Spark closes their own standard input. A request has to come from
this user, which the kernel reports.

What a daemon can't have from here is refused, and then begins as an interpreter of its own: another PySpark, other directories to import
from, other variables that an interpreter or a library reads when it starts.

Runs in: a process of its own beside the driver. Source: `multiprocessing.forkserver`, `pyspark.daemon`.
"""

from __future__ import annotations

import array
import contextlib
import marshal
import os
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

from headrace.cli import spark_daemon
from headrace.cli.spark_launch import FORKED
from headrace.limits import SPARK_FORK_REQUEST_BYTES_MAX

STEPS = ("pyspark.worker", "pyspark.sql.worker.create_data_source", "pyspark.sql.worker.plan_data_source_read")
REQUEST_S = 10.0
STREAMS = 3
PEER = struct.Struct("3i")  # pid, user, group
AT_START = ("LD_", "LC_", "LANG", "TZ", "ARROW_", "OPENBLAS_", "OMP_", "MALLOC_", "HEADRACE_")
NOT_AT_START = ("PYTHONPATH", "PYTHONUNBUFFERED")
THREADS = "OMP_NUM_THREADS"  # which Spark sets for tasks; planning has none to share


def main() -> None:
    """Serve until the standard input ends.

    The argument is the descriptor of a socket that listens: launchers that come before the imports are done wait there.
    """
    listener = socket.socket(fileno=int(sys.argv[1]))
    listener.set_inheritable(False)
    own = dict(os.environ)
    with contextlib.redirect_stdout(sys.stderr):
        for name in STEPS:
            spark_daemon.preload(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing waits for the daemons
    found = serve(listener, own)
    if found is not None:
        listener.close()
        become(*found)


Daemon = tuple[list[str], dict[str, str], str, list[int], list[str]]


def serve(listener: socket.socket, own: Mapping[str, str]) -> Daemon | None:
    """Fork daemons. Returns None when the standard input has ended, and in a child what it is to become."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(0, selectors.EVENT_READ)
    while True:
        ready = [key.fileobj for key, _events in selector.select()]
        if 0 in ready and not os.read(0, 1):
            return None
        if listener not in ready:
            continue
        connection, _peer = listener.accept()
        streams: list[int] = []
        path = None
        try:
            if user_of(connection) != os.getuid():
                raise ValueError("request from another user")
            arguments, environment, directory = received(connection, streams)
            path = import_path(environment, own, sys.path)
        except (OSError, ValueError, EOFError, TypeError):
            pass  # the launcher, if it is there, begins by itself
        if path is not None and len(streams) == STREAMS and os.fork() == 0:
            selector.close()
            connection.sendall(FORKED)
            connection.detach()  # open until the daemon ends: its launcher waits for that
            return arguments, environment, directory, streams, path
        connection.close()
        for stream in streams:
            os.close(stream)


def user_of(connection: socket.socket) -> int:
    """Of the process at the other end."""
    _pid, user, _group = PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
    return int(user)


def received(connection: socket.socket, streams: list[int]) -> tuple[list[str], dict[str, str], str]:
    """Arguments, environment and directory; descriptors are added to `streams`. raises   OSError, ValueError, EOFError, TypeError"""
    connection.settimeout(REQUEST_S)
    room = socket.CMSG_SPACE(STREAMS * array.array("i").itemsize)
    data, ancillary, _flags, _address = connection.recvmsg(1 << 16, room)
    for level, kind, held in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers = array.array("i")
            numbers.frombytes(held[: len(held) - len(held) % numbers.itemsize])
            streams += numbers
    size = int.from_bytes(data[:4], "big")
    if size > SPARK_FORK_REQUEST_BYTES_MAX:
        raise ValueError(f"invalid request size {size}")
    while len(data) < 4 + size:
        more = connection.recv(1 << 16)
        if not more:
            raise EOFError("the launcher has exited")
        data += more
    arguments, environment, directory = marshal.loads(data[4:])
    return arguments, environment, directory


def import_path(environment: Mapping[str, str], own: Mapping[str, str], present: list[str]) -> list[str] | None:
    """The `sys.path` of a daemon, made of the one at present.

    returns   None where it would import other modules than are imported here, or begin in another way
    """
    for name in environment.keys() | own.keys():
        at_start = name.startswith(AT_START) or (name.startswith("PYTHON") and "_" not in name)
        is_free = name in NOT_AT_START or (name == THREADS and name not in environment)
        if at_start and not is_free and environment.get(name) != own.get(name):
            return None
    given = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    archives = [entry for entry in given if entry.endswith((".zip", ".jar"))]
    known = {os.path.abspath(entry) for entry in present}
    if any(os.path.abspath(entry) not in known for entry in given if entry not in archives):
        return None
    path = [*archives, *present]
    spark_daemon.prefer_installed(path)
    is_other = any(Path(entry).name.startswith("pyspark") for entry in path[: len(archives)])
    return None if is_other else path


def become(
    arguments: list[str], environment: dict[str, str], directory: str, streams: list[int], path: list[str]
) -> None:
    """A daemon of Spark's in a forked process. Never returns."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.path[:] = path
    sys.argv = ["pyspark.daemon", *arguments]
    spark_daemon.manage()


if __name__ == "__main__":
    main()
