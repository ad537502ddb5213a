"""Lines of standard input and of files, without blocking a caller that has other work.

A line ends with a newline, which is not part of it; the last one may lack it. A carriage return stays.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from headrace.errors import HeadraceError
from headrace.limits import LINE_BYTES_MAX

READ_BYTES = 256 << 10
STANDARD_INPUT = Path("-")


class Line(NamedTuple):
    """A line and its position."""

    source: str
    number: int  # from 1
    content: bytes

    @property
    def place(self) -> str:
        return f"{self.source}, line {self.number}"


class BadLine(HeadraceError):
    """An invalid line; names file and line."""


def read_lines(paths: list[Path], wake_fd: int, idle_ms: int) -> Iterator[Line | None]:
    """All lines of all files, `-` being standard input; None whenever none came for `idle_ms`. Ends early once `wake_fd` is readable.

    raises   BadLine, for one of more than LINE_BYTES_MAX, and for what can't be read
    """
    for path in paths:
        source = "standard input" if path == STANDARD_INPUT else str(path)
        try:
            if path != STANDARD_INPUT:
                with open(path, "rb", buffering=0) as file:
                    yield from _read(source, file.fileno(), wake_fd, idle_ms)
            elif sys.stdin is None:
                raise BadLine("standard input is closed")
            else:
                yield from _read(source, sys.stdin.fileno(), wake_fd, idle_ms)
        except OSError as failure:
            raise BadLine(f"{source}: {failure.strerror}") from None
        if _is_woken(wake_fd):
            return


def _read(source: str, fd: int, wake_fd: int, idle_ms: int) -> Iterator[Line | None]:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.register(wake_fd, select.POLLIN)
    rest: list[bytes] = []  # of a line whose end has not come
    rest_bytes = 0
    number = 0
    while True:
        ready = {ready_fd for ready_fd, _event in poll.poll(idle_ms)}
        if wake_fd in ready:
            return
        if not ready:
            yield None
            continue
        data = os.read(fd, READ_BYTES)
        *whole, last = data.split(b"\n")
        for content in whole:
            if rest:
                rest.append(content)
                content = b"".join(rest)
                rest, rest_bytes = [], 0
            number += 1
            yield Line(source, number, content)
        if not data:
            if rest:
                yield Line(source, number + 1, b"".join(rest))
            return
        if last:
            rest.append(last)
            rest_bytes += len(last)
        if rest_bytes > LINE_BYTES_MAX:
            raise BadLine(f"{source}, line {number + 1}: longer than {LINE_BYTES_MAX} bytes")


def _is_woken(wake_fd: int) -> bool:
    poll = select.poll()
    poll.register(wake_fd, select.POLLIN)
    return bool(poll.poll(0))
