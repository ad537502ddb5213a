"""Cutting TCP connections of clients, from outside of the client: its end finds the connection closed, and so does the node.

A connection's descriptor is found in /proc, taken over by `pidfd_getfd` where it is another process's, and shut down both ways. The
client is not asked, whatever library it is; it may connect again at once. A process of another user can't be cut.

Runs in: the test process. Source: pidfd_getfd(2), shutdown(2), proc_pid_net(5).
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

_PIDFD_GETFD: Final = 438  # the same on every architecture
_ESTABLISHED: Final = "01"  # as /proc/net/tcp has it
_SOCKET: Final = re.compile(r"socket:\[(\d+)\]")
_libc = ctypes.CDLL(None, use_errno=True)


def cut_connections(ports: Collection[int], pid: int) -> int:
    """Shut down a process's connections to these ports of this machine; returns how many.

    raises   ProcessLookupError, PermissionError
    """
    inodes = _connected(ports)
    done = 0
    for descriptor in _descriptors(pid, inodes):
        with socket.socket(fileno=_taken(pid, descriptor)) as own:
            try:
                own.shutdown(socket.SHUT_RDWR)
                done += 1
            except OSError:
                pass  # it ended meanwhile
    return done


def _connected(ports: Collection[int]) -> set[str]:
    """Inodes of sockets whose other end is one of the ports."""
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _ESTABLISHED and int(fields[2].rpartition(":")[2], 16) in ports:
                found.add(fields[9])
    return found


def _descriptors(pid: int, inodes: set[str]) -> Iterator[int]:
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            match = _SOCKET.fullmatch(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue  # closed meanwhile
        if match is not None and match[1] in inodes:
            yield int(name)


def _taken(pid: int, descriptor: int) -> int:
    """A descriptor of ours for the same socket."""
    if pid == os.getpid():
        return os.dup(descriptor)
    process = os.pidfd_open(pid)
    try:
        taken = _libc.syscall(_PIDFD_GETFD, process, descriptor, 0)
        if taken < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"descriptor {descriptor} of process {pid}: {os.strerror(code)}")
        return int(taken)
    finally:
        os.close(process)
