"""The Python that a local Spark starts for `.format("headrace")`: asks the fork server for a daemon, else becomes what Spark asked for.

    python -I -S spark_launch.py NAME PYTHON -m pyspark.daemon pyspark.sql.worker.plan_data_source_read

A daemon that is forked has this process's standard streams, arguments and environment; this process waits for its end, since Spark watches
it. Spark ends a daemon by closing its standard input, which the daemon has. Where the server is gone, or refuses, this process becomes
`python -m headrace.cli.spark_python` with the same arguments.

Runs in: a process beside the driver. It imports nothing but what the interpreter has built in, and begins in some 20 ms. The other end of
the connection: `spark_forkserver.py`.
"""

import _socket
import array
import marshal
import os
import sys

PYTHON_MODULE = "headrace.cli.spark_python"
DAEMONS = ("pyspark.daemon", "headrace.cli.spark_daemon")
FORKED = b"y"
DEADLINE_S = 60  # the server may still be importing


def request(name: str, arguments: list[str]) -> bool:
    """Ask the server at an abstract name for a daemon, and wait for its end; False where there is none."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(DEADLINE_S)
        connection.connect("\0" + name)
        peer = array.array("i", connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))
        if peer[1] != os.getuid():  # the name was free, and another user took it
            return False
        body = marshal.dumps((arguments, dict(os.environ), os.getcwd()))
        data = len(body).to_bytes(4, "big") + body
        streams = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
        sent = connection.sendmsg([data], streams)
        while sent < len(data):
            sent += connection.send(data[sent:])
        if connection.recv(1) != FORKED:
            return False
    except OSError:
        return False
    connection.settimeout(None)
    for stream in (0, 1, 2):  # the daemon's alone from now on
        os.close(stream)
    try:
        while connection.recv(1):
            pass
    except OSError:
        pass
    return True


def main() -> None:
    """Returns when the daemon has ended."""
    name, python, *arguments = sys.argv[1:]
    if (
        len(arguments) > 1
        and arguments[0] == "-m"
        and arguments[1] in DAEMONS
        and name
        and request(name, arguments[2:])
    ):
        return
    os.execv(python, [python, "-m", PYTHON_MODULE, *arguments])


if __name__ == "__main__":
    main()
